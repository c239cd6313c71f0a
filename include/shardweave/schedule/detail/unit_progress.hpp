#pragma once

#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Which units are done while a schedule is made, and which become ready by that.

namespace shardweave::inline v0::detail {

/// Units that are done, in the order in which they were, and how many inputs the others still lack: the bookkeeping of
/// every scheduler that takes one unit after the other. A unit becomes ready once, when the last of its inputs is done;
/// whether it may be done earlier is the scheduler's affair. Complexity: O(V + E) over a whole run.
class unit_progress {
 public:
  /// \pre all arguments outlive this
  unit_progress(const task_graph& g, const launch_units& units)
      : g_(&g), units_(&units), missing_(units.size()), done_(units.size()) {
    order_.reserve(units.size());
    for (std::uint32_t u = 0; u < units.size(); ++u)
      missing_[u] = static_cast<std::uint32_t>(units.graph().in(u).size());
  }

  [[nodiscard]] bool is_done(std::uint32_t u) const { return done_[u] != 0; }
  /// Needs nothing that is not done. Whoever begins asks this of every unit; the others are told by `finish`.
  [[nodiscard]] bool is_ready(std::uint32_t u) const { return missing_[u] == 0; }
  /// What is done, in the order of `finish`.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  [[nodiscard]] bool is_complete() const { return order_.size() == units_->size(); }
  /// Computations that are done. Where they keep their order this is also the number of the next one.
  [[nodiscard]] std::uint32_t computed() const { return computed_; }

  /// Calls `ready(v)` for each unit that lacked this one alone, in the order of the edges.
  /// \pre `u` is not done
  template <class Ready>
  void finish(std::uint32_t u, const Ready& ready) {
    done_[u] = 1;
    order_.push_back(u);
    if (g_->kind(units_->first(u)) == task_kind::compute) ++computed_;
    for (const auto& e : units_->graph().out(u))
      if (--missing_[e.target] == 0) ready(e.target);
  }

 private:
  const task_graph* g_;
  const launch_units* units_;
  std::vector<std::uint32_t> missing_;
  std::vector<std::uint8_t> done_;
  std::vector<std::uint32_t> order_;
  std::uint32_t computed_ = 0;
};

}  // namespace shardweave::inline v0::detail

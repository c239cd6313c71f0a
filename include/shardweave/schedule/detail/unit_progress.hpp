#pragma once

#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Which units a scheduler has done, and which become ready.

namespace shardweave::inline v0::detail {

/// Units that are done, in their order, and the number of missing inputs of all others: the bookkeeping of every list
/// scheduler. A unit becomes ready once, when the last of its inputs is done; whether it may run earlier is for the
/// scheduler to decide. Complexity: O(V + E) over a whole run.
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
  /// Whether all inputs are done. To be asked of every unit at the start; afterwards `finish` reports new ones.
  [[nodiscard]] bool is_ready(std::uint32_t u) const { return missing_[u] == 0; }
  /// The units that are done, in the order of `finish`.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  [[nodiscard]] bool is_complete() const { return order_.size() == units_->size(); }
  /// The number of computations that are done; if they keep their order, also the number of the next one.
  [[nodiscard]] std::uint32_t computed() const { return computed_; }

  /// Marks `u` as done, and calls `ready(v)` for each unit that lacked only this input, in the order of the edges.
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

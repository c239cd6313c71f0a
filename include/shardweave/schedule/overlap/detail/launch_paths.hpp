#pragma once

#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/overlap/detail/exposure_account.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// \file
/// Units between the present state and a collective that is to be launched.

namespace shardweave::inline v0::detail {

/// Reachability among units that are not done. Before a collective is launched early, all it still depends on must run
/// first; that is allowed except for computations, other launches, waits that stall or that end what the window is to
/// hide, and operations on the process group itself. Within a window it also knows which collectives depend on the
/// window's task. Complexity: O(V + E) per query at most, of what lies between.
class launch_paths {
 public:
  /// \pre all arguments outlive this
  launch_paths(const task_graph& g, const launch_units& units, const overlap_facts& facts,
               const unit_progress& progress, const exposure_account& account)
      : g_(&g),
        units_(&units),
        facts_(&facts),
        progress_(&progress),
        account_(&account),
        seen_(units.size()),
        after_(units.size()) {}

  /// Finds what must run before `c` can be launched within the window of `v`, in the original order (`found()`).
  /// \returns false if that is not allowed now
  [[nodiscard]] bool find(std::uint32_t c, std::uint32_t v) {
    path_.clear();
    if (facts_->compute_before[c] > progress_->computed()) return false;
    ++stamp_;
    visit_inputs(c);
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const std::uint32_t u = path_[i];
      if (u == v || !may_pass(u, v)) return false;
      visit_inputs(u);
    }
    std::sort(path_.begin(), path_.end(), [this](auto a, auto b) { return facts_->rank[a] < facts_->rank[b]; });
    return true;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& found() const { return path_; }

  /// Starts a window: `leads_to` is then asked for one unit and for collectives up to a rank. A nested window replaces
  /// it.
  void begin_window(std::uint32_t farthest) {
    ++window_;
    farthest_ = farthest;
  }
  /// Whether `c`, which is not done, depends on `v`, which is about to be.
  [[nodiscard]] bool leads_to(std::uint32_t v, std::uint32_t c) {
    if (told_ != window_) {
      told_ = window_;
      std::vector<std::uint32_t> stack = {v};
      while (!stack.empty()) {
        const std::uint32_t u = stack.back();
        stack.pop_back();
        for (const auto& e : units_->graph().out(u)) {
          if (facts_->rank[e.target] > farthest_ || after_[e.target] == window_) continue;
          after_[e.target] = window_;
          stack.push_back(e.target);
        }
      }
    }
    return after_[c] == window_;
  }

 private:
  /// Whether a unit may run before an early launch: no launch, no wait that stalls, no wait for what `v` is to hide.
  [[nodiscard]] bool may_pass(std::uint32_t u, std::uint32_t v) const {
    if (facts_->is_start(u)) return false;
    if (facts_->is_wait(u)) {
      const std::uint32_t c = facts_->start_of[u];
      return !account_->is_exposed(c) && !account_->hides(v, c) && !account_->is_waited_for(c);
    }
    const std::string_view op = g_->op(units_->first(u));
    return op.find("c10") == std::string_view::npos && op.find("_dtensor") == std::string_view::npos;
  }
  void visit_inputs(std::uint32_t u) {
    for (const auto& e : units_->graph().in(u)) {
      if (progress_->is_done(e.source) || seen_[e.source] == stamp_) continue;
      seen_[e.source] = stamp_;
      path_.push_back(e.source);
    }
  }

  const task_graph* g_;
  const launch_units* units_;
  const overlap_facts* facts_;
  const unit_progress* progress_;
  const exposure_account* account_;
  std::vector<std::uint32_t> path_;
  std::vector<std::uint64_t> seen_, after_;  // stamps: numbers of the search and of the window
  std::uint64_t stamp_ = 0, window_ = 0, told_ = 0;
  std::uint32_t farthest_ = 0;
};

}  // namespace shardweave::inline v0::detail

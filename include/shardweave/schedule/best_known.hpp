#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// The best schedule of all passes, improved by a search.

namespace shardweave::inline v0 {

/// The best schedule of `benefit` with `prefetch` and of the passes in `compatibility.hpp`, improved by a short search,
/// so that it ends no later than any of them. The search is limited by changes, not by time: the result depends on
/// graph and seed alone. As a bucketing policy it gives the buckets of its plan; as a scheduler it takes the given
/// buckets as one more start, and may return others.
///
/// With a budget, a schedule that keeps it is better than one that does not. Without one, `benefit` with `prefetch`
/// stays within the peak of the original order where it can, named passes within their own limits, and the first to end
/// is taken.
/// Complexity: that of the passes, some more runs of `prefetch`, and at most O(V + E) per change; in all 0.2 to 0.3 s
/// for 10 000 tasks
struct best_known {
  static constexpr std::string_view name = "best_known";

  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, inputs included
  std::size_t changes = 3000;                  ///< at most (`search::changes`)

  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const;
  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const;
  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const;

 private:
  static constexpr std::size_t runs = 12;  ///< of `prefetch` by another order, at most (`search::runs`)

  /// A bucketing policy that returns given buckets.
  struct as_given {
    static constexpr std::string_view name = "as_given";
    const bucketing_result* buckets = nullptr;
    [[nodiscard]] bucketing_result operator()(const task_graph&, const solve_control& = {}) const { return *buckets; }
  };

  /// \param of  makes a `best_of` from our own pass and the named ones
  template <class Of>
  [[nodiscard]] schedule searched(const task_graph& g, const solve_control& control, Of of) const;
};

static_assert(scheduling_pass<best_known> && bucketing_policy<best_known> && scheduler<best_known>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/schedule/impl/best_known.hpp>
#endif

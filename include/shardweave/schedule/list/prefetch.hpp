#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/list/detail/launch_budget.hpp>
#include <shardweave/schedule/list/detail/list_plan.hpp>
#include <shardweave/schedule/list/detail/list_run.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Launches collectives early and waits for them late.

namespace shardweave {
inline namespace v0 {

/// List scheduling on the clocks of the reference timing. The compute stream takes, in the original order,
/// what may run without a stall; whenever it is about to be busy, each channel that would fall idle meanwhile
/// gets the collective that is needed first, with the casts and views that lead to it. A wait stands before
/// its first user, or where its collective is done.
///
/// A memory budget is first hoped to suffice. Where it does not, the run is repeated with a look ahead: a
/// collective is pulled, and a task overtakes another one, only if the bytes that this makes alive fit beside all
/// that the original order wants alive from here to its place; what only frees memory goes first where there is
/// none. If the peak still exceeds the budget, the run is repeated with a budget that is lower by as much, twice at
/// most, then with an eighth of the limits; at last the original order is taken. `within_memory` tells whether that
/// helped; if not, the schedule is the one with the smallest peak seen. Complexity: O((V + E) log V) per run.
struct prefetch {
  static constexpr std::string_view name = "prefetch";

  bytes in_flight = gibibytes(2);   ///< in and out of what is launched and not yet waited for
  std::size_t compute_ahead = 200;  ///< computations between the present one and the first that needs a collective
  std::size_t window = 2000;        ///< tasks by which one may overtake the first that is not done
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, inputs included

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const {
    return along(g, buckets, {}, control);
  }
  /// The same, going by another order than the original one: of `launch_units(g, buckets.buckets)`, topological.
  [[nodiscard]] schedule along(const task_graph& g, const bucketing_result& buckets, std::span<const std::uint32_t> by,
                               const solve_control& control = {}) const {
    schedule best;
    best.buckets = buckets.buckets;
    const detail::list_plan plan(g, best.buckets, by);
    std::vector<decision> refusals;
    std::size_t runs = 0;
    bytes least;          // peak of the best order
    nanoseconds soonest;  // its end
    const auto attempt = [&](const detail::list_limits& limits) {
      detail::list_run run(plan, limits);
      std::vector<task_index> order = run.run();
      const bytes allowed = memory.value_or(run.peak());
      const bool fits = run.peak() <= allowed, fitted = runs > 0 && least <= allowed;
      if (runs++ == 0 || (fits != fitted ? fits : fits ? run.end_to_end() < soonest : run.peak() < least)) {
        best.order = std::move(order);
        least = run.peak();
        soonest = run.end_to_end();
        refusals = run.refusals();
      }
      return run.peak();
    };
    const auto go_on = [&] { return memory && least > *memory && !control.stop.stop_requested(); };

    detail::list_limits limits{in_flight, compute_ahead, window, std::nullopt, std::nullopt, {}};
    attempt(limits);  // memory may suffice without a look at it
    if (go_on()) {
      limits.memory = memory;
      limits.ahead = detail::memory_profile(plan.memory_in_order());
      const bytes above = attempt(limits);
      limits.lag = 0;  // frees early, but takes channels from what is needed soon
      if (attempt(limits) > above) limits.lag.reset();
      for (int i = 0; i < 2 && go_on(); ++i) {  // what the look ahead does not see is kept free
        limits.memory = *limits.memory - (least - *memory);
        attempt(limits);
      }
      if (go_on()) {
        limits.in_flight = limits.in_flight / 8;
        limits.compute_ahead /= 8;
        limits.window /= 8;
        attempt(limits);
      }
    }
    if (go_on()) {  // the order that asks least of memory, mostly, is the original one
      schedule plain = in_order{}(g, buckets, control);
      const bytes peak = simulate(g, plain, {.validate = false}).peak;
      if (peak < least) {
        best.order = std::move(plain.order);
        least = peak;
        refusals.clear();
      }
    }
    best.within_memory = !memory || least <= *memory;
    best.decisions = buckets.decisions;
    best.decisions.insert(best.decisions.end(), refusals.begin(), refusals.end());
    best.hides = hiding_records(g, best, simulate(g, best, {.validate = false}));
    best.statistics = {{"runs", static_cast<double>(runs)}};
    return best;
  }
};

static_assert(scheduler<prefetch>);

}  // namespace v0
}  // namespace shardweave

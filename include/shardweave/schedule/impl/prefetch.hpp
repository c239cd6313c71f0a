#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/schedule/list/detail/launch_budget.hpp>
#include <shardweave/schedule/list/detail/list_plan.hpp>
#include <shardweave/schedule/list/detail/list_run.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <algorithm>
#include <utility>
#include <vector>

/// \file
/// Definition of `prefetch`.

namespace shardweave::inline v0 {

namespace detail {
/// The default of `prefetch::in_flight` for a graph. Complexity: O(V)
[[nodiscard]] inline bytes usual_in_flight(const task_graph& g) {
  bytes largest;
  for (task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t)) largest = std::max(largest, g.collective(t).bytes_in + g.collective(t).bytes_out);
  return std::max(gibibytes(2), 2 * largest);
}
}  // namespace detail

SHARDWEAVE_INLINE schedule prefetch::along(const task_graph& g, const bucketing_result& buckets,
                                           std::span<const std::uint32_t> by, const solve_control& control) const {
  schedule best;
  best.buckets = buckets.buckets;
  const detail::list_plan plan(g, best.buckets, by);
  std::vector<decision> refusals;
  std::size_t runs = 0;
  bytes least;          // peak of the best order
  nanoseconds soonest;  // end of the best order
  // the first attempt always completes; later ones are abandoned after a stop
  const auto attempt = [&](const detail::list_limits& limits) {
    detail::list_run run(plan, limits);
    std::vector<task_index> order = run.run(runs == 0 ? stop_token() : control.stop);
    if (runs > 0 && order.empty()) return least;
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

  detail::list_limits limits{
      in_flight ? *in_flight : detail::usual_in_flight(g), compute_ahead, std::nullopt, std::nullopt, {}};
  attempt(limits);  // the memory may suffice without lookahead
  if (go_on()) {
    limits.memory = memory;
    limits.ahead = detail::memory_profile(plan.memory_in_order());
    const bytes above = attempt(limits);
    limits.lag = 0;  // frees memory early, but delays what is needed soon on the channels
    if (attempt(limits) > above) limits.lag.reset();
    for (int i = 0; i < 2 && go_on(); ++i) {  // reserves what the lookahead underestimates
      limits.memory = *limits.memory - (least - *memory);
      attempt(limits);
    }
    if (go_on()) {
      limits.in_flight = limits.in_flight / 8;
      limits.compute_ahead /= 8;
      attempt(limits);
    }
  }
  if (go_on()) {  // the original order mostly needs the least memory
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

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/best_of.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Definition of `best_known`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE schedule best_known::plan(const task_graph& g, const solve_control& control) const {
  return searched(g, control, [](const auto& ours, const auto&... named) { return best_of(ours, named...); });
}

SHARDWEAVE_INLINE bucketing_result best_known::operator()(const task_graph& g, const solve_control& control) const {
  schedule s = plan(g, control);
  return {std::move(s.buckets), std::move(s.decisions)};
}

SHARDWEAVE_INLINE schedule best_known::operator()(const task_graph& g, const bucketing_result& buckets,
                                                  const solve_control& control) const {
  if (buckets.buckets.empty()) return plan(g, control);
  return searched(g, control, [&](const auto& ours, const auto&... named) {
    return best_of(two_steps<as_given, prefetch>{{&buckets}, ours.order}, ours, named...);
  });
}

template <class Of>
schedule best_known::searched(const task_graph& g, const solve_control& control, Of of) const {
  const deadline clock(control);
  const bytes aim = memory ? *memory : simulate(g, in_order{}(g, {}), {.validate = false}).peak;
  const benefit<> ours{.order = {.memory = aim}, .memory = aim};
  auto all = of(ours, torch_default(), torch_no_prebucket(), torch_overlap_only(), autoparallel_span_buckets(),
                autoparallel_size_buckets());
  all.memory = memory;
  schedule s = all.plan(g, clock.rest());
  const std::vector<statistic> ends = std::exchange(s.statistics, {});

  const bytes allowed = memory ? aim : std::max(aim, simulate(g, s, {.validate = false}).peak);
  const search<> by{.start = ours.order, .memory = allowed, .changes = changes, .runs = runs, .rebucket = true};
  solve_control rest = clock.rest();
  constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  // counts with a time limit, too
  rest.iterations = std::min(rest.iterations, changes < unlimited - runs ? runs + changes : unlimited);
  s = by.improve(g, std::move(s), rest);
  s.statistics.insert(s.statistics.end(), ends.begin(), ends.end());
  return s;
}

}  // namespace shardweave::inline v0

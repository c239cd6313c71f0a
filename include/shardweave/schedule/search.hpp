#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/schedule/search/detail/deferred_order.hpp>
#include <shardweave/schedule/search/detail/order_walk.hpp>
#include <shardweave/schedule/search/detail/search_moves.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Local search over orders and buckets.

namespace shardweave::inline v0 {

/// Starts with the schedule of `start`. If the start can follow another order, work that hides nothing is first
/// deferred behind launches with long waits, while that helps. Then it tries changes, mostly where the compute stream
/// stalls: the collective that is waited for is launched earlier, with its predecessors; the wait is deferred, or other
/// work is pulled before it; work is deferred behind the launch. With `rebucket`, launches are merged, members taken
/// out of buckets, moved to the next bucket, or launched apart; and after many changes without success, all buckets of
/// one key in a window of the order are rebuilt with another size, and kept for some changes before they are judged.
/// Each change is priced from the nearest checkpoint on, and is kept if neither the peak above the budget nor the end
/// grows. The result is never worse than the start, nor has it more launches at the same end, and the search may be
/// stopped at any time. Without a time limit it depends on graph, buckets and seed alone, so ranks that agree on these
/// launch alike.
/// Complexity: up to `runs` more runs of the start; then at most O(V + E) per change, less where the schedules coincide
/// again
template <class Start = prefetch>
struct search {
  static constexpr std::string_view name = "search";

  Start start = {};
  /// Budget for the peak: no change raises the peak further above it. It does not limit `start`, which has a budget of
  /// its own.
  std::optional<bytes> memory = std::nullopt;
  std::size_t changes = 30'000;  ///< at most, without a time limit; `control.iterations` limits them in any case
  std::size_t runs = 120;        ///< of the start with another order, at most
  /// Whether buckets may change, to any of collectives that may be merged; otherwise they stay as given.
  bool rebucket = false;
  /// Whether stalls may be filled with work from anywhere later in the order: for budgets with room, since its results
  /// are held until they are used.
  bool fills = false;

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const {
    const deadline clock(control);
    schedule s = schedule_tasks(g, buckets, start, control);
    return improve(g, std::move(s), clock.rest());
  }
  /// The same from a given schedule of any origin; dependencies that were added to it are dropped.
  /// \pre s is valid for g
  [[nodiscard]] schedule improve(const task_graph& g, schedule s, const solve_control& control = {}) const;

 private:
  /// Changes without a better price before buckets in a window are rebuilt.
  static constexpr std::size_t patience = 1000;
  static constexpr std::size_t trial = 300;  ///< changes after which rebuilt buckets are judged
  /// Rebuilt buckets may be worse by this fraction (1 / worse_by) of the end at first.
  static constexpr std::int64_t worse_by = 500;

  /// Work that hides nothing at its place may hide a collective with a long stall: if the start can follow another
  /// order, it is run again with that work deferred, the longest stalls first. \returns the number of runs
  std::size_t put_off(const task_graph& g, schedule& s, const solve_control& control, const deadline& clock) const;

  /// The order with each bucket's members together at its launch.
  static detail::bucketed_order in_units(const task_graph& g, const schedule& s);
};

template <class Start>
schedule search<Start>::improve(const task_graph& g, schedule s, const solve_control& control) const {
  const deadline clock(control);
  const storage_uses uses(g);
  s.after.clear();
  std::erase_if(s.hides,
                [&](const hiding_record& r) { return r.collective >= g.size() || !g.is_collective(r.collective); });
  const std::size_t runs_made = put_off(g, s, control, clock);
  detail::order_walk walk(g, uses, in_units(g, s), memory);
  detail::search_moves moves(g, walk);
  if (rebucket) moves.allow_buckets();
  if (fills) moves.allow_fills();
  random_source random(control.seed);
  // with a time limit only that ends the search
  const bool timed = control.seconds < std::numeric_limits<double>::infinity();
  const std::size_t most = std::min(timed ? control.iterations : changes, control.iterations - runs_made);
  detail::walk_price least = walk.price();
  // the order before buckets in a window were rebuilt, until they are judged
  std::optional<detail::bucketed_order> best;
  std::size_t tried = 0, kept = 0, large = 0, last_better = 0, judged = 0;
  const auto take_better = [&] {
    if (best && walk.price() > least) {
      walk.restart(std::move(*best));
    } else if (walk.price() < least) {
      last_better = tried;
      least = walk.price();
      if (control.progress)
        control.progress({.stage = name,
                          .seconds = clock.elapsed(),
                          .objective = static_cast<double>(least.end_to_end.count()),
                          .unit = "ns"});
    }
    best.reset();
  };
  for (; tried < most && moves.may_change() && !clock.expired(); ++tried) {
    if (!best || tried == judged) take_better();
    if (!best && tried >= last_better + patience && moves.may_change_buckets()) {
      best = walk.order();
      judged = tried + trial;
      kept += moves.change_window(random, {least.excess, least.end_to_end + least.end_to_end / worse_by});
      ++large;
    } else {
      kept += moves.change(random);
    }
  }
  take_better();
  schedule found = s;
  found.order.assign(walk.order().tasks().begin(), walk.order().tasks().end());
  if (rebucket) {
    found.buckets.clear();
    for (const bucket& b : walk.order().buckets())
      if (!b.members.empty()) found.buckets.push_back(b);
  }
  // a schedule with the same end but more launches is not taken
  if (!rebucket || !(price_of(g, s, memory) < price_of(g, found, memory))) s = std::move(found);
  if (memory) s.within_memory = walk.price().excess == bytes(0);
  s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
  s.statistics.push_back({"changes_tried", static_cast<double>(tried)});
  s.statistics.push_back({"changes_kept", static_cast<double>(kept)});
  if (rebucket) s.statistics.push_back({"windows_tried", static_cast<double>(large)});
  return s;
}

template <class Start>
std::size_t search<Start>::put_off(const task_graph& g, schedule& s, const solve_control& control,
                                   const deadline& clock) const {
  std::size_t made = 0;
  const std::size_t most = std::min(runs, control.iterations);
  if constexpr (requires(std::span<const std::uint32_t> by) { start.along(g, bucketing_result{}, by, control); }) {
    const launch_units units(g, s.buckets);
    // rounds of deferral, and the longest stalls tried in each
    constexpr int rounds = 8, stalls = 3;
    std::vector<std::uint32_t> order(units.order().begin(), units.order().end());
    schedule_price least = price_of(g, s, memory);
    const bucketing_result buckets{s.buckets, s.decisions};
    bool better = true;
    for (int round = 0; round < rounds && better; ++round) {
      better = false;
      std::vector<hiding_record> stalled = s.hides;
      std::stable_sort(stalled.begin(), stalled.end(), [](auto& a, auto& b) { return a.exposed > b.exposed; });
      stalled.resize(std::min<std::size_t>(stalled.size(), stalls));
      for (const hiding_record& r : stalled)
        for (int fifths = 5; fifths > 0; --fifths) {  // less work where memory does not suffice for more
          if (better || r.exposed == nanoseconds(0) || made == most || clock.expired()) break;
          std::vector<std::uint32_t> later =
              detail::deferred_order(g, units, order, units.unit_of(r.collective), r.exposed * fifths / 5);
          if (later == order) break;
          ++made;
          schedule next = start.along(g, buckets, later, clock.rest());
          const schedule_price price = price_of(g, next, memory);
          if (!(price < least)) continue;
          least = price;
          next.buckets.swap(s.buckets);  // the units refer to these
          s = std::move(next);
          order = std::move(later);
          better = true;
        }
    }
  }
  return made;
}

template <class Start>
detail::bucketed_order search<Start>::in_units(const task_graph& g, const schedule& s) {
  const launch_units units(g, s.buckets);
  std::vector<task_index> order;
  for (const std::uint32_t u : units_in_order(units, s.order))
    order.insert(order.end(), units.tasks(u).begin(), units.tasks(u).end());
  return {g, s.buckets, std::move(order)};
}

#ifdef SHARDWEAVE_COMPILED
extern template struct search<prefetch>;
#endif

static_assert(scheduler<search<>>);

}  // namespace shardweave::inline v0

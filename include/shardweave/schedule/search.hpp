#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/deferred_order.hpp>
#include <shardweave/schedule/detail/order_walk.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Makes the order of another scheduler better, change by change.

namespace shardweave {
inline namespace v0 {

/// Begins with the order that `start` gives. Where the start can go by another order, work that hides nothing is first
/// put off behind launches that are waited for long, as far as that helps. Then it tries changes where the compute
/// stream stalls: the collective that is waited for is launched earlier, with what leads to it; the wait is put off;
/// other work is pulled before it; and some changes at random. Each is priced by walking the order on from a
/// checkpoint; it stays if neither the peak above the budget nor the end grows. So the result is never worse than the
/// start, and may be stopped at any time.
/// Complexity: up to 120 more runs of the start; then O(V + E) per change at most; changes that are seen to be worse
/// are given up earlier.
template <scheduler Start = prefetch>
struct search {
  static constexpr std::string_view name = "search";

  Start start = {};
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, as the start's own
  std::size_t changes = 30'000;                ///< tried at most; `control.iterations` and its time limit count, too
  std::uint32_t reach = 1500;                  ///< places by which a change moves at most
  std::size_t cone = 200;                      ///< units that move together at most

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& control = {}) const {
    const deadline clock(control);
    schedule s = start(g, buckets, control);
    const launch_units units(g, s.buckets);
    const storage_uses uses(g);
    const std::size_t runs = put_off(g, units, s, control, clock);
    detail::order_walk walk(g, units, uses, order_of_units(s, units), memory);
    random_source random(control.seed);
    // with a time limit only that ends the search
    const bool timed = control.seconds < std::numeric_limits<double>::infinity();
    const std::size_t most = std::min(timed ? control.iterations : changes, control.iterations - runs);
    std::size_t tried = 0, kept = 0;
    for (; tried < most && !walk.stalls().empty() && !clock.expired(); ++tried) {
      const nanoseconds before = walk.price().end_to_end;
      kept += try_one(walk, random);
      if (control.progress && walk.price().end_to_end < before)
        control.progress({.stage = name,
                          .seconds = clock.elapsed(),
                          .objective = static_cast<double>(walk.price().end_to_end.count())});
    }
    s.order.clear();
    for (const std::uint32_t u : walk.order())
      for (const task_index t : units.tasks(u)) s.order.push_back(t);
    s.within_memory = walk.price().excess == bytes(0);
    s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
    s.statistics.push_back({"changes_tried", static_cast<double>(tried)});
    s.statistics.push_back({"changes_kept", static_cast<double>(kept)});
    return s;
  }

 private:
  /// What hides nothing where it stands may hide a collective that is waited for at a long stall: where the start can
  /// go by another order, it is run again with that work put off, the longest stalls first. \returns how often
  std::size_t put_off(const task_graph& g, const launch_units& units, schedule& s, const solve_control& control,
                      const deadline& clock) const {
    std::size_t runs = 0;
    if constexpr (requires { start.along(g, bucketing_result{}, units.order(), control); }) {
      constexpr int rounds = 8, stalls = 3;
      std::vector<std::uint32_t> order(units.order().begin(), units.order().end());
      const auto price_of = [&](const schedule& one) {
        const timeline line = simulate(g, one, {.validate = false});
        return std::pair(memory ? std::max(line.peak - *memory, bytes(0)) : bytes(0), line.end_to_end);
      };
      auto least = price_of(s);
      const bucketing_result buckets{s.buckets, s.decisions};
      bool better = true;
      for (int round = 0; round < rounds && better; ++round) {
        better = false;
        std::vector<hiding_record> stalled = s.hides;
        std::stable_sort(stalled.begin(), stalled.end(), [](auto& a, auto& b) { return a.exposed > b.exposed; });
        stalled.resize(std::min<std::size_t>(stalled.size(), stalls));
        for (const hiding_record& r : stalled)
          for (int fifths = 5; fifths > 0; --fifths) {  // less where memory does not suffice for more
            if (better || r.exposed == nanoseconds(0) || runs == control.iterations || clock.expired()) break;
            std::vector<std::uint32_t> later =
                detail::deferred_order(g, units, order, units.unit_of(r.collective), r.exposed * fifths / 5);
            if (later == order) break;
            ++runs;
            schedule next = start.along(g, buckets, later, clock.rest());
            const auto price = price_of(next);
            if (!(price < least)) continue;
            least = price;
            next.buckets.swap(s.buckets);  // the units know these
            s = std::move(next);
            order = std::move(later);
            better = true;
          }
      }
    }
    return runs;
  }

  /// A bucket stands where it is launched: at its last member.
  static std::vector<std::uint32_t> order_of_units(const schedule& s, const launch_units& units) {
    std::vector<std::size_t> left(units.size());
    for (std::uint32_t u = 0; u < units.size(); ++u) left[u] = units.tasks(u).size();
    std::vector<std::uint32_t> order;
    for (const task_index t : s.order)
      if (--left[units.unit_of(t)] == 0) order.push_back(units.unit_of(t));
    return order;
  }

  bool try_one(detail::order_walk& walk, random_source& random) const {
    const auto size = static_cast<std::uint32_t>(walk.order().size());
    const auto stalls = walk.stalls();
    // of a few stalls the longest: long ones are looked at more often
    auto chosen = stalls[random.below(stalls.size())];
    for (int i = 0; i < 2; ++i)
      if (const auto other = stalls[random.below(stalls.size())]; other.lasts > chosen.lasts) chosen = other;
    const std::uint32_t at = chosen.place;
    const auto launched = walk.place_of(walk.waits_for(walk.order()[at]));
    const auto distance = static_cast<std::uint32_t>(
        1 + random.below(std::size_t{1} << random.below(std::bit_width(std::size_t{reach}))));
    const auto earlier = [&](std::uint32_t from) { return from > distance ? from - distance : 0; };
    const auto later = [&](std::uint32_t from) { return std::min(from + distance, size - 2); };
    switch (random.below(6)) {
      case 0:
      case 1:
        return walk.pull(launched, earlier(launched), cone);
      case 2:
        return walk.push(at, later(at), cone);
      case 3:
      case 4: {
        const std::uint32_t other = later(at);
        return other > at && walk.pull(other, at, cone);
      }
      default: {
        const auto any = static_cast<std::uint32_t>(random.below(size - 1));
        const std::uint32_t near = random.chance(0.5) ? any : launched;
        return random.chance(0.5) ? walk.pull(near, earlier(near), cone)
                                  : near < later(near) && walk.push(near, later(near), cone);
      }
    }
  }
};

static_assert(scheduler<search<>>);

}  // namespace v0
}  // namespace shardweave

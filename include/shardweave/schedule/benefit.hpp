#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Buckets of the size that gives the best schedule, found by trial.

namespace shardweave::inline v0 {

/// A merged launch saves latency, but costs copies and memory and waits for its last member. Which effect is larger
/// shows only in the schedule: so no buckets, and buckets of several sizes, are each scheduled by `order`, and those of
/// the best price are taken. Sizes are tried from the middle one upward while that helps, then downward likewise.
/// Complexity: a run of `greedy` per size that is tried, and a run of the scheduler where that gives new buckets
template <class Order = prefetch>
struct benefit {
  static constexpr std::string_view name = "benefit";

  Order order = {};
  /// Budget for the peak: of the schedules that are compared, those that keep it are better. It does not limit `order`,
  /// which has a budget of its own.
  std::optional<bytes> memory = std::nullopt;
  /// Sizes of buckets, ascending.
  std::vector<bytes> caps = {mebibytes(6), mebibytes(12), mebibytes(25), mebibytes(50), mebibytes(100)};
  greedy merge = {};  ///< its cap is replaced by each size

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    return best(g, control).buckets;
  }
  /// Buckets and order: the schedule whose price was best.
  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const {
    return best(g, control).order;
  }

 private:
  /// Buckets, and their schedule with its price.
  struct trial {
    bucketing_result buckets;
    schedule order;
    schedule_price price;
  };

  [[nodiscard]] trial best(const task_graph& g, const solve_control& control) const;
};

template <class Order>
auto benefit<Order>::best(const task_graph& g, const solve_control& control) const -> trial {
  const deadline clock(control);
  // a scheduler that uses all the time it is given gets an equal share for each trial
  const bool timed = control.seconds < std::numeric_limits<double>::infinity();
  const auto tried = [&](bucketing_result buckets) {
    solve_control rest = clock.rest();
    if (timed) rest.seconds = std::min(rest.seconds, control.seconds / static_cast<double>(caps.size() + 1));
    schedule s = schedule_tasks(g, buckets, order, rest);
    const schedule_price price = price_of(g, s, memory);
    return trial{std::move(buckets), std::move(s), price};
  };
  trial best = tried({});
  std::vector<decision> refused;
  std::optional<schedule_price> nearby;  // of the last size that was tried with success
  std::vector<std::vector<bucket>> known;
  const auto helps = [&](bytes cap) {
    if (clock.expired()) return false;
    greedy sized = merge;
    sized.cap = cap;
    bucketing_result buckets = sized(g, control);
    if (buckets.buckets.empty() || std::ranges::find(known, buckets.buckets) != known.end()) return false;
    known.push_back(buckets.buckets);
    trial next = tried(std::move(buckets));
    const schedule_price price = next.price;
    if (price < best.price) {
      best = std::move(next);
    } else {
      refused.push_back({.reason = decision_reason::no_gain,
                         .subject = next.buckets.buckets.front().members.front(),
                         .found = price.end_to_end.count(),
                         .limit = best.price.end_to_end.count()});
    }
    if (nearby && !(price < *nearby)) return false;
    nearby = price;
    return true;
  };
  const std::size_t middle = caps.size() / 2;
  if (middle < caps.size()) {
    helps(caps[middle]);
    for (std::size_t i = middle + 1; i < caps.size() && helps(caps[i]); ++i) {
    }
    for (std::size_t i = middle; i-- > 0 && helps(caps[i]);) {
    }
  }
  if (best.buckets.buckets.empty()) {
    best.buckets.decisions.insert(best.buckets.decisions.end(), refused.begin(), refused.end());
    best.order.decisions.insert(best.order.decisions.begin(), refused.begin(), refused.end());
  }
  if (memory) best.order.within_memory = best.price.excess == bytes(0);
  return best;
}

#ifdef SHARDWEAVE_COMPILED
extern template struct benefit<prefetch>;
#endif

static_assert(bucketing_policy<benefit<>> && scheduling_pass<benefit<>>);

}  // namespace shardweave::inline v0

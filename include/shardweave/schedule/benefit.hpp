#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
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
/// Buckets that are worth what they cost, by trial.

namespace shardweave::inline v0 {

/// A merged launch saves latency, but costs copies and memory and has to wait for its last member. Which of the two
/// weighs more is seen only in the schedule: so no buckets, and buckets of several sizes, are each scheduled by
/// `order`, and those with the best price are taken. The sizes are climbed: from the middle one, then larger ones as
/// long as that helps, then smaller ones likewise. With a time limit, of which it takes a quarter, buckets that stall
/// or save little are then taken apart as long as that helps. Complexity: a run of `greedy` and of the scheduler per
/// size that is tried.
template <class Order = prefetch>
struct benefit {
  static constexpr std::string_view name = "benefit";

  Order order = {};
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, as the scheduler's own
  /// Ascending.
  std::vector<bytes> caps = {mebibytes(6), mebibytes(12), mebibytes(25), mebibytes(50), mebibytes(100)};
  greedy merge = {};  ///< all but the cap

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    return best(g, control).buckets;
  }
  /// Buckets and order at once: the schedule by which the buckets were taken.
  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const {
    return best(g, control).order;
  }

 private:
  /// Buckets and the schedule that they were taken for.
  struct trial {
    bucketing_result buckets;
    schedule order;
    schedule_price price;
  };

  [[nodiscard]] trial best(const task_graph& g, const solve_control& control) const;

  static constexpr double trials = 40;  ///< how often the scheduler can be run in the whole time, at least

  /// Takes buckets apart as long as that helps, one after the other: those whose waits stall, the longest first, and
  /// then many at once, those that save the least for what their copies cost.
  template <class Tried, class InTime>
  void thin_out(const task_graph& g, trial& best, Tried tried, InTime in_time) const {
    const auto helps_without = [&](const std::vector<std::size_t>& gone) {
      const std::vector<bucket>& all = best.buckets.buckets;
      bucketing_result rest{{}, best.buckets.decisions};
      for (std::size_t b = 0; b < all.size(); ++b)
        if (std::find(gone.begin(), gone.end(), b) == gone.end()) rest.buckets.push_back(all[b]);
      trial next = tried(std::move(rest));
      if (!(next.price < best.price)) return false;
      best = std::move(next);
      return true;
    };
    constexpr std::size_t stalls = 4;
    for (bool better = true; better && in_time();) {
      better = false;
      std::vector<hiding_record> records = best.order.hides;
      std::stable_sort(records.begin(), records.end(), [](auto& a, auto& b) { return a.exposed > b.exposed; });
      records.resize(std::min(records.size(), stalls));
      for (const hiding_record& r : records)
        for (std::size_t b = 0; b < best.buckets.buckets.size() && !better && in_time(); ++b)
          if (r.exposed > nanoseconds(0) && best.buckets.buckets[b].members.front() == r.collective)
            better = helps_without({b});
    }
    for (std::size_t part = 2; part <= 16 && in_time();) {
      std::vector<std::pair<double, std::size_t>> worth;  // saved per copied
      for (std::size_t b = 0; b < best.buckets.buckets.size(); ++b) {
        const bucket_costs costs = costs_of(g, best.buckets.buckets[b]);
        nanoseconds saved = nanoseconds(0) - costs.duration;
        for (const task_index t : best.buckets.buckets[b].members) saved += g.duration(t);
        worth.emplace_back(static_cast<double>(saved.count()) /
                               static_cast<double>(std::max<std::int64_t>((costs.pack + costs.unpack).count(), 1)),
                           b);
      }
      std::sort(worth.begin(), worth.end());
      std::vector<std::size_t> gone;
      for (std::size_t i = 0; i < worth.size() / part; ++i) gone.push_back(worth[i].second);
      if (gone.empty() || !helps_without(gone)) part *= 2;
    }
  }
};

template <class Order>
auto benefit<Order>::best(const task_graph& g, const solve_control& control) const -> trial {
  const deadline clock(control);
  // a scheduler that takes all the time it is given gets little of it for each trial
  const bool timed = control.seconds < std::numeric_limits<double>::infinity();
  const auto tried = [&](bucketing_result buckets) {
    solve_control rest = clock.rest();
    if (timed) rest.seconds = std::min(rest.seconds, control.seconds / trials);
    schedule s = schedule_tasks(g, buckets, order, rest);
    const schedule_price price = price_of(g, s, memory);
    return trial{std::move(buckets), std::move(s), price};
  };
  trial best = tried({});
  std::vector<decision> refused;
  std::optional<schedule_price> nearby;  // of the best size so far
  const auto helps = [&](bytes cap) {
    if (clock.expired()) return false;
    greedy sized = merge;
    sized.cap = cap;
    bucketing_result buckets = sized(g, control);
    if (buckets.buckets.empty()) return false;
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
  if (timed) thin_out(g, best, tried, [&] { return clock.elapsed() < control.seconds / 4; });
  return best;
}

#ifdef SHARDWEAVE_COMPILED
extern template struct benefit<prefetch>;
#endif

static_assert(bucketing_policy<benefit<>> && scheduling_pass<benefit<>>);

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Buckets that are worth what they cost, by trial.

namespace shardweave {
inline namespace v0 {

/// How good a schedule is: one that keeps the memory budget is better than one that does not; of two that do
/// the one that ends first, of two that do not the one that needs less. Ties go to fewer launches.
struct schedule_price {
  bytes excess;  ///< peak above the budget
  nanoseconds end_to_end;
  std::size_t launches = 0;
  friend bool operator<(const schedule_price& a, const schedule_price& b) {
    return std::tie(a.excess, a.end_to_end, a.launches) < std::tie(b.excess, b.end_to_end, b.launches);
  }
};

/// The price of a schedule by the reference timing. \pre s is valid
[[nodiscard]] inline schedule_price price_of(const task_graph& g, const schedule& s,
                                             std::optional<bytes> memory = std::nullopt) {
  const timeline line = simulate(g, s, {.validate = false});
  return {memory && line.peak > *memory ? line.peak - *memory : bytes(0), line.end_to_end, line.collectives};
}

/// A merged launch saves latency, but costs copies and memory and has to wait for its last member. Which of the two
/// weighs more is seen only in the schedule: so no buckets, and buckets of several sizes, are each scheduled by
/// `order`, and those with the best price are taken. The sizes are climbed: from the middle one, then larger ones as
/// long as that helps, then smaller ones likewise.
/// Complexity: a run of `greedy` and of the scheduler per size that is tried.
template <scheduler Order = prefetch>
struct benefit {
  static constexpr std::string_view name = "benefit";

  Order order = {};
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak, as the scheduler's own
  /// Ascending.
  std::vector<bytes> caps = {mebibytes(6), mebibytes(12), mebibytes(25), mebibytes(50), mebibytes(100)};
  greedy merge = {};  ///< all but the cap

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& control = {}) const {
    const deadline clock(control);
    bucketing_result best;
    schedule_price least = price_of(g, order(g, best, control), memory);
    std::vector<decision> refused;
    std::optional<schedule_price> nearby;  // of the best size so far
    const auto helps = [&](bytes cap) {
      if (clock.expired()) return false;
      greedy sized = merge;
      sized.cap = cap;
      bucketing_result next = sized(g, control);
      if (next.buckets.empty()) return false;
      const schedule_price price = price_of(g, order(g, next, control), memory);
      if (price < least) {
        least = price;
        best = std::move(next);
      } else {
        refused.push_back({.reason = decision_reason::no_gain,
                           .subject = next.buckets.front().members.front(),
                           .found = price.end_to_end.count(),
                           .limit = least.end_to_end.count()});
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
    if (best.buckets.empty()) best.decisions.insert(best.decisions.end(), refused.begin(), refused.end());
    return best;
  }
};

static_assert(bucketing_policy<benefit<>>);

}  // namespace v0
}  // namespace shardweave

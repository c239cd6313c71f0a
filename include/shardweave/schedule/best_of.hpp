#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The best of what several passes make of a task graph.

namespace shardweave::inline v0 {

/// Runs all passes, one after the other, and keeps the schedule with the least `price_of`; of equal ones the first. So
/// it is never worse than any of them. A statistic `PASS_end_ns` per pass tells when its schedule ends. Once a time
/// limit is over, or a stop is requested, no further pass is begun. Complexity: that of all passes together.
///
///     const auto s = best_of(two_steps<greedy, prefetch>(), torch_default()).plan(g);
template <class... Passes>
struct best_of {
  static_assert(sizeof...(Passes) > 0, "best_of needs one pass at least");
  static constexpr std::string_view name = "best_of";

  std::tuple<Passes...> passes = {};
  std::optional<bytes> memory = std::nullopt;  ///< budget for the peak: what keeps it is better than what does not

  best_of() = default;
  explicit best_of(Passes... all) : passes(std::move(all)...) {}

  [[nodiscard]] schedule plan(const task_graph& g, const solve_control& control = {}) const {
    const deadline clock(control);
    std::optional<std::pair<schedule_price, schedule>> best;
    std::vector<statistic> ends;
    const auto run = [&](const auto& pass) {
      if (best && clock.expired()) return;
      schedule next = detail::planned_by(pass, g, clock.rest());
      const schedule_price price = price_of(g, next, memory);
      ends.push_back({std::string(pass.name) + "_end_ns", static_cast<double>(price.end_to_end.count())});
      if (!best || price < best->first) best.emplace(price, std::move(next));
    };
    std::apply([&](const auto&... pass) { (run(pass), ...); }, passes);
    schedule s = std::move(best->second);
    if (memory) s.within_memory = best->first.excess == bytes(0);
    s.statistics.insert(s.statistics.end(), ends.begin(), ends.end());
    return s;
  }
};

}  // namespace shardweave::inline v0

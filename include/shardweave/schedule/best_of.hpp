#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The best schedule of several passes.

namespace shardweave::inline v0 {

/// Runs all passes in sequence and keeps the schedule with the least `price_of`, the first of equal ones, so it is
/// never worse than any of them. A statistic `PASS_end_ns` per pass is the end of its schedule. After a time limit or a
/// stop no further pass is started.
/// Complexity: that of all passes together
///
///     const auto s = best_of(two_steps<greedy, prefetch>(), torch_default()).plan(g);
template <class... Passes>
struct best_of {
  static_assert(sizeof...(Passes) > 0, "best_of needs one pass at least");
  static constexpr std::string_view name = "best_of";

  std::tuple<Passes...> passes = {};
  /// Budget for the peak: a schedule that keeps it is better than one that does not.
  std::optional<bytes> memory = std::nullopt;

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

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <optional>
#include <tuple>

/// \file
/// The comparison of schedules.

namespace shardweave::inline v0 {

/// The quality of a schedule: one that keeps the memory budget is better than one that does not; of two that do, the
/// one that ends first, of two that do not, the one with the smaller peak. Ties go to fewer launches.
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

}  // namespace shardweave::inline v0

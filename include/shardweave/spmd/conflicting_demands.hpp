#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/smallest_conflict.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Why no placement meets a log of demands, in the words of who made them.

namespace shardweave::inline v0 {

namespace detail {

/// A model in which everything possible is free: whether there is any assignment, not which is best.
struct possibility {
  using cost_type = double;
  using edge = compressed_graph::edge_descriptor;
  const spmd_cost_model& model;

  [[nodiscard]] static double only_limits(double cost) {
    return std::isfinite(cost) ? 0 : std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return model.strategy_count(v); }
  [[nodiscard]] double vertex_cost(std::uint32_t, strategy) const { return 0; }
  [[nodiscard]] double edge_cost(edge e, strategy a, strategy b) const { return only_limits(model.edge_cost(e, a, b)); }
  [[nodiscard]] auto producer_classes(edge e) const { return model.producer_classes(e); }
  [[nodiscard]] auto consumer_classes(edge e) const { return model.consumer_classes(e); }
  [[nodiscard]] shardweave::edge_parts<double> edge_parts(edge e, strategy a, strategy b) const {
    return {edge_cost(e, a, b), 0};
  }
  [[nodiscard]] shardweave::edge_parts<double> class_parts(edge e, std::uint32_t a, std::uint32_t b) const {
    const auto parts = model.class_parts(e, a, b);
    return {only_limits(parts.communication + parts.transition), 0};
  }
  [[nodiscard]] std::uint64_t edge_key(edge e) const { return model.edge_key(e); }
};

}  // namespace detail

/// The smallest set of records that no placement can meet together; empty if one meets all, as far as the solver can
/// tell: where it neither finds an assignment nor proves that there is none, the demands count as possible.
///
/// \throws error (constraint) if a record cannot be met whatever the others are, or if there is no placement at all
/// Complexity: one compilation and one solve of a problem without costs per question of `smallest_conflict`
template <class Solver>
[[nodiscard]] std::vector<constraint_log::record> conflicting_demands(const spmd_cost_model& model,
                                                                      const constraint_log& log, const Solver& solver) {
  const auto description = describe(model.graph(), detail::possibility{model});
  const auto& records = log.records();
  const auto holds = [&](std::span<const std::size_t> chosen) {
    std::vector<std::uint32_t> only;
    for (const std::size_t i : chosen) only.push_back(records[i].id);
    auto asked = description;
    if (!only.empty()) asked.constraints = constraints_of(model, log, only);
    bool can_hold = false;
    try_to([&] { can_hold = solver.solve(compile(std::move(asked))).status != solve_status::infeasible; },
           [](const error& e) { return e.category() == error_category::constraint; });
    return can_hold;
  };
  std::vector<constraint_log::record> result;
  for (const std::size_t i : smallest_conflict(records.size(), holds)) result.push_back(records[i]);
  return result;
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/dynamic_program.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Dynamic programs that settle a subproblem.

namespace shardweave::inline v0::detail {

/// A dynamic program over the labels of a problem.
/// \param own       costs of the labels of each variable, in place of the problem's; no rows count
/// \param room, work, is_trial  as `dynamic_program` has them
template <cost_value Cost>
[[nodiscard]] dynamic_program<double> program_over(const compact_problem<Cost>& p,
                                                   std::vector<dynamic_program<double>::choices> own, std::size_t room,
                                                   double work, bool is_trial) {
  dynamic_program<double> program(std::move(own), room, work, is_trial);
  for (const compact_edge& e : p.edges()) {
    const auto& t = p.table(e);
    std::vector<double> costs;
    std::vector<char> allowed;
    for (std::size_t i = 0; i < t.row_classes() && !is_trial; ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        const Cost c = t.class_cost(i, j);
        allowed.push_back(is_forbidden(c) ? 0 : 1);
        costs.push_back(is_forbidden(c) ? 0 : static_cast<double>(c));
      }
    program.add({{e.first, {t.row_class().begin(), t.row_class().end()}},
                 {e.second, {t.column_class().begin(), t.column_class().end()}}},
                {t.row_classes(), t.column_classes()}, std::move(costs), std::move(allowed));
  }
  return program;
}

/// Eliminates all variables, of those that are left the one next whose neighbours have the fewest combinations of
/// labels. \returns the order, or nothing if the program has no room
template <cost_value Cost>
[[nodiscard]] std::optional<std::vector<std::uint32_t>> eliminate_all(const compact_problem<Cost>& p,
                                                                      dynamic_program<double>& program) {
  const auto weight_of = [&](std::uint32_t x) {
    double bits = 0;
    for (const std::uint32_t y : program.around(x)) bits += std::log2(static_cast<double>(p.label_count(y)));
    return bits;
  };
  std::vector<double> weights(p.size());
  std::set<std::pair<double, std::uint32_t>> queue;
  for (std::uint32_t x = 0; x < p.size(); ++x) queue.emplace(weights[x] = weight_of(x), x);
  std::vector<std::uint32_t> order;
  while (!queue.empty()) {
    const std::uint32_t x = queue.begin()->second;
    queue.erase(queue.begin());
    const std::vector<std::uint32_t> around = program.around(x);
    program.eliminate(x, [] { return false; });
    if (!program.has_room()) return std::nullopt;
    order.push_back(x);
    for (const std::uint32_t y : around) {
      queue.erase({weights[y], y});
      queue.emplace(weights[y] = weight_of(y), y);
    }
  }
  return order;
}

/// An order in which a dynamic program eliminates all variables and takes no more than limits; costs play no part.
/// \param room, work  as `dynamic_program` has them
/// \returns nothing if none was found
template <cost_value Cost>
[[nodiscard]] std::optional<std::vector<std::uint32_t>> settling_order(const compact_problem<Cost>& p, std::size_t room,
                                                                       double work) {
  std::vector<dynamic_program<double>::choices> own(p.size());
  for (std::uint32_t x = 0; x < p.size(); ++x) own[x].assign(p.label_count(x), 0.0);
  dynamic_program<double> trial = program_over(p, std::move(own), room, work, true);
  return eliminate_all(p, trial);
}

/// The least cost of a labeling, infinite if none is allowed, by a dynamic program in an order.
/// \param unary    costs of the labels of all variables, in place of the problem's own; no rows count
/// \param order    by `settling_order`
/// \param is_over  ends it
/// \returns nothing if it was ended
template <cost_value Cost, class IsOver>
[[nodiscard]] std::optional<double> least_in_order(const compact_problem<Cost>& p, std::span<const double> unary,
                                                   const std::vector<std::uint32_t>& order, std::size_t room,
                                                   const IsOver& is_over) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<dynamic_program<double>::choices> own(p.size());
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    const auto of = unary.subspan(p.label_start(x), p.label_count(x));
    own[x].assign(of.begin(), of.end());
  }
  dynamic_program<double> program = program_over(p, std::move(own), room, infinity, false);
  for (const std::uint32_t x : order) program.eliminate(x, is_over);
  if (!program.has_room() || is_over()) return std::nullopt;
  return program.least().value_or(infinity);
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Problems for solvers by linear programs.
namespace linear_problems {

namespace sw = shardweave;

using table = sw::cost_table<double>;

/// Variables in a grid with random tables: a relaxation that takes a while.
inline sw::placement_problem<double> grid(std::uint32_t side, std::size_t labels) {
  sw::random_source random(9);
  sw::compact_builder<double> builder;
  for (std::uint32_t x = 0; x < side * side; ++x) {
    std::vector<double> unary(labels);
    for (double& c : unary) c = random.unit();
    builder.add_variable(unary);
  }
  const auto connect = [&](std::uint32_t a, std::uint32_t b) {
    std::vector<double> entries(labels * labels);
    for (double& c : entries) c = random.unit();
    builder.add_edge(a, b, std::make_shared<const table>(table::from_entries(labels, labels, entries)));
  };
  for (std::uint32_t i = 0; i < side; ++i)
    for (std::uint32_t j = 0; j < side; ++j) {
      if (j + 1 < side) connect(i * side + j, i * side + j + 1);
      if (i + 1 < side) connect(i * side + j, (i + 1) * side + j);
    }
  return sw::placement_problem<double>(builder.build());
}

inline double counter(const sw::solve_statistics& statistics, const std::string& name) {
  for (const auto& [key, value] : statistics.counters)
    if (key == name) return value;
  return -1;
}

/// A cycle of odd length whose relaxation is at one half everywhere and costs nothing.
inline sw::placement_problem<double> odd_cycle() {
  sw::compact_builder<double> builder;
  for (int x = 0; x < 5; ++x) builder.add_variable(std::vector<double>{0, 0});
  const auto differ = std::make_shared<const table>(table::from_entries(2, 2, std::vector<double>{1, 0, 0, 1}));
  for (std::uint32_t x = 0; x < 4; ++x) builder.add_edge(x, x + 1, differ);
  builder.add_edge(0, 4, differ);
  return sw::placement_problem<double>(builder.build());
}

}  // namespace linear_problems

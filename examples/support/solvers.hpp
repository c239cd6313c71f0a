#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/solution.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// \file
/// The solvers that a command line can name. In a host program a solver is chosen by its type; here is the thin layer
/// that turns a name into one, in a source of its own: programs that only name solvers need not compile them.

namespace programs {

template <class Cost>
struct named_solver {
  std::string name;
  std::string about;
  std::function<shardweave::solution<Cost>(const shardweave::placement_problem<Cost>&,
                                           const shardweave::solve_control&)>
      solve;
};

/// All of them; the first is the default.
template <class Cost>
[[nodiscard]] std::vector<named_solver<Cost>> solvers();

extern template std::vector<named_solver<double>> solvers<double>();
extern template std::vector<named_solver<std::int64_t>> solvers<std::int64_t>();

}  // namespace programs

// expect: solve
#include <shardweave/solve/exhaustive.hpp>

struct my_solver {
  static constexpr std::string_view name = "mine";
  static constexpr shardweave::solver_abilities abilities{};

  template <shardweave::cost_value Cost>
  shardweave::solution<Cost> solve(const shardweave::placement_problem<Cost>& problem,
                                   const shardweave::solve_control& control = {})
#ifndef SHARDWEAVE_REFUSED
      const
#endif
  {
    return shardweave::exhaustive{}.solve(problem, control);
  }
};

template <shardweave::solver<double> Solver>
void use_solver(const Solver&) {}

void use() { use_solver(my_solver{}); }

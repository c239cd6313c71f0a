// expect: A solver must have static members name and abilities and a const member solve
#include <shardweave/solve/best_plans.hpp>
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

auto three(const shardweave::placement_problem<double>& problem) {
  return shardweave::best_plans(problem, my_solver{}, 3);
}

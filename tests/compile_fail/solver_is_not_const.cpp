// expect: A solver must have static members name and abilities and a const member solve
// doors: 6
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/value_of_limit.hpp>
namespace sw = shardweave;

template <int>
struct my_solver {
  static constexpr std::string_view name = "mine";
#ifndef SHARDWEAVE_REFUSED
  static constexpr sw::solver_abilities abilities{};
#endif

  template <sw::cost_value Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem, const sw::solve_control& control = {})
#ifndef SHARDWEAVE_REFUSED
      const
#endif
  {
    return sw::exhaustive{}.solve(problem, control);
  }
};
using my_problem = sw::placement_problem<double>;

auto three(const my_problem& p) { return sw::best_plans(p, my_solver<0>{}, 3); }
auto small(const my_problem& p) { return sw::by_size(my_solver<1>{}).solve(p); }
auto proven(const my_problem& p) { return sw::first_proven(my_solver<2>{}, sw::exhaustive{}).solve(p); }
auto better(const my_problem& p) { return sw::polished(sw::exhaustive{}, my_solver<3>{}).solve(p); }
auto faster(const my_problem& p) { return sw::race(my_solver<4>{}, sw::exhaustive{}).solve(p); }
auto worth(const sw::placement_description<double>& d, std::span<const double> limits) {
  return sw::value_of_limit(d, "memory", limits, my_solver<5>{});
}

// expect: What makes plans must have a const call .placement, solve_control. that returns a plan with a number .step.
#include <shardweave/step/step_search.hpp>

#include <cstddef>
#include <span>
#include <string_view>
namespace sw = shardweave;
struct own_plan {
#ifdef SHARDWEAVE_REFUSED
  double cost = 0;
#else
  double step = 0;
#endif
};
struct own_planner {
  own_plan operator()(std::span<const sw::strategy>, const sw::solve_control&) const { return {}; }
  own_plan improved(own_plan plan, std::size_t, const sw::solve_control&) const { return plan; }
};
struct own_solver {
  static constexpr std::string_view name = "own";
  static constexpr sw::solver_abilities abilities{};
  sw::solution<double> solve(const sw::placement_problem<double>&, const sw::solve_control&) const { return {}; }
};
auto fastest(const sw::placement_problem<double>& problem, const sw::step_work& work) {
  return sw::search_step(problem, work, work, own_solver{}, own_planner{}, {});
}

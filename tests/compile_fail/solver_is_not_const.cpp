// expect: A solver must have static members name and abilities and a const member solve
// doors: 16
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/sensitivity.hpp>
#include <shardweave/solve/sifted.hpp>
#include <shardweave/solve/value_of_limit.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/step/step_bound.hpp>
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
auto judged(const my_problem& p) { return sw::certified(my_solver<6>{}, my_solver<7>{}).solve(p); }
auto smaller(const my_problem& p) { return sw::reduced(my_solver<8>{}).solve(p); }
auto fewer(const my_problem& p) { return sw::sifted(my_solver<9>{}).solve(p); }
auto nearby(const my_problem& p) { return sw::large_neighbourhood(my_solver<10>{}).solve(p); }
auto forced(const my_problem& p, const sw::solution<double>& known, std::span<const sw::fixed_strategies> demands) {
  return sw::cost_of_forcing(p, known, demands, my_solver<11>{});
}
auto changed(const sw::placement_description<double>& d, const sw::solution<double>& known) {
  return sw::cost_of_constraints(d, known, {}, my_solver<12>{});
}
auto shaped(std::span<const sw::device_mesh> meshes,
            my_problem (*on)(const sw::device_mesh&, const sw::solve_control&)) {
  return sw::search_meshes(meshes, on, my_solver<13>{}, {}, my_solver<14>{});
}
auto bound(const my_problem& p, const sw::step_work& work) { return sw::step_bound(p, work, my_solver<15>{}); }

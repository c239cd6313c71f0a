// expect: The second argument of planner must be a cost model
// expect: The solver of a planner must have static members name and abilities
#include "plain_costs.hpp"
#include <shardweave/planner.hpp>
#include <shardweave/solve/exhaustive.hpp>

#ifdef SHARDWEAVE_REFUSED
struct half_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
};
struct policy {};
#else
using half_costs = plain_costs;
using policy = sw::exhaustive;
#endif

double plan_without_cost_model(const sw::compressed_graph& g) {
  return sw::planner{g, half_costs{}, sw::exhaustive{}}.solve().objective;
}

double plan_without_solver(const sw::compressed_graph& g) {
  return sw::planner{g, plain_costs{}, policy{}}.solve().objective;
}

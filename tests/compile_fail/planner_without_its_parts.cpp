// expect: The second argument of planner must be a cost model
// expect: The solver of a planner must have static members name and abilities
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/exhaustive.hpp>

struct costs {
  using cost_type = double;
  using edge = shardweave::compressed_graph::edge_descriptor;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
  double edge_cost(edge, shardweave::strategy, shardweave::strategy) const { return 0; }
};

#ifdef SHARDWEAVE_REFUSED
struct half_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, shardweave::strategy) const { return 0; }
};
struct policy {};
#else
using half_costs = costs;
using policy = shardweave::exhaustive;
#endif

double plan_without_cost_model(const shardweave::compressed_graph& g) {
  return shardweave::planner{g, half_costs{}, shardweave::exhaustive{}}.solve().objective;
}

double plan_without_solver(const shardweave::compressed_graph& g) {
  return shardweave::planner{g, costs{}, policy{}}.solve().objective;
}

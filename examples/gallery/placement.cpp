// A cost model over an adjacency_list, constraints, the compiled problem, and what an assignment costs.
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/assignment_text.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace sw = shardweave;

struct layer {
  std::string name;
  double flops = 0;
  double megabytes = 0;
};
using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, layer>;

// [model]
struct layer_costs {  // strategy 0: whole on every device; 1: cut over eight devices
  using cost_type = double;
  const graph* g;
  static double share(sw::strategy s) { return s == 0 ? 1 : 1.0 / 8; }

  std::size_t strategy_count(sw::vertex_t<graph>) const { return 2; }
  double vertex_cost(sw::vertex_t<graph> v, sw::strategy s) const { return (*g)[v].flops * share(s); }
  double edge_cost(sw::edge_t<graph>, sw::strategy a, sw::strategy b) const { return a == b ? 0 : 4; }

  // a further ability: memory, with a limit that always holds
  double memory_usage(sw::vertex_t<graph> v, sw::strategy s) const { return (*g)[v].megabytes * share(s); }
  sw::live_interval live(sw::vertex_t<graph>) const { return {0, 1}; }
  double memory_limit() const { return 100; }
  // and words for messages
  std::string strategy_name(sw::vertex_t<graph>, sw::strategy s) const { return s == 0 ? "whole" : "cut"; }
};
static_assert(sw::memory_cost_model<layer_costs, graph> && !sw::overlap_cost_model<layer_costs, graph>);
// [model]

int main() {
  graph g;
  const auto embed = add_vertex({"embed", 8, 60}, g);
  const auto up = add_vertex({"up", 16, 50}, g);
  const auto down = add_vertex({"down", 16, 50}, g);
  add_edge(embed, up, g);
  add_edge(up, down, g);

  // [constraints]
  sw::constraint_set constraints;
  constraints.fixed.push_back({.vertex = 0, .allowed = {0}, .why = "the embedding stays whole"});
  constraints.ties.push_back({.vertices = {1, 2}, .why = "alike layers"});
  const auto problem = sw::compile(sw::describe(g, layer_costs{&g}, constraints, {}, get(&layer::name, g)));
  // [constraints]
  std::printf("%zu vertices are %zu decisions\n", problem.vertex_count(), problem.compact().size());

  // [evaluate]
  const std::vector<sw::strategy> all_whole{0, 0, 0}, cut{0, 1, 1};
  const auto good = sw::evaluate(problem, cut);
  const auto bad = sw::evaluate(problem, all_whole);
  // [evaluate]
  std::printf("cut layers cost %g, and use %g of %g MB\n", good.objective, good.budgets[0].used, good.budgets[0].high);
  std::printf("whole layers: %s\n", bad.violations.front().c_str());

  // [explain]
  const auto& stated = *problem.description();
  const std::string one = to_text(sw::explain(stated, cut, 1), stated);  // what vertex 1 costs, and why
  const std::string both = to_text(sw::diff(stated, all_whole, cut), stated);
  // [explain]
  std::printf("\n%s\n%s\n", one.c_str(), both.c_str());

  constraints.fixed.push_back({.vertex = 1, .allowed = {0}, .why = "the first layer stays whole"});
  constraints.fixed.push_back({.vertex = 2, .allowed = {1}, .why = "the second one is cut"});
  try {
    (void)sw::compile(sw::describe(g, layer_costs{&g}, constraints, {}, get(&layer::name, g)));
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  const bool is_told = one.starts_with("vertex 1 (up) takes strategy cut and costs 6.000") &&
                       both.find("2 of 3 vertices change their strategy") != std::string::npos;
  return good.is_feasible() && good.objective == 8 + 4 + 4 && !bad.is_feasible() && is_told ? 0 : 1;
}

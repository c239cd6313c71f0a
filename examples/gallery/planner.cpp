// A graph of one's own, prices in one struct, and a planner composed of solver policies.
#include <shardweave/shardweave.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdio>
#include <string>

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using vertex = sw::vertex_t<graph>;
using edge = sw::edge_t<graph>;

// [model]
struct my_costs {  // strategy 0 splits by rows, 1 by columns; the unit of costs is the host's own
  using cost_type = double;
  std::size_t strategy_count(vertex) const { return 2; }
  double vertex_cost(vertex v, sw::strategy s) const { return s == v % 2 ? 5 : 8; }
  double edge_cost(edge, sw::strategy producer, sw::strategy consumer) const { return producer == consumer ? 0 : 2; }
};
// [model]

int main() {
  graph g(4);  // 0 -> 1 -> 3, 0 -> 2 -> 3
  add_edge(0, 1, g);
  add_edge(0, 2, g);
  add_edge(1, 3, g);
  add_edge(2, 3, g);

  // [planner]
  const sw::planner planner(g, my_costs{}, sw::trws{});
  const auto quick = planner.solve();
  const auto sure = planner
                        .with(sw::first_proven(sw::reduced(sw::elimination{}),
                                               sw::polished(sw::budgeted(sw::trws{}), sw::local_search{})))
                        .solve({.seconds = 10, .seed = 7});
  // [planner]

  const auto show = [](const char* who, const sw::solution<double>& found) {
    std::string choice;
    for (const sw::strategy s : found.choice) choice += " " + std::to_string(s);
    std::printf("%-6s strategies%s, cost %g, no plan costs less than %g: %s\n", who, choice.c_str(), found.objective,
                found.lower_bound, std::string(sw::name_of(found.status)).c_str());
  };
  show("quick:", quick);
  show("sure:", sure);
  // 0 and 2 by rows, 1 and 3 by columns: all at 5, and two of the four edges change the split
  return sure.status == sw::solve_status::optimal && sure.objective == 24 && quick.objective >= sure.objective ? 0 : 1;
}

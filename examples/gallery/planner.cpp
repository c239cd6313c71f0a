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

// [hides]
/// The same prices; what weights (vertex 2) send may come early, behind computation that does not wait for it.
struct my_overlapped_costs : my_costs {
  const graph* g = nullptr;
  sw::edge_parts<double> edge_parts(edge e, sw::strategy producer, sw::strategy consumer) const {
    return {.communication = edge_cost(e, producer, consumer), .transition = 0};
  }
  sw::hiding hides(edge e) const { return source(e, *g) == 2 ? sw::hiding::earlier : sw::hiding::none; }
};
// [hides]

int main() {
  graph g(4);  // 0 -> 1 -> 3, 0 -> 2 -> 3
  add_edge(0, 1, g);
  add_edge(0, 2, g);
  add_edge(1, 3, g);
  add_edge(2, 3, g);

  // [planner]
  const sw::planner planner(g, my_costs{}, sw::trws{});
  const auto quick = planner.solve();
  const auto sure =
      planner.with(sw::first_proven(sw::reduced(sw::elimination{}), sw::polished(sw::budgeted{}, sw::local_search{})))
          .solve({.seconds = 10, .seed = 7});
  // [planner]

  graph layer(3);  // 0 -> 1, and the weights 2 -> 1, listed after what needs them
  add_edge(0, 1, layer);
  add_edge(2, 1, layer);
  // [counting]
  const sw::planner waiting(layer, my_overlapped_costs{{}, &layer});
  const auto hiding = waiting.counting(sw::savings_form::windows);  // in the graph's stable topological order
  const auto all_waits = waiting.solve(), some_hides = hiding.solve();
  const double saved = hiding.evaluate(some_hides.choice).savings;
  // [counting]

  const auto show = [](const char* who, const sw::solution<double>& found) {
    std::string choice;
    for (const sw::strategy s : found.choice) choice += " " + std::to_string(s);
    std::printf("%-6s strategies%s, cost %g, no plan costs less than %g: %s\n", who, choice.c_str(), found.objective,
                found.lower_bound, std::string(sw::name_of(found.status)).c_str());
  };
  show("quick:", quick);
  show("sure:", sure);
  show("waits:", all_waits);
  show("hides:", some_hides);
  std::printf("what hides: %g\n", saved);
  // 0 and 2 by rows, 1 and 3 by columns: all at 5, and two of the four edges change the split
  const bool is_sure = sure.status == sw::solve_status::optimal && sure.objective == 24;
  // 1 by columns costs two changes of 2, of which one hides behind 0: that beats 8 for 1 by rows
  const bool is_hidden = all_waits.objective == 18 && some_hides.objective == 17 && saved == 2;
  return is_sure && is_hidden && quick.objective >= sure.objective ? 0 : 1;
}

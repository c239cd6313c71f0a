// A host that links the compiled solvers: their definitions are nowhere in what it includes.
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdint>

#ifndef SHARDWEAVE_COMPILED
#error "the target defines it"
#endif

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

template <class Cost>
struct prices {
  using cost_type = Cost;
  std::size_t strategy_count(sw::vertex_t<graph>) const { return 2; }
  Cost vertex_cost(sw::vertex_t<graph> v, sw::strategy s) const { return s == v % 2 ? 5 : 8; }
  Cost edge_cost(sw::edge_t<graph>, sw::strategy producer, sw::strategy consumer) const {
    return producer == consumer ? 0 : 2;
  }
};

int main() {
  graph g(2);
  add_edge(0, 1, g);
  const auto real = sw::planner(g, prices<double>{}).solve();
  const auto whole = sw::planner(g, prices<std::int64_t>{}, sw::trws{}).solve();
  return real.objective == 12.0 && whole.objective == 12 ? 0 : 1;
}

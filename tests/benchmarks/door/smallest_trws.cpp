#include "smallest.hpp"
#include <shardweave/solve/trws.hpp>

int main() {
  graph g(2);
  add_edge(0, 1, g);
  return sw::planner(g, prices{}, sw::trws{}).solve().objective == 12.0 ? 0 : 1;
}

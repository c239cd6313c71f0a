#pragma once

// The smallest host program: a Boost graph, prices in one struct, a planner.
#include <shardweave/planner.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

struct prices {
  using cost_type = double;
  std::size_t strategy_count(sw::vertex_t<graph>) const { return 2; }
  double vertex_cost(sw::vertex_t<graph> v, sw::strategy s) const { return s == v % 2 ? 5 : 8; }
  double edge_cost(sw::edge_t<graph>, sw::strategy producer, sw::strategy consumer) const {
    return producer == consumer ? 0 : 2;
  }
};

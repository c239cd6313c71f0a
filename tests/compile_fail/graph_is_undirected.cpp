// expect: A graph must be a directed graph of Boost.Graph whose vertices, edges and out-edges can be listed
#include <shardweave/graph/stable_order.hpp>

#include <boost/graph/adjacency_list.hpp>

#ifdef SHARDWEAVE_REFUSED
using direction = boost::undirectedS;
#else
using direction = boost::bidirectionalS;
#endif

auto order(const boost::adjacency_list<boost::vecS, boost::vecS, direction>& g) {
  return shardweave::stable_topological_order(g);
}

// expect: A graph must be a directed graph of Boost.Graph whose vertices, edges and out-edges can be listed
#include <shardweave/graph/numbering.hpp>

#include <boost/graph/adjacency_list.hpp>

struct my_graph : boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> {
#ifdef SHARDWEAVE_REFUSED
  struct traversal_category : boost::vertex_list_graph_tag, boost::incidence_graph_tag {};
#endif
};

auto number(const my_graph& g) { return shardweave::vertex_numbering<my_graph>(g); }

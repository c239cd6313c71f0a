// expect: A graph must be a directed graph of Boost.Graph whose vertices, edges and out-edges can be listed
#include <shardweave/graph/numbering.hpp>

#include <boost/graph/adjacency_list.hpp>

#ifdef SHARDWEAVE_REFUSED
using given = int;
#else
using given = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
#endif

auto number(const given& g) { return shardweave::vertex_numbering<given>(g); }

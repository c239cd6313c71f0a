#include "support/user_graph.hpp"
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/adjacency_matrix.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/property_map/property_map.hpp>

#include <concepts>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

template <class Out, class Vertices, class Direction>
using list = boost::adjacency_list<Out, Vertices, Direction>;
using directed = list<boost::vecS, boost::vecS, boost::directedS>;
using bidirectional = list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using linked = list<boost::listS, boost::listS, boost::bidirectionalS>;
using undirected = list<boost::vecS, boost::vecS, boost::undirectedS>;
using rows = boost::compressed_sparse_row_graph<boost::directedS>;

// what is a graph
static_assert(sw::planning_graph<directed> && sw::planning_graph<bidirectional> && sw::planning_graph<linked>);
static_assert(sw::planning_graph<list<boost::setS, boost::listS, boost::directedS>>);
static_assert(sw::planning_graph<rows> && sw::planning_graph<sw::compressed_graph>);
static_assert(sw::planning_graph<boost::reverse_graph<bidirectional>>);
static_assert(sw::planning_graph<boost::filtered_graph<directed, boost::keep_all, boost::keep_all>>);
static_assert(sw::planning_graph<test_support::user_graph>);

// what is not: the question has an answer, where Boost's own traits are a hard error
struct not_a_graph {};
struct half_a_graph {
  using vertex_descriptor = int;
  using edge_descriptor = int;
  using directed_category = boost::directed_tag;
};
static_assert(!sw::planning_graph<int> && !sw::planning_graph<int*> && !sw::planning_graph<void>);
static_assert(!sw::planning_graph<not_a_graph> && !sw::planning_graph<half_a_graph>);
static_assert(!sw::planning_graph<std::string> && !sw::planning_graph<std::vector<std::vector<int>>>);
static_assert(!sw::planning_graph<undirected>);

// all members, none of the functions
struct promises_only {
  using vertex_descriptor = int;
  using edge_descriptor = int;
  using directed_category = boost::directed_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::vertex_list_graph_tag, boost::edge_list_graph_tag, boost::incidence_graph_tag {};
};
static_assert(sw::enable_graph<promises_only> && !sw::planning_graph<promises_only>);

// tags decide before calls do
using matrix = boost::adjacency_matrix<boost::directedS>;
using filtered = boost::filtered_graph<directed, boost::keep_all, boost::keep_all>;
static_assert(sw::planning_graph<matrix> && sw::traversable_graph<matrix, boost::adjacency_matrix_tag>);
static_assert(requires(const filtered& g, sw::vertex_t<filtered> v) { in_edges(v, g); });  // declared ...
static_assert(!sw::traversable_graph<filtered, boost::bidirectional_graph_tag>);           // ... but not promised
static_assert(sw::traversable_graph<bidirectional, boost::bidirectional_graph_tag>);
static_assert(!sw::traversable_graph<int, boost::bidirectional_graph_tag>);

// maps
using numbers = std::vector<double>;
using index = boost::typed_identity_property_map<std::size_t>;
using over_data = boost::iterator_property_map<numbers::iterator, index>;
using over_const_data = boost::iterator_property_map<numbers::const_iterator, index, double, const double&>;
using over_a_table = boost::associative_property_map<std::map<std::size_t, double>>;
static_assert(sw::readable_map<over_data, std::size_t> && sw::writable_map<over_data, std::size_t, double>);
static_assert(sw::readable_map<over_const_data, std::size_t> &&
              !sw::writable_map<over_const_data, std::size_t, double>);
static_assert(sw::readable_map<over_a_table, std::size_t> && sw::writable_map<over_a_table, std::size_t, double>);
static_assert(sw::readable_map<index, std::size_t> && !sw::writable_map<index, std::size_t, std::size_t>);
static_assert(!sw::readable_map<numbers, std::size_t> && !sw::writable_map<numbers, std::size_t, double>);
static_assert(!sw::readable_map<int, std::size_t> && !sw::readable_map<over_data, std::string>);
static_assert(!sw::writable_map<over_data, std::size_t, std::string>);
static_assert(!sw::writable_map<over_data, std::string, double> && sw::readable_map<over_data, unsigned>);
using constant = boost::static_property_map<double>;  // ignores its key
static_assert(sw::readable_map<constant, std::size_t> && sw::readable_map<constant, std::string>);
static_assert(!sw::writable_map<constant, std::size_t, double>);
static_assert(std::same_as<sw::map_value_t<over_data>, double>);

}  // namespace

// Algorithms take any directed graph of Boost.Graph; the compressed form is the one on which they compute.
#include <shardweave/core/error.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstdio>
#include <string>

namespace sw = shardweave;

// [graphs]
// vertices in a list: descriptors are pointers, and no vertex has a number
using host_graph = boost::adjacency_list<boost::vecS, boost::listS, boost::directedS, std::string>;
static_assert(sw::planning_graph<host_graph>);
static_assert(!sw::planning_graph<std::string>);  // an answer, not a page of errors
// [graphs]

int main() {
  host_graph g;
  const auto loss = add_vertex(std::string("loss"), g);
  const auto weight = add_vertex(std::string("weight"), g);
  const auto product = add_vertex(std::string("product"), g);
  add_edge(weight, product, g);
  add_edge(weight, product, g);  // used twice: parallel edges are real
  add_edge(product, loss, g);

  // [order]
  std::string order;
  for (const auto v : sw::stable_topological_order(g)) order += g[v] + " ";
  // [order]
  std::printf("order: %s\n", order.c_str());

  // [compress]
  const sw::vertex_numbering number(g);  // 0, 1, ... in the order of vertices(g)
  const sw::compressed_graph flat = sw::compress(g, number);
  const std::size_t uses = flat.in(number(product)).size();
  // [compress]
  std::printf("product has %zu inputs; %zu vertices, %zu edges\n", uses, num_vertices(flat), num_edges(flat));

  add_edge(loss, weight, g);
  try {
    (void)sw::stable_topological_order(g);
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  return order == "weight product loss " && uses == 2 ? 0 : 1;
}

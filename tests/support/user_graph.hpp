#pragma once

#include <shardweave/graph/concepts.hpp>

#include <boost/graph/graph_traits.hpp>

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// A graph type as a host has it: no member types, its traits are a specialization, its vertices are numbered
/// from 10 in steps of 10.

namespace test_support {

struct user_edge {
  int from = 0;
  int to = 0;
  friend bool operator==(const user_edge&, const user_edge&) = default;
};

struct user_graph {
  std::vector<int> names;        ///< 10, 20, 30, ...
  std::vector<user_edge> wires;  ///< sorted by `from`

  explicit user_graph(int vertex_count) {
    for (int v = 1; v <= vertex_count; ++v) names.push_back(10 * v);
  }
  /// Wires must be added in the order of their sources.
  void add(int from, int to) { wires.push_back({from, to}); }
};

}  // namespace test_support

template <>
struct boost::graph_traits<test_support::user_graph> {
  using vertex_descriptor = int;
  using edge_descriptor = test_support::user_edge;
  using directed_category = boost::directed_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  struct traversal_category : boost::vertex_list_graph_tag, boost::edge_list_graph_tag, boost::incidence_graph_tag {};
  using vertex_iterator = std::vector<int>::const_iterator;
  using edge_iterator = std::vector<test_support::user_edge>::const_iterator;
  using out_edge_iterator = edge_iterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return -1; }
};

template <>
inline constexpr bool shardweave::enable_graph<test_support::user_graph> = true;

namespace test_support {

inline std::size_t num_vertices(const user_graph& g) { return g.names.size(); }
inline std::size_t num_edges(const user_graph& g) { return g.wires.size(); }
inline auto vertices(const user_graph& g) { return std::pair(g.names.begin(), g.names.end()); }
inline auto edges(const user_graph& g) { return std::pair(g.wires.begin(), g.wires.end()); }
inline auto out_edges(int v, const user_graph& g) {
  auto first = g.wires.begin();
  while (first != g.wires.end() && first->from != v) ++first;
  auto last = first;
  while (last != g.wires.end() && last->from == v) ++last;
  return std::pair(first, last);
}
inline std::size_t out_degree(int v, const user_graph& g) {
  const auto [first, last] = out_edges(v, g);
  return static_cast<std::size_t>(last - first);
}
inline int source(const user_edge& e, const user_graph&) { return e.from; }
inline int target(const user_edge& e, const user_graph&) { return e.to; }

}  // namespace test_support

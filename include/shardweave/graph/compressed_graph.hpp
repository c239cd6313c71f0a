#pragma once

#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>

#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A graph in flat arrays, with in-edges and numbered edges: the form on which the library computes.

namespace shardweave::inline v0 {

/// A directed graph on vertices 0..n-1 and edges 0..m-1 that does not change. Models Boost.Graph's vertex
/// list, edge list and bidirectional graph. Out-edges and in-edges of a vertex come in the order of their
/// indices; parallel edges are kept. 36 bytes per edge, 8 per vertex.
class compressed_graph {
 public:
  using vertex_descriptor = std::uint32_t;
  /// An edge by its ends and its number in the order in which edges were given.
  struct edge_descriptor {
    vertex_descriptor source = 0;
    vertex_descriptor target = 0;
    std::uint32_t index = 0;
    friend bool operator==(const edge_descriptor&, const edge_descriptor&) = default;
  };
  using directed_category = boost::bidirectional_tag;
  using edge_parallel_category = boost::allow_parallel_edge_tag;
  /// What algorithms of Boost.Graph may ask of it.
  struct traversal_category : boost::vertex_list_graph_tag,
                              boost::edge_list_graph_tag,
                              boost::bidirectional_graph_tag {};
  using vertex_iterator = boost::counting_iterator<vertex_descriptor>;
  using edge_iterator = const edge_descriptor*;
  using out_edge_iterator = const edge_descriptor*;
  using in_edge_iterator = const edge_descriptor*;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;

  compressed_graph() : compressed_graph(0, {}) {}

  /// \param ends  source and target of edge 0, 1, ...
  /// \throws error naming an edge whose end is not a vertex
  /// Complexity: O(V + E)
  compressed_graph(std::size_t vertex_count, std::span<const std::pair<std::uint32_t, std::uint32_t>> ends);

  [[nodiscard]] std::size_t vertex_count() const { return out_start_.size() - 1; }
  [[nodiscard]] std::span<const edge_descriptor> all_edges() const { return edges_; }
  /// \pre v < vertex_count()
  [[nodiscard]] std::span<const edge_descriptor> out(vertex_descriptor v) const {
    return std::span(out_).subspan(out_start_[v], out_start_[v + 1] - out_start_[v]);
  }
  /// \pre v < vertex_count()
  [[nodiscard]] std::span<const edge_descriptor> in(vertex_descriptor v) const {
    return std::span(in_).subspan(in_start_[v], in_start_[v + 1] - in_start_[v]);
  }

  // Boost.Graph's free functions, found by argument-dependent lookup
  friend std::size_t num_vertices(const compressed_graph& g) { return g.vertex_count(); }
  friend std::size_t num_edges(const compressed_graph& g) { return g.edges_.size(); }
  friend std::pair<vertex_iterator, vertex_iterator> vertices(const compressed_graph& g) {
    return {vertex_iterator(0), vertex_iterator(static_cast<vertex_descriptor>(g.vertex_count()))};
  }
  friend std::pair<edge_iterator, edge_iterator> edges(const compressed_graph& g) {
    return {g.edges_.data(), g.edges_.data() + g.edges_.size()};
  }
  friend std::pair<out_edge_iterator, out_edge_iterator> out_edges(vertex_descriptor v, const compressed_graph& g) {
    return {g.out_.data() + g.out_start_[v], g.out_.data() + g.out_start_[v + 1]};
  }
  friend std::pair<in_edge_iterator, in_edge_iterator> in_edges(vertex_descriptor v, const compressed_graph& g) {
    return {g.in_.data() + g.in_start_[v], g.in_.data() + g.in_start_[v + 1]};
  }
  friend std::size_t out_degree(vertex_descriptor v, const compressed_graph& g) { return g.out(v).size(); }
  friend std::size_t in_degree(vertex_descriptor v, const compressed_graph& g) { return g.in(v).size(); }
  friend std::size_t degree(vertex_descriptor v, const compressed_graph& g) { return g.out(v).size() + g.in(v).size(); }
  friend vertex_descriptor source(const edge_descriptor& e, const compressed_graph&) { return e.source; }
  friend vertex_descriptor target(const edge_descriptor& e, const compressed_graph&) { return e.target; }
  friend boost::typed_identity_property_map<vertex_descriptor> get(boost::vertex_index_t, const compressed_graph&) {
    return {};
  }

 private:
  std::vector<edge_descriptor> edges_;
  std::vector<edge_descriptor> out_;
  std::vector<edge_descriptor> in_;
  std::vector<std::uint32_t> out_start_;
  std::vector<std::uint32_t> in_start_;
};

/// The compressed form of any graph: vertex i is the i-th of `vertices(g)`, edge j the j-th of `edges(g)`.
/// Complexity: O(V + E)
template <class G>
[[nodiscard]] compressed_graph compress(const G& g, const vertex_numbering<G>& numbering) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  if constexpr (planning_graph<G>) {
    ends.reserve(num_edges(g));
    for (auto [e, last] = edges(g); e != last; ++e)
      ends.emplace_back(numbering(source(*e, g)), numbering(target(*e, g)));
  }
  return compressed_graph(numbering.size(), ends);
}

template <class G>
[[nodiscard]] compressed_graph compress(const G& g) {
  return compress(g, vertex_numbering<G>(g));
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/graph/impl/compressed_graph.hpp>
#endif

#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>

#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Layers that a graph repeats, found by its structure.

namespace shardweave::inline v0 {

/// What is taken for a layer.
struct layer_options {
  std::size_t least = 8;  ///< vertices that a layer has in common with others; what is smaller is taken for chance
};

/// Groups of vertices that play the same part in layers that follow one another: the same content, corresponding
/// arguments, one of each layer. Layers of several kinds are told apart where they differ; what they have in common,
/// such as the attention of layers with different feed-forward parts, is one group. Copies side by side, of which none
/// passes a value to another, are not layers.
///
/// Where one layer ends and the next begins is nowhere written: it is where the fewest values pass. What stands before
/// the first layer or behind the last one and looks like a part of one more is left out: all layers are whole.
///
/// \param g        in-edges of a vertex come in the order of its arguments
/// \param content  equal for vertices that do the same by themselves
/// \return  groups of two or more, ascending; the same for every numbering of the vertices
/// \throws error naming a vertex on a cycle, or if `content` has another size than the graph
/// Complexity: O((V + E) log V) for every kind of layer, and for its cuts up to quadratic in the size of one layer
[[nodiscard]] std::vector<std::vector<std::uint32_t>> repeated_layers(const compressed_graph& g,
                                                                      std::span<const std::uint64_t> content,
                                                                      const layer_options& options = {});

/// The same for any graph, as descriptors.
/// \param content   of vertices, as numbers
/// \param argument  of edges, as numbers: which argument of its target an edge is
template <planning_graph G, readable_map<vertex_t<G>> Content, readable_map<edge_t<G>> Argument>
[[nodiscard]] std::vector<std::vector<vertex_t<G>>> repeated_layers(const G& g, Content content, Argument argument,
                                                                    const layer_options& options = {}) {
  const vertex_numbering<G> numbering(g);
  std::vector<std::tuple<std::uint32_t, map_value_t<Argument>, std::uint32_t>> uses;
  for (auto [e, last] = edges(g); e != last; ++e)
    uses.emplace_back(numbering(target(*e, g)), get(argument, *e), numbering(source(*e, g)));
  std::ranges::sort(uses);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const auto& [to, position, from] : uses) ends.emplace_back(from, to);
  std::vector<std::uint64_t> contents;
  for (std::size_t v = 0; v < numbering.size(); ++v)
    contents.push_back(static_cast<std::uint64_t>(get(content, numbering[v])));
  std::vector<std::vector<vertex_t<G>>> groups;
  for (const auto& group : repeated_layers(compressed_graph(numbering.size(), ends), contents, options)) {
    std::vector<vertex_t<G>>& named = groups.emplace_back();
    for (const std::uint32_t v : group) named.push_back(numbering[v]);
  }
  return groups;
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/graph/impl/repeated_layers.hpp>
#endif

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What the vertices of an assignment cost, and why.

namespace shardweave {
inline namespace v0 {

/// What an assignment pays at a vertex: its computation, and what its inputs cost. Over all vertices that adds up to
/// the objective.
template <cost_value Cost>
struct vertex_price {
  cost_parts<Cost> parts;  ///< with forbidden parts as such
  Cost hidden{};           ///< of the communication of its inputs
  /// \pre nothing of it is forbidden, or the sum is
  [[nodiscard]] constexpr Cost total() const {
    return is_forbidden(parts.total()) ? forbidden<Cost> : parts.total() - hidden;
  }
  friend constexpr bool operator==(const vertex_price&, const vertex_price&) = default;
};

/// What an edge costs between the strategies of its ends.
template <cost_value Cost>
[[nodiscard]] edge_parts<Cost> parts_of_edge(const placement_description<Cost>& d, std::span<const strategy> choice,
                                             std::size_t edge) {
  const described_edge& e = d.edges[edge];
  const auto price = [&](std::uint32_t table) {
    return table == no_table ? Cost{} : (*d.tables[table])(choice[e.from], choice[e.to]);
  };
  return {price(e.communication), price(e.transition)};
}

/// The price of every vertex.
/// \param priced  what `evaluate` says of the same assignment
/// Complexity: O(vertices + edges)
template <cost_value Cost>
[[nodiscard]] std::vector<vertex_price<Cost>> vertex_prices(const placement_description<Cost>& d,
                                                            std::span<const strategy> choice,
                                                            const evaluation<Cost>& priced) {
  std::vector<vertex_price<Cost>> prices(d.vertices.size());
  for (std::size_t v = 0; v < prices.size(); ++v) prices[v].parts.compute = d.vertices[v].compute[choice[v]];
  for (std::size_t e = 0; e < d.edges.size(); ++e) {
    vertex_price<Cost>& p = prices[d.edges[e].to];
    const edge_parts<Cost> parts = parts_of_edge(d, choice, e);
    p.parts.communication = plus(p.parts.communication, parts.communication);
    p.parts.transition = plus(p.parts.transition, parts.transition);
    if (!priced.hidden.empty()) p.hidden += priced.hidden[e];
  }
  return prices;
}

/// An edge of a vertex, with what of its communication is hidden and which vertices hide it, by position.
template <cost_value Cost>
struct explained_edge {
  std::uint32_t edge = 0;
  edge_parts<Cost> parts;
  Cost hidden{};
  std::vector<hidden_part<Cost>> behind = {};  ///< one a vertex
};

/// A vertex of an assignment explained.
template <cost_value Cost>
struct vertex_explanation {
  std::uint32_t vertex = 0;
  strategy chosen = 0;
  vertex_price<Cost> price = {};                   ///< computation and inputs
  std::vector<explained_edge<Cost>> inputs = {};   ///< in the order of edges
  std::vector<explained_edge<Cost>> outputs = {};  ///< paid by their consumers
  std::vector<hidden_part<Cost>> hides = {};       ///< one an edge, whose communication its computation hides
};

/// What a vertex costs, edge by edge, and what hides behind what. Where several assignments of computation to
/// communication save the same, it is the one that `evaluate` counts.
/// \throws error (input) for a vertex that does not exist, and as `evaluate`
/// Complexity: as `evaluate`
template <cost_value Cost>
[[nodiscard]] vertex_explanation<Cost> explain(const placement_description<Cost>& d, std::span<const strategy> choice,
                                               std::uint32_t vertex) {
  const evaluation<Cost> priced = evaluate(d, choice);
  if (vertex >= d.vertices.size())
    refuse(error_category::input, "vertex " + std::to_string(vertex) + " is to be explained, but there are only " +
                                      std::to_string(d.vertices.size()));
  vertex_explanation<Cost> result{
      .vertex = vertex, .chosen = choice[vertex], .price = vertex_prices(d, choice, priced)[vertex]};
  std::map<std::uint32_t, std::map<std::uint32_t, Cost>> behind;  // per edge of the vertex, per position
  std::map<std::uint32_t, Cost> hides;
  for (const hidden_part<Cost>& part : hidden_parts(d, choice)) {
    if (d.edges[part.edge].from == vertex || d.edges[part.edge].to == vertex)
      behind[part.edge][part.behind] += part.amount;
    if (part.behind == vertex) hides[part.edge] += part.amount;
  }
  for (std::uint32_t e = 0; e < d.edges.size(); ++e) {
    if (d.edges[e].from != vertex && d.edges[e].to != vertex) continue;
    explained_edge<Cost> told{.edge = e, .parts = parts_of_edge(d, choice, e)};
    if (!priced.hidden.empty()) told.hidden = priced.hidden[e];
    for (const auto& [at, amount] : behind[e]) told.behind.push_back({e, at, amount});
    if (d.edges[e].to == vertex) result.inputs.push_back(told);
    if (d.edges[e].from == vertex) result.outputs.push_back(std::move(told));
  }
  for (const auto& [edge, amount] : hides) result.hides.push_back({edge, vertex, amount});
  return result;
}

}  // namespace v0
}  // namespace shardweave

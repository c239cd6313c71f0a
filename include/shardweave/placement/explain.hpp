#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Cost contributions of the vertices of an assignment, and of their other strategies.

namespace shardweave::inline v0 {

/// The contribution of a vertex to the objective: its computation, and the cost of its inputs. Contributions of all
/// vertices add up to the objective.
template <cost_value Cost>
struct vertex_price {
  cost_parts<Cost> parts;  ///< forbidden parts stay forbidden
  Cost hidden{};           ///< hidden communication of its inputs
  /// \pre no part is forbidden, or the sum is
  [[nodiscard]] constexpr Cost total() const {
    return is_forbidden(parts.total()) ? forbidden<Cost> : parts.total() - hidden;
  }
  friend constexpr bool operator==(const vertex_price&, const vertex_price&) = default;
};

/// The cost of an edge under the strategies of its ends.
template <cost_value Cost>
[[nodiscard]] edge_parts<Cost> parts_of_edge(const placement_description<Cost>& d, std::span<const strategy> choice,
                                             std::size_t edge) {
  const described_edge& e = d.edges[edge];
  const auto price = [&](std::uint32_t table) {
    return table == no_table ? Cost{} : (*d.tables[table])(choice[e.from], choice[e.to]);
  };
  return {price(e.communication), price(e.transition)};
}

/// The contribution of every vertex.
/// \param priced  the result of `evaluate` for the same assignment
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

namespace detail {

template <cost_value Cost>
void require_vertex(const placement_description<Cost>& d, std::uint32_t vertex) {
  if (vertex >= d.vertices.size())
    refuse(error_category::input, "vertex " + std::to_string(vertex) + " is to be explained, but there are only " +
                                      std::to_string(d.vertices.size()));
}

}  // namespace detail

/// An edge of a vertex, with its hidden communication and the vertices that hide it, by position.
template <cost_value Cost>
struct explained_edge {
  std::uint32_t edge = 0;
  edge_parts<Cost> parts;
  Cost hidden{};
  std::vector<hidden_part<Cost>> behind = {};  ///< one per vertex
};

/// The explanation of a vertex of an assignment.
template <cost_value Cost>
struct vertex_explanation {
  std::uint32_t vertex = 0;
  strategy chosen = 0;
  vertex_price<Cost> price = {};                   ///< computation and inputs
  std::vector<explained_edge<Cost>> inputs = {};   ///< in the order of edges
  std::vector<explained_edge<Cost>> outputs = {};  ///< counted at their consumers
  std::vector<hidden_part<Cost>> hides = {};       ///< one per edge whose communication its computation hides
};

/// Explains the cost of a vertex, edge by edge, and what hides behind what. If several ways to hide save the same, it
/// is that of `evaluate`.
/// \throws error (input) for a vertex that does not exist, and as `evaluate`
/// Complexity: as `evaluate`
template <cost_value Cost>
[[nodiscard]] vertex_explanation<Cost> explain(const placement_description<Cost>& d, std::span<const strategy> choice,
                                               std::uint32_t vertex) {
  const evaluation<Cost> priced = evaluate(d, choice);
  detail::require_vertex(d, vertex);
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

/// An alternative strategy of a vertex, while all others keep theirs.
template <cost_value Cost>
struct alternative {
  Cost compute{};
  std::vector<edge_parts<Cost>> inputs = {};   ///< in the order of `vertex_alternatives::inputs`
  std::vector<edge_parts<Cost>> outputs = {};  ///< counted at their consumers
  /// Change of the objective, with savings and tied vertices; `forbidden` if the new or the present assignment is.
  Cost change{};
  std::vector<std::string> breaks = {};  ///< violations that the present assignment does not have, as in `evaluate`
};

/// All strategies of a vertex, for comparison.
template <cost_value Cost>
struct vertex_alternatives {
  std::uint32_t vertex = 0;
  strategy chosen = 0;
  std::vector<std::uint32_t> along = {};   ///< vertices that are tied to it and change with it
  std::vector<std::uint32_t> inputs = {};  ///< edges, in their order
  std::vector<std::uint32_t> outputs = {};
  std::vector<alternative<Cost>> strategies = {};  ///< one per strategy
};

namespace detail {

/// The vertices tied to one, including itself.
template <cost_value Cost>
[[nodiscard]] std::set<std::uint32_t> tied_to(const placement_description<Cost>& d, std::uint32_t vertex) {
  const std::vector<std::uint32_t> leader = tie_leaders(d.vertices.size(), d.constraints.ties);
  std::set<std::uint32_t> together;
  for (std::uint32_t v = 0; v < leader.size(); ++v)
    if (leader[v] == leader[vertex]) together.insert(v);
  return together;
}

}  // namespace detail

/// Compares all strategies of a vertex: the change of its costs and of the objective, and violated constraints, if no
/// other vertex changes its strategy but those tied to it. The cost if the others may adapt requires a solver:
/// `cost_of_forcing`.
/// \throws error (input) for a vertex that does not exist, and as `evaluate`
/// Complexity: as `evaluate`, once per strategy
template <cost_value Cost>
[[nodiscard]] vertex_alternatives<Cost> alternatives(const placement_description<Cost>& d,
                                                     std::span<const strategy> choice, std::uint32_t vertex) {
  const evaluation<Cost> now = evaluate(d, choice);
  detail::require_vertex(d, vertex);
  const std::set<std::uint32_t> together = detail::tied_to(d, vertex);
  vertex_alternatives<Cost> result{.vertex = vertex, .chosen = choice[vertex]};
  for (const std::uint32_t v : together)
    if (v != vertex) result.along.push_back(v);
  for (std::uint32_t e = 0; e < d.edges.size(); ++e) {
    if (d.edges[e].to == vertex) result.inputs.push_back(e);
    if (d.edges[e].from == vertex) result.outputs.push_back(e);
  }
  std::vector<strategy> moved(choice.begin(), choice.end());
  for (strategy s = 0; s < d.vertices[vertex].compute.size(); ++s) {
    for (const std::uint32_t v : together) moved[v] = s;
    alternative<Cost> other{.compute = d.vertices[vertex].compute[s]};
    for (const std::uint32_t e : result.inputs) other.inputs.push_back(parts_of_edge(d, moved, e));
    for (const std::uint32_t e : result.outputs) other.outputs.push_back(parts_of_edge(d, moved, e));
    const evaluation<Cost> then = evaluate(d, moved);
    const bool is_priced = !is_forbidden(now.objective) && !is_forbidden(then.objective);
    other.change = is_priced ? then.objective - now.objective : forbidden<Cost>;
    for (const std::string& broken : then.violations)
      if (std::find(now.violations.begin(), now.violations.end(), broken) == now.violations.end())
        other.breaks.push_back(broken);
    result.strategies.push_back(std::move(other));
  }
  return result;
}

}  // namespace shardweave::inline v0

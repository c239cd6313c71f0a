#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What one vertex of an assignment costs, and why.

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

/// How much of something hides at the other side: communication behind a vertex, or of an edge behind computation.
template <cost_value Cost>
struct hidden_share {
  std::uint32_t at = 0;  ///< the vertex, or the edge
  Cost amount{};
};

/// An edge of a vertex, with what of its communication is hidden and which vertices hide it, by position.
template <cost_value Cost>
struct explained_edge {
  std::uint32_t edge = 0;
  edge_parts<Cost> parts;
  Cost hidden{};
  std::vector<hidden_share<Cost>> behind = {};
};

/// A vertex of an assignment explained.
template <cost_value Cost>
struct vertex_explanation {
  std::uint32_t vertex = 0;
  strategy chosen = 0;
  vertex_price<Cost> price = {};                   ///< computation and inputs
  std::vector<explained_edge<Cost>> inputs = {};   ///< in the order of edges
  std::vector<explained_edge<Cost>> outputs = {};  ///< paid by their consumers
  std::vector<hidden_share<Cost>> hides = {};      ///< the edges whose communication its computation hides
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
  if (d.counted != savings_form::off) {
    const detail::hiding_question<Cost> asked(d, choice);
    for (const hidden_piece<Cost>& piece : hide_in_pieces(asked.computation, asked.demands)) {
      if (!(piece.amount > Cost{})) continue;
      const auto edge = static_cast<std::uint32_t>(asked.places[piece.demand].edge);
      if (d.edges[edge].from == vertex || d.edges[edge].to == vertex)
        behind[edge][static_cast<std::uint32_t>(piece.position)] += piece.amount;
      if (piece.position == vertex) hides[edge] += piece.amount;
    }
  }
  for (std::uint32_t e = 0; e < d.edges.size(); ++e) {
    if (d.edges[e].from != vertex && d.edges[e].to != vertex) continue;
    explained_edge<Cost> told{.edge = e, .parts = parts_of_edge(d, choice, e)};
    if (!priced.hidden.empty()) told.hidden = priced.hidden[e];
    for (const auto& [at, amount] : behind[e]) told.behind.push_back({at, amount});
    if (d.edges[e].to == vertex) result.inputs.push_back(told);
    if (d.edges[e].from == vertex) result.outputs.push_back(std::move(told));
  }
  for (const auto& [edge, amount] : hides) result.hides.push_back({edge, amount});
  return result;
}

/// The explanation for people: what the vertex costs by part, then its edges, then what hides behind it. Of what hides
/// together, the largest `most` are named.
template <cost_value Cost>
[[nodiscard]] std::string to_text(const vertex_explanation<Cost>& told, const placement_description<Cost>& d,
                                  std::size_t most = 3) {
  const auto cost = [](Cost c) { return is_forbidden(c) ? std::string("forbidden") : detail::cost_text(c); };
  const auto largest = [&](std::vector<hidden_share<Cost>> shares, auto name) {
    std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.amount > b.amount; });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, shares.size()); ++i)
      text += (i > 0 ? ", " : "") + name(shares[i].at) + " " + cost(shares[i].amount);
    if (shares.size() > most) text += " and " + count_text(shares.size() - most) + " more";
    return text;
  };
  const bool counts = d.counted != savings_form::off;
  const std::string unit = d.unit.empty() ? "" : " " + d.unit;
  std::string text = d.name_of(told.vertex) + " takes strategy " + d.name_of_strategy(told.vertex, told.chosen) +
                     " and costs " + cost(told.price.total()) + unit + "\n";
  const text_table::column number{"", text_side::right};
  text_table parts({{}, number});
  parts.row({"computation", cost(told.price.parts.compute)});
  parts.row({"communication of inputs", cost(told.price.parts.communication)});
  parts.row({"transition of inputs", cost(told.price.parts.transition)});
  if (counts) parts.row({"less savings of inputs", cost(told.price.hidden)});
  text += parts.text(2);
  const auto edges = [&](const char* heading, const std::vector<explained_edge<Cost>>& listed) {
    if (listed.empty()) return;
    std::vector<text_table::column> columns = {
        {heading}, {"communication", text_side::right}, {"transition", text_side::right}};
    if (counts) columns.insert(columns.end(), {{"hidden", text_side::right}, {"behind"}});
    text_table table(std::move(columns));
    for (const explained_edge<Cost>& e : listed) {
      std::vector<std::string> cells = {d.name_of_edge(e.edge), cost(e.parts.communication), cost(e.parts.transition)};
      if (counts)
        cells.insert(cells.end(), {cost(e.hidden), largest(e.behind, [&](std::uint32_t v) { return d.name_of(v); })});
      table.row(std::move(cells));
    }
    text += "\n" + table.text();
  };
  edges("input", told.inputs);
  edges("output", told.outputs);
  if (!told.hides.empty())
    text += "\nits computation hides " + largest(told.hides, [&](std::uint32_t e) { return d.name_of_edge(e); }) + "\n";
  return text;
}

}  // namespace v0
}  // namespace shardweave

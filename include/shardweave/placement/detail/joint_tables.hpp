#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/domains.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Costs between variables: sums of the tables of parallel edges, of edges of tied vertices and of pairings. Equal sums
/// are made once.
template <cost_value Cost>
class joint_tables {
 public:
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  /// Lists the terms of each sum.
  /// \param variable_of  of each vertex
  joint_tables(const placement_description<Cost>& stated, std::span<const std::uint32_t> variable_of,
               const compile_limit& limit)
      : stated_(&stated), variable_of_(variable_of), limit_(&limit), tables_(stated.tables) {
    for (std::uint32_t e = 0; e < stated.edges.size(); ++e) {
      limit.poll();
      const described_edge& edge = stated.edges[e];
      if (edge.communication != no_table) add(edge.from, edge.to, edge.communication, e);
      if (edge.transition != no_table) add(edge.from, edge.to, edge.transition, e);
    }
    add_pairings();
    std::sort(parts_.begin(), parts_.end());
    list_recipes();
  }

  /// Adds the tables between a variable and itself to its costs.
  void add_own_costs(std::span<std::vector<Cost>> unary) const {
    for (const contribution& c : own_)
      for (strategy s = 0; s < unary[c.first].size(); ++s)
        unary[c.first][s] = plus(unary[c.first][s], (*tables_[c.table])(s, s));
  }

  /// Per pair of variables, sorted; tables exist after `add_up`.
  [[nodiscard]] std::span<const joint_edge<Cost>> edges() const { return joint_; }

  /// The single tables, each once per pair of variables.
  [[nodiscard]] std::vector<joint_edge<Cost>> parts() const {
    std::vector<joint_edge<Cost>> single;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (const contribution& c = parts_[i]; i == 0 || !c.is_like(parts_[i - 1]))
        single.push_back(
            {c.flipped != 0 ? c.second : c.first, c.flipped != 0 ? c.first : c.second, tables_[c.table], c.source});
    return single;
  }

  /// Computes the sums.
  /// \param counting  strategies that matter, or null for all: costs of the others are arbitrary
  void add_up(const domains* counting) {
    std::optional<strategy_lists> lists;
    if (counting != nullptr) lists.emplace(*counting);
    made_from sums;
    for (std::size_t e = 0; e < joint_.size(); ++e) {
      joint_edge<Cost>& edge = joint_[e];
      table_pointer& known =
          sums[{recipe_of_[e], lists ? lists->number_of(edge.first) : 0, lists ? lists->number_of(edge.second) : 0}];
      if (known == nullptr) {
        limit_->check();  // a sum may take milliseconds
        const std::span<const strategy> all;
        known =
            sum_of(recipes_[recipe_of_[e]], lists ? (*lists)[edge.first] : all, lists ? (*lists)[edge.second] : all);
      }
      edge.table = known;
    }
  }

  /// The sum of an edge restricted to the strategies that are kept, unpacked; made once for equal sums and strategies.
  /// Frees the full sum.
  [[nodiscard]] table_pointer take(std::size_t edge, const strategy_lists& kept) {
    const std::uint32_t a = joint_[edge].first, b = joint_[edge].second;
    const table_pointer sum = std::move(joint_[edge].table);
    const bool is_whole = kept[a].size() == sum->rows() && kept[b].size() == sum->columns();
    if (is_whole && !sum->is_packed()) return sum;
    table_pointer& known = taken_[{recipe_of_[edge], kept.number_of(a), kept.number_of(b)}];
    if (known == nullptr)
      known = std::make_shared<const cost_table<Cost>>(is_whole ? sum->unpacked() : sum->selected(kept[a], kept[b]));
    return known;
  }

 private:
  /// A term of an edge's cost: one table, seen from the lower variable.
  struct contribution {
    std::uint32_t first, second;
    std::uint32_t table;  ///< of the description; tables of pairings follow those
    std::uint32_t flipped;
    std::uint32_t source;  ///< index of the edge; pairings follow

    friend auto operator<=>(const contribution&, const contribution&) = default;
    /// Whether only the sources differ.
    [[nodiscard]] bool is_like(const contribution& other) const {
      return joins_as(other) && table == other.table && flipped == other.flipped;
    }
    [[nodiscard]] bool joins_as(const contribution& other) const {
      return first == other.first && second == other.second;
    }
  };

  /// Tables by a recipe, and the numbers of the lists of strategies at its ends.
  using made_from = std::map<std::array<std::uint32_t, 3>, table_pointer>;

  void add(std::uint32_t from, std::uint32_t to, std::uint32_t table, std::uint32_t source) {
    const std::uint32_t a = variable_of_[from], b = variable_of_[to];
    (a == b ? own_ : parts_).push_back({std::min(a, b), std::max(a, b), table, a > b ? 1U : 0U, source});
  }

  /// A pairing forbids the pairs that it does not list.
  void add_pairings() {
    interner<std::vector<std::uint32_t>, sequence_hash> relations;
    const auto first = static_cast<std::uint32_t>(tables_.size());
    for (std::uint32_t p = 0; p < stated_->constraints.pairs.size(); ++p) {
      const pairing& pair = stated_->constraints.pairs[p];
      const std::size_t rows = stated_->vertices[pair.a].compute.size();
      const std::size_t columns = stated_->vertices[pair.b].compute.size();
      std::vector<std::uint32_t> relation{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns)};
      for (const auto& [a, b] : pair.allowed) {
        relation.push_back(a);
        relation.push_back(b);
      }
      const std::uint32_t table = first + relations(std::move(relation));
      if (table == tables_.size()) {
        std::vector<Cost> entries(rows * columns, forbidden<Cost>);
        for (const auto& [a, b] : pair.allowed) entries[a * columns + b] = Cost{};
        tables_.push_back(
            std::make_shared<const cost_table<Cost>>(cost_table<Cost>::from_entries(rows, columns, entries)));
      }
      add(pair.a, pair.b, table, static_cast<std::uint32_t>(stated_->edges.size()) + p);
    }
  }

  /// Lists the distinct sums as (table, flipped, multiplicity) of each term.
  void list_recipes() {
    for (std::size_t at = 0; at < parts_.size();) {
      std::size_t end = at;
      std::vector<std::uint32_t> recipe;
      while (end < parts_.size() && parts_[end].joins_as(parts_[at])) {
        std::size_t same = end;
        while (same < parts_.size() && parts_[same].is_like(parts_[end])) ++same;
        for (const std::size_t number : {std::size_t{parts_[end].table}, std::size_t{parts_[end].flipped}, same - end})
          recipe.push_back(static_cast<std::uint32_t>(number));
        end = same;
      }
      joint_.push_back({parts_[at].first, parts_[at].second, nullptr, parts_[at].source});
      recipe_of_.push_back(recipes_(std::move(recipe)));
      at = end;
      limit_->poll();
    }
  }

  /// \param rows, columns  that count; empty for all
  [[nodiscard]] table_pointer sum_of(const std::vector<std::uint32_t>& recipe, std::span<const strategy> rows,
                                     std::span<const strategy> columns) const {
    if (recipe.size() == 3 && recipe[1] == 0 && recipe[2] == 1) return tables_[recipe[0]];
    cost_table<Cost> sum;
    for (std::size_t i = 0; i < recipe.size(); i += 3) {
      const bool flipped = recipe[i + 1] != 0;
      cost_table<Cost> part = *tables_[recipe[i]];
      if (const auto a = flipped ? columns : rows, b = flipped ? rows : columns; !a.empty())
        if (a.size() < part.rows() || b.size() < part.columns()) part = part.blurred(a, b);
      if (flipped) part = part.transposed();
      if (recipe[i + 2] > 1) part = part.scaled(recipe[i + 2]);
      sum = i == 0 ? std::move(part) : sum + part;
    }
    return std::make_shared<const cost_table<Cost>>(std::move(sum));
  }

  const placement_description<Cost>* stated_;
  std::span<const std::uint32_t> variable_of_;
  const compile_limit* limit_;
  std::vector<table_pointer> tables_;  // those of the description, then those of pairings
  std::vector<contribution> parts_, own_;
  std::vector<joint_edge<Cost>> joint_;
  std::vector<std::uint32_t> recipe_of_;  // per joint edge: its sum
  interner<std::vector<std::uint32_t>, sequence_hash> recipes_;
  made_from taken_;
};

}  // namespace shardweave::inline v0::detail

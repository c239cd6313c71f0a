#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/domains.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Costs between variables: sums of the tables of parallel edges, of edges of tied vertices and of pairings. Equal sums
/// are made once.
template <cost_value Cost>
class joint_tables {
 public:
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  /// \param variable_of  of each vertex
  joint_tables(const placement_description<Cost>& stated, std::span<const std::uint32_t> variable_of)
      : stated_(&stated), variable_of_(variable_of.begin(), variable_of.end()), tables_(stated.tables) {}

  /// Lists the terms of each sum.
  /// \param diagonal  called with a variable and a table between it and itself
  /// \param poll      called regularly; throws to stop
  void join(const std::function<void(std::uint32_t, const cost_table<Cost>&)>& diagonal, const poll_function& poll) {
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t table, std::uint32_t source) {
      const std::uint32_t a = variable_of_[from], b = variable_of_[to];
      if (a == b) {
        diagonal(a, *tables_[table]);
      } else {
        parts_.push_back({std::min(a, b), std::max(a, b), table, a > b, source});
      }
    };
    for (std::uint32_t e = 0; e < stated_->edges.size(); ++e) {
      poll();
      const described_edge& edge = stated_->edges[e];
      if (edge.communication != no_table) add(edge.from, edge.to, edge.communication, e);
      if (edge.transition != no_table) add(edge.from, edge.to, edge.transition, e);
    }
    add_pairings(add);
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const contribution& a, const contribution& b) { return a.key() < b.key(); });
    list_recipes(poll);
  }

  /// Per pair of variables, sorted; tables exist after `add_up`.
  [[nodiscard]] std::span<const joint_edge<Cost>> edges() const { return joint_; }

  /// The single tables, each once per pair of variables.
  [[nodiscard]] std::vector<joint_edge<Cost>> parts() const {
    std::vector<joint_edge<Cost>> single;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (const contribution& c = parts_[i]; i == 0 || c.key() != parts_[i - 1].key())
        single.push_back({c.flipped ? c.second : c.first, c.flipped ? c.first : c.second, tables_[c.table], c.source});
    return single;
  }

  /// Computes the sums.
  /// \param counting  strategies that matter, or null for all: costs of the others are arbitrary
  /// \param poll      called before every sum, which may take milliseconds; throws to stop
  void add_up(const domains* counting, const poll_function& poll) {
    interner<std::vector<strategy>, sequence_hash> listed;
    std::vector<std::uint32_t> domain;
    for (std::uint32_t x = 0; counting != nullptr && x < counting->size(); ++x)
      domain.push_back(listed(counting->listed(x)));
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, table_pointer> sums;
    for (std::size_t e = 0; e < joint_.size(); ++e) {
      joint_edge<Cost>& edge = joint_[e];
      const std::uint32_t of_first = counting != nullptr ? domain[edge.first] : 0;
      const std::uint32_t of_second = counting != nullptr ? domain[edge.second] : 0;
      table_pointer& known = sums[{recipe_of_[e], of_first, of_second}];
      if (known == nullptr) {
        poll();
        const std::span<const strategy> all;
        known = sum_of(recipes_[recipe_of_[e]], counting != nullptr ? listed[of_first] : all,
                       counting != nullptr ? listed[of_second] : all);
      }
      edge.table = known;
    }
  }

  /// The sum of an edge restricted to the strategies that are kept; made once for equal sums and strategies. Frees the
  /// full sum.
  /// \param kept    per variable: its strategies
  /// \param domain  per variable: a number, equal for equal strategies
  [[nodiscard]] table_pointer take(std::size_t edge, std::span<const std::vector<strategy>> kept,
                                   std::span<const std::uint32_t> domain) {
    const std::uint32_t a = joint_[edge].first, b = joint_[edge].second;
    table_pointer sum = std::move(joint_[edge].table);
    if (kept[a].size() == sum->rows() && kept[b].size() == sum->columns()) return unpacked(std::move(sum));
    table_pointer& known = selected_[{recipe_of_[edge], domain[a], domain[b]}];
    if (known == nullptr) known = std::make_shared<const cost_table<Cost>>(sum->selected(kept[a], kept[b]));
    return known;
  }

 private:
  /// A term of an edge's cost: one table, seen from the lower variable.
  struct contribution {
    std::uint32_t first, second;
    std::uint32_t table;  ///< of the description; tables of pairings follow those
    bool flipped;
    std::uint32_t source;  ///< index of the edge; pairings follow

    auto key() const { return std::tuple(first, second, table, flipped); }
  };

  /// A pairing forbids the pairs that it does not list.
  template <class Add>
  void add_pairings(Add add) {
    std::map<std::tuple<std::size_t, std::size_t, std::vector<std::pair<strategy, strategy>>>, std::uint32_t> relations;
    for (std::uint32_t p = 0; p < stated_->constraints.pairs.size(); ++p) {
      const pairing& pair = stated_->constraints.pairs[p];
      const std::size_t rows = stated_->vertices[pair.a].compute.size();
      const std::size_t columns = stated_->vertices[pair.b].compute.size();
      const auto [at, fresh] =
          relations.try_emplace({rows, columns, pair.allowed}, static_cast<std::uint32_t>(tables_.size()));
      if (fresh) {
        std::vector<Cost> entries(rows * columns, forbidden<Cost>);
        for (const auto& [a, b] : pair.allowed) entries[a * columns + b] = Cost{};
        tables_.push_back(
            std::make_shared<const cost_table<Cost>>(cost_table<Cost>::from_entries(rows, columns, entries)));
      }
      add(pair.a, pair.b, at->second, static_cast<std::uint32_t>(stated_->edges.size()) + p);
    }
  }

  /// Lists the distinct sums as (table, flipped, multiplicity) of each term.
  void list_recipes(const poll_function& poll) {
    for (std::size_t at = 0; at < parts_.size();) {
      std::size_t end = at;
      std::vector<std::uint64_t> recipe;
      while (end < parts_.size() && parts_[end].first == parts_[at].first && parts_[end].second == parts_[at].second) {
        std::size_t same = end;
        while (same < parts_.size() && parts_[same].key() == parts_[end].key()) ++same;
        recipe.push_back(std::uint64_t{parts_[end].table} * 2 + (parts_[end].flipped ? 1 : 0));
        recipe.push_back(same - end);
        end = same;
      }
      joint_.push_back({parts_[at].first, parts_[at].second, nullptr, parts_[at].source});
      recipe_of_.push_back(recipes_(std::move(recipe)));
      at = end;
      poll();
    }
  }

  /// \param rows, columns  that count; empty for all
  [[nodiscard]] table_pointer sum_of(const std::vector<std::uint64_t>& recipe, std::span<const strategy> rows,
                                     std::span<const strategy> columns) const {
    if (recipe.size() == 2 && recipe[0] % 2 == 0 && recipe[1] == 1) return tables_[recipe[0] / 2];
    cost_table<Cost> sum;
    for (std::size_t i = 0; i < recipe.size(); i += 2) {
      const bool flipped = recipe[i] % 2 != 0;
      cost_table<Cost> part = *tables_[recipe[i] / 2];
      if (const auto a = flipped ? columns : rows, b = flipped ? rows : columns; !a.empty())
        if (a.size() < part.rows() || b.size() < part.columns()) part = part.blurred(a, b);
      if (flipped) part = part.transposed();
      if (recipe[i + 1] > 1) part = part.scaled(recipe[i + 1]);
      sum = i == 0 ? std::move(part) : sum + part;
    }
    return std::make_shared<const cost_table<Cost>>(std::move(sum));
  }

  /// A table in unpacked form, made once.
  [[nodiscard]] table_pointer unpacked(table_pointer table) {
    if (!table->is_packed()) return table;
    table_pointer& known = unpacked_[table];
    if (known == nullptr) known = std::make_shared<const cost_table<Cost>>(table->unpacked());
    return known;
  }

  const placement_description<Cost>* stated_;
  std::vector<std::uint32_t> variable_of_;
  std::vector<table_pointer> tables_;  // those of the description, then those of pairings
  std::vector<contribution> parts_;
  std::vector<joint_edge<Cost>> joint_;
  std::vector<std::uint32_t> recipe_of_;  // per joint edge: its sum
  interner<std::vector<std::uint64_t>, sequence_hash> recipes_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, table_pointer> selected_;  // by recipe and domains
  std::map<table_pointer, table_pointer> unpacked_;
};

}  // namespace shardweave::inline v0::detail

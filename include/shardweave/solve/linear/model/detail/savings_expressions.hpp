#pragma once

#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/linear/model/detail/polytope_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Computation and communication as weighted sums of the columns of a local polytope.

namespace shardweave::inline v0::detail {

/// A constant and a weighted sum of columns.
struct linear_expression {
  double constant = 0;
  std::vector<std::pair<std::uint32_t, double>> weights = {};  ///< column and weight; a column may come twice

  [[nodiscard]] bool is_zero() const { return constant == 0 && weights.empty(); }
  void operator+=(const linear_expression& other) {
    constant += other.constant;
    weights.insert(weights.end(), other.weights.begin(), other.weights.end());
  }
  /// Weights of equal columns are added up.
  void tidy() {
    std::stable_sort(weights.begin(), weights.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (kept > 0 && weights[kept - 1].first == weights[i].first) {
        weights[kept - 1].second += weights[i].second;
      } else {
        weights[kept++] = weights[i];
      }
    }
    weights.resize(kept);
  }
};

/// For each joint amount, the edge of the compact problem between its variables.
/// \pre there is one
/// Complexity: O(amounts log edges)
template <cost_value Cost>
[[nodiscard]] std::vector<std::uint32_t> edges_of_amounts(const compact_problem<Cost>& p,
                                                          const savings_terms<Cost>& terms) {
  std::vector<std::uint32_t> result;
  for (const pair_amount<Cost>& t : terms.joint) {
    const auto at =
        std::lower_bound(p.edges().begin(), p.edges().end(), std::pair(t.first, t.second),
                         [](const compact_edge& e, const auto& ends) { return std::pair(e.first, e.second) < ends; });
    result.push_back(static_cast<std::uint32_t>(at - p.edges().begin()));
  }
  return result;
}

/// The greatest amount in the terms.
template <cost_value Cost>
[[nodiscard]] double greatest_amount(const savings_terms<Cost>& terms) {
  Cost most{};
  for (const auto* constants : {&terms.computation, &terms.amount})
    for (const Cost c : *constants) most = std::max(most, c);
  for (const auto* amounts : {&terms.offers, &terms.own})
    for (const label_amount<Cost>& t : *amounts)
      most = std::max(most, *std::max_element(t.amount.begin(), t.amount.end()));
  for (const pair_amount<Cost>& t : terms.joint)
    most = std::max(most, static_cast<Cost>(t.count) * terms.tables[t.table]->most());
  return static_cast<double>(most);
}

/// What the columns of a polytope make of computation per slot and communication per demand.
template <cost_value Cost>
class savings_expressions {
 public:
  std::vector<linear_expression> offered;  ///< per slot
  std::vector<linear_expression> wanted;   ///< per demand

  /// \pre as `local_polytope` with savings: an edge between the variables of each joint amount, of whose ends one has a
  ///      single class present if the edge is folded
  /// Complexity: O(labels of the terms + pairs of classes of their edges)
  savings_expressions(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, const presence& present,
                      const polytope_layout& at)
      : offered(terms.slots()), wanted(terms.demands.size()), p_(p), present_(present), at_(at) {
    for (std::size_t q = 0; q < offered.size(); ++q) offered[q].constant = static_cast<double>(terms.computation[q]);
    for (std::size_t d = 0; d < wanted.size(); ++d) wanted[d].constant = static_cast<double>(terms.amount[d]);
    for (const auto& t : terms.offers)
      add_labels(offered[t.at], t.variable, [&](std::size_t l) { return static_cast<double>(t.amount[l]); });
    for (const auto& t : terms.own)
      add_labels(wanted[t.at], t.variable, [&](std::size_t l) { return static_cast<double>(t.amount[l]); });
    const std::vector<std::uint32_t> edge = edges_of_amounts(p, terms);
    for (std::size_t i = 0; i < edge.size(); ++i)
      add_pairs(terms.joint[i], *terms.tables[terms.joint[i].table], edge[i]);
    for (auto* list : {&offered, &wanted})
      for (linear_expression& e : *list) e.tidy();
  }

 private:
  /// The weights of the labels of a variable add up to one, so what all of them have is a constant.
  template <class Amount>
  void add_labels(linear_expression& to, std::size_t x, Amount amount) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t l = 0; l < p_.label_count(x); ++l)
      if (present_.has_label(p_.label_start(x) + l)) least = std::min(least, amount(l));
    to.constant += least;
    for (std::size_t l = 0; l < p_.label_count(x); ++l)
      if (const std::uint32_t c = at_.column[p_.label_start(x) + l]; c != polytope_layout::absent && amount(l) > least)
        to.weights.emplace_back(c, amount(l) - least);
  }

  /// A label that is present, of every class.
  template <class Classes>
  [[nodiscard]] std::vector<strategy> members(std::size_t x, Classes classes, std::size_t count) const {
    std::vector<strategy> result(count, ~strategy{0});
    for (strategy l = 0; l < classes.size(); ++l)
      if (present_.has_label(p_.label_start(x) + l)) result[classes[l]] = l;
    return result;
  }

  void add_pairs(const pair_amount<Cost>& t, const cost_table<Cost>& amounts, std::size_t e) {
    const auto& table = p_.table(p_.edges()[e]);
    const auto rows = members(t.first, table.row_class(), table.row_classes());
    const auto columns = members(t.second, table.column_class(), table.column_classes());
    const auto amount = [&](strategy a, strategy b) { return t.count * static_cast<double>(amounts(a, b)); };
    const auto is_there = [](strategy l) { return l != ~strategy{0}; };
    if (at_.folded[e] != 0) {  // one end has one class left
      const strategy a = *std::find_if(rows.begin(), rows.end(), is_there);
      const strategy b = *std::find_if(columns.begin(), columns.end(), is_there);
      if (std::count_if(rows.begin(), rows.end(), is_there) == 1) {
        add_labels(wanted[t.demand], t.second, [&](std::size_t l) { return amount(a, static_cast<strategy>(l)); });
      } else {
        add_labels(wanted[t.demand], t.first, [&](std::size_t l) { return amount(static_cast<strategy>(l), b); });
      }
      return;
    }
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::pair<std::uint32_t, double>> weights;
    for (const auto& pair : at_.pairs_of(e)) {
      if (!is_there(rows[pair.row]) || !is_there(columns[pair.column])) continue;  // its weight is zero
      weights.emplace_back(pair.number, amount(rows[pair.row], columns[pair.column]));
      least = std::min(least, weights.back().second);
    }
    wanted[t.demand].constant += least;
    for (const auto& [column, weight] : weights)
      if (weight > least) wanted[t.demand].weights.emplace_back(column, weight - least);
  }

  const compact_problem<Cost>& p_;
  const presence& present_;
  const polytope_layout& at_;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/detail/arc_consistency.hpp>
#include <shardweave/placement/detail/summed_table.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

/// \file
/// The problem that the steps of a proof are about: sums of costs as numbers, and what eliminations leave of them.

namespace shardweave::inline v0::detail {

/// A row of a budget that is kept where unknowns are eliminated: what all usage is at least (for a lower limit: at
/// most).
struct kept_limit {
  std::uint32_t budget = 0;
  std::int64_t time = 0;
  bool is_low = false;
  friend bool operator==(const kept_limit&, const kept_limit&) = default;
};

/// Unknowns with costs of their strategies, and tables between them.
template <class Number>
struct exact_problem {
  struct pair {
    std::uint32_t first = 0, second = 0;  ///< unknowns, first < second
    std::shared_ptr<const summed_table<Number>> table;
  };
  /// Amounts per strategy, which limits of neighbouring times mostly share.
  using shared_amounts = std::shared_ptr<const std::vector<Number>>;
  /// What an unknown uses at least of a limit.
  struct usage {
    std::uint32_t limit = 0;
    shared_amounts amounts;
  };

  Number apart{};                          ///< costs of no unknown
  std::vector<std::uint32_t> name;         ///< per unknown: which of the stated form it is, rising
  std::vector<std::vector<Number>> costs;  ///< per unknown and strategy
  std::vector<pair> pairs;                 ///< by first, then by second unknown
  std::vector<std::vector<std::uint32_t>> pairs_of;
  bool keeps_all_rows = true;  ///< else prices are against these limits alone:
  std::vector<kept_limit> limits = {};
  std::vector<Number> used = {};           ///< of each by none of the unknowns
  std::vector<std::vector<usage>> usages;  ///< per unknown, by limit

  [[nodiscard]] std::size_t size() const { return name.size(); }
  /// The unknown of a name; `size()` if there is none.
  [[nodiscard]] std::uint32_t named(std::uint32_t of_form) const {
    const auto at = std::lower_bound(name.begin(), name.end(), of_form);
    return static_cast<std::uint32_t>(at != name.end() && *at == of_form ? at - name.begin()
                                                                         : name.end() - name.begin());
  }
  /// The pair of two unknowns; the number of pairs if there is none. \pre first < second
  [[nodiscard]] std::size_t pair_between(std::uint32_t first, std::uint32_t second) const {
    const auto at = std::lower_bound(pairs.begin(), pairs.end(), std::pair(first, second),
                                     [](const pair& p, auto k) { return std::pair(p.first, p.second) < k; });
    const bool found = at != pairs.end() && at->first == first && at->second == second;
    return found ? static_cast<std::size_t>(at - pairs.begin()) : pairs.size();
  }

  /// Fills `pairs_of`.
  void link() {
    pairs_of.assign(size(), {});
    for (std::uint32_t p = 0; p < pairs.size(); ++p)
      for (const std::uint32_t x : {pairs[p].first, pairs[p].second}) pairs_of[x].push_back(p);
  }

  /// Removes strategies without a partner over some pair, until every one has one (arc consistency).
  /// \param changed  unknowns that lost some; empty: all
  void propagate(strategies_left& left, const std::vector<std::uint32_t>& changed = {}) const {
    const auto side = [](const pair& p, bool is_second) { return table_side<Number>{p.table, is_second}; };
    make_arc_consistent(pairs_of, pairs, side, left, changed);
  }
};

/// The stated problem in numbers.
/// \param of_cost  the number of a cost and how often it counts; 0 for what is forbidden
/// \param is_over  called for every unknown and table: whether to end, with a problem that is of no use
template <class Number, cost_value Cost, class OfCost, class IsOver>
[[nodiscard]] exact_problem<Number> in_numbers(const stated_form<Cost>& form, OfCost of_cost, IsOver is_over) {
  exact_problem<Number> result;
  result.name.resize(form.size());
  std::iota(result.name.begin(), result.name.end(), 0U);
  for (std::uint32_t x = 0; x < form.size(); ++x) {
    if (is_over()) return result;
    auto& costs = result.costs.emplace_back(form.strategies(x));
    for (strategy s = 0; s < costs.size(); ++s) {
      for (const auto& l : form.lists(x)) costs[s] += of_cost(l.costs[s], l.times);
      for (const auto& t : form.diagonals(x)) costs[s] += of_cost(t.at(s, s), t.times);
    }
  }
  std::vector<std::shared_ptr<const summed_table<Number>>> tables;
  for (const auto& t : form.tables()) {
    if (is_over()) return result;
    summed_table<Number> sum{t.row_class, t.column_class, t.row.size(), t.column.size(), {}, t.allowed, t.forbids};
    sum.costs.resize(t.allowed.size());
    for (std::size_t i = 0; i < sum.costs.size(); ++i)
      for (const auto& term : t.terms)
        if (t.allowed[i] != 0)
          sum.costs[i] += of_cost(term.at(t.row[i / sum.columns], t.column[i % sum.columns]), term.times);
    tables.push_back(std::make_shared<const summed_table<Number>>(std::move(sum)));
  }
  for (const auto& p : form.pairs()) result.pairs.push_back({p.first, p.second, tables[p.table]});
  result.link();
  result.usages.resize(form.size());
  return result;
}

}  // namespace shardweave::inline v0::detail

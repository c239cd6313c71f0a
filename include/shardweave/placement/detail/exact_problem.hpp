#pragma once

#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

/// \file
/// The problem that the steps of a proof are about: sums of costs as numbers, and what eliminations leave of them.

namespace shardweave::inline v0::detail {

/// The sum of the tables between two unknowns, by classes of strategies that it does not tell apart.
template <class Number>
struct summed_table {
  std::vector<std::uint32_t> row_class = {}, column_class = {};  ///< per strategy of the first and of the second
  std::size_t rows = 0, columns = 0;                             ///< number of classes
  std::vector<Number> costs = {};                                ///< rows times columns; 0 where it is not allowed
  std::vector<char> allowed = {};
  bool forbids = false;  ///< whether some pair is not allowed
};

/// A table as one of its ends sees it.
template <class Number>
struct table_side {
  std::shared_ptr<const summed_table<Number>> table;
  bool is_second = false;  ///< whether this end is the table's second

  [[nodiscard]] std::size_t own_classes() const { return is_second ? table->columns : table->rows; }
  [[nodiscard]] std::size_t other_classes() const { return is_second ? table->rows : table->columns; }
  [[nodiscard]] std::uint32_t own_class(std::size_t s) const {
    return is_second ? table->column_class[s] : table->row_class[s];
  }
  [[nodiscard]] std::uint32_t other_class(std::size_t s) const {
    return is_second ? table->row_class[s] : table->column_class[s];
  }
  [[nodiscard]] bool allows(std::size_t own, std::size_t other) const { return table->allowed[at(own, other)] != 0; }
  [[nodiscard]] const Number& cost(std::size_t own, std::size_t other) const { return table->costs[at(own, other)]; }
  [[nodiscard]] table_side from_other() const { return {table, !is_second}; }

 private:
  [[nodiscard]] std::size_t at(std::size_t own, std::size_t other) const {
    return is_second ? other * table->columns + own : own * table->columns + other;
  }
};

/// Which classes of an end have a strategy that is left.
/// \param class_of  of a strategy
template <class ClassOf>
[[nodiscard]] std::vector<char> classes_left(std::size_t classes, const std::vector<char>& left, ClassOf class_of) {
  std::vector<char> there(classes);
  for (std::size_t s = 0; s < left.size(); ++s)
    if (left[s] != 0) there[class_of(s)] = 1;
  return there;
}

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
    std::deque<std::uint32_t> open(changed.begin(), changed.end());
    if (changed.empty()) {
      open.resize(size());
      std::iota(open.begin(), open.end(), 0U);
    }
    std::vector<char> queued(size());
    for (const std::uint32_t x : open) queued[x] = 1;
    while (!open.empty()) {
      const std::uint32_t x = open.front();
      open.pop_front();
      queued[x] = 0;
      const bool is_empty = std::ranges::count(left[x], 0) == std::ssize(left[x]);
      for (const std::uint32_t p : pairs_of[x]) {
        if (!pairs[p].table->forbids && !is_empty) continue;
        const std::uint32_t other = pairs[p].first == x ? pairs[p].second : pairs[p].first;
        if (keep_partners({pairs[p].table, pairs[p].second == x}, left[x], left[other]) && queued[other] == 0) {
          queued[other] = 1;
          open.push_back(other);
        }
      }
    }
  }

  /// Removes strategies of the other end without a partner. \returns whether there were any
  static bool keep_partners(const table_side<Number>& t, const std::vector<char>& own, std::vector<char>& other) {
    const std::vector<char> there = classes_left(t.own_classes(), own, [&](std::size_t s) { return t.own_class(s); });
    std::vector<char> met(t.other_classes());
    for (std::size_t i = 0; i < there.size(); ++i)
      for (std::size_t j = 0; there[i] != 0 && j < met.size(); ++j)
        if (t.allows(i, j)) met[j] = 1;
    bool changed = false;
    for (std::size_t s = 0; s < other.size(); ++s)
      if (other[s] != 0 && met[t.other_class(s)] == 0) {
        other[s] = 0;
        changed = true;
      }
    return changed;
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

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/arc_consistency.hpp>
#include <shardweave/placement/detail/budget_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// A stated problem in the form that proofs refer to: tied vertices are one unknown, and all tables between two
/// unknowns one table. Independent of `compile`.

namespace shardweave::inline v0 {
/// The remaining strategies, per unknown.
using strategies_left = std::vector<std::vector<char>>;

/// A table of costs with a factor, in units of `stated_form::bits`; its forbidden entries count even if the factor is
/// 0.
template <cost_value Cost>
struct counted_table {
  const cost_table<Cost>* table = nullptr;
  bool turned = false;  ///< whether its rows belong to the second unknown
  std::int64_t times = 1;
  friend bool operator==(const counted_table&, const counted_table&) = default;

  [[nodiscard]] Cost at(strategy first, strategy second) const {
    return turned ? (*table)(second, first) : (*table)(first, second);
  }
  [[nodiscard]] std::uint32_t class_of(bool of_first, strategy s) const {
    return of_first != turned ? table->row_class(s) : table->column_class(s);
  }
  friend bool operator<(const counted_table& a, const counted_table& b) {
    return std::tuple(a.table, a.turned, a.times) < std::tuple(b.table, b.turned, b.times);
  }
};

/// Costs that replace a problem's own, of which only the forbidden ones still count.
template <cost_value Cost>
struct costs_in_place {
  /// Costs of the strategies of a vertex, times a factor.
  struct vertex_costs {
    std::uint32_t vertex = 0;
    std::span<const Cost> costs;
    std::int64_t times = 1;
  };
  /// Costs of the pairs of strategies of two vertices, times a factor.
  struct edge_costs {
    std::uint32_t from = 0, to = 0;
    const cost_table<Cost>* table = nullptr;
    std::int64_t times = 1;
  };
  std::vector<vertex_costs> vertices;
  std::vector<edge_costs> edges;
  /// Owns those tables of `edges` that have no other owner.
  std::vector<std::shared_ptr<const cost_table<Cost>>> tables;
  int bits = 0;  ///< `times` are in units of 2^-bits
  /// Owns those lists of `vertices` that have no other owner.
  std::vector<std::shared_ptr<const std::vector<Cost>>> lists = {};
};

/// A stated problem in the form that proofs refer to: tied vertices are one unknown, and the costs between two unknowns
/// are one table, a sum of the problem's own. Independent of `compile`.
template <cost_value Cost>
class stated_form {
 public:
  /// Costs of the strategies of one unknown.
  struct list {
    std::span<const Cost> costs;
    std::int64_t times = 1;
  };
  /// A sum of tables, by joint classes of strategies that none of them distinguishes.
  struct joint_table {
    std::vector<counted_table<Cost>> terms;
    std::vector<std::uint32_t> row_class, column_class;
    std::vector<strategy> row, column;  ///< one strategy per class
    std::vector<char> allowed;          ///< per pair of classes
    bool forbids = false;               ///< whether some pair is forbidden
  };
  /// Two unknowns with costs or forbidden pairs between them.
  struct pair {
    std::uint32_t first = 0, second = 0;  ///< unknowns, first < second
    std::uint32_t table = 0;              ///< of `tables`
  };

  /// \param other  costs that replace those of the problem; null: none
  /// \pre `d` is valid, `other` has its sizes, and both outlive this object
  explicit stated_form(const placement_description<Cost>& d, const costs_in_place<Cost>* other = nullptr)
      : stated_(&d), bits_(other == nullptr ? 0 : other->bits), unknown_of_(d.vertices.size()) {
    join_ties();
    const std::int64_t own = other == nullptr ? 1 : 0;
    for (std::uint32_t v = 0; v < unknown_of_.size(); ++v)
      lists_[unknown_of_[v]].push_back({d.vertices[v].compute, own});
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<counted_table<Cost>>> found;
    std::unordered_map<const cost_table<Cost>*, std::size_t> number;  // sums do not depend on addresses
    const auto add = [&](std::uint32_t from, std::uint32_t to, const cost_table<Cost>& t, std::int64_t times) {
      number.try_emplace(&t, number.size());
      const std::uint32_t a = unknown_of_[from], b = unknown_of_[to];
      if (a == b) return diagonals_[a].push_back({&t, false, times});
      found[std::minmax(a, b)].push_back({&t, a > b, times});
    };
    for (const described_edge& e : d.edges)
      for (const std::uint32_t t : {e.communication, e.transition})
        if (t != no_table) add(e.from, e.to, *d.tables[t], own);
    for (const pairing& p : d.constraints.pairs) add(p.a, p.b, table_of(p), own);
    if (other != nullptr) {
      for (const auto& of : other->vertices) lists_[unknown_of_[of.vertex]].push_back({of.costs, of.times});
      for (const auto& of : other->edges) add(of.from, of.to, *of.table, of.times);
    }
    std::map<std::tuple<std::size_t, std::size_t, std::vector<counted_table<Cost>>>, std::uint32_t> known;
    pairs_of_.resize(size());
    for (auto& [ends, terms] : found) {
      std::ranges::sort(terms, {}, [&](const auto& t) { return std::tuple(number.at(t.table), t.turned, t.times); });
      add_up(terms);
      const auto [at, fresh] = known.try_emplace({strategies(ends.first), strategies(ends.second), terms},
                                                 static_cast<std::uint32_t>(tables_.size()));
      if (fresh) tables_.push_back(joined(strategies(ends.first), strategies(ends.second), terms));
      for (const std::uint32_t x : {ends.first, ends.second})
        pairs_of_[x].push_back(static_cast<std::uint32_t>(pairs_.size()));
      pairs_.push_back({ends.first, ends.second, at->second});
    }
  }

  [[nodiscard]] std::size_t size() const { return first_vertex_.size(); }
  /// Costs are stored times 2^bits.
  [[nodiscard]] int bits() const { return bits_; }
  [[nodiscard]] std::size_t strategies(std::uint32_t x) const {
    return stated_->vertices[first_vertex_[x]].compute.size();
  }
  [[nodiscard]] std::uint32_t unknown_of(std::uint32_t vertex) const { return unknown_of_[vertex]; }
  [[nodiscard]] std::uint32_t first_vertex(std::uint32_t x) const { return first_vertex_[x]; }
  [[nodiscard]] std::span<const list> lists(std::uint32_t x) const { return lists_[x]; }
  /// Tables between an unknown and itself.
  [[nodiscard]] std::span<const counted_table<Cost>> diagonals(std::uint32_t x) const { return diagonals_[x]; }
  /// By first, then by second unknown.
  [[nodiscard]] std::span<const pair> pairs() const { return pairs_; }
  [[nodiscard]] std::span<const joint_table> tables() const { return tables_; }
  /// The pair of two unknowns; the number of pairs if there is none. \pre first < second
  [[nodiscard]] std::size_t pair_between(std::uint32_t first, std::uint32_t second) const {
    const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), std::pair(first, second),
                                     [](const pair& p, auto k) { return std::pair(p.first, p.second) < k; });
    const bool found = at != pairs_.end() && at->first == first && at->second == second;
    return found ? static_cast<std::size_t>(at - pairs_.begin()) : pairs_.size();
  }

  /// What a pair of unknowns costs with two strategies; infinity where it is forbidden.
  [[nodiscard]] double cost_of_pair(std::size_t number, strategy a, strategy b) const {
    double sum = 0;
    for (const auto& term : tables_[pairs_[number].table].terms)
      sum += is_forbidden(term.at(a, b)) ? std::numeric_limits<double>::infinity()
                                         : static_cast<double>(term.at(a, b)) * static_cast<double>(term.times);
    return std::ldexp(sum, -bits_);
  }

  /// The remaining strategies before edges are considered: those of finite cost that no constraint excludes.
  [[nodiscard]] strategies_left all_left() const {
    strategies_left left(size());
    for (std::uint32_t x = 0; x < size(); ++x) {
      left[x].assign(strategies(x), 1);
      for (const list& l : lists_[x])
        for (std::size_t s = 0; s < left[x].size(); ++s)
          if (is_forbidden(l.costs[s])) left[x][s] = 0;
      for (const counted_table<Cost>& t : diagonals_[x])
        for (strategy s = 0; s < left[x].size(); ++s)
          if (is_forbidden(t.at(s, s))) left[x][s] = 0;
    }
    for (const fixed_strategies& f : stated_->constraints.fixed)
      for (strategy s = 0; s < strategies(unknown_of_[f.vertex]); ++s)
        if (std::find(f.allowed.begin(), f.allowed.end(), s) == f.allowed.end()) left[unknown_of_[f.vertex]][s] = 0;
    return left;
  }

  /// Removes strategies without a partner over some pair, until every one has one (arc consistency).
  /// \param changed  unknowns that lost some; empty: all
  void propagate(strategies_left& left, const std::vector<std::uint32_t>& changed = {}) const {
    const auto side = [this](const pair& p, bool is_second) { return joint_side{&tables_[p.table], is_second}; };
    detail::make_arc_consistent(pairs_of_, pairs_, side, left, changed);
  }

  /// Budgets as rows, at the times at which they can bind.
  [[nodiscard]] std::vector<usage_row> rows() const { return detail::rows_of(stated_->constraints.budgets).rows; }
  /// A term of a budget, and the rows, of `rows`, in which it counts.
  struct use {
    const budget_term* term = nullptr;
    std::uint32_t begin = 0, end = 0;
  };
  /// What each unknown uses.
  [[nodiscard]] std::vector<std::vector<use>> uses() const {
    const std::vector<budget>& budgets = stated_->constraints.budgets;
    const detail::budget_rows all = detail::rows_of(budgets);
    std::vector<std::vector<use>> result(size());
    for (const detail::row_range& range : all.ranges) {
      const budget_term& term = budgets[range.budget].terms[range.term];
      result[unknown_of_[term.vertex]].push_back({&term, range.begin, range.end});
    }
    return result;
  }
  /// Per unknown and strategy its usage of a budget at a time; empty if it has none.
  /// \param convert  of a usage to a number
  template <class Number, class Convert>
  [[nodiscard]] std::vector<std::vector<Number>> usage(const budget& b, std::int64_t time, Convert convert) const {
    std::vector<std::vector<Number>> used(size());
    for (const budget_term& term : b.terms) {
      if (term.live && (time < term.live->first || time >= term.live->end)) continue;
      auto& of = used[unknown_of_[term.vertex]];
      of.resize(term.usage.size());
      for (std::size_t s = 0; s < of.size(); ++s) of[s] += convert(term.usage[s]);
    }
    return used;
  }

 private:
  void join_ties() {
    const std::size_t n = unknown_of_.size();
    const std::vector<std::uint32_t> leader = tie_leaders(n, stated_->constraints.ties);
    for (std::uint32_t v = 0; v < n; ++v) {
      if (leader[v] == v) {
        unknown_of_[v] = static_cast<std::uint32_t>(first_vertex_.size());
        first_vertex_.push_back(v);
      } else {
        unknown_of_[v] = unknown_of_[leader[v]];
      }
      const std::size_t expected = stated_->vertices[leader[v]].compute.size();
      if (stated_->vertices[v].compute.size() != expected)
        refuse(error_category::input, "ties join " + stated_->name_of(leader[v]) + " with " + std::to_string(expected) +
                                          " strategies to " + stated_->name_of(v) + " with " +
                                          std::to_string(stated_->vertices[v].compute.size()));
    }
    lists_.resize(size());
    diagonals_.resize(size());
  }

  /// Combines equal tables, with the sum of their factors.
  static void add_up(std::vector<counted_table<Cost>>& sorted) {
    std::vector<counted_table<Cost>> once;
    for (const counted_table<Cost>& t : sorted)
      if (!once.empty() && once.back().table == t.table && once.back().turned == t.turned) {
        once.back().times += t.times;
      } else {
        once.push_back(t);
      }
    sorted = std::move(once);
  }

  /// A pairing as a table: 0 where it is allowed, forbidden elsewhere.
  const cost_table<Cost>& table_of(const pairing& p) {
    const std::size_t rows = stated_->vertices[p.a].compute.size(), columns = stated_->vertices[p.b].compute.size();
    std::vector<Cost> entries(rows * columns, forbidden<Cost>);
    for (const auto& [a, b] : p.allowed) entries[a * columns + b] = Cost{};
    own_tables_.push_back(
        std::make_unique<const cost_table<Cost>>(cost_table<Cost>::from_entries(rows, columns, entries)));
    return *own_tables_.back();
  }

  [[nodiscard]] static joint_table joined(std::size_t rows, std::size_t columns,
                                          std::vector<counted_table<Cost>> terms) {
    joint_table t{
        .terms = std::move(terms), .row_class = {}, .column_class = {}, .row = {}, .column = {}, .allowed = {}};
    const auto classes = [&](bool of_first, std::size_t count, std::vector<std::uint32_t>& of,
                             std::vector<strategy>& members) {
      interner<std::vector<std::uint32_t>, sequence_hash> known;
      for (strategy s = 0; s < count; ++s) {
        std::vector<std::uint32_t> key;
        for (const counted_table<Cost>& term : t.terms) key.push_back(term.class_of(of_first, s));
        of.push_back(known(std::move(key)));
        if (of.back() == members.size()) members.push_back(s);
      }
    };
    classes(true, rows, t.row_class, t.row);
    classes(false, columns, t.column_class, t.column);
    for (const strategy a : t.row)
      for (const strategy b : t.column) {
        t.allowed.push_back(
            std::none_of(t.terms.begin(), t.terms.end(), [&](const auto& term) { return is_forbidden(term.at(a, b)); })
                ? 1
                : 0);
        t.forbids = t.forbids || t.allowed.back() == 0;
      }
    return t;
  }

  /// A table as one of its ends sees it.
  struct joint_side {
    const joint_table* t;
    bool is_second;
    [[nodiscard]] std::size_t own_classes() const { return (is_second ? t->column : t->row).size(); }
    [[nodiscard]] std::size_t other_classes() const { return (is_second ? t->row : t->column).size(); }
    [[nodiscard]] std::uint32_t own_class(std::size_t s) const {
      return (is_second ? t->column_class : t->row_class)[s];
    }
    [[nodiscard]] std::uint32_t other_class(std::size_t s) const {
      return (is_second ? t->row_class : t->column_class)[s];
    }
    [[nodiscard]] bool allows(std::size_t own, std::size_t other) const {
      return t->allowed[is_second ? other * t->column.size() + own : own * t->column.size() + other] != 0;
    }
    [[nodiscard]] bool forbids() const { return t->forbids; }
  };

  const placement_description<Cost>* stated_;
  int bits_;
  std::vector<std::uint32_t> unknown_of_, first_vertex_;
  std::vector<std::vector<list>> lists_;
  std::vector<std::vector<counted_table<Cost>>> diagonals_;
  std::vector<std::unique_ptr<const cost_table<Cost>>> own_tables_;
  std::vector<pair> pairs_;
  std::vector<joint_table> tables_;
  std::vector<std::vector<std::uint32_t>> pairs_of_;
};

}  // namespace shardweave::inline v0

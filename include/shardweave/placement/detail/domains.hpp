#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/range_minimum.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/detail/budget_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The strategies that can be part of a feasible assignment.

namespace shardweave::inline v0::detail {

/// Ends a compilation that takes longer than its control allows.
class compile_limit {
 public:
  explicit compile_limit(const solve_control& control) : limit_(control) {}

  /// \throws error (stopped)
  void check() const {
    if (limit_.expired()) refuse(error_category::stopped, "the problem was not built before the stop");
  }
  /// For steps of microseconds: a look at the clock would take longer.
  void poll() const {
    if (++polls_ % 64 == 0) check();
  }

 private:
  deadline limit_;
  mutable std::uint32_t polls_ = 0;
};

/// A table between two variables, during compilation.
template <cost_value Cost>
struct joint_edge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::shared_ptr<const cost_table<Cost>> table;
  std::uint32_t source = 0;  ///< its origin, for messages
};

/// What a message names: a variable, or what rules a strategy out.
struct named_thing {
  enum class kind : std::uint8_t { variable, own_cost, constraint, edge, row };
  kind is = kind::variable;
  std::uint32_t index = 0;  ///< of the variable, of the fixed strategies, of the edge's source, or of the row
};

/// The strategies left to every variable. Removing the last one is an error that names the variable and the reason.
class domains {
 public:
  using namer = std::function<std::string(named_thing)>;

  domains(std::span<const std::size_t> sizes, namer name) : left_(sizes.begin(), sizes.end()), name_(std::move(name)) {
    for (const std::size_t size : sizes) start_.push_back(start_.back() + size);
    allowed_.resize(start_.back(), 1);
  }

  [[nodiscard]] std::size_t size() const { return left_.size(); }
  /// Per strategy whether it is left.
  [[nodiscard]] std::span<const char> of(std::uint32_t x) const {
    return std::span(allowed_).subspan(start_[x], start_[x + 1] - start_[x]);
  }
  [[nodiscard]] std::size_t left(std::uint32_t x) const { return left_[x]; }
  /// Whether nothing was removed.
  [[nodiscard]] bool is_whole(std::uint32_t x) const { return left_[x] == start_[x + 1] - start_[x]; }
  /// For messages.
  [[nodiscard]] std::string name_of(named_thing thing) const { return name_(thing); }

  /// \param why  what rules it out
  /// \returns whether the strategy was there
  bool remove(std::uint32_t x, strategy s, named_thing why) {
    char& is_there = allowed_[start_[x] + s];
    if (is_there == 0) return false;
    is_there = 0;
    if (--left_[x] == 0)
      refuse(error_category::constraint, "no strategy is left for " + name_({named_thing::kind::variable, x}) +
                                             ": the last one, " + std::to_string(s) + ", is ruled out by " +
                                             name_(why));
    return true;
  }

 private:
  std::vector<std::size_t> start_{0};  // per variable, in `allowed_`
  std::vector<char> allowed_;
  std::vector<std::size_t> left_;
  namer name_;
};

/// The strategies that are left as lists; equal lists are kept once.
class strategy_lists {
 public:
  explicit strategy_lists(const domains& left) {
    std::vector<strategy> kept;
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      kept.clear();
      const std::span<const char> allowed = left.of(x);
      for (strategy s = 0; s < allowed.size(); ++s)
        if (allowed[s] != 0) kept.push_back(s);
      list_of_.push_back(lists_(kept));
    }
  }

  /// The strategies of a variable, ascending.
  [[nodiscard]] const std::vector<strategy>& operator[](std::uint32_t x) const { return lists_[list_of_[x]]; }
  /// Equal for variables with equal lists; below `count()`.
  [[nodiscard]] std::uint32_t number_of(std::uint32_t x) const { return list_of_[x]; }
  [[nodiscard]] std::size_t count() const { return lists_.size(); }
  [[nodiscard]] const std::vector<strategy>& list(std::uint32_t number) const { return lists_[number]; }

 private:
  std::vector<std::uint32_t> list_of_;
  interner<std::vector<strategy>, sequence_hash> lists_;
};

/// Whether a table forbids pairs, and whether every row and column has an allowed one.
struct table_support {
  bool forbids = false;    ///< some pair
  bool of_rows = true;     ///< every row has an allowed column
  bool of_columns = true;  ///< every column has an allowed row

  table_support() = default;
  template <cost_value Cost>
  explicit table_support(const cost_table<Cost>& t) {
    std::vector<char> has_row(t.column_classes());
    for (std::size_t i = 0; i < t.row_classes(); ++i) {
      bool has_column = false;
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        if (is_forbidden(t.class_cost(i, j))) {
          forbids = true;
        } else {
          has_column = true;
          has_row[j] = 1;
        }
      }
      of_rows = of_rows && has_column;
    }
    of_columns = std::find(has_row.begin(), has_row.end(), 0) == has_row.end();
  }
};

/// Removes strategies without a partner over some edge, until every one has one (AC-3 on class tables).
/// \throws error (constraint) if none is left, (stopped) as `limit` says
/// Complexity: O(removals * degree * row classes * column classes)
/// Source: A. Mackworth, Consistency in networks of relations, Artificial Intelligence 8 (1977).
template <cost_value Cost>
void make_arc_consistent(domains& d, std::span<const joint_edge<Cost>> edges, const compile_limit& limit) {
  std::vector<std::vector<std::uint32_t>> edges_of(d.size());
  std::vector<std::uint32_t> open;
  interner<const cost_table<Cost>*> tables;
  std::vector<table_support> supports;
  std::vector<std::uint32_t> table_of;
  std::vector<char> queued(edges.size());
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    limit.poll();
    table_of.push_back(tables(edges[e].table.get()));
    if (table_of[e] == supports.size()) supports.emplace_back(*edges[e].table);
    if (!supports[table_of[e]].forbids) continue;  // a table without forbidden pairs removes nothing
    edges_of[edges[e].first].push_back(e);
    edges_of[edges[e].second].push_back(e);
    open.push_back(e);
    queued[e] = 1;
  }

  std::vector<char> there, supported;
  for (std::size_t at = 0; at < open.size(); ++at) {
    limit.poll();
    const joint_edge<Cost>& edge = edges[open[at]];
    const cost_table<Cost>& t = *edge.table;
    const table_support& support = supports[table_of[open[at]]];
    const named_thing why{named_thing::kind::edge, edge.source};
    queued[open[at]] = 0;
    for (const bool first_side : {true, false}) {
      const std::uint32_t own = first_side ? edge.first : edge.second;
      const std::uint32_t other = first_side ? edge.second : edge.first;
      if (d.is_whole(other) && (first_side ? support.of_rows : support.of_columns)) continue;
      mark_partners(
          t, !first_side, [of_other = d.of(other)](strategy s) { return of_other[s] != 0; }, there, supported);
      const std::span<const std::uint32_t> own_class = first_side ? t.row_class() : t.column_class();
      bool changed = false;
      for (strategy s = 0; s < own_class.size(); ++s)
        if (supported[own_class[s]] == 0) changed |= d.remove(own, s, why);
      if (!changed) continue;
      for (const std::uint32_t next : edges_of[own])
        if (queued[next] == 0) {
          queued[next] = 1;
          open.push_back(next);
        }
    }
  }
}

/// Usage of one variable over a nonempty range of rows, one amount per stated strategy.
struct joint_segment {
  std::uint32_t variable = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::span<const double> usage;

  /// The least usage of the strategies that are left (the least negated one, with sign -1).
  [[nodiscard]] double least(const domains& d, double sign) const {
    const std::span<const char> left = d.of(variable);
    double result = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < usage.size(); ++k)
      if (left[k] != 0) result = std::min(result, sign * usage[k]);
    return result;
  }
};

/// Least (or largest, with sign -1) usage of every row.
inline std::vector<double> extreme_usage(const domains& d, std::size_t rows, std::span<const joint_segment> segments,
                                         double sign) {
  range_sums sums(rows);
  for (const joint_segment& s : segments) sums.add(s.begin, s.end, sign * s.least(d, sign));
  return sums.values();
}

/// Removes strategies that break a row even if every other variable has its least usage (for lower limits: its
/// largest). Segments are considered one by one, which is safe and usually sufficient.
/// \returns whether anything was removed
/// \throws error (constraint) naming the row that even the least usage breaks, (stopped) as `limit` says
inline bool fit_rows(domains& d, std::span<const usage_row> rows, std::span<const joint_segment> segments,
                     const compile_limit& limit) {
  bool changed = false;
  for (const double sign : {1.0, -1.0}) {  // upper limits, then lower limits mirrored
    const std::vector<double> least = extreme_usage(d, rows.size(), segments, sign);
    std::vector<double> slack(rows.size());
    for (std::uint32_t r = 0; r < rows.size(); ++r) {
      const double bound = sign > 0 ? rows[r].high : rows[r].low;
      slack[r] = sign > 0 ? bound - least[r] : least[r] - bound;
      if (slack[r] < -budget_tolerance)
        refuse(error_category::constraint, d.name_of({named_thing::kind::row, r}) +
                                               (sign > 0 ? " needs at least " : " gets at most ") +
                                               number_text(least[r]) + ", but its limit is " + number_text(bound));
    }
    if (rows.empty()) return false;
    const range_minimum least_slack(std::move(slack));
    for (const joint_segment& s : segments) {
      limit.poll();
      const double best = s.least(d, sign), room = least_slack(s.begin, s.end) + budget_tolerance;
      for (strategy k = 0; k < s.usage.size(); ++k)
        if (sign * s.usage[k] - best > room) changed |= d.remove(s.variable, k, {named_thing::kind::row, s.begin});
    }
  }
  return changed;
}

}  // namespace shardweave::inline v0::detail

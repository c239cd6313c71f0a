#pragma once

#include <shardweave/core/error.hpp>
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
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// The strategies that can be part of a feasible assignment.

namespace shardweave::inline v0::detail {

/// Called regularly during compilation; throws to stop.
using poll_function = std::function<void()>;

/// A table between two variables, during compilation.
template <cost_value Cost>
struct joint_edge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::shared_ptr<const cost_table<Cost>> table;
  std::uint32_t source = 0;  ///< its origin, for messages
};

/// The strategies left to every variable. Removing the last one is an error that names the variable and the reason.
class domains {
 public:
  using describe = std::function<std::string(std::uint32_t variable)>;

  domains(std::span<const std::size_t> sizes, describe name) : name_(std::move(name)) {
    for (const std::size_t size : sizes) {
      allowed_.emplace_back(size, true);
      left_.push_back(size);
    }
  }

  [[nodiscard]] std::size_t size() const { return allowed_.size(); }
  [[nodiscard]] const std::vector<bool>& of(std::uint32_t x) const { return allowed_[x]; }
  [[nodiscard]] std::size_t left(std::uint32_t x) const { return left_[x]; }
  /// Whether nothing was removed.
  [[nodiscard]] bool is_whole(std::uint32_t x) const { return left_[x] == allowed_[x].size(); }
  [[nodiscard]] std::vector<strategy> listed(std::uint32_t x) const {
    std::vector<strategy> kept;
    kept.reserve(left_[x]);
    for (strategy s = 0; s < allowed_[x].size(); ++s)
      if (allowed_[x][s]) kept.push_back(s);
    return kept;
  }

  /// \param why  called only if nothing is left
  /// \returns whether the strategy was there
  template <class Why>
  bool remove(std::uint32_t x, strategy s, Why why) {
    if (!allowed_[x][s]) return false;
    allowed_[x][s] = false;
    if (--left_[x] == 0) refuse_last(x, s, why());
    return true;
  }

 private:
  [[noreturn]] void refuse_last(std::uint32_t x, strategy s, const std::string& why) const {
    refuse(error_category::constraint,
           "no strategy is left for " + name_(x) + ": the last one, " + std::to_string(s) + ", is ruled out by " + why);
  }

  std::vector<std::vector<bool>> allowed_;
  std::vector<std::size_t> left_;
  describe name_;
};

/// Whether a table forbids pairs, and whether every row and column has an allowed one.
struct table_support {
  bool forbids = false;    ///< some pair
  bool of_rows = true;     ///< every row has an allowed column
  bool of_columns = true;  ///< every column has an allowed row

  table_support() = default;
  template <cost_value Cost>
  explicit table_support(const cost_table<Cost>& t) {
    std::vector<bool> has_row(t.column_classes());
    for (std::size_t i = 0; i < t.row_classes(); ++i) {
      bool has_column = false;
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        if (is_forbidden(t.class_cost(i, j))) {
          forbids = true;
        } else {
          has_column = has_row[j] = true;
        }
      }
      of_rows = of_rows && has_column;
    }
    of_columns = std::find(has_row.begin(), has_row.end(), false) == has_row.end();
  }
};

/// Removes strategies without a partner over some edge, until every one has one (AC-3 on class tables).
/// \param poll  called at least once per edge; throws to stop
/// Complexity: O(removals * degree * row classes * column classes)
/// Source: A. Mackworth, Consistency in networks of relations, Artificial Intelligence 8 (1977).
template <cost_value Cost>
void make_arc_consistent(domains& d, std::span<const joint_edge<Cost>> edges,
                         const std::function<std::string(const joint_edge<Cost>&)>& why, const poll_function& poll) {
  std::vector<std::vector<std::uint32_t>> edges_of(d.size());
  std::vector<std::uint32_t> open;
  std::unordered_map<const cost_table<Cost>*, table_support> supports;
  std::vector<const table_support*> support_of(edges.size());
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    poll();
    const auto [known, fresh] = supports.try_emplace(edges[e].table.get());
    if (fresh) known->second = table_support(*edges[e].table);
    support_of[e] = &known->second;
    if (!known->second.forbids) continue;  // a table without forbidden pairs removes nothing
    edges_of[edges[e].first].push_back(e);
    edges_of[edges[e].second].push_back(e);
    open.push_back(e);
  }
  std::vector<bool> queued(edges.size(), false);
  for (const std::uint32_t e : open) queued[e] = true;

  std::vector<char> there, supported;
  const auto revise = [&](std::uint32_t e, bool first_side) {
    const cost_table<Cost>& t = *edges[e].table;
    const std::uint32_t own = first_side ? edges[e].first : edges[e].second;
    const std::uint32_t other = first_side ? edges[e].second : edges[e].first;
    if (d.is_whole(other) && (first_side ? support_of[e]->of_rows : support_of[e]->of_columns)) return;
    const auto own_class = first_side ? t.row_class() : t.column_class();
    mark_partners(
        t, !first_side, [&](strategy s) { return d.of(other)[s]; }, there, supported);
    bool changed = false;
    for (strategy s = 0; s < own_class.size(); ++s)
      if (supported[own_class[s]] == 0) changed |= d.remove(own, s, [&] { return why(edges[e]); });
    if (changed)
      for (const std::uint32_t next : edges_of[own])
        if (!queued[next]) {
          queued[next] = true;
          open.push_back(next);
        }
  };
  for (std::size_t at = 0; at < open.size(); ++at) {
    poll();
    queued[open[at]] = false;
    revise(open[at], true);
    revise(open[at], false);
  }
}

/// Usage of one variable over a nonempty range of rows, one amount per stated strategy.
struct joint_segment {
  std::uint32_t variable = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::span<const double> usage;
};

/// Least (or largest, with sign -1) usage of every row.
inline std::vector<double> extreme_usage(const domains& d, std::size_t rows, std::span<const joint_segment> segments,
                                         double sign) {
  range_sums sums(rows);
  for (const joint_segment& s : segments) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < s.usage.size(); ++k)
      if (d.of(s.variable)[k]) least = std::min(least, sign * s.usage[k]);
    sums.add(s.begin, s.end, sign * least);
  }
  return sums.values();
}

/// Removes strategies that break a row even if every other variable has its least usage (for lower limits: its
/// largest). Segments are considered one by one, which is safe and usually sufficient.
/// \param poll  called regularly; throws to stop
/// \returns whether anything was removed
/// \throws error (constraint) naming the row that even the least usage breaks
inline bool fit_rows(domains& d, std::span<const usage_row> rows, std::span<const joint_segment> segments,
                     const std::function<std::string(const usage_row&)>& why, const poll_function& poll) {
  bool changed = false;
  for (const double sign : {1.0, -1.0}) {  // upper limits, then lower limits mirrored
    const std::vector<double> least = extreme_usage(d, rows.size(), segments, sign);
    std::vector<double> slack(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      slack[r] = sign > 0 ? rows[r].high - least[r] : least[r] - rows[r].low;
      if (slack[r] < -budget_tolerance)
        refuse(error_category::constraint, why(rows[r]) + (sign > 0 ? " needs at least " : " gets at most ") +
                                               number_text(least[r]) + ", but its limit is " +
                                               number_text(sign > 0 ? rows[r].high : rows[r].low));
    }
    if (rows.empty()) return false;
    const range_minimum least_slack(slack);
    for (const joint_segment& s : segments) {
      poll();
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < s.usage.size(); ++k)
        if (d.of(s.variable)[k]) best = std::min(best, sign * s.usage[k]);
      const double room = least_slack(s.begin, s.end) + budget_tolerance;
      for (strategy k = 0; k < s.usage.size(); ++k)
        if (d.of(s.variable)[k] && sign * s.usage[k] - best > room)
          changed |= d.remove(s.variable, k, [&] { return why(rows[s.begin]); });
    }
  }
  return changed;
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/solve/detail/usage_changes.hpp>
#include <shardweave/solve/reduce/detail/mutable_problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

/// \file
/// Rows and usage segments of a shrinking problem, kept in their simplest form.

namespace shardweave::inline v0::detail {

/// Normal form of usage, without a change of what is feasible: segments of a variable are disjoint, the least
/// usage of each is zero (what is always used is taken off the limits of its rows), upper limits of whole amounts are
/// whole, and no row is left that no labeling can break or that another row of its budget implies.
template <cost_value Cost>
class usage_tidy {
 public:
  explicit usage_tidy(mutable_problem<Cost>& p) : p_(p), always_(p.rows.size()) {
    std::map<std::uint32_t, double> largest;
    for (const auto& v : p_.variables)
      for (const usage_segment& s : v.segments) {
        const auto least_and_most = std::ranges::minmax(s.usage);
        const double most = std::max(-least_and_most.min, least_and_most.max);
        const bool whole = std::ranges::all_of(s.usage, [](double u) { return u == std::floor(u); });
        for_each_budget(s, [&](std::uint32_t b) {
          double& known = largest[b];
          known = std::max(known, most);
          if (!whole) rounding_.try_emplace(b, 0.0);
        });
      }
    for (auto& [b, rounding] : rounding_) rounding = 1e-12 * largest[b];
    note_lower_limits();
  }

  /// Adds usage of a removed variable, which does not depend on any label; `tidy` subtracts it from the limits.
  void take_from_rows(const usage_segment& s, double amount) { always_.add(s.begin, s.end, amount); }

  /// Whether label a uses no more than b in any row, and equally much in rows with a lower limit.
  [[nodiscard]] bool uses_no_more(const std::vector<usage_segment>& segments, strategy a, strategy b) const {
    return std::all_of(segments.begin(), segments.end(), [&](const usage_segment& s) {
      return s.usage[a] == s.usage[b] || (s.usage[a] < s.usage[b] && !has_lower_limit(s));
    });
  }

  /// \returns false if some row cannot be kept
  /// Complexity: O(rows + sum over the variables of segments * log segments * labels)
  bool tidy() {
    if (p_.rows.empty()) return true;
    range_sums of_most(p_.rows.size());
    usage_changes changes(p_.rows.size());
    for (auto& v : p_.variables) {
      if (!v.alive || v.segments.empty()) continue;
      tidy_segments(v);
      changes.add(v.segments);
      for (const usage_segment& s : v.segments) {
        of_most.add(s.begin, s.end, *std::max_element(s.usage.begin(), s.usage.end()));
      }
    }
    const std::vector<double> always = always_.values(), most = of_most.values();
    std::vector<bool> binds(p_.rows.size());
    bool feasible = true;
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      usage_row& row = p_.rows[r];
      const double tolerance = budget_tolerance + rounding_of(row.budget);
      row.high -= always[r];
      row.low -= always[r];
      if (is_whole(row.budget)) row.high = std::floor(row.high + budget_tolerance);
      if (row.high < -tolerance || most[r] < row.low - tolerance) feasible = false;
      binds[r] = most[r] > row.high || row.low > 0;
    }
    drop_implied(binds, changes);
    renumber(binds);
    return feasible;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double largest_whole = 0x1p53;  ///< sums of whole numbers below are exact
  static constexpr double sum_rounding = 1e-9;     ///< more than other sums of usage are off by, as a share of them

  /// Calls `visit` with the budgets of the rows of a segment; rows of a budget are consecutive.
  template <class Visit>
  void for_each_budget(const usage_segment& s, Visit visit) const {
    if (s.begin < s.end && p_.rows[s.begin].budget == p_.rows[s.end - 1].budget) return visit(p_.rows[s.begin].budget);
    for (std::uint32_t r = s.begin; r < s.end; ++r)
      if (r == s.begin || p_.rows[r].budget != p_.rows[r - 1].budget) visit(p_.rows[r].budget);
  }
  /// Largest rounding error of sums of a budget's usage, in the budget's unit.
  [[nodiscard]] double rounding_of(std::uint32_t budget) const {
    const auto at = rounding_.find(budget);
    return at == rounding_.end() ? 0 : at->second;
  }
  [[nodiscard]] bool is_whole(std::uint32_t budget) const { return !rounding_.contains(budget); }
  [[nodiscard]] bool has_fractions(const usage_segment& s) const {
    bool any = false;
    for_each_budget(s, [&](std::uint32_t b) { any = any || !is_whole(b); });
    return any;
  }
  void note_lower_limits() {
    some_lower_limit_ =
        std::any_of(p_.rows.begin(), p_.rows.end(), [](const usage_row& r) { return r.low > -infinity; });
  }
  [[nodiscard]] bool has_lower_limit(const usage_segment& s) const {
    if (!some_lower_limit_) return false;
    return std::any_of(p_.rows.begin() + s.begin, p_.rows.begin() + s.end,
                       [](const usage_row& r) { return r.low > -infinity; });
  }

  /// Disjoint ranges of rows, neighbours of equal usage joined.
  void tidy_segments(typename mutable_problem<Cost>::variable& v) {
    if (are_disjoint(v.segments)) return lower(v.segments);
    given_.assign(std::make_move_iterator(v.segments.begin()), std::make_move_iterator(v.segments.end()));
    v.segments.clear();
    bounds_.clear();
    for (const usage_segment& s : given_) bounds_.insert(bounds_.end(), {s.begin, s.end});
    std::ranges::sort(bounds_);
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
    for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
      usage_segment segment{bounds_[i], bounds_[i + 1], std::vector<double>(v.unary.size())};
      std::size_t covering = 0;
      for (const usage_segment& s : given_)
        if (s.begin <= segment.begin && segment.begin < s.end) {
          ++covering;
          for (std::size_t l = 0; l < segment.usage.size(); ++l) segment.usage[l] += s.usage[l];
        }
      const auto least_and_most = std::ranges::minmax(segment.usage);
      take_from_rows(segment, least_and_most.min);
      // equal sums of fractions differ by rounding
      const double dust =
          covering > 1 && has_fractions(segment) ? 4 * std::numeric_limits<double>::epsilon() * least_and_most.max : 0;
      bool constant = true;
      for (double& u : segment.usage) {
        u -= least_and_most.min;
        if (u <= dust) u = 0;
        constant = constant && u == 0;
      }
      if (constant) continue;
      if (!v.segments.empty() && v.segments.back().end == segment.begin && v.segments.back().usage == segment.usage) {
        v.segments.back().end = segment.end;
      } else {
        v.segments.push_back(std::move(segment));
      }
    }
  }

  [[nodiscard]] static bool are_disjoint(const std::vector<usage_segment>& segments) {
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (segments[i].begin >= segments[i].end || (i > 0 && segments[i].begin < segments[i - 1].end)) return false;
    return true;
  }
  /// The same for disjoint segments in order.
  void lower(std::vector<usage_segment>& segments) {
    std::size_t kept = 0;
    for (usage_segment& s : segments) {
      const auto [least, most] = std::ranges::minmax(s.usage);
      take_from_rows(s, least);
      if (least == most) continue;
      if (least != 0)
        for (double& u : s.usage) u -= least;
      if (kept > 0 && segments[kept - 1].end == s.begin && segments[kept - 1].usage == s.usage) {
        segments[kept - 1].end = s.end;
      } else {
        if (&segments[kept] != &s) segments[kept] = std::move(s);
        ++kept;
      }
    }
    segments.resize(kept);
  }

  /// Drops rows without a lower limit that rows of their budget before or after them imply.
  void drop_implied(std::vector<bool>& binds, const usage_changes& changes) const {
    const auto drop = [&](std::uint32_t r, const implied_limit& implied) {
      if (!binds[r]) return infinity;
      const usage_row& row = p_.rows[r];
      const bool is_exact = implied.rise == 0 || (is_whole(row.budget) && implied.value() < largest_whole);
      const double rounding = is_exact ? 0 : sum_rounding * std::abs(implied.value());
      if (row.low > -infinity || !(implied.value() + rounding <= row.high)) return row.high;
      binds[r] = false;
      return infinity;
    };
    changes.forward(p_.rows, drop);
    changes.backward(p_.rows, drop);  // a row that went implies nothing
  }

  /// Removes the rows that do not bind.
  void renumber(const std::vector<bool>& binds) {
    std::vector<std::uint32_t> before(p_.rows.size() + 1);  // rows left before each
    std::vector<usage_row> left;
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      before[r + 1] = before[r] + (binds[r] ? 1 : 0);
      if (binds[r]) left.push_back(p_.rows[r]);
    }
    if (left.size() < p_.rows.size())
      for (auto& v : p_.variables) {
        const std::size_t had = v.segments.size();
        for (usage_segment& s : v.segments) {
          s.begin = before[s.begin];
          s.end = before[s.end];
        }
        std::erase_if(v.segments, [](const usage_segment& s) { return s.begin == s.end; });
        if (v.segments.size() < had) v.dirty = true;
      }
    p_.rows = std::move(left);
    always_ = range_sums(p_.rows.size());
    note_lower_limits();
  }

  mutable_problem<Cost>& p_;
  std::vector<usage_segment> given_;   // of the variable being tidied
  std::vector<std::uint32_t> bounds_;  // where these begin or end
  bool some_lower_limit_ = false;
  std::map<std::uint32_t, double> rounding_;  ///< of budgets with fractions: sums of usage are off by less than this
  range_sums always_;                         ///< usage to be taken off the limits
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/solve/reduce/detail/mutable_problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Rows and usage segments of a shrinking problem, kept in their simplest form.

namespace shardweave::inline v0::detail {

/// Normal form of usage, without a change of what is feasible: segments of a variable are disjoint, the least
/// usage of each is zero (what is always used is taken off the limits of its rows), and no row is left that no
/// labeling can break or that a neighbouring row implies.
template <cost_value Cost>
class usage_tidy {
 public:
  explicit usage_tidy(mutable_problem<Cost>& p) : p_(p), always_(p.rows.size() + 1) {
    double largest = 0;
    bool whole = true;  // whole numbers are summed exactly
    for (const auto& v : p_.variables)
      for (const usage_segment& s : v.segments)
        for (const double u : s.usage) {
          largest = std::max(largest, std::abs(u));
          whole = whole && u == std::floor(u);
        }
    if (!whole) rounding_ = 1e-12 * largest;
    note_lower_limits();
  }

  /// Usage of a removed variable, which is there whatever is chosen; `tidy` takes it off the limits.
  void take_from_rows(const usage_segment& s, double amount) {
    always_[s.begin] += amount;
    always_[s.end] -= amount;
  }

  /// Label a uses no more than b, in any row; exactly as much where a row has a lower limit.
  [[nodiscard]] bool uses_no_more(const std::vector<usage_segment>& segments, strategy a, strategy b) const {
    return std::all_of(segments.begin(), segments.end(), [&](const usage_segment& s) {
      return s.usage[a] == s.usage[b] || (s.usage[a] < s.usage[b] && !has_lower_limit(s));
    });
  }

  /// \returns false if some row cannot be kept
  /// Complexity: O(rows + sum over the variables of segments * log segments * labels)
  bool tidy() {
    if (p_.rows.empty()) return true;
    std::vector<double> most(p_.rows.size() + 1);
    std::vector<bool> rises(p_.rows.size() + 1), falls(p_.rows.size() + 1);
    for (auto& v : p_.variables) {
      if (!v.alive || v.segments.empty()) continue;
      tidy_segments(v);
      mark_changes(v.segments, rises, falls);
      for (const usage_segment& s : v.segments) {
        const double span = *std::max_element(s.usage.begin(), s.usage.end());
        most[s.begin] += span;
        most[s.end] -= span;
      }
    }
    std::vector<bool> binds(p_.rows.size());
    bool feasible = true;
    const double tolerance = budget_tolerance + rounding_;
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      if (r > 0) {
        always_[r] += always_[r - 1];
        most[r] += most[r - 1];
      }
      usage_row& row = p_.rows[r];
      row.high -= always_[r];
      row.low -= always_[r];
      if (row.high < -tolerance || most[r] < row.low - tolerance) feasible = false;
      binds[r] = most[r] > row.high || row.low > 0;
    }
    drop_implied(binds, rises, falls);
    renumber(binds);
    return feasible;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

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
    if (rounding_ == 0 && are_disjoint(v.segments)) return lower(v.segments);
    const std::size_t k = v.unary.size();
    given_.assign(std::make_move_iterator(v.segments.begin()), std::make_move_iterator(v.segments.end()));
    v.segments.clear();
    bounds_.clear();
    for (std::uint32_t i = 0; i < given_.size(); ++i) {
      bounds_.push_back({given_[i].begin, i, 1.0});
      bounds_.push_back({given_[i].end, i, -1.0});
    }
    std::stable_sort(bounds_.begin(), bounds_.end(), [](const bound& a, const bound& b) { return a.row < b.row; });
    now_.assign(k, 0.0);
    for (auto at = bounds_.begin(); at != bounds_.end();) {
      const std::uint32_t row = at->row;
      step_.assign(k, 0.0);  // summed apart, so that what cancels at one row cancels
      for (; at != bounds_.end() && at->row == row; ++at)
        for (std::size_t l = 0; l < k; ++l) step_[l] += at->sign * given_[at->segment].usage[l];
      for (std::size_t l = 0; l < k; ++l) now_[l] += step_[l];
      if (at == bounds_.end()) break;
      usage_segment segment{row, at->row, now_};
      const double base = *std::min_element(now_.begin(), now_.end());
      take_from_rows(segment, base);
      bool constant = true;
      for (double& u : segment.usage) {
        u -= base;
        if (u <= rounding_) u = 0;  // sums of fractions that cancel leave dust
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

  /// Marks where usage of some label becomes more, or less, than in the row before.
  static void mark_changes(const std::vector<usage_segment>& segments, std::vector<bool>& rises,
                           std::vector<bool>& falls) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const usage_segment& s = segments[i];
      if (i > 0 && segments[i - 1].end == s.begin) {
        for (std::size_t l = 0; l < s.usage.size(); ++l) {
          if (s.usage[l] > segments[i - 1].usage[l]) rises[s.begin] = true;
          if (s.usage[l] < segments[i - 1].usage[l]) falls[s.begin] = true;
        }
      } else {
        rises[s.begin] = true;
      }
      if (i + 1 == segments.size() || segments[i + 1].begin != s.end) falls[s.end] = true;
    }
  }

  /// A row whose neighbour has no more room and no label that uses less is implied by it.
  void drop_implied(std::vector<bool>& binds, const std::vector<bool>& rises, const std::vector<bool>& falls) const {
    const auto scan = [&](auto at, const std::vector<bool>& against, std::size_t boundary_shift) {
      std::size_t kept = p_.rows.size();  // the last row that still stands
      bool broken = false;                // some usage is less in `kept` than in a row since
      for (std::size_t i = 0; i < p_.rows.size(); ++i) {
        const std::size_t r = at(i);
        if (i > 0) broken = broken || against[r + boundary_shift];
        if (!binds[r]) continue;
        const bool plain = p_.rows[r].low == -infinity;
        if (kept < p_.rows.size() && !broken && plain && p_.rows[r].high >= p_.rows[kept].high) {
          binds[r] = false;
        } else {
          kept = r;
          broken = false;
        }
      }
    };
    scan([](std::size_t i) { return i; }, rises, 0);                                  // implied by the row before
    scan([last = p_.rows.size() - 1](std::size_t i) { return last - i; }, falls, 1);  // implied by the row after
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
    always_.assign(p_.rows.size() + 1, 0.0);
    note_lower_limits();
  }

  /// Where a segment begins or ends.
  struct bound {
    std::uint32_t row, segment;
    double sign;
  };

  mutable_problem<Cost>& p_;
  std::vector<usage_segment> given_;  // of the variable being tidied
  std::vector<bound> bounds_;
  std::vector<double> now_, step_;
  bool some_lower_limit_ = false;
  double rounding_ = 0;         ///< sums of usage are off by less than this
  std::vector<double> always_;  ///< usage to be taken off the limits, as changes from row to row
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// By how much usage changes from a row to the next: what one row's limit says about its neighbours.

namespace shardweave::inline v0::detail {

/// A limit on the usage of a row, which the upper limit of another one implies.
struct implied_limit {
  double high = std::numeric_limits<double>::infinity();  ///< that of row `by`
  double rise = 0;                                        ///< what can be used more than in that, at most
  std::uint32_t by = 0;

  [[nodiscard]] double value() const { return high + rise; }
  /// Takes the limit of another row if it is lower in that.
  void count(std::uint32_t row, double limit) {
    if (limit < value()) *this = {.high = limit, .by = row};
  }
};

/// What labelings can use more, at most, in a row than in the one beside it.
class usage_changes {
 public:
  explicit usage_changes(std::size_t rows) : rise_(rows + 1), fall_(rows + 1) {}

  /// \param segments those of a variable, disjoint and in order; if they overlap, rises are only bounded from above
  /// Complexity: O(usage amounts)
  void add(std::span<const usage_segment> segments) {
    const usage_segment* last = nullptr;
    for (const usage_segment& s : segments) {
      const bool joins = last != nullptr && last->end == s.begin;
      if (last != nullptr && !joins) change(last->end, last->usage, {});
      change(s.begin, joins ? std::span<const double>(last->usage) : std::span<const double>(), s.usage);
      last = &s;
    }
    if (last != nullptr) change(last->end, last->usage, {});
  }

  /// Calls `visit(row, implied)` for all rows in order, with what the rows before it in its budget imply; it returns
  /// the upper limit by which the row counts for those after it, infinity if it does not. Complexity: O(rows)
  template <class Visit>
  void forward(std::span<const usage_row> rows, Visit visit) const {
    implied_limit known;
    for (std::uint32_t r = 0; r < rows.size(); ++r) {
      if (r > 0 && rows[r - 1].budget != rows[r].budget) known = {};
      known.rise += rise_[r];
      known.count(r, visit(r, std::as_const(known)));
    }
  }
  /// The same from the last row on, with what the rows after each imply.
  template <class Visit>
  void backward(std::span<const usage_row> rows, Visit visit) const {
    implied_limit known;
    for (auto r = static_cast<std::uint32_t>(rows.size()); r-- > 0;) {
      if (r + 1 < rows.size() && rows[r + 1].budget != rows[r].budget) known = {};
      known.rise += fall_[r + 1];
      known.count(r, visit(r, std::as_const(known)));
    }
  }

 private:
  void change(std::uint32_t r, std::span<const double> from, std::span<const double> to) {
    double most = -std::numeric_limits<double>::infinity(), least = -most;
    for (std::size_t l = 0; l < std::max(from.size(), to.size()); ++l) {
      const double by = (to.empty() ? 0 : to[l]) - (from.empty() ? 0 : from[l]);
      most = std::max(most, by);
      least = std::min(least, by);
    }
    rise_[r] += most;
    fall_[r] -= least;
  }

  std::vector<double> rise_;  ///< per row, in it more than in the one before; below zero where all use less
  std::vector<double> fall_;  ///< per row, in the one before more than in it
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Budgets as rows: one row per budget, or per time at which it can bind.

namespace shardweave::inline v0::detail {

/// A budget term as a range of rows.
struct row_range {
  std::uint32_t budget = 0;
  std::uint32_t term = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct budget_rows {
  std::vector<usage_row> rows;
  std::vector<row_range> ranges;  ///< of one budget after the other
};

/// The times at which the set of live terms is maximal; limits that hold there hold always. Between a start and the
/// next end the set only grows, so these are the last starts before each end.
/// Complexity: O(n log n) for n terms
inline std::vector<std::int64_t> binding_times(std::span<const budget_term> terms) {
  std::vector<std::int64_t> starts, ends, times;
  for (const budget_term& term : terms)
    if (term.live && term.live->first < term.live->end) {
      starts.push_back(term.live->first);
      ends.push_back(term.live->end);
    }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  std::size_t begun = 0;
  for (const std::int64_t end : ends) {
    const std::size_t before = begun;
    while (begun < starts.size() && starts[begun] < end) ++begun;
    if (begun > before) times.push_back(starts[begun - 1]);
  }
  return times;
}

inline budget_rows rows_of(std::span<const budget> budgets) {
  budget_rows result;
  for (std::uint32_t b = 0; b < budgets.size(); ++b) {
    const budget& stated = budgets[b];
    auto times = binding_times(stated.terms);
    if (times.empty()) times.push_back(0);
    const auto base = static_cast<std::uint32_t>(result.rows.size());
    for (const std::int64_t t : times) result.rows.push_back({stated.low, stated.high, b, t});
    const auto row_at = [&](std::int64_t t) {
      return base + static_cast<std::uint32_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
    };
    for (std::uint32_t i = 0; i < stated.terms.size(); ++i) {
      const auto& live = stated.terms[i].live;
      if (!live) {
        result.ranges.push_back({b, i, base, static_cast<std::uint32_t>(result.rows.size())});
      } else if (live->first < live->end) {
        const std::uint32_t begin = row_at(live->first), end = row_at(live->end);
        if (begin < end) result.ranges.push_back({b, i, begin, end});
      }
    }
  }
  return result;
}

}  // namespace shardweave::inline v0::detail

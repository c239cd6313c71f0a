#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Budgets as rows: one row per budget, or per time at which it can bind.

namespace shardweave::inline v0::detail {

/// A budget term as a range of rows.
struct row_range {
  std::uint32_t term = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct budget_rows {
  std::vector<usage_row> rows;
  std::vector<std::vector<row_range>> ranges;  ///< per budget
};

/// The times at which the set of live terms is maximal; limits that hold there hold always. Between a start and the
/// next end the set only grows, so these are the last starts before each end.
/// Complexity: O(n log n) for n terms
inline std::vector<std::int64_t> binding_times(std::span<const budget_term> terms) {
  std::vector<std::pair<std::int64_t, bool>> events;  // ends (false) sort before starts of the same time
  for (const budget_term& term : terms)
    if (term.live && term.live->first < term.live->end) {
      events.emplace_back(term.live->first, true);
      events.emplace_back(term.live->end, false);
    }
  std::sort(events.begin(), events.end());
  std::vector<std::int64_t> times;
  bool grown = false;
  std::int64_t last_start = 0;
  for (const auto& [time, starts] : events) {
    if (starts) {
      grown = true;
      last_start = time;
    } else if (grown) {
      times.push_back(last_start);
      grown = false;
    }
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
    auto& ranges = result.ranges.emplace_back();
    for (std::uint32_t i = 0; i < stated.terms.size(); ++i) {
      const auto& live = stated.terms[i].live;
      if (!live) {
        ranges.push_back({i, base, static_cast<std::uint32_t>(result.rows.size())});
      } else if (live->first < live->end) {
        const std::uint32_t begin = row_at(live->first), end = row_at(live->end);
        if (begin < end) ranges.push_back({i, begin, end});
      }
    }
  }
  return result;
}

}  // namespace shardweave::inline v0::detail

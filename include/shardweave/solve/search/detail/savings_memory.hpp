#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/detail/known_prices.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>

#include <span>
#include <vector>

/// \file
/// Warm starts of ascents with savings.

namespace shardweave::inline v0::detail {

/// Cuts, and prices of savings and of rows, for a similar problem. Any part may be missing or wrong: bounds hold for
/// any prices.
template <cost_value Cost>
struct savings_memory {
  std::vector<typename savings_ascent<Cost>::cut_pointer> cuts = {};
  std::vector<double> chain = {};
  known_prices rows = {};

  savings_memory() = default;
  /// \pre the ascent has made a step
  savings_memory(const savings_ascent<Cost>& ascent, const compact_problem<Cost>& p)
      : cuts(ascent.cuts()), chain(ascent.best_chain()), rows(p, std::span<const double>(ascent.best_rows())) {}

  /// Warm-starts an ascent that was made with these cuts.
  void start(savings_ascent<Cost>& ascent, const compact_problem<Cost>& p) const {
    if (!chain.empty()) ascent.start(chain);
    ascent.start_rows(rows.for_rows_of(p));
  }
};

}  // namespace shardweave::inline v0::detail

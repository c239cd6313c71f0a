#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

/// \file
/// Steps of an ascent while they gain.

namespace shardweave::inline v0::detail {

/// Steps an ascent until `most` steps are made, a number of them gains too little (fewer for small problems, where
/// prices and messages settle sooner), or `look` ends it.
/// \param target  called before each step: the cost of the incumbent
/// \param look    called after each step with its number and whether another may gain; returns whether to continue
template <cost_value Cost, class Target, class Look>
void climb(price_ascent<Cost>& ascent, std::size_t variables, std::size_t most, const Target& target,
           const Look& look) {
  constexpr double least_gain = 2e-6;  // relative rise of the bound
  const std::size_t patience = std::min<std::size_t>(150, 20 + 2 * variables);
  double mark = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < most; ++i) {
    if (i % patience == 0) {
      if (ascent.bound() <= mark + least_gain * std::abs(mark)) return;
      mark = ascent.bound();
    }
    const bool more = ascent.step(target());
    if (!look(i, more) || !more) return;
  }
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/overlap/hideable.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Random instances of hiding, of every shape that the forms produce.

namespace overlap_test {

namespace sw = shardweave;

enum class kind {
  any,               ///< windows anywhere, some empty, some past the end
  chains,            ///< prefixes and suffixes
  chains_and_holes,  ///< and windows over everything but one position
  any_and_holes
};

inline std::pair<std::vector<std::int64_t>, std::vector<sw::hideable<std::int64_t>>> draw_demands(
    sw::random_source& random, kind which, std::size_t most_positions, std::size_t most_demands, std::size_t channels) {
  // few units make ties, many break them
  const std::size_t units = random.chance(0.5) ? 4 : 12;
  std::vector<std::int64_t> computation(random.below(most_positions + 1));
  for (auto& c : computation) c = static_cast<std::int64_t>(random.below(units));
  std::vector<sw::hideable<std::int64_t>> demands(random.below(most_demands + 1));
  const std::size_t n = computation.size();
  for (auto& d : demands) {
    d.amount = static_cast<std::int64_t>(random.below(units * 2));
    d.channel = random.below(channels);
    const std::size_t p = random.below(n + 1);
    if (n > 0 && (which == kind::chains_and_holes || which == kind::any_and_holes) && random.chance(0.4))
      d.where = {0, random.chance(0.5) ? n - 1 : n + 3, p};
    else if (which == kind::any || which == kind::any_and_holes)
      d.where = {p, p + random.below(5) - (random.chance(0.1) && p > 0 ? 1 : 0)};
    else if (random.chance(0.5))
      d.where = {0, p};
    else
      d.where = {p, n == 0 ? 0 : n - 1};
  }
  return {computation, demands};
}

}  // namespace overlap_test

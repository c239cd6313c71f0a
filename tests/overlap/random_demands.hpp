#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/overlap/hideable.hpp>

#include <algorithm>
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

/// The most that flows from demands to the positions of their windows, by augmenting paths: a definition that knows
/// nothing of order.
inline std::int64_t most_flow(std::vector<std::int64_t> room, const std::vector<sw::hideable<std::int64_t>>& demands,
                              std::size_t channel) {
  std::vector<std::vector<std::int64_t>> flow(demands.size(), std::vector<std::int64_t>(room.size()));
  std::vector<bool> seen;
  const auto push = [&](const auto& self, std::size_t d, std::int64_t most) -> std::int64_t {
    seen[d] = true;
    for (std::size_t q = 0; q < room.size(); ++q) {
      if (!demands[d].where.contains(q)) continue;
      std::int64_t now = std::min(most, room[q]);
      room[q] -= now;
      for (std::size_t other = 0; other < demands.size() && now == 0; ++other)
        if (!seen[other] && flow[other][q] > 0) {
          now = self(self, other, std::min(most, flow[other][q]));
          flow[other][q] -= now;
        }
      flow[d][q] += now;
      if (now > 0) return now;
    }
    return 0;
  };
  std::int64_t total = 0;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    if (demands[d].channel != channel) continue;
    for (std::int64_t left = demands[d].amount; left > 0;) {
      seen.assign(demands.size(), false);
      const std::int64_t now = push(push, d, left);
      if (now == 0) break;
      left -= now;
      total += now;
    }
  }
  return total;
}

}  // namespace overlap_test

#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace shardweave_test {

/// A problem of few variables whose usage spans many rows: two budgets of 40 times each, with a lower limit
/// now and then, some forbidden pairs, and limits around what one assignment uses.
inline shardweave::compact_problem<double> long_intervals(std::uint64_t seed) {
  namespace sw = shardweave;
  sw::random_source random(seed);
  sw::compact_builder<double> builder;
  constexpr std::uint32_t n = 7, k = 3, times = 40;
  for (std::uint32_t x = 0; x < n; ++x) {
    std::vector<double> unary(k);
    for (double& c : unary) c = static_cast<double>(random.below(40));
    builder.add_variable(unary);
  }
  for (std::uint32_t x = 1; x < n; ++x) {
    std::vector<double> entries(k * k);
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i] = i % (k + 1) != 0 && random.chance(0.15) ? std::numeric_limits<double>::infinity()
                                                           : static_cast<double>(random.below(25));
    builder.add_edge(
        static_cast<std::uint32_t>(random.below(x)), x,
        std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(k, k, entries)));
  }
  std::vector<std::pair<std::uint32_t, sw::usage_segment>> segments;
  std::vector<double> witness(2 * times);
  const std::size_t taken = random.below(k);  // by all: pairs of equal labels are never forbidden
  for (std::uint32_t b = 0; b < 2; ++b)
    for (std::uint32_t x = 0; x < n; ++x) {
      const auto begin = static_cast<std::uint32_t>(b * times + random.below(times / 2));
      const auto end = static_cast<std::uint32_t>(begin + 1 + random.below((b + 1) * times - begin));
      std::vector<double> usage(k);
      for (double& u : usage) u = 1e9 * static_cast<double>(random.below(9));
      for (std::uint32_t r = begin; r < end; ++r) witness[r] += usage[taken];
      segments.push_back({x, {begin, end, std::move(usage)}});
    }
  const double room = random.chance(0.1) ? 0.3 : 1;
  for (std::uint32_t r = 0; r < 2 * times; ++r)
    builder.add_row({room == 1 && random.chance(0.05) ? witness[r] * 0.8 : -std::numeric_limits<double>::infinity(),
                     witness[r] * (r % 7 == 0 ? 1.3 : 1) * room, r / times, r % times});
  for (auto& [x, segment] : segments) builder.add_segment(x, std::move(segment));
  return builder.build();
}

}  // namespace shardweave_test

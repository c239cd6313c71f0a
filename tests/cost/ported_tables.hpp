#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/cost/collective.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// What the formulas of PyTorch and AutoParallel have in common.
namespace ported_tables {

using namespace shardweave;

inline constexpr std::array ported_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                         collective::all_to_all};

/// The share of its bandwidth that a tree of protocol LL, LL128, Simple reaches, in tenths, by floor(log2(bytes/64)).
inline constexpr std::array<std::array<int, 23>, 3> tree_tenths{
    {{10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
     {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
     {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9}}};

inline double tree_share(std::size_t protocol, double size) {
  if (size < 64) return 1;
  const auto at = static_cast<std::size_t>(std::floor(std::log2(size / 64)));
  return at < 23 ? tree_tenths[protocol][at] / 10.0 : 1;
}

struct line_of_time {
  double latency, bandwidth;
  [[nodiscard]] double at(double size) const { return latency + size / (1000 * bandwidth); }
};

inline double random_size(random_source& random) {
  return static_cast<double>(random.below(std::uint64_t{1} << (1 + random.below(36))));
}

}  // namespace ported_tables

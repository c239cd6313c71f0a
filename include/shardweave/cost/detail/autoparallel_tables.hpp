#pragma once

#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

/// \file
/// The tables of AutoParallel's collective model: tuning logs of NCCL 2.27.5 on H100 nodes and fits to nccl-tests.

namespace shardweave::inline v0::detail {

struct latency_and_bandwidth {
  double latency_us;
  double bandwidth;
};

/// What a number of nodes and of ranks per node reaches, by protocol (LL, LL128, Simple).
struct autoparallel_entry {
  group_shape group;
  std::array<latency_and_bandwidth, 3> ring;  ///< of all-gather and reduce-scatter
};

inline constexpr std::array<autoparallel_entry, 20> autoparallel_entries{{
    {{1, 2}, {{{11.6, 48}, {22.5, 88.3}, {22.4, 96}}}},
    {{2, 2}, {{{11.3, 52}, {21.8, 117.8}, {29.2, 128}}}},
    {{4, 2}, {{{15.3, 44.6}, {29.4, 201.9}, {42.8, 219.4}}}},
    {{8, 2}, {{{23.3, 41.6}, {44.6, 313.2}, {70, 409.6}}}},
    {{1, 4}, {{{21.6, 27.2}, {39.5, 58.9}, {50.4, 64}}}},
    {{2, 4}, {{{18.7, 23.3}, {33.6, 100.9}, {64, 109.7}}}},
    {{4, 4}, {{{26.7, 21.8}, {48.8, 188.4}, {91.2, 204.8}}}},
    {{8, 4}, {{{42.7, 21.1}, {79.2, 303.1}, {145.6, 396.4}}}},
    {{1, 8}, {{{41.6, 23.3}, {73.5, 50.5}, {106.4, 54.9}}}},
    {{2, 8}, {{{33.5, 21.8}, {57.2, 94.2}, {133.6, 102.4}}}},
    {{4, 8}, {{{49.5, 21.1}, {87.6, 182.3}, {188, 198.2}}}},
    {{8, 8}, {{{81.5, 20.7}, {148.4, 298.3}, {296.8, 390.1}}}},
    {{1, 16}, {{{81.6, 21.8}, {141.5, 47.1}, {218.4, 51.2}}}},
    {{2, 16}, {{{63.1, 21.1}, {104.4, 91.2}, {272.8, 99.1}}}},
    {{4, 16}, {{{95.1, 20.7}, {165.2, 179.4}, {381.6, 195}}}},
    {{8, 16}, {{{159.1, 20.6}, {286.8, 295.9}, {599.2, 387}}}},
    {{1, 32}, {{{161.6, 21.1}, {277.5, 45.6}, {442.4, 49.5}}}},
    {{2, 32}, {{{122.3, 20.7}, {198.8, 89.7}, {551.2, 97.5}}}},
    {{4, 32}, {{{186.3, 20.6}, {320.4, 178}, {768.8, 193.5}}}},
    {{8, 32}, {{{314.3, 20.5}, {563.6, 294.8}, {1204, 385.5}}}},
}};

/// The row of a group; null if the tables have none. They have what is a power of two: 2 to 32 nodes, then 1 to 8
/// ranks.
[[nodiscard]] inline const autoparallel_entry* autoparallel_entry_of(group_shape group) {
  const auto nodes = static_cast<std::uint64_t>(group.nodes), ranks = static_cast<std::uint64_t>(group.ranks_per_node);
  if (!std::has_single_bit(nodes) || !std::has_single_bit(ranks) || nodes < 2 || nodes > 32 || ranks > 8)
    return nullptr;
  return &autoparallel_entries[static_cast<std::size_t>(4 * (std::bit_width(nodes) - 2) + std::bit_width(ranks) - 1)];
}

/// Of an all-reduce by trees: the latency grows by a step per doubling of the nodes, the bandwidth stays from four on.
[[nodiscard]] inline latency_and_bandwidth autoparallel_tree(const autoparallel_entry& entry, std::size_t protocol,
                                                             double nodes, double doublings) {
  constexpr std::array<double, 3> base{6.8, 14, 8.4}, hop{.6, 1.25, 4}, level{5, 8.5, 14};
  constexpr std::array<std::array<double, 3>, 4> two{
      {{9.3, 31.2, 35.2}, {16.6, 62.4, 70.4}, {16.6, 124.8, 140.8}, {16.6, 124.8, 140.8}}};
  constexpr std::array<std::array<double, 3>, 4> more{
      {{4.9, 17.6, 18.8}, {8.7, 35.2, 37.5}, {8.7, 70.4, 75.1}, {8.7, 98.6, 122.4}}};
  const double ranks = static_cast<double>(entry.group.ranks_per_node);
  const auto size =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(entry.group.ranks_per_node)) - 1);
  return {base[protocol] + 2 * ((ranks - 1) * hop[protocol] + doublings * level[protocol]),
          (nodes == 2 ? two : more)[size][protocol]};
}

/// The value at a place between two entries; `below` before the first, 1 from the end on.
[[nodiscard]] inline double ramp_at(std::span<const double> ramp, double place, double below) {
  if (!(place >= 0)) return below;
  const auto i = static_cast<std::size_t>(place);
  if (i >= ramp.size()) return 1;
  if (i + 1 == ramp.size()) return ramp[i];
  return ramp[i] + (place - static_cast<double>(i)) * (ramp[i + 1] - ramp[i]);
}

/// The share of its bandwidth that a ring over whole nodes reaches. All ramps go by log2 of the 64-byte lines per
/// rank.
[[nodiscard]] inline double autoparallel_full_mesh_ramp(double lines) {
  constexpr std::array<double, 24> ramp{.01, .02, .03, .06, .10, .16, .25, .36, .68, .68, .68, .68,
                                        .68, .68, .68, .68, .68, .68, .79, .87, .87, .87, .87, .87};
  return ramp_at(ramp, lines, .01);
}

[[nodiscard]] inline double autoparallel_nvls_tree_ramp(double lines) {
  constexpr std::array<double, 24> ramp{1,   1,   1,   1,   1, 1, 1, 1, .10, .10, .15, .28,
                                        .41, .55, .72, .88, 1, 1, 1, 1, 1,   1,   1,   1};
  return ramp_at(ramp, lines, 1);
}

/// Of rings over several nodes; beyond four nodes the dip is deeper and comes back by a factor of two per entry. The
/// powers are taken once for each doubling of the nodes.
[[nodiscard]] inline double autoparallel_ring_correction(double lines, double nodes) {
  using ramp = std::array<double, 25>;
  static const std::array<ramp, 64> by_doublings = [] {
    std::array<ramp, 64> result;
    result.fill({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, .10, .18, .30, .43, .63, .55, .78, .93, 1, 1, 1, 1, 1, 1});
    for (std::size_t d = 3; d < result.size(); ++d)
      for (std::size_t i = 0; i < result[d].size(); ++i) {
        double& share = result[d][i];
        share = std::pow(share, 1 + .2 * (static_cast<double>(d) - 2));
        if (i > 0) share = std::min(share, 2 * result[d][i - 1]);
      }
    return result;
  }();
  const auto doublings = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(nodes))) - 1;
  return ramp_at(by_doublings[doublings], lines, 1);
}

/// x^.65, to 12 digits and in a fifth of the time that the C library takes for any power: the power of the exponent and
/// of one of 64 parts of the mantissa is looked up, a polynomial leads from the middle of the part to x.
/// \pre x >= 1
[[nodiscard]] inline double autoparallel_power(double x) {
  struct tables {
    std::array<double, 1024> of_doublings{};
    std::array<double, 64> of_part{}, inverse{};
    tables() {
      for (std::size_t e = 0; e < of_doublings.size(); ++e)
        of_doublings[e] = std::pow(2.0, .65 * static_cast<double>(e));
      for (std::size_t i = 0; i < of_part.size(); ++i) {
        const double middle = 1 + (static_cast<double>(i) + .5) / 64;
        of_part[i] = std::pow(middle, .65);
        inverse[i] = 1 / middle;
      }
    }
  };
  static const tables known;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto mantissa = std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1023} << 52);
  const auto part = static_cast<std::size_t>(bits >> 46 & 63);
  const double r = mantissa * known.inverse[part] - 1;  // at most 1/128, so that r^5 counts for less than 1e-12
  return known.of_doublings[static_cast<std::size_t>((bits >> 52) - 1023)] * known.of_part[part] *
         (1 + r * (.65 + r * (-.11375 + r * (.0511875 - r * .030072656))));
}

[[nodiscard]] inline double autoparallel_exchange_latency(double nodes) {
  constexpr std::array<std::array<double, 2>, 5> known{{{2, 37}, {4, 42}, {8, 60}, {16, 98}, {32, 290}}};
  for (std::size_t i = 1; i < known.size(); ++i)
    if (nodes <= known[i][0])
      return known[i - 1][1] +
             (known[i][1] - known[i - 1][1]) * (nodes - known[i - 1][0]) / (known[i][0] - known[i - 1][0]);
  return known.back()[1];
}

/// A step function, as in the original.
[[nodiscard]] inline double autoparallel_exchange_correction(double lines, double nodes) {
  constexpr std::array<double, 24> steps{1,   1,   1,   1,   1,   1,   1, 1, .28, .28, .35, .43,
                                         .62, .71, .82, .89, .92, .95, 1, 1, 1,   1,   1,   1};
  if (!(lines >= 0) || lines >= static_cast<double>(steps.size())) return 1;
  const double found = steps[static_cast<std::size_t>(lines)];
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(nodes)) - 1);
  return found < 1 && levels > 1 ? 1 - (1 - found) / levels : found;
}

}  // namespace shardweave::inline v0::detail

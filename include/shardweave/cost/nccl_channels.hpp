#pragma once

#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

/// \file
/// How NCCL lays its channels over a machine, in closed form.

namespace shardweave::inline v0 {

/// The channels of one algorithm: how many, and how fast each runs inside nodes and between them, in GB/s.
struct nccl_paths {
  std::int32_t count = 0;  ///< 0 = the algorithm has no way
  double inside = 0;
  double between = 0;

  friend bool operator==(const nccl_paths&, const nccl_paths&) = default;
};

/// What NCCL's search finds for a group. `channels` is how many thread blocks a large collective occupies,
/// `nvls_channels` how many one does that uses the switch's multicast.
struct nccl_layout {
  nccl_paths ring;
  nccl_paths tree;
  nccl_paths nvls;
  nccl_paths collnet;
  bool tree_enters_at_one = true;  ///< all that a tree brings into a node comes through one device
  std::int32_t channels = 0;
  std::int32_t nvls_channels = 0;

  friend bool operator==(const nccl_layout&, const nccl_layout&) = default;
};

/// Channels that are known, for example from a file that NCCL wrote, in place of those in closed form.
struct nccl_known_layout {
  std::int64_t ranks_per_node = 1;
  bool several = false;           ///< nodes
  double network_latency_us = 0;  ///< what the network declared
  nccl_layout layout = {};

  friend bool operator==(const nccl_known_layout&, const nccl_known_layout&) = default;
};

namespace detail {

/// The speeds that the search tries, fastest first.
[[nodiscard]] inline std::span<const double> speeds_inside(std::int32_t compute_capability) {
  static constexpr std::array<double, 13> older{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static constexpr std::array<double, 11> hopper{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static constexpr std::array<double, 12> blackwell{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  if (compute_capability >= 100) return blackwell;
  if (compute_capability >= 90) return hopper;
  return older;
}
[[nodiscard]] inline std::span<const double> speeds_between(std::int32_t compute_capability) {
  static constexpr std::array<double, 19> older{48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                                                7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
  static constexpr std::array<double, 17> hopper{48, 45, 42, 40, 30,  24,  22,  20, 17.5,
                                                 15, 12, 6,  3,  2.4, 1.2, .24, .12};
  static constexpr std::array<double, 20> blackwell{96, 86,   80, 48, 45.1, 42, 40,  30,  24,  22,
                                                    20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12};
  if (compute_capability >= 100) return blackwell;
  if (compute_capability >= 90) return hopper;
  return older;
}

/// How many channels of a speed a bandwidth carries.
[[nodiscard]] inline std::int32_t carried(double bandwidth, double speed) {
  return static_cast<std::int32_t>(std::min(1e6, bandwidth / speed + 1e-9));
}

/// The fastest listed speed within a limit; the slowest if none is.
[[nodiscard]] inline double fastest_within(std::span<const double> speeds, double limit) {
  for (const double s : speeds)
    if (s <= limit + 1e-9) return s;
  return speeds.back();
}

/// Fast channels are split in two where that helps to keep links busy.
[[nodiscard]] inline nccl_paths split(nccl_paths p, std::int32_t compute_capability) {
  if (p.inside < 25 || (compute_capability > 80 && p.inside < 50 && p.count > 4)) return p;
  return {p.count * 2, p.inside / 2, p.between / 2};
}

inline constexpr std::int32_t most_searched = 16;  ///< channels that the search looks for

/// The search does not go on to speeds of less than half of what it has found.
[[nodiscard]] inline bool is_searched(double speed, const nccl_paths& found) {
  return found.count == 0 || speed > .49 * found.inside;
}

[[nodiscard]] inline nccl_paths ring_in_node(const nccl_node& node) {
  nccl_paths best;
  for (const double s : speeds_inside(node.compute_capability)) {
    if (!is_searched(s, best)) break;
    const std::int32_t k = std::min(carried(node.link_bandwidth, s), most_searched);
    if (k * s > best.count * best.inside + 1e-9) best = {k, s, s};
    if (best.count * best.inside >= node.link_bandwidth - 1e-9) break;
  }
  if (best.count == 0) best = {1, node.link_bandwidth, node.link_bandwidth};  // slower than any listed speed
  return split(best, node.compute_capability);
}

/// Before splitting. Every channel passes all ranks of a node but leaves it once, so a device's links carry
/// (ranks - 1) / ranks of all channels.
[[nodiscard]] inline nccl_paths ring_between(const nccl_node& node, std::int64_t ranks_per_node) {
  const std::int64_t rails = std::min(node.nics, ranks_per_node);
  const auto per_node = static_cast<double>(ranks_per_node);
  const double links = ranks_per_node == 1 ? 1e9 : node.link_bandwidth * per_node / (per_node - 1);
  nccl_paths best;
  for (const double s : speeds_between(node.compute_capability)) {
    if (!is_searched(s, best)) break;
    const std::int64_t on_network = rails * carried(node.nic_bandwidth, s);
    const auto k = static_cast<std::int32_t>(std::min<std::int64_t>({on_network, carried(links, s), most_searched}));
    if (k * s > best.count * best.inside + 1e-9) best = {k, s, s};
  }
  if (best.count == 0) {
    const double s = std::min(node.nic_bandwidth, links);
    best = {1, s, s};
  }
  return best;
}

/// How many thread blocks collectives over these channels occupy.
inline void count_channels(nccl_layout& out, const nccl_node& node, bool several) {
  const std::int32_t cc = node.compute_capability;
  std::int32_t channels = 2 * std::min(out.ring.count, out.tree.count);
  if (several && cc >= 90 && out.ring.inside > 45 && channels < 16) channels *= 2;
  out.channels = std::min(channels, node.max_channels);
  const std::int32_t switched = cc >= 100 ? (several ? 32 : 24) : 16;
  out.nvls_channels = out.nvls.count > 0 ? std::min(switched, node.max_channels) : 0;
}

}  // namespace detail

/// The channels that NCCL finds for a group of so many ranks per node, on one node or on several (beyond one, their
/// number does not matter). Derived from the search on nodes with a switch and one network device per rail; it gives
/// the channel figures of NCCL 2.27.5 on H100 exactly. Other nodes are treated as if every device had
/// `link_bandwidth` to the rest.
/// \pre the node is valid and has so many devices, and network devices if there are several nodes
[[nodiscard]] inline nccl_layout nccl_layout_of(const nccl_node& node, std::int64_t ranks_per_node, bool several) {
  const std::int32_t cc = node.compute_capability;
  const auto per_node = static_cast<double>(ranks_per_node);
  nccl_layout out;
  if (several) {
    const nccl_paths found = detail::ring_between(node, ranks_per_node);
    out.ring = detail::split(found, cc);
    // a tree leaves links free, so that its channels may run faster inside than between nodes
    const double links = ranks_per_node == 1 ? 1e9
                                             : node.link_bandwidth * per_node / (per_node - 1) * per_node /
                                                   (per_node - 1) / out.ring.count;
    const double inside = detail::fastest_within(detail::speeds_between(cc), std::min(2 * out.ring.between, links));
    out.tree = {out.ring.count, std::max(inside, out.ring.inside), out.ring.between};
    if (node.has_sharp) out.collnet = found;
  } else {
    out.ring = detail::ring_in_node(node);
    out.tree = out.ring;
  }
  // two ranks exchange directly instead
  const bool multicast = node.has_multicast && node.generation() >= nccl_generation::hopper && ranks_per_node > 2;
  if (multicast) {
    const auto heads = static_cast<std::int32_t>(std::min<std::int64_t>(32, ranks_per_node));
    const double share = node.link_bandwidth / (heads + 1);
    if (several) {
      const auto rails = static_cast<double>(std::min(node.nics, ranks_per_node));
      const std::span<const double> speeds = detail::speeds_between(cc);
      out.nvls = {heads, detail::fastest_within(speeds, share),
                  detail::fastest_within(speeds, node.nic_bandwidth * rails / heads)};
    } else {
      const double s = detail::fastest_within(detail::speeds_inside(cc), share);
      out.nvls = {heads, s, s};
    }
  }
  detail::count_channels(out, node, several);
  return out;
}

}  // namespace shardweave::inline v0

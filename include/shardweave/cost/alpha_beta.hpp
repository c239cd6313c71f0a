#pragma once

#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/require_ranks.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <limits>

/// \file
/// The classic cost of a collective: a latency per step and a time per byte.

namespace shardweave::inline v0 {

/// Collectives as rings over links of two speeds.
///
/// n ranks on m nodes: an all-gather or a reduce-scatter of S bytes takes n-1 steps, an all-reduce twice as
/// many; each step moves S/n bytes over every link of the ring. A ring that crosses
/// nodes uses the network shares of all its ranks on a node together, up to the speed of the links. An
/// all-to-all sends what stays in the node and what leaves it at the same time. A shift of S bytes is one step, of S
/// bytes over one link or, where it leaves the node, one share of the network.
/// Latencies are in microseconds, bandwidths in GB/s (10^9).
/// Source: R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in
/// MPICH, IJHPCA 19 (2005).
struct alpha_beta {
  double base_us = 6.6;         ///< to launch a collective
  double link_hop_us = 0.6;     ///< a step inside a node
  double network_hop_us = 2.7;  ///< a step between nodes
  double link_bandwidth = 320;
  double network_bandwidth = 50;

  alpha_beta() = default;
  /// With the bandwidths of a device.
  explicit alpha_beta(const device_profile& device)
      : link_bandwidth(device.link_bandwidth), network_bandwidth(device.network_bandwidth) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    detail::require_ranks(group);
    collective_estimate result;
    if (group.ranks() == 1) return result;
    const double n = static_cast<double>(group.ranks());
    const double per_node = static_cast<double>(group.ranks_per_node);
    const double nodes = static_cast<double>(group.nodes);
    const double kilobytes = static_cast<double>(size.count()) / 1e3;  // 1 GB/s moves 10^3 bytes per microsecond

    // of what leaves a node one device carries all if it is alone there, and no link is then in the way
    const double link = group.ranks_per_node > 1 ? link_bandwidth : std::numeric_limits<double>::infinity();
    if (kind == collective::all_to_all) {
      const double inside = group.ranks_per_node > 1 ? kilobytes * (per_node - 1) / n / link_bandwidth : 0;
      const double outside = kilobytes * (n - per_node) / n / network_bandwidth;
      result.latency_us = base_us + (n - nodes) / nodes * link_hop_us + (nodes - 1) * network_hop_us;
      result.bandwidth_us = std::max(inside, outside);
      result.algorithm = "pairwise";
    } else if (kind == collective::shift) {
      result.latency_us = base_us + (group.nodes == 1 ? link_hop_us : network_hop_us);
      result.bandwidth_us = kilobytes / (group.nodes == 1 ? link_bandwidth : std::min(link, network_bandwidth));
      result.algorithm = "ring";
    } else {
      const double rounds = kind == collective::all_reduce ? 2 : 1;
      const double speed = group.nodes == 1 ? link_bandwidth : std::min(link, network_bandwidth * per_node);
      result.latency_us = base_us + rounds * ((n - nodes) * link_hop_us + (nodes - 1) * network_hop_us);
      result.bandwidth_us = rounds * kilobytes * (n - 1) / n / speed;
      result.algorithm = "ring";
    }
    result.time_us = result.latency_us + result.bandwidth_us;
    return result;
  }
};

static_assert(collective_cost_model<alpha_beta>);

}  // namespace shardweave::inline v0

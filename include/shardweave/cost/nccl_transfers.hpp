#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// What NCCL does by sending and receiving: point to point, around a ring, all to all.

namespace shardweave::inline v0 {

/// Sends and receives, and the collectives that NCCL makes of them, for which its own model has no price. An all-to-all
/// is n - 1 sends and receives that run at once, those in the node over its links, the others over its network devices;
/// the slower of the two decides.
///
/// The shares of the links agree with published all-to-alls of 2 GiB and more within one node (H100: 0.88 to 0.95,
/// B200 0.82, GB200 0.88 of what links can do); latencies and the network's share are rounded from published fits.
struct nccl_transfers {
  double base_us = 20;            ///< to launch
  double per_peer_us = .3;        ///< to set up one more peer
  double network_us = 10;         ///< once, if nodes are crossed
  double link_share = .9;         ///< of the bandwidth of a device's links
  double network_share = .85;     ///< of the bandwidth of network devices
  double link_bandwidth = 370.8;  ///< GB/s of a device
  double network_bandwidth = 50;  ///< GB/s of a device when it has its network devices to itself
  double node_network = 400;      ///< GB/s of all network devices of a node together
  std::int64_t devices = 8;       ///< of a node

  nccl_transfers() = default;
  explicit nccl_transfers(const nccl_node& node)
      : network_us(10 + node.network_latency_us),
        link_share(node.generation() == nccl_generation::blackwell ? .85 : .9),
        link_bandwidth(node.link_bandwidth),
        network_bandwidth(node.nic_bandwidth),
        node_network(static_cast<double>(node.nics) * node.nic_bandwidth),
        devices(node.devices) {}

  /// An all-to-all or a shift.
  /// \pre the ranks per node fit the node, and it has network devices if there are several nodes
  [[nodiscard]] collective_estimate operator()(collective kind, bytes size, group_shape group, bool shared) const {
    return kind == collective::shift ? shift(size, group, shared) : all_to_all(size, group, shared);
  }

  /// The bandwidth that one rank has to the network, in GB/s.
  /// \param ranks  of the node that send at once
  [[nodiscard]] double network_of_one(double ranks) const {
    return network_share * std::min(network_bandwidth, node_network / ranks);
  }

  /// \param shared  other groups on the same nodes, so that all devices are busy, do the same at the same time
  /// \pre the ranks per node fit the node, and it has network devices if there are several nodes
  [[nodiscard]] collective_estimate all_to_all(bytes size, group_shape group, bool shared) const {
    collective_estimate result;
    if (group.ranks() == 1) return result;
    const auto n = static_cast<double>(group.ranks());
    const auto per_node = static_cast<double>(group.ranks_per_node);
    const double kilobytes = static_cast<double>(size.count()) / 1e3;  // 1 GB/s moves 10^3 bytes per microsecond
    result.latency_us = base_us + per_peer_us * (n - 1) + (group.nodes > 1 ? network_us : 0);
    const double inside = group.ranks_per_node > 1 ? kilobytes * (per_node - 1) / n / (link_share * link_bandwidth) : 0;
    const double busy = shared ? static_cast<double>(devices) : per_node;
    const double outside = group.nodes > 1 ? kilobytes * (n - per_node) / n / network_of_one(busy) : 0;
    result.bandwidth_us = std::max(inside, outside);
    result.time_us = result.latency_us + result.bandwidth_us;
    result.algorithm = "pairwise";
    result.protocol = "simple";
    return result;
  }

  /// Each rank sends to the next one and receives from the one before; those at the ends of nodes do it over the
  /// network.
  /// \param shared  other groups on the same nodes, so that all devices are busy, do the same at the same time
  /// \pre the ranks per node fit the node, and it has network devices if there are several nodes
  [[nodiscard]] collective_estimate shift(bytes size, group_shape group, bool shared) const {
    collective_estimate result;
    if (group.ranks() == 1) return result;
    const double kilobytes = static_cast<double>(size.count()) / 1e3;
    const bool leaves = group.nodes > 1;
    result.latency_us = base_us + per_peer_us + (leaves ? network_us : 0);
    const double inside = group.ranks_per_node > 1 ? kilobytes / (link_share * link_bandwidth) : 0;
    const double busy = shared ? static_cast<double>(devices) / static_cast<double>(group.ranks_per_node) : 1;
    result.bandwidth_us = std::max(inside, leaves ? kilobytes / network_of_one(busy) : 0);
    result.time_us = result.latency_us + result.bandwidth_us;
    result.algorithm = "ring";
    result.protocol = "simple";
    return result;
  }

  /// One rank sends to one other, nothing else running.
  /// \param same_node  over links, not over the network
  [[nodiscard]] collective_estimate send(bytes size, bool same_node) const {
    collective_estimate result;
    const double kilobytes = static_cast<double>(size.count()) / 1e3;
    result.latency_us = base_us + (same_node ? 0 : network_us);
    result.bandwidth_us = kilobytes / (same_node ? link_share * link_bandwidth : network_of_one(1));
    result.time_us = result.latency_us + result.bandwidth_us;
    result.algorithm = "send";
    result.protocol = "simple";
    return result;
  }
};

}  // namespace shardweave::inline v0

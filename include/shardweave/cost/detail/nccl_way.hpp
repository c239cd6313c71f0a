#pragma once

#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// One way in which NCCL may do a collective, and what its model takes it to cost.

namespace shardweave::inline v0::detail {

/// What keeps a way from its bandwidth, as `nccl_smooth` has it; trees by protocol.
enum class nccl_slowdown : std::uint8_t {
  none,
  ring_ramp,
  tree_ll,
  tree_ll128,
  tree_simple,
  multicast,
  multicast_and_tree
};
inline constexpr std::size_t nccl_slowdown_count = 7;

/// One way to do a collective. All that NCCL's model knows of it depends on the number of nodes N only linearly and
/// through floor(log2 N), so that three latencies and one bandwidth hold for every N of a range.
struct nccl_way {
  nccl_algorithm algorithm = nccl_algorithm::ring;
  nccl_protocol protocol = nccl_protocol::simple;
  bool in_steps = false;   ///< every rank waits for n - 1 of n pieces: the time per byte grows with (n - 1) / n
  bool corrected = false;  ///< by the correction of trees
  bool plateau = false;    ///< latency jumps once chunks are full
  nccl_slowdown slowed_by = nccl_slowdown::none;
  std::int32_t channels = 0;
  double bytes_per_channel = 0;       ///< fewer bytes per channel occupy fewer channels; 0 = always all
  double channel_bytes_per_rank = 0;  ///< the same, for each rank of the group
  double latency_us = 0;
  double latency_per_node_us = 0;
  double latency_per_doubling_us = 0;
  double us_per_byte = 0;

  [[nodiscard]] double latency(double nodes, double doublings) const {
    return latency_us + latency_per_node_us * nodes + latency_per_doubling_us * doublings;
  }
  /// \param left  the share (n - 1) / n of n ranks
  [[nodiscard]] double time_per_byte(double left) const { return in_steps ? us_per_byte * left : us_per_byte; }
  [[nodiscard]] std::int32_t channels_for(double size, double ranks) const {
    const double least = bytes_per_channel + channel_bytes_per_rank * ranks;
    if (least == 0) return channels;
    return static_cast<std::int32_t>(std::clamp(size / least, 1.0, static_cast<double>(channels)));
  }
};

/// floor(log2 N).
[[nodiscard]] inline double doublings_of(std::int64_t nodes) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(nodes)) - 1);
}

/// The latencies and bandwidths of NCCL's tuner, by formulas over its channels.
class nccl_way_prices {
 public:
  /// \pre both outlive it
  nccl_way_prices(const nccl_node& node, const nccl_constants& constants) : node_(node), constants_(constants) {}

  /// \param ranks            per node
  /// \param range            of nodes: one, two, more
  /// \param lay              the channels of such groups
  /// \param network_latency  that the network declares, in microseconds
  [[nodiscard]] nccl_way price(collective kind, std::int64_t ranks, std::size_t range, nccl_algorithm a,
                               nccl_protocol p, const nccl_layout& lay, double network_latency) const {
    using enum nccl_algorithm;
    const nccl_constants& c = constants_;
    const auto ai = static_cast<std::size_t>(a);
    const auto pi = static_cast<std::size_t>(p);
    const bool several = range > 0;
    const bool reduces_all = kind == collective::all_reduce;
    const auto per_node = static_cast<double>(ranks);

    nccl_way way;
    way.algorithm = a;
    way.protocol = p;
    const double rounds = reduces_all ? 2 : 1;
    const double bus = speed(kind, ranks, range, a, p, lay);
    const bool multicast = a == nvls || a == nvls_tree;
    way.in_steps = a == ring || (multicast && reduces_all && c.nvls_share == 0);
    if (bus > 0) way.us_per_byte = (way.in_steps ? rounds : 1) / (1000 * bus);
    way.corrected =
        a == tree || (a == nvls_tree && c.corrects_nvls_tree && node_.generation() == nccl_generation::blackwell &&
                      node_.processor != nccl_processor::arm);
    way.plateau = a == ring && p == nccl_protocol::simple && reduces_all && several;
    if (multicast)
      way.slowed_by = way.corrected ? nccl_slowdown::multicast_and_tree : nccl_slowdown::multicast;
    else if (way.corrected)
      way.slowed_by = static_cast<nccl_slowdown>(static_cast<std::size_t>(nccl_slowdown::tree_ll) + pi);
    else if (a == ring && !several && p != nccl_protocol::ll && node_.generation() <= nccl_generation::ampere)
      way.slowed_by = nccl_slowdown::ring_ramp;

    const auto& hops = node_.link == nccl_link::nvlink ? c.link_hop : c.pci_hop;
    double hop = hops[ai][pi];
    const bool exposed = ranks == 1 && c.lone_rank_pays_tree_hop;
    const double declared = network_latency * (p == nccl_protocol::simple ? 2 : 1);  // twice: it is flushed
    const double far = c.network_hop[exposed ? static_cast<std::size_t>(tree) : ai][pi] + declared;
    way.latency_us = c.base[ai][pi];
    switch (a) {
      case ring:
        if (several) {
          hop = std::max(hop, c.network_overhead[pi] * (node_.processor == nccl_processor::amd ? 2 : 1));
          // of rounds (n - 1) steps, rounds (N - 1) cross the network; 2.20 counts 2 N of an all-reduce
          const double back = reduces_all ? c.steps_back : 1;
          way.latency_us += rounds * (-back * far + (back - 1) * hop);
          way.latency_per_node_us = rounds * ((per_node - 1) * hop + far);
        } else {
          way.latency_us += rounds * (per_node - 1) * hop;
        }
        break;
      case tree:
        way.latency_us += 2 * (per_node - 1) * hop;
        way.latency_per_doubling_us = 2 * far;
        break;
      case collnet_direct:
        way.latency_us += 2 * (std::min(1.0, per_node - 1) * hop + .4 * (per_node - 1)) + far;
        break;
      case collnet_chain:
        way.latency_us += 2 * (per_node - 1) * hop + far;
        break;
      case nvls:
        way.latency_us = hop + (several ? far : 0);
        break;
      case nvls_tree:
        way.latency_us += hop;
        way.latency_per_doubling_us = 2 * far;
        break;
      case pat:
        way.latency_per_doubling_us = far / 3.5;
        way.latency_per_node_us = 2.8 * per_node;
        break;
    }

    way.channels = multicast ? lay.nvls_channels : lay.channels;
    if (!multicast) {
      const double threads = p == nccl_protocol::ll128 ? 640 : 512;
      const double collnet = a == collnet_direct || a == collnet_chain ? 512 : 64;
      if (a == ring && p == nccl_protocol::ll)
        way.channel_bytes_per_rank = threads * 8;
      else
        way.bytes_per_channel = threads * (p == nccl_protocol::simple ? collnet : 8);
    }
    return way;
  }

 private:
  /// Bytes per microsecond and 1000 of the algorithm's busiest link, before steps are counted.
  [[nodiscard]] double speed(collective kind, std::int64_t ranks, std::size_t range, nccl_algorithm a, nccl_protocol p,
                             const nccl_layout& lay) const {
    using enum nccl_algorithm;
    const nccl_constants& c = constants_;
    const bool reduces_all = kind == collective::all_reduce;
    const std::size_t generation = generation_index();
    const auto per_node = static_cast<double>(ranks);
    const nccl_paths& paths = paths_of(lay, a);
    const double count = paths.count;
    const bool crosses = range > 1 && a != collnet_direct && a != collnet_chain;
    double bus = count * (crosses ? paths.between : paths.inside);
    if (a == nvls || a == nvls_tree) return multicast_speed(reduces_all, per_node, range, a, paths);
    if (a == ring && p == nccl_protocol::ll) {
      const bool half = range > 0 || kind == collective::all_reduce;
      bus = std::min(low_latency_cap(range), bus * (half ? c.ring_ll_share : c.ring_ll_share_gathering));
    }
    if (a == ring && p == nccl_protocol::ll128)
      bus = std::min(bus * (ranks == 1 ? c.lone_ll128_share : .92), count * c.ring_ll128[generation][range]);
    if (a == tree) {
      bus = std::min(bus * .92, count * c.tree[generation][range]);
      if (p == nccl_protocol::ll) bus = std::min(bus / 3.8, low_latency_cap(range));
      if (p == nccl_protocol::ll128)
        bus = std::min(bus * (range == 0 ? 7.0 / 9 : 120.0 / 128), count * c.tree_ll128[generation][range]);
      if (lay.tree_enters_at_one) bus *= .85;
    }
    if (a == pat) bus *= c.pat_share;
    if (a == collnet_direct) {
      if (!reduces_all) return gathered_by_network(per_node, paths);
      const double devices_per_rail = per_node / count;
      bus /= devices_per_rail - (devices_per_rail - 1) / 2;
      if (node_.compute_capability >= 90) bus *= .85;
    }
    return a == ring || a == pat ? bus : bus * .5;
  }

  [[nodiscard]] double gathered_by_network(double per_node, const nccl_paths& paths) const {
    if (constants_.version != nccl_version::v2_20) return per_node * std::min(paths.inside, .9 * paths.between);
    const double w = (per_node - 1) / 7;  // between what was measured with one and with eight ranks per node
    return per_node * paths.inside * (w * .85 + (1 - w) * .95);
  }

  [[nodiscard]] double multicast_speed(bool reduces_all, double per_node, std::size_t range, nccl_algorithm a,
                                       const nccl_paths& paths) const {
    const nccl_constants& c = constants_;
    const double count = paths.count;
    const bool in_tree = a == nccl_algorithm::nvls_tree;
    if (c.nvls_share > 0) {
      const double between = in_tree && range > 1 ? paths.between / 2 : paths.between;
      return count * std::min(paths.inside, between) * c.nvls_share;
    }
    double w = paths.inside * c.nvls_efficiency[generation_index()] * (count - 1) / count;
    w *= reduces_all ? 2 : (per_node - 1) / per_node;
    if (range > 0) w = std::min(w, paths.between * (in_tree && range == 1 ? 2 : 1));
    if (in_tree) w = std::min(w, c.nvls_tree[generation_index()][range]);
    return count * w;
  }

  [[nodiscard]] static const nccl_paths& paths_of(const nccl_layout& lay, nccl_algorithm a) {
    using enum nccl_algorithm;
    if (a == ring) return lay.ring;
    if (a == tree || a == pat) return lay.tree;
    return a == nvls || a == nvls_tree ? lay.nvls : lay.collnet;
  }
  [[nodiscard]] std::size_t generation_index() const {
    const auto g = static_cast<std::size_t>(node_.generation());
    return constants_.version == nccl_version::v2_20 ? std::min<std::size_t>(g, 2) : g;
  }
  [[nodiscard]] double low_latency_cap(std::size_t range) const {
    if (range == 0) return constants_.ll_one_node[generation_index()];
    return constants_.ll_nodes[node_.processor == nccl_processor::amd ? 1 : 0][range];
  }

  const nccl_node& node_;
  const nccl_constants& constants_;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/nccl_way.hpp>
#include <shardweave/cost/detail/require_ranks.hpp>
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The ways that there are, by group and collective.

namespace shardweave::inline v0::detail {

/// All ways of all groups on a machine: for every number of ranks per node, for one, two or more nodes, for each
/// collective that NCCL prices.
class nccl_table {
 public:
  nccl_table(nccl_node node, const nccl_constants& constants, const nccl_filter& filter,
             std::span<const nccl_known_layout> known = {})
      : node_(std::move(node)), constants_(constants), filter_(filter) {
    node_.validate();
    const nccl_way_prices prices(node_, constants_);
    const auto devices = static_cast<std::size_t>(node_.devices);
    first_.reserve(devices * ranges * kinds + 1);
    for (std::int64_t ranks = 1; ranks <= node_.devices; ++ranks)
      for (std::size_t range = 0; range < ranges; ++range) {
        const bool several = range > 0;
        layouts_.push_back(!several || node_.nics > 0 ? nccl_layout_of(node_, ranks, several) : nccl_layout());
        double network_latency = node_.network_latency_us;
        for (const nccl_known_layout& k : known)
          if (k.ranks_per_node == ranks && k.several == several) {
            layouts_.back() = k.layout;
            network_latency = k.network_latency_us;
            count_channels(layouts_.back(), node_, several);
          }
        for (std::size_t kind = 0; kind < kinds; ++kind) {
          first_.push_back(static_cast<std::uint32_t>(ways_.size()));
          if ((several && node_.nics == 0) || (!several && ranks == 1)) continue;
          add_ways(prices, static_cast<collective>(kind), ranks, range, network_latency);
        }
      }
    first_.push_back(static_cast<std::uint32_t>(ways_.size()));
  }

  [[nodiscard]] const nccl_node& node() const { return node_; }
  [[nodiscard]] const nccl_constants& constants() const { return constants_; }

  /// \throws error (input) for a group that the machine cannot hold
  void check(group_shape group) const {
    if (group.ranks_per_node >= 1 && group.nodes >= 1 && group.ranks_per_node <= node_.devices &&
        (group.nodes == 1 || node_.nics > 0) && group.nodes <= max_nodes)
      return;
    refuse_group(group);
  }

  /// \pre the group was checked, and has more than one rank; kind is not all_to_all
  [[nodiscard]] std::span<const nccl_way> ways(collective kind, group_shape group) const {
    return ways(kind, index(group));
  }
  [[nodiscard]] const nccl_layout& layout(group_shape group) const { return layout(index(group)); }

  /// What groups with the same ranks per node and range of nodes share: a place to look things up more than once.
  [[nodiscard]] static std::size_t index(group_shape group) {
    return static_cast<std::size_t>(group.ranks_per_node - 1) * ranges + range_of(group.nodes);
  }
  [[nodiscard]] std::span<const nccl_way> ways(collective kind, std::size_t index) const {
    const std::uint32_t* first = first_.data() + (index * kinds + static_cast<std::size_t>(kind));
    return {ways_.data() + first[0], ways_.data() + first[1]};
  }
  [[nodiscard]] const nccl_layout& layout(std::size_t index) const { return layouts_[index]; }

  /// Why a way is not there; empty if it is.
  [[nodiscard]] std::string_view absent(collective kind, std::int64_t ranks, std::size_t range, nccl_algorithm a,
                                        nccl_protocol p) const {
    using enum nccl_algorithm;
    const bool several = range > 0;
    const bool reduces_all = kind == collective::all_reduce;
    const nccl_layout& lay = layouts_[static_cast<std::size_t>(ranks - 1) * ranges + range];
    const nccl_operation operation = *nccl_operation_of(kind);
    if (reduces_all ? a == pat : (a == tree || a == collnet_chain || a == nvls_tree))
      return "is not made for this collective";
    if (p != nccl_protocol::simple && a != ring && a != tree) return "runs with protocol simple only";
    if (!filter_.allows(operation, a)) return "the algorithm is switched off";
    if (!filter_.allows(operation, p)) return "the protocol is switched off";
    if (a == collnet_direct || a == collnet_chain || (a == nvls && several)) {
      if (!several) return "is for several nodes";
      if (!node_.has_sharp) return "the network does not reduce (SHARP)";
      if (ranks > 8 && a != nvls) return "takes at most 8 ranks per node";
      if (a == collnet_direct && !node_.has_switch) return "needs a switch between devices";
      if (!reduces_all && a != collnet_chain && ranks > std::min(node_.nics, ranks))
        return "needs a network device per rank";
    }
    if (a == nvls || a == nvls_tree) {
      if (a == nvls_tree && !several) return "is for several nodes";
      if (!node_.has_multicast || node_.generation() < nccl_generation::hopper) return "needs a switch with multicast";
      if (lay.nvls.count < 2) return "needs three ranks per node";
      if (!reduces_all && ranks > 32) return "gathers among at most 32 ranks";
    }
    if (a == pat) {
      if (constants_.version == nccl_version::v2_20) return "is newer than this release";
      if (ranks > 1) return "takes one rank per node";
    }
    if (p == nccl_protocol::ll128) {
      if (node_.link != nccl_link::nvlink && ranks > 1) return "needs NVLink";
      if (several && !node_.ll128_crosses_network) return "devices are too far from the network";
      if (node_.compute_capability < 70) return "needs compute capability 7.0";
      if (constants_.version == nccl_version::v2_20 && node_.compute_capability != 70 &&
          node_.compute_capability != 80 && node_.compute_capability != 90)
        return "is not offered by this release on this device";
    }
    return {};
  }

  static constexpr std::size_t ranges = 3;  ///< of nodes: one, two, more
  static constexpr std::size_t kinds = 3;   ///< all_gather, reduce_scatter, all_reduce
  static constexpr std::int64_t max_nodes = std::int64_t{1} << 40;

  [[nodiscard]] static std::size_t range_of(std::int64_t nodes) {
    return nodes > 2 ? 2 : static_cast<std::size_t>(nodes - 1);
  }

 private:
  [[noreturn]] void refuse_group(group_shape group) const {
    require_ranks(group);
    const std::string who = "a group of " + std::to_string(group.nodes) + " nodes with " +
                            std::to_string(group.ranks_per_node) + " ranks each ";
    const std::string where = node_.name.empty() ? "the node" : "node '" + node_.name + "'";
    if (group.ranks_per_node > node_.devices)
      refuse(error_category::input,
             who + "does not fit: " + where + " has " + std::to_string(node_.devices) + " devices");
    if (group.nodes > max_nodes) refuse(error_category::input, who + "is larger than any machine");
    refuse(error_category::input, who + "does not meet: " + where + " has no network device");
  }

  void add_ways(const nccl_way_prices& prices, collective kind, std::int64_t ranks, std::size_t range,
                double network_latency) {
    for (std::size_t a = 0; a < nccl_algorithm_count; ++a)
      for (std::size_t p = 0; p < nccl_protocol_count; ++p) {
        const auto algorithm = static_cast<nccl_algorithm>(a);
        const auto protocol = static_cast<nccl_protocol>(p);
        if (!absent(kind, ranks, range, algorithm, protocol).empty()) continue;
        const nccl_way way = prices.price(kind, ranks, range, algorithm, protocol, layouts_.back(), network_latency);
        if (way.us_per_byte > 0) ways_.push_back(way);
      }
  }

  nccl_node node_;
  nccl_constants constants_;
  nccl_filter filter_;
  std::vector<nccl_layout> layouts_;  ///< by ranks per node and range of nodes
  std::vector<nccl_way> ways_;
  std::vector<std::uint32_t> first_;  ///< by ranks per node, range of nodes and collective
};

}  // namespace shardweave::inline v0::detail

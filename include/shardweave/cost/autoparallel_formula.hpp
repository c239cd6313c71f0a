#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/autoparallel_tables.hpp>
#include <shardweave/cost/detail/ported_tuner.hpp>
#include <shardweave/cost/detail/require_ranks.hpp>
#include <shardweave/cost/detail/tree_correction.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// \file
/// The collective cost model of AutoParallel, kept as it is for comparison.

namespace shardweave::inline v0 {

/// What AutoParallel (June 2026) expects of a collective: measured lines inside a node with a switch, tables of NCCL
/// 2.27.5 between such nodes, NCCL's tuner with constants of 2.29.7 elsewhere. A compatibility policy: it keeps the
/// original's anomalies, among them an all-reduce that is cheaper than its reduce-scatter on two nodes. CollNet
/// (SHARP), which no preset of the original turns on, is left out.
///
/// Bandwidths are totals of a device in GB/s (10^9).
/// Source: autoparallel/cost_models/nccl_cost_model.py (BSD licence).
struct autoparallel_formula {
  architecture family = architecture::hopper;
  double link_bandwidth = 320;
  double network_bandwidth = 50;
  std::int64_t devices_per_node = 8;
  bool has_switch = true;
  double extra_network_us = 0;  ///< latency of the network beyond what NCCL assumes

  autoparallel_formula() = default;
  explicit autoparallel_formula(const device_profile& device)
      : family(device.family),
        link_bandwidth(device.link_bandwidth),
        network_bandwidth(device.network_bandwidth),
        devices_per_node(device.devices_per_node),
        has_switch(device.has_switch) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    detail::require_ranks(group);
    if (group.ranks() == 1) return {};
    if (kind == collective::shift)  // of which the source knows nothing
      return estimate(collective::all_to_all, exchange_of_shift(size, group), group);
    const call c{kind,
                 static_cast<double>(size.count()),
                 static_cast<double>(group.ranks()),
                 static_cast<double>(group.nodes),
                 static_cast<double>(group.ranks_per_node),
                 group};
    const bool switched_hopper = has_switch && is_recent();
    if (kind == collective::all_to_all) return exchange(c);
    if (switched_hopper && group.nodes == 1) return one_node(c);
    best b;
    if (switched_hopper) {
      const auto* entry = detail::autoparallel_entry_of(group);
      if (entry != nullptr) {
        from_tables(c, *entry, b);
        return b.estimate();
      }
    }
    ring(c, b);
    if (kind == collective::all_reduce) {
      tree(c, b);
      if (switched_hopper) switched_reduce(c, b);
    }
    return b.estimate();
  }

 private:
  using figures = detail::ported_tuner;

  struct call {
    collective kind;
    double size;
    double ranks;
    double nodes;
    double per_node;
    group_shape group;
    [[nodiscard]] std::size_t node_class() const { return figures::node_class(nodes); }
    [[nodiscard]] double doublings() const {  ///< of nodes, in whole
      return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(group.nodes)) - 1);
    }
    [[nodiscard]] double rounds() const { return kind == collective::all_reduce ? 2 : 1; }
    [[nodiscard]] double steps() const { return kind == collective::all_to_all ? ranks : rounds() * (ranks - 1); }
    /// log2 of the 64-byte lines that a rank owns
    [[nodiscard]] double lines() const { return size > 0 ? std::log2(size / ranks / 64) : -1; }
  };

  /// Chosen without branches: which way wins changes from question to question, and a processor guesses that badly.
  struct best {
    double latency = 0, moving = 0, time = 0;
    std::size_t way = 0;
    bool any = false;
    /// \param w  a place in `names`, by which ways are told apart
    void offer(double latency_us, double size, double bandwidth, std::size_t w) {
      const double moving_us = size / (1e3 * bandwidth);
      const double t = latency_us + moving_us;
      const bool better = !any | (t < time);
      latency = better ? latency_us : latency;
      moving = better ? moving_us : moving;
      time = better ? t : time;
      way = better ? w : way;
      any = true;
    }
    [[nodiscard]] collective_estimate estimate() const {
      collective_estimate result;
      result.time_us = time;
      result.latency_us = latency;
      result.bandwidth_us = moving;
      result.algorithm = names[way][0];
      result.protocol = names[way][1];
      return result;
    }
  };
  /// The first six by protocol.
  static constexpr std::size_t ring_way = 0, tree_way = 3, nvls_way = 6, nvls_tree_way = 7, measured_way = 8,
                               copy_way = 9, pairwise_way = 10, pairwise_simple_way = 11;
  static constexpr std::array<std::array<std::string_view, 2>, 12> names{{{"ring", figures::protocols[0]},
                                                                          {"ring", figures::protocols[1]},
                                                                          {"ring", figures::protocols[2]},
                                                                          {"tree", figures::protocols[0]},
                                                                          {"tree", figures::protocols[1]},
                                                                          {"tree", figures::protocols[2]},
                                                                          {"nvls", "simple"},
                                                                          {"nvls_tree", "simple"},
                                                                          {"measured", {}},
                                                                          {"copy", {}},
                                                                          {"pairwise", {}},
                                                                          {"pairwise", "simple"}}};

  [[nodiscard]] bool is_recent() const { return family == architecture::hopper || family == architecture::blackwell; }
  [[nodiscard]] double generation() const { return family == architecture::blackwell ? 2 : 1; }
  [[nodiscard]] std::size_t index() const { return figures::generation(family); }
  [[nodiscard]] double channels() const { return is_recent() ? 16 : 12; }
  [[nodiscard]] double link() const { return link_bandwidth / channels(); }
  [[nodiscard]] double network() const { return network_bandwidth / channels(); }
  /// Per channel; behind a switch the network shares of a node's ranks add up.
  [[nodiscard]] double shared_network(const call& c) const {
    return has_switch && c.nodes > 1 ? std::min(link(), network() * c.per_node) : network();
  }
  [[nodiscard]] double bus(const call& c) const { return channels() * (c.nodes <= 2 ? link() : shared_network(c)); }

  [[nodiscard]] collective_estimate one_node(const call& c) const {
    const auto over_ranks = [&](double two, double four, double eight) {
      return c.ranks <= 4 ? two + (four - two) * (std::max(c.ranks, 2.0) - 2) / 2
                          : four + (eight - four) * (std::min(c.ranks, 8.0) - 4) / 4;
    };
    best b;
    if (c.kind == collective::all_reduce) {
      b.offer(over_ranks(10, 15, 31), c.size, generation() * over_ranks(324, 236, 267), measured_way);
    } else {
      b.offer(over_ranks(8, 17, 30), c.size, generation() * over_ranks(537, 434, 394), measured_way);
    }
    collective_estimate result = b.estimate();
    result.quality = estimate_quality::fitted;
    return result;
  }

  [[nodiscard]] collective_estimate exchange(const call& c) const {
    best b;
    if (has_switch && is_recent() && c.nodes == 1) {
      b.offer(50, c.size, family == architecture::blackwell ? 675 : 380, copy_way);
    } else if (has_switch && c.nodes > 1) {
      b.offer(detail::autoparallel_exchange_latency(c.nodes), c.size * (c.ranks - c.per_node) / c.ranks,
              network_bandwidth * (1 - .44 / c.nodes) * detail::autoparallel_exchange_correction(c.lines(), c.nodes),
              pairwise_way);
    } else {
      b.offer(ring_latency(c, 2, 0), c.size, 0.7 * bus(c), pairwise_simple_way);
    }
    return b.estimate();
  }

  /// \param sync  what the nodes cost to agree
  [[nodiscard]] double ring_latency(const call& c, std::size_t p, double sync) const {
    const double crossings = c.rounds() * (c.nodes - 1);
    const double network = c.per_node == 1 ? figures::tree_network[p] : figures::ring_network[p];
    const double extra = c.nodes == 1 ? 0 : extra_network_us * (p == 2 ? 2 : 1);
    return figures::ring_base[p] +
           (c.steps() - crossings) * std::max(figures::ring_hop[p], figures::overhead(p, c.nodes > 1)) +
           crossings * (network + extra) + sync;
  }

  void ring(const call& c, best& b) const {
    const double sync = c.nodes == 1 ? 0 : 4.7 * c.nodes * detail::autoparallel_power(std::max(c.nodes / 4, 1.0));
    const double all = bus(c);
    const std::array speed{std::min(figures::ll_cap[index()][c.node_class()], all / 2),
                           std::min(.92 * all, channels() * figures::ring_ll128_cap[index()]), all};
    const double reached =
        (c.nodes == 1 ? 1 : detail::autoparallel_ring_correction(c.lines(), c.nodes)) * c.ranks / c.steps();
    for (std::size_t p = 0; p < 3; ++p) {
      double latency = ring_latency(c, p, sync);
      if (p == 2 && c.nodes > 1 && c.kind == collective::all_reduce && c.size / (channels() * c.ranks) >= 64)
        latency *= 1.4;
      b.offer(latency, c.size, speed[p] * reached, ring_way + p);
    }
  }

  void tree(const call& c, best& b) const {
    const std::size_t g = index();
    const std::size_t n = c.node_class();
    const double simple = std::min(.92 * bus(c), channels() * figures::tree_cap[g][n]);
    const std::array speed{
        std::min(simple / 3.8, figures::ll_cap[g][n]),
        std::min(simple * (n == 0 ? 7.0 / 9 : 120.0 / 128), channels() * figures::tree_ll128_cap[g][n]), simple};
    const double levels = c.doublings();
    for (std::size_t p = 0; p < 3; ++p) {
      const double extra = extra_network_us * (p == 2 ? 2 : 1);
      b.offer(figures::tree_base[p] +
                  2 * ((c.per_node - 1) * figures::tree_hop[p] + levels * (figures::tree_network[p] + extra)),
              c.size, speed[p] / 2 * detail::tree_correction(p, c.size), tree_way + p);
    }
  }

  /// NVLS and NVLSTree on several nodes.
  void switched_reduce(const call& c, best& b) const {
    constexpr std::array<std::array<double, 3>, 3> tree_cap{{{24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}};
    const double inside = 2 * link() * (family == architecture::blackwell ? .74 : .85) * (channels() - 1) / channels();
    const double to_size = c.ranks / c.steps();
    const double lone = c.per_node == 1 ? 14 : 18;
    b.offer(25 + lone + 2 * extra_network_us, c.size, channels() * std::min(inside, network()) * to_size, nvls_way);
    const double between = shared_network(c) * (c.nodes <= 2 ? 2 : 1);
    const double reached = family == architecture::blackwell ? detail::tree_correction(2, c.size, 24) : 1;
    b.offer(25 + 2 * c.doublings() * ((c.per_node == 1 ? 14 : 20.9) + 2 * extra_network_us), c.size,
            channels() * std::min({inside, between, tree_cap[index()][c.node_class()]}) * to_size * reached,
            nvls_tree_way);
  }

  void from_tables(const call& c, const detail::autoparallel_entry& entry, best& b) const {
    if (c.kind != collective::all_reduce) {
      const bool full = c.group.ranks_per_node == devices_per_node;
      const double reached = full ? detail::autoparallel_full_mesh_ramp(c.lines()) : 1;
      for (std::size_t p = 0; p < 3; ++p)
        b.offer(entry.ring[p].latency_us, c.size, generation() * entry.ring[p].bandwidth * reached, ring_way + p);
      return;
    }
    for (std::size_t p = 0; p < 3; ++p) {
      const auto line = detail::autoparallel_tree(entry, p, c.nodes, c.doublings());
      b.offer(line.latency_us, c.size, generation() * line.bandwidth * detail::tree_correction(p, c.size),
              tree_way + p);
    }
    if (c.group.ranks_per_node >= 4) {
      const double bandwidth =
          c.nodes == 2 ? (c.group.ranks_per_node == 4 ? 160 : 266.7) : (c.group.ranks_per_node == 4 ? 80 : 160);
      b.offer(25 + 28 * c.doublings(), c.size,
              generation() * bandwidth * detail::autoparallel_nvls_tree_ramp(c.lines()), nvls_tree_way);
    }
    ring(c, b);
  }
};

static_assert(collective_cost_model<autoparallel_formula>);

}  // namespace shardweave::inline v0

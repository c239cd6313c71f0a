#pragma once

#include <shardweave/cost/device.hpp>

#include <array>
#include <cstddef>
#include <string_view>

/// \file
/// What the formulas that others ported from NCCL's tuner have in common.

namespace shardweave::inline v0::detail {

/// The figures that both PyTorch and AutoParallel took over: microseconds by protocol (LL, LL128, Simple); GB/s by
/// generation (Ampere and all that they do not know, Hopper, Blackwell) and number of nodes (one, two, more).
/// Source: NCCL 2.29 as ported by torch/_inductor/comm_analysis.py and autoparallel (BSD licences).
struct ported_tuner {
  using by_protocol = std::array<double, 3>;
  using by_nodes = std::array<double, 3>;
  using by_generation = std::array<by_nodes, 3>;

  static constexpr std::array<std::string_view, 3> protocols{"ll", "ll128", "simple"};
  static constexpr by_protocol ring_base{6.6, 14, 8.4}, ring_hop{.6, 1.9, 3.4}, ring_network{2.7, 4, 14};
  static constexpr by_protocol tree_base{6.8, 14, 8.4}, tree_hop{.6, 1.25, 4}, tree_network{5, 8.5, 14};
  static constexpr by_generation ll_cap{{{87.7, 39, 20.4}, {141, 39, 20.4}, {282, 39, 20.4}}};
  static constexpr std::array<double, 3> ring_ll128_cap{20, 36.7, 40};  ///< per channel, whatever the nodes
  static constexpr by_generation tree_ll128_cap{{{20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  static constexpr by_generation tree_cap{{{24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};

  /// What the next step of a ring waits for a network, beside its hop.
  [[nodiscard]] static constexpr double overhead(std::size_t protocol, bool several) {
    return !several ? 0 : protocol == 2 ? 3 : 1;
  }
  [[nodiscard]] static constexpr std::size_t generation(architecture family) {
    return family == architecture::blackwell ? 2 : family == architecture::hopper ? 1 : 0;
  }
  [[nodiscard]] static constexpr std::size_t node_class(double nodes) { return nodes == 1 ? 0 : nodes == 2 ? 1 : 2; }
};

}  // namespace shardweave::inline v0::detail

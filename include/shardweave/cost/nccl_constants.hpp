#pragma once

#include <shardweave/cost/detail/tree_correction.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// \file
/// The constants of NCCL's own cost model, by release.

namespace shardweave::inline v0 {

/// Releases whose cost models differ. For a release between two names take the lower one; for 2.23 take `v2_24`.
///
/// `v2_27`, `v2_28` and `v2_30` are exact. The others are `v2_27` or `v2_28` with the differences that are known:
/// `v2_20` for 2.20 and 2.21 (no Blackwell, no PAT), `v2_24` for 2.23 to 2.25 (another factor for PAT), `v2_29`
/// for 2.29. `v2_28` is 2.28.9: 2.28.3 still had the network latency 14 and the cap 43.1 of NVLS trees, and twice
/// Hopper's LL128 caps on Blackwell.
enum class nccl_version : std::uint8_t { v2_20, v2_24, v2_27, v2_28, v2_29, v2_30 };
/// How NCCL routes the data of a collective, in the order of its tuner.
enum class nccl_algorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
/// How NCCL tells that data have arrived: flags with each 8 bytes, with each 128 bytes, or a barrier per chunk.
enum class nccl_protocol : std::uint8_t { ll, ll128, simple };
/// What the caps of the model tell apart.
enum class nccl_generation : std::uint8_t { volta, ampere, hopper, blackwell };

/// How many enumerators `nccl_algorithm` has.
inline constexpr std::size_t nccl_algorithm_count = 7;
/// How many enumerators `nccl_protocol` has.
inline constexpr std::size_t nccl_protocol_count = 3;

/// The name as NCCL's tuner files and environment spell it, in lower case.
[[nodiscard]] constexpr std::string_view name_of(nccl_algorithm a) {
  constexpr std::string_view names[] = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
  return names[static_cast<std::size_t>(a)];
}
[[nodiscard]] constexpr std::string_view name_of(nccl_protocol p) {
  constexpr std::string_view names[] = {"ll", "ll128", "simple"};
  return names[static_cast<std::size_t>(p)];
}
[[nodiscard]] constexpr std::string_view name_of(nccl_version v) {
  constexpr std::string_view names[] = {"2.20", "2.24", "2.27", "2.28", "2.29", "2.30"};
  return names[static_cast<std::size_t>(v)];
}

/// What the model multiplies and compares. Latencies are microseconds, bandwidths GB/s with G = 10^9; the inner
/// index is the protocol, or the number of nodes: one, two, more. A host with a tuner of its own changes values.
///
/// Source: figures of NCCL's cost model in releases 2.20.3 to 2.30.7, which is public (BSD and Apache licences).
struct nccl_constants {
  using by_protocol = std::array<double, nccl_protocol_count>;
  using by_algorithm = std::array<by_protocol, nccl_algorithm_count>;
  using by_nodes = std::array<double, 3>;
  using by_generation = std::array<by_nodes, 4>;

  nccl_version version = nccl_version::v2_30;
  by_algorithm base{{{6.8, 14, 8.4}, {6.6, 14, 8.4}, {}, {}, {}, {}, {8, 8, 8}}};
  by_algorithm link_hop{{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
  by_algorithm pci_hop{{{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}}};
  by_algorithm network_hop{{{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

  /// Caps of LL over all channels: in one node by generation, between nodes for other processors than AMD's (first
  /// row) and for AMD's or a mixture (second row).
  std::array<double, 4> ll_one_node{39, 87.7, 141, 282};
  std::array<by_nodes, 2> ll_nodes{{{0, 39, 20.4}, {0, 22.5, 19}}};
  /// Caps per channel.
  by_generation ring_ll128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
  by_generation tree_ll128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  by_generation tree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  by_generation nvls_tree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};

  /// By generation: the share of its channels' speed that NVLS reaches inside a node; used where `nvls_share` is 0.
  std::array<double, 4> nvls_efficiency{0, 0, .85, .74};
  /// Up to 2.27: the speed of NVLS is this share of that of its channels, without regard to the above; 0 = later.
  double nvls_share = 0;
  double pat_share = .75;               ///< PAT: its bandwidth, as a share of that of its channels
  double ring_ll_share = .5;            ///< likewise LL in rings over several nodes, and in all-reduce rings
  double ring_ll_share_gathering = .5;  ///< likewise LL in all-gather and reduce-scatter rings inside a node
  double lone_ll128_share = .92;        ///< likewise LL128 in rings with one rank per node
  double steps_back = 1;                ///< of all-reduce rings over N nodes, 2 (N - this) steps cross the network
  bool lone_rank_pays_tree_hop = true;  ///< one rank per node: every network hop costs what a tree's costs
  bool corrects_nvls_tree = true;       ///< the correction of trees applies to NVLS trees on Blackwell

  /// By what share of its bandwidth a tree runs at sizes of 64 bytes, 128 bytes, ... 512 MiB; 1 beyond.
  std::array<std::array<double, 24>, nccl_protocol_count> tree_correction = detail::tree_corrections;

  /// How long after a step begins the next may be posted to a network, per protocol; AMD processors take twice that.
  by_protocol network_overhead{1, 1, 3};
  double plateau = 1.4;        ///< times the latency of an all-reduce by Simple rings over nodes, once chunks are full
  double plateau_volta = 1.9;  ///< the same before Ampere

  /// The constants of a release.
  [[nodiscard]] static constexpr nccl_constants of(nccl_version v) {
    constexpr std::size_t simple = static_cast<std::size_t>(nccl_protocol::simple);
    const auto row = [](nccl_algorithm a) { return static_cast<std::size_t>(a); };
    nccl_constants c;
    c.version = v;
    if (v <= nccl_version::v2_29) c.nvls_tree[3] = {0, 96, 43.8};
    if (v <= nccl_version::v2_28) {
      c.ring_ll128[3] = {73.4, 34.6, 73.4};
      c.corrects_nvls_tree = false;
    }
    if (v <= nccl_version::v2_27) {
      c.nvls_share = 5.0 / 6;
      c.network_hop[row(nccl_algorithm::nvls_tree)][simple] = 14;
    }
    if (v <= nccl_version::v2_24) c.pat_share = .85;
    if (v <= nccl_version::v2_20) {
      c.base[row(nccl_algorithm::tree)][simple] = 0;
      for (auto* hop : {&c.link_hop, &c.pci_hop, &c.network_hop}) (*hop)[row(nccl_algorithm::tree)][simple] = 28;
      for (const auto a : {nccl_algorithm::nvls, nccl_algorithm::nvls_tree}) c.link_hop[row(a)][simple] = 23;
      c.ll_one_node = {39, 87.7, 87.7, 87.7};
      c.ring_ll_share = 1.0 / 4;
      c.ring_ll_share_gathering = 1.0 / 3;
      c.lone_ll128_share = .7;
      c.steps_back = 0;
      c.lone_rank_pays_tree_hop = false;
    }
    return c;
  }
};

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_smooth.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// \file
/// NCCL's kernels for symmetric memory, and its own model of them.

namespace shardweave {
inline namespace v0 {

/// Prices collectives whose buffers are symmetric windows (NCCL 2.27 and later): all_gather, reduce_scatter and
/// all_reduce within one NVLink domain from Hopper on. Everything else is asked of `Otherwise`.
///
/// NCCL weighs several kernels, each with the fewest thread blocks that come within 2.5 % of its best time, and adds
/// 2.5 % per block when it compares kernels; so a plan may free nearly all of a device's processors for computation:
/// `channels` tells how many blocks remain busy. The choice between kernels leaves small steps in the size.
///
/// An estimate takes about a microsecond.
/// Source: figures and formulas of NCCL's kernel choice (release 2.28).
template <collective_cost_model Otherwise = nccl_smooth>
class nccl_symmetric {
 public:
  explicit nccl_symmetric(const device_profile& device)
    requires std::constructible_from<Otherwise, nccl_node>
      : nccl_symmetric(nccl_node_of(device)) {}
  explicit nccl_symmetric(nccl_node node)
    requires std::constructible_from<Otherwise, nccl_node>
      : nccl_symmetric(node, Otherwise(node)) {}
  nccl_symmetric(nccl_node node, Otherwise otherwise) : node_(std::move(node)), otherwise_(std::move(otherwise)) {}

  /// Whether symmetric kernels do this.
  [[nodiscard]] bool covers(collective kind, bytes size, group_shape group) const {
    return kind != collective::all_to_all && node_.link == nccl_link::nvlink &&
           node_.generation() >= nccl_generation::hopper && group.nodes == 1 && group.ranks_per_node > 1 &&
           group.ranks_per_node <= node_.devices && size < gibibytes(64);
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    if (!covers(kind, size, group)) return otherwise_.estimate(kind, size, group);
    const bool reduces_all = kind == collective::all_reduce;
    const auto n = static_cast<double>(group.ranks());
    const auto whole = static_cast<double>(size.count());
    const double piece = whole / n;  // what one rank contributes or receives
    const bool blackwell = node_.generation() == nccl_generation::blackwell;
    const double wide = blackwell ? 32 : 16;
    const auto few = static_cast<int>(std::ceil(wide / n));

    const double base = blackwell ? (kind == collective::all_gather ? 8.5 : 11) : 4.5;
    const double direct_base = blackwell ? (reduces_all ? 19.5 : 13) : 7.8;
    const double block = (blackwell ? 55 : reduces_all ? 65 : 44) * gibi;
    const double peak = (blackwell ? 600 : 320) * gibi;
    const double low_latency = 9 * (reduces_all ? n * whole : whole);  // flags, no unrolling: nine times the bytes

    struct kernel {
      std::string_view algorithm, protocol;
      double base, bytes, factor, peak;
      int most_blocks;
      bool offered;
    };
    const bool small = whole < static_cast<double>(gibibytes(2).count());
    const bool multicast = node_.has_multicast;
    const double direct = reduces_all ? 2 * piece * (n - 1) : piece * (n - 1);
    const std::array<kernel, 4> kernels{{
        {"symmetric", "ll", base, low_latency, 1, peak, 64, small},
        {"symmetric_multicast", "ll", base, low_latency, 1.1, peak, 64, small && multicast},
        {"symmetric", "simple", direct_base, direct, 1, peak, 64, true},
        {"symmetric_multicast", "simple", direct_base, reduces_all ? piece + whole : piece * (n - 1),
         reduces_all ? n : .55 * n, reduces_all ? (blackwell ? 1000 : 480) * gibi : peak, few, multicast},
    }};
    collective_estimate best;
    double least = 0;
    for (const kernel& k : kernels) {
      if (!k.offered || (kind == collective::reduce_scatter && k.protocol == "ll" && k.factor != 1)) continue;
      const int most = std::min(k.most_blocks, static_cast<int>(node_.max_channels));
      const auto time = [&](int blocks) {
        return k.base + soft_excess(k.bytes / soft_minimum(blocks * block * k.factor, k.peak, block) - 1);
      };
      // more blocks never take longer
      const double allowed = 1.025 * time(most);
      int low = 1, high = most;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (time(middle) <= allowed)
          high = middle;
        else
          low = middle + 1;
      }
      const double t = time(high);
      const double weighed = t * (1 + .025 * high);
      if (best.time_us > 0 && weighed >= least) continue;
      least = weighed;
      best.time_us = t;
      best.latency_us = k.base;
      best.bandwidth_us = t - k.base;
      best.channels = high;
      best.algorithm = k.algorithm;
      best.protocol = k.protocol;
    }
    return best;
  }

 private:
  static constexpr double gibi = 1.073741824e3;  ///< bytes per microsecond at 2^30 bytes per second

  /// Like min(x, ceiling), rounded off over `softness`.
  [[nodiscard]] static double soft_minimum(double x, double ceiling, double softness) {
    return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
  }
  /// Like max(x, 0), rounded off.
  [[nodiscard]] static double soft_excess(double x) { return x >= 100 ? x : std::log1p(std::exp(x)); }

  nccl_node node_;
  [[no_unique_address]] Otherwise otherwise_;
};

static_assert(collective_cost_model<nccl_symmetric<>>);

}  // namespace v0
}  // namespace shardweave

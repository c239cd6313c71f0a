#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_smooth.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// NCCL's kernels for symmetric memory, and its own model of them.

namespace shardweave::inline v0 {

/// Prices collectives whose buffers are symmetric windows (NCCL 2.27 and later): all_gather, reduce_scatter and
/// all_reduce within one NVLink domain from Hopper on. Everything else is asked of `Otherwise`.
///
/// NCCL weighs several kernels, each with the fewest thread blocks that come within 2.5 % of its best time, and adds
/// 2.5 % per block when it compares kernels; so a plan may free nearly all of a device's processors for computation:
/// `channels` tells how many blocks remain busy. The choice between kernels leaves small steps in the size.
///
/// Made once per machine (a few kB per device of a node, which copies share).
/// Source: figures and formulas of NCCL's kernel choice (release 2.28).
template <class Otherwise = nccl_smooth>
class nccl_symmetric {
 public:
  explicit nccl_symmetric(const device_profile& device)
    requires std::constructible_from<Otherwise, nccl_node>
      : nccl_symmetric(nccl_node_of(device)) {}
  explicit nccl_symmetric(nccl_node node)
    requires std::constructible_from<Otherwise, nccl_node>
      : nccl_symmetric(node, Otherwise(node)) {}
  nccl_symmetric(nccl_node node, Otherwise otherwise)
      : node_(std::move(node)), otherwise_(std::move(otherwise)), speeds_(prepare()) {}

  /// Whether symmetric kernels do this.
  [[nodiscard]] bool covers(collective kind, bytes size, group_shape group) const {
    return nccl_operation_of(kind) && node_.link == nccl_link::nvlink &&
           node_.generation() >= nccl_generation::hopper && group.nodes == 1 && group.ranks_per_node > 1 &&
           group.ranks_per_node <= node_.devices && size < gibibytes(64);
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    if (!covers(kind, size, group)) return detail::estimate_by(otherwise_, kind, size, group);
    const bool reduces_all = kind == collective::all_reduce;
    const bool gathers = kind == collective::all_gather;
    const auto n = static_cast<double>(group.ranks());
    const auto whole = static_cast<double>(size.count());
    const double piece = whole / n;  // what one rank contributes or receives
    const speeds& s = speeds_->of[reduces_all ? 1 : 0];
    const std::size_t at = static_cast<std::size_t>(group.ranks() * most_cast_blocks);
    const std::size_t few = speeds_->few[static_cast<std::size_t>(group.ranks())];

    const double base = is_blackwell() ? (gathers ? 8.5 : 11) : 4.5;
    const double direct_base = is_blackwell() ? (reduces_all ? 19.5 : 13) : 7.8;
    const double low_latency = 9 * (reduces_all ? n * whole : whole);  // flags, no unrolling: nine times the bytes
    const double direct = (reduces_all ? 2 : 1) * piece * (n - 1);

    collective_estimate best;
    double least = std::numeric_limits<double>::infinity();
    // bytes per rank, and microseconds for one by blocks, from 1
    const auto offer = [&](std::string_view algorithm, std::string_view protocol, double start, double moved,
                           std::span<const double> us_per_byte, double least_us_per_byte) {
      const double fastest = start + speeds_->soft_excess(moved * least_us_per_byte - 1);
      if (fastest * one_block >= least) return;  // a block more than none weighs
      const double allowed = within * fastest - start;
      const auto takes_longer = [&](double us) { return speeds_->soft_excess(moved * us - 1) > allowed; };
      // more blocks never take longer; large and small sizes are answered without a search
      auto found = us_per_byte.begin();
      if (const auto last = us_per_byte.end() - 1; found != last && takes_longer(*found))
        found = takes_longer(*(last - 1)) ? last : std::partition_point(found + 1, last - 1, takes_longer);
      const double time = start + speeds_->soft_excess(moved * *found - 1);
      const auto blocks = static_cast<int>(found - us_per_byte.begin()) + 1;
      const double weighed = time * (1 + (one_block - 1) * blocks);
      if (weighed >= least) return;
      least = weighed;
      best.time_us = time;
      best.latency_us = start;
      best.channels = blocks;
      best.algorithm = algorithm;
      best.protocol = protocol;
    };
    const bool multicast = node_.has_multicast;
    const auto offer_flags = [&] {
      if (size >= gibibytes(2)) return;
      offer("symmetric", "ll", base, low_latency, s.plain, s.least_plain);
      if (multicast && kind != collective::reduce_scatter)
        offer("symmetric_multicast", "ll", base, low_latency, s.cast_low_latency, s.least_cast_low_latency);
    };
    // who is likely to win comes first: the others are then soon out of the question
    const bool brief = low_latency * s.least_plain < 1;
    if (brief) offer_flags();
    if (multicast) {
      const std::span<const double> cast = std::span(s.cast).subspan(at, few);
      offer("symmetric_multicast", "simple", direct_base, reduces_all ? piece + whole : direct, cast, cast.back());
    }
    offer("symmetric", "simple", direct_base, direct, s.plain, s.least_plain);
    if (!brief) offer_flags();
    best.bandwidth_us = best.time_us - best.latency_us;
    return best;
  }

 private:
  static constexpr double gibi = 1.073741824e3;  ///< bytes per microsecond at 2^30 bytes per second
  static constexpr double one_block = 1.025;     ///< what a block weighs when kernels are compared
  static constexpr double within = 1.025;        ///< of the best time, for fewer blocks
  static constexpr std::int64_t most_blocks = 64;
  static constexpr std::int64_t most_cast_blocks = 16;  ///< of the kernel that reads or writes through the switch

  /// Microseconds per byte by the number of blocks: of kernels that move data between pairs, of those that multicast
  /// with flags, and, by ranks, of those that multicast whole lines. What no size needs is left out of the first two:
  /// so many blocks come within a fortieth of the speed of all, which is kept beside.
  struct speeds {
    std::vector<double> plain, cast_low_latency, cast;
    double least_plain = 0, least_cast_low_latency = 0;
  };
  /// Made once per machine and shared by copies.
  struct tables {
    std::array<speeds, 2> of;      ///< gathering or reducing into parts, reducing all
    std::vector<std::size_t> few;  ///< by ranks: blocks that a kernel has when it multicasts whole lines
    static constexpr double per_unit = 16;
    static constexpr double end = 40;  ///< from here on the excess is x itself
    std::array<std::array<double, 2>, static_cast<std::size_t>((end + 1) * per_unit) + 2> excess{};

    tables() {
      for (std::size_t i = 0; i < excess.size(); ++i) {
        const double x = static_cast<double>(i) / per_unit - 1;
        excess[i] = {std::log1p(std::exp(x)), 1 / (1 + std::exp(-x)) / per_unit};
      }
    }
    /// log(1 + e^x), max(x, 0) rounded off, within 1e-8: a cubic between tabulated values and slopes.
    /// \pre x >= -1
    [[nodiscard]] double soft_excess(double x) const {
      if (!(x < end)) return x;
      const double place = (x + 1) * per_unit;
      const auto i = static_cast<std::size_t>(place);
      const double t = place - static_cast<double>(i);
      const auto [a, a_slope] = excess[i];
      const auto [b, b_slope] = excess[i + 1];
      const double rise = b - a;
      return a + t * (a_slope + t * (3 * rise - 2 * a_slope - b_slope + t * (a_slope + b_slope - 2 * rise)));
    }
  };

  [[nodiscard]] bool is_blackwell() const { return node_.generation() == nccl_generation::blackwell; }
  [[nodiscard]] std::int64_t most() const { return std::min<std::int64_t>(node_.max_channels, most_blocks); }

  [[nodiscard]] std::shared_ptr<const tables> prepare() const {
    auto result = std::make_shared<tables>();
    const std::int64_t wide = is_blackwell() ? 32 : 16;
    for (std::int64_t n = 0; n <= node_.devices; ++n)
      result->few.push_back(static_cast<std::size_t>(n == 0 ? 0 : std::min((wide + n - 1) / n, most())));
    for (const bool reduces_all : {false, true}) {
      speeds& s = result->of[reduces_all ? 1 : 0];
      const double block = (is_blackwell() ? 55 : reduces_all ? 65 : 44) * gibi;
      const double peak = (is_blackwell() ? 600 : 320) * gibi;
      const double cast_peak = reduces_all ? (is_blackwell() ? 1000 : 480) * gibi : peak;
      const auto add = [&](std::vector<double>& to, std::int64_t count, double factor, double ceiling) {
        for (std::int64_t b = 1; b <= count; ++b)
          to.push_back(1 / soft_minimum(static_cast<double>(b) * block * factor, ceiling, block));
      };
      const auto trim = [&](std::vector<double>& speeds_of) {
        const double least = speeds_of.back();
        while (speeds_of.size() > 1 && speeds_of[speeds_of.size() - 2] <= within * least) speeds_of.pop_back();
        return least;
      };
      add(s.plain, most(), 1, peak);
      s.least_plain = trim(s.plain);
      add(s.cast_low_latency, most(), 1.1, peak);
      s.least_cast_low_latency = trim(s.cast_low_latency);
      for (std::int64_t n = 0; n <= node_.devices; ++n) {
        const auto ranks = static_cast<double>(std::max<std::int64_t>(n, 1));
        add(s.cast, most_cast_blocks, reduces_all ? ranks : .55 * ranks, cast_peak);
      }
    }
    return result;
  }

  /// Like min(x, ceiling), rounded off over `softness`.
  [[nodiscard]] static double soft_minimum(double x, double ceiling, double softness) {
    return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
  }

  nccl_node node_;
  [[no_unique_address]] Otherwise otherwise_;
  std::shared_ptr<const tables> speeds_;
};

static_assert(collective_cost_model<nccl_symmetric<>>);

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/require_ranks.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <utility>

/// \file
/// Collectives inside one node with a switch, from a table; between nodes, from another model.

namespace shardweave::inline v0 {

/// Latency plus size over bandwidth. For all-gather, reduce-scatter and all-reduce both are interpolated over the
/// number of ranks between measured groups of 2, 4 and 8, and constant outside of them; for an all-to-all both are the
/// same whatever the number of ranks. Made for Hopper; Blackwell moves data twice as fast (an all-to-all 1.78 times). A
/// shift is priced as an all-to-all that moves as much. Groups on several nodes, and devices of other families or
/// without a switch, are answered by `Across`.
///
/// Source: constants fitted by AutoParallel (BSD licence) to tuning logs of NCCL 2.27.5 on H100.
template <class Across = alpha_beta>
class node_table {
 public:
  explicit node_table(const device_profile& device)
    requires std::constructible_from<Across, const device_profile&>
      : node_table(device, Across(device)) {}
  node_table(const device_profile& device, Across across) : device_(device), across_(std::move(across)) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    const bool blackwell = device_.family == architecture::blackwell;
    const bool covered = device_.has_switch && (blackwell || device_.family == architecture::hopper);
    if (!covered || group.nodes != 1) return detail::estimate_by(across_, kind, size, group);
    detail::require_ranks(group);
    if (group.ranks() == 1) return {};

    if (kind == collective::shift) return estimate(collective::all_to_all, exchange_of_shift(size, group), group);
    double bandwidth = kind == collective::all_to_all ? (blackwell ? 675 : 380) : blackwell ? 2 : 1;
    collective_estimate result;
    const double ranks = static_cast<double>(group.ranks());
    if (kind == collective::all_to_all) {
      result.latency_us = 50;
    } else if (kind == collective::all_reduce) {
      result.latency_us = over_ranks({10, 15, 31}, ranks);
      bandwidth *= over_ranks({324, 236, 267}, ranks);
    } else {
      result.latency_us = over_ranks({8, 17, 30}, ranks);
      bandwidth *= over_ranks({537, 434, 394}, ranks);
    }
    result.bandwidth_us = static_cast<double>(size.count()) / (1e3 * bandwidth);
    result.time_us = result.latency_us + result.bandwidth_us;
    result.algorithm = "table";
    result.quality = estimate_quality::fitted;
    return result;
  }

 private:
  /// Linear between the values for 2, 4 and 8 ranks.
  [[nodiscard]] static double over_ranks(const std::array<double, 3>& value, double ranks) {
    if (ranks <= 4) return value[0] + (value[1] - value[0]) * (std::max(ranks, 2.0) - 2) / 2;
    return value[1] + (value[2] - value[1]) * (std::min(ranks, 8.0) - 4) / 4;
  }

  device_profile device_;
  [[no_unique_address]] Across across_;
};

static_assert(collective_cost_model<node_table<>>);

}  // namespace shardweave::inline v0

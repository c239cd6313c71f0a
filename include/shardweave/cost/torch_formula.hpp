#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/ported_tuner.hpp>
#include <shardweave/cost/detail/require_ranks.hpp>
#include <shardweave/cost/detail/tree_correction.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// The collective formulas of PyTorch Inductor, kept as they are for comparison.

namespace shardweave::inline v0 {

/// The state of PyTorch's formula.
enum class torch_edition : std::uint8_t {
  ring_ll,  ///< until 2025: rings with protocol LL only, two channels
  tuner     ///< 2026: rings and trees with three protocols, after the tuner of NCCL
};

/// What PyTorch Inductor's compiler expects of a collective. A compatibility policy: it keeps the original's
/// jumps and its disregard of the group's shape (nodes are counted as ceil(ranks / 8), whatever the group), and
/// is no good prediction; `docs/cost_models.md` tells by how much. Devices that it does not know count as Ampere.
///
/// Sources: constants and steps of torch/_inductor/comm_analysis.py (BSD licence) in its two states.
struct torch_formula {
  torch_edition edition = torch_edition::tuner;
  architecture family = architecture::hopper;
  std::int64_t devices_per_node = 8;

  torch_formula() = default;
  explicit torch_formula(const device_profile& device, torch_edition e = torch_edition::tuner)
      : edition(e), family(device.family) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    detail::require_ranks(group);
    if (devices_per_node < 1)
      refuse(error_category::input, "a node of " + std::to_string(devices_per_node) + " devices holds no rank");
    if (group.ranks() == 1) return {};
    const call c{kind, static_cast<double>(size.count()), static_cast<double>(group.ranks()),
                 static_cast<double>((group.ranks() + devices_per_node - 1) / devices_per_node)};
    if (kind == collective::shift) {  // a send: the step of a gather between two
      const call step{collective::all_gather, 2 * c.size, 2, std::min(c.nodes, 2.0)};
      return edition == torch_edition::ring_ll ? old(step) : present(step);
    }
    return edition == torch_edition::ring_ll ? old(c) : present(c);
  }

 private:
  struct call {
    collective kind;
    double size;
    double ranks;
    double nodes;
    [[nodiscard]] bool both_ways() const { return kind == collective::all_reduce || kind == collective::all_to_all; }
    [[nodiscard]] double steps() const { return (both_ways() ? 2 : 1) * (ranks - 1); }
  };

  static collective_estimate answer(double latency_us, double bandwidth_us, std::string_view algorithm,
                                    std::string_view protocol) {
    collective_estimate e;
    e.time_us = latency_us + bandwidth_us;
    e.latency_us = latency_us;
    e.bandwidth_us = bandwidth_us;
    e.algorithm = algorithm;
    e.protocol = protocol;
    return e;
  }

  /// The original measures sizes in binary and bandwidths in decimal gigabytes and treats them as one.
  [[nodiscard]] collective_estimate old(const call& c) const {
    const bool one_node = c.nodes == 1;
    const double cap = one_node ? 87.7 : c.nodes == 2 ? 39 : 20.4;  // Hopper's first figure is a copy of Ampere's
    const double share = !one_node || c.kind == collective::all_reduce ? 1.0 / 4 : 1.0 / 3;
    const double bus = std::min(cap, 2 * (one_node ? 300.0 : 25.0) * share);
    const double crossings = one_node ? 0 : c.kind == collective::all_reduce ? 2 * c.nodes : c.nodes - 1;
    const double latency = 6.6 + (c.steps() - crossings) * (one_node ? 0.6 : 1.0) + crossings * 2.7;
    const double gibibytes = c.size / (1024.0 * 1024.0 * 1024.0);
    return answer(latency, gibibytes / (bus * c.ranks / c.steps()) * 1e6, "ring", "ll");
  }

  [[nodiscard]] collective_estimate present(const call& c) const {
    constexpr std::array links{240.0, 370.0, 720.0};
    constexpr std::array networks{25.0, 50.0, 50.0};
    constexpr std::array channels{8.0, 16.0, 32.0};
    using figures = detail::ported_tuner;

    const std::size_t g = figures::generation(family);
    const std::size_t n = figures::node_class(c.nodes);
    const bool one_node = n == 0;
    const double most_ll = figures::ll_cap[g][n];
    double bus = one_node ? links[g] : networks[g] * (0.77 + 0.23 * std::min(1.0, (c.nodes - 1) / 7));
    if (n == 2) bus *= std::pow(std::max(c.size, 5e7) / 5e7, 0.17);

    collective_estimate best;
    best.time_us = -1;
    const auto offer = [&](double latency, double bandwidth, std::string_view algorithm, std::size_t protocol) {
      const double moving = c.size / (1e3 * bandwidth);
      if (best.time_us < 0 || latency + moving < best.time_us)
        best = answer(latency, moving, algorithm, figures::protocols[protocol]);
    };
    for (std::size_t p = 0; p < 3; ++p) {
      if (p == 1 && !one_node) continue;  // LL128 is off across nodes
      const double overhead = figures::overhead(p, !one_node);
      const double ring_bus = p == 0   ? std::min(most_ll, bus / 2)
                              : p == 1 ? std::min(bus * 120 / 128, channels[g] * figures::ring_ll128_cap[g])
                                       : bus;
      const double crossings = (c.kind == collective::all_reduce ? 2 : 1) * (c.nodes - 1);
      offer(figures::ring_base[p] + (c.steps() - crossings) * std::max(figures::ring_hop[p], overhead) +
                crossings * figures::ring_network[p],
            ring_bus * c.ranks / c.steps(), "ring", p);
      if (c.kind != collective::all_reduce) continue;
      const double tree_bus = p == 0   ? std::min(bus / 3.8, most_ll)
                              : p == 1 ? std::min(bus * 7 / 9, channels[g] * figures::tree_ll128_cap[g][n])
                                       : std::min(0.92 * bus, channels[g] * figures::tree_cap[g][n]);
      const double latency =
          figures::tree_base[p] + 2 * ((c.ranks / c.nodes - 1) * std::max(figures::tree_hop[p], overhead) +
                                       std::log2(c.nodes) * figures::tree_network[p]);
      offer(latency, tree_bus / 2 * detail::tree_correction(p, c.size), "tree", p);
    }
    return best;
  }
};

static_assert(collective_cost_model<torch_formula>);

}  // namespace shardweave::inline v0

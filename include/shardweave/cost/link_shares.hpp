#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/blend.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Collectives priced by a table of the bandwidth that links were seen to reach.

namespace shardweave::inline v0 {

/// Which collectives a share is of: all-to-alls, others within a node, or others over the network.
enum class shared_path : std::uint8_t { inside, network, all_to_all };

/// A measured collective of `size` bytes over so many nodes reached this share of the bandwidth that its links have.
struct link_share {
  shared_path path{};
  std::int64_t nodes = 1;
  bytes size{};
  double share = 1;
  friend bool operator==(const link_share&, const link_share&) = default;
};

/// Asks another model, whose bandwidth is the peak, for so many bytes as would take at that peak what the size takes at
/// its measured share. A measured share holds the latency as well, so that the base's latency is only a floor.
///
/// Shares lie between those of measured sizes so that more bytes never take less time (`size_curve`), between those of
/// measured numbers of nodes by their logarithm, and beyond them as at the nearest. What has no share, and shifts,
/// keep the base's price.
template <class Base = alpha_beta>
class link_shares {
 public:
  /// \throws error (input) if a share is not in (0, 1], or a size or a number of nodes not positive
  explicit link_shares(std::span<const link_share> measured, Base base = {}) : base_(std::move(base)) {
    std::array<std::map<std::int64_t, std::vector<timed_size>>, 3> points;
    for (const link_share& m : measured) {
      if (!(m.share > 0 && m.share <= 1) || m.nodes < 1 || m.size.count() < 1)
        refuse(error_category::input, "a share of " + number_text(m.share) + " at " + std::to_string(m.size.count()) +
                                          " bytes on " + std::to_string(m.nodes) +
                                          " nodes: expected a share in (0, 1], and a size and nodes that are positive");
      // the bytes that would take as long at the peak
      points[static_cast<std::size_t>(m.path)][m.nodes].push_back(
          {m.size, static_cast<double>(m.size.count()) / m.share});
    }
    for (std::size_t p = 0; p < points.size(); ++p)
      for (const auto& [nodes, curve] : points[p])
        curves_[p].emplace_back(static_cast<double>(nodes), size_curve(curve));
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    const shared_path path = kind == collective::all_to_all ? shared_path::all_to_all
                             : group.nodes > 1              ? shared_path::network
                                                            : shared_path::inside;
    const auto& curves = curves_[static_cast<std::size_t>(path)];
    if (curves.empty() || kind == collective::shift || group.ranks() == 1)
      return detail::estimate_by(base_, kind, size, group);
    const auto nodes = static_cast<double>(group.nodes);
    const auto above = std::find_if(curves.begin(), curves.end(), [&](const auto& c) { return c.first >= nodes; });
    double at_peak = 0;
    if (above == curves.begin() || above == curves.end()) {
      at_peak = (above == curves.end() ? curves.back() : *above).second.at(size);
    } else {
      const auto& below = *(above - 1);
      const double weight = std::log(nodes / below.first) / std::log(above->first / below.first);
      at_peak = detail::blend(below.second.at(size), above->second.at(size), weight);
    }
    const auto stretched = bytes(static_cast<std::int64_t>(std::min(at_peak, 0x1p62)));
    collective_estimate result = detail::estimate_by(base_, kind, stretched, group);
    result.time_us = std::max(result.latency_us, result.bandwidth_us);
    result.quality = estimate_quality::fitted;
    return result;
  }

 private:
  Base base_;
  std::array<std::vector<std::pair<double, size_curve>>, 3> curves_;  ///< by path; each sorted by nodes
};

template <class Range>
link_shares(const Range&) -> link_shares<alpha_beta>;

static_assert(collective_cost_model<link_shares<>>);

}  // namespace shardweave::inline v0

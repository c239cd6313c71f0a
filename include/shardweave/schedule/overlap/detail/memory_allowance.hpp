#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/schedule/detail/unit_memory.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap/detail/share_of.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// Memory that early launches may add to that of the original order.

namespace shardweave::inline v0::detail {

/// The targeted peak: that of the original order plus the growth that the settings allow. A collective that is launched
/// early stays live up to the computation that needs it, besides all that the original order has live there; this is
/// checked before a launch and recorded after it. What is live by early launches alone stays below the limit in flight.
/// Places are numbers of computations done. Without a limit on growth everything fits.
/// Complexity: O(V + E) to build, O(log V) per call.
class memory_allowance {
 public:
  /// \param memory  in its initial state
  memory_allowance(const task_graph& g, const launch_units& units, std::span<const std::uint32_t> order,
                   unit_memory memory, const overlap_settings& settings)
      : in_flight_(settings.in_flight) {
    std::vector<bytes> before;  // each computation
    bytes most, recent;
    for (const std::uint32_t u : order) {
      memory.run(u);
      most = std::max(most, memory.live());
      recent = std::max(recent, memory.live());
      if (g.kind(units.first(u)) != task_kind::compute) continue;
      before.push_back(recent);
      recent = memory.live();
    }
    alive_ = memory_profile(before);
    ahead_ = memory_profile(std::vector<bytes>(before.size()));
    if (!settings.memory_increase && !settings.memory_ratio) return;
    bytes more;
    if (settings.memory_increase) more = *settings.memory_increase;
    if (settings.memory_ratio) more = std::max(more, bytes(share_of(most.count(), *settings.memory_ratio)));
    allowed_ = most + std::min(more, bytes(most_share));
  }

  [[nodiscard]] bool is_exceeded_by(bytes live) const { return allowed_ && live > *allowed_; }
  /// Whether `size` more bytes, for the computation numbered `need`, may be made live after `computed` computations.
  [[nodiscard]] bool fits(bytes live, std::uint32_t computed, std::uint32_t need, bytes size) const {
    if (!allowed_ || need == overlap_facts::never) return true;
    if (live + size > *allowed_) return false;
    if (need <= computed) return true;
    return ahead_.most(computed, need) + size <= in_flight_ && alive_.most(computed, need) + size <= *allowed_;
  }
  /// Records that they are live from now on.
  void take(std::uint32_t computed, std::uint32_t need, bytes size) {
    if (need == overlap_facts::never) return;
    ahead_.raise(computed, need, size);
    alive_.raise(computed, need, size);
  }

 private:
  bytes in_flight_;
  std::optional<bytes> allowed_;
  // by computation: live in the original order and by early launches; by early launches alone
  memory_profile alive_, ahead_;
};

}  // namespace shardweave::inline v0::detail

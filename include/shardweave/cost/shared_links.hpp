#pragma once

#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// \file
/// What collectives of different groups do to each other when they run at the same time.

namespace shardweave::inline v0 {

/// The links that bound a collective.
enum class link_tier : std::uint8_t { inside, between };

/// Groups within nodes use the links inside, others are bound by the network.
[[nodiscard]] constexpr link_tier tier_of(group_shape group) {
  return group.nodes > 1 ? link_tier::between : link_tier::inside;
}

/// A collective that a device takes part in, with its price when it runs alone.
struct collective_in_flight {
  collective_estimate alone;
  link_tier tier = link_tier::inside;
};

/// When collectives of different groups that start together on one device end, in microseconds: those on one tier
/// share its bandwidth evenly, those on different tiers do not disturb each other, and nobody waits for another's
/// latency. Collectives of one group run one after the other; that is not asked here. Groups of *other* devices that
/// share this device's network devices are part of a price already (`nccl_smooth_options::shares_rails`).
///
/// A derived model: no measurement of it is published. Complexity: O(n^2) for n collectives.
[[nodiscard]] inline std::vector<double> ends_on_shared_links(std::span<const collective_in_flight> all) {
  std::vector<double> ends(all.size());
  for (const link_tier tier : {link_tier::inside, link_tier::between}) {
    struct transfer {
      std::size_t which;
      double start, left;
    };
    std::vector<transfer> waiting;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const collective_estimate& e = all[i].alone;
      const double latency = std::min(e.latency_us, e.time_us);
      if (all[i].tier == tier) waiting.push_back({i, latency, e.time_us - latency});
    }
    for (double now = 0; !waiting.empty();) {
      double users = 0;
      double least = std::numeric_limits<double>::infinity();
      double next = std::numeric_limits<double>::infinity();  // when another one begins to transfer
      for (const transfer& t : waiting) {
        if (t.start > now) {
          next = std::min(next, t.start);
        } else {
          ++users;
          least = std::min(least, t.left);
        }
      }
      // until one of those that transfer is done, or another one joins them
      const double until = std::min(next, now + least * users);
      std::erase_if(waiting, [&](transfer& t) {
        if (t.start > now) return false;
        if (until < next && t.left <= least) {
          ends[t.which] = until;
          return true;
        }
        t.left = std::max(0.0, t.left - (until - now) / users);
        return false;
      });
      now = until;
    }
  }
  return ends;
}

}  // namespace shardweave::inline v0

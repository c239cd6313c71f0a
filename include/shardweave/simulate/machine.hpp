#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/timeline.hpp>

#include <utility>
#include <vector>

/// \file
/// A device with the host thread that feeds it, and what a step takes on it.

namespace shardweave::inline v0 {

/// What launches take. \pre none is negative
struct launch_costs {
  nanoseconds kernel;       ///< of the host, for each task of the compute stream with a duration, packing, unpacking
  nanoseconds collective;   ///< of the host, for each launched collective or bucket
  nanoseconds bookkeeping;  ///< of the host, for each task without a duration, waits included; inputs, output: none
  nanoseconds latency;      ///< of the channel: from the start of a launched collective until its data move

  /// The same cost of the host for each task and launch, as one figure per operation says it.
  [[nodiscard]] static launch_costs each(nanoseconds host, nanoseconds latency = {}) {
    return {host, host, host, latency};
  }
  friend bool operator==(const launch_costs&, const launch_costs&) = default;
};

/// The host launches task after task in the order of the schedule and runs ahead of the device without limit; nothing
/// begins on the device before the host has launched it. What runs at the same time may slow each other down.
/// A machine of no costs and `no_interference` keeps the reference timing.
template <class Interference = no_interference>
struct machine {
  static_assert(interference_policy<Interference>,
                "An interference policy needs const members compute_slowdown(running_work) and "
                "collective_slowdown(running_work, i) that return numbers (shardweave::interference_policy).");
  machine() = default;
  explicit machine(launch_costs costs, Interference policy = {}) : launches(costs), interference(std::move(policy)) {}

  launch_costs launches = {};
  Interference interference = {};
};

/// What a schedule takes on a machine. With durations as they were spent:
/// end_to_end = compute + packing + exposed + starved + tail.
struct machine_timeline {
  /// As `simulate` gives it; latency counts as communication, and slowed work takes as long as it took.
  timeline line = {};
  std::vector<nanoseconds> launched = {};  ///< by task: when the host was done with it; a bucket's members together
  std::vector<nanoseconds> pack_end = {};  ///< by bucket
  nanoseconds host;                        ///< end of the host's last launch; not part of end to end
  nanoseconds starved;                     ///< sum of the times in which the compute stream stood still for the host
  nanoseconds compute_slowed;              ///< what compute and packing took more than alone
  nanoseconds communication_slowed;        ///< what collectives took more than alone, their latency left out

  friend bool operator==(const machine_timeline&, const machine_timeline&) = default;
};

}  // namespace shardweave::inline v0

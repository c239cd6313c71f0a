#pragma once

#include <shardweave/core/units.hpp>

#include <algorithm>
#include <string_view>

/// \file
/// Lower bounds on the makespan, by argument.

namespace shardweave::inline v0 {

/// Lower bounds on the makespan of every valid order, from the weakest argument to the strongest.
struct makespan_bounds {
  nanoseconds compute;        ///< total work of the compute stream, packing included
  nanoseconds channel;        ///< total work of the busiest channel
  nanoseconds critical_path;  ///< the longest chain of dependencies
  /// One-machine bounds: the compute stream, and each channel, as a machine whose jobs have release times (of their
  /// predecessors) and delivery times (of their successors). Where chains join, these times are themselves bounded
  /// machine by machine. Source: J. Carlier, The one-machine sequencing problem, EJOR 11 (1982).
  nanoseconds released;
  /// Two-machine flow-shop bounds: the compute stream, then one channel. A job is the work that leads to a collective,
  /// then that collective: work cannot hide the collective that waits for it. Also with time reversed.
  /// Source: S. M. Johnson, Optimal two- and three-stage production schedules, 1954.
  nanoseconds in_a_row;
  [[nodiscard]] nanoseconds value() const { return std::max({compute, channel, critical_path, released, in_a_row}); }

  /// The name of the argument that gives the value.
  [[nodiscard]] std::string_view limited_by() const {
    if (value() == compute) return "compute";
    if (value() == channel) return "channel";
    if (value() == critical_path) return "critical_path";
    return value() == released ? "released" : "in_a_row";
  }
};

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/units.hpp>

#include <algorithm>
#include <string_view>

/// \file
/// What bounds on orders say, argument by argument.

namespace shardweave::inline v0 {

/// Lower bounds on the end to end time of every valid order, from the weakest argument to the strongest.
struct makespan_bounds {
  nanoseconds compute;        ///< all work of the compute stream, packing included
  nanoseconds channel;        ///< the busiest channel
  nanoseconds critical_path;  ///< the longest chain of dependencies
  /// The compute stream, and each channel, as one machine whose jobs are released when what leads to them can be
  /// done at the earliest and are followed by what must come after them. Where chains join, what leads to the join
  /// and what follows it is itself bounded machine by machine.
  nanoseconds released;
  /// The compute stream and one channel as two machines in a row: the work that must be communicated itself
  /// cannot hide a long first or last collective.
  nanoseconds in_a_row;
  [[nodiscard]] nanoseconds value() const { return std::max({compute, channel, critical_path, released, in_a_row}); }

  /// Which argument gives the value.
  [[nodiscard]] std::string_view limited_by() const {
    if (value() == compute) return "compute";
    if (value() == channel) return "channel";
    if (value() == critical_path) return "critical_path";
    return value() == released ? "released" : "in_a_row";
  }
};

}  // namespace shardweave::inline v0

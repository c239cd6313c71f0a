#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <vector>

/// \file
/// When everything ran: what the simulator predicts and what an engine measures.

namespace shardweave::inline v0 {

/// One launched bucket on the compute stream and on its channel.
struct bucket_times {
  nanoseconds pack_start;
  nanoseconds start;  ///< of the merged collective
  nanoseconds end;
  nanoseconds unpack_start;
  nanoseconds unpack_end;
  friend bool operator==(const bucket_times&, const bucket_times&) = default;
};

/// Bytes alive after a position of the order, packing buffers included.
struct memory_sample {
  task_index task = no_index;
  nanoseconds time;
  bytes live;
  friend bool operator==(const memory_sample&, const memory_sample&) = default;
};

/// Start and end of every task, and the figures of the whole. All times start at 0.
struct timeline {
  /// By task. A collective runs on its channel; members of a bucket all have the bucket's times; a wait's
  /// span is its stall.
  std::vector<nanoseconds> start = {};
  std::vector<nanoseconds> end = {};
  std::vector<bucket_times> buckets = {};      ///< by bucket of the schedule
  std::vector<nanoseconds> channel_busy = {};  ///< by process group
  std::vector<memory_sample> memory = {};      ///< by position in the order; only if asked for

  nanoseconds end_to_end;        ///< the largest clock
  nanoseconds compute;           ///< sum of durations on the compute stream, without packing
  nanoseconds packing;           ///< sum of packing and unpacking
  nanoseconds communication;     ///< sum of durations on all channels
  nanoseconds exposed;           ///< sum of stalls at waits
  nanoseconds tail;              ///< end to end less the end of the compute stream
  nanoseconds hidden;            ///< communication less exposed less tail
  std::size_t collectives = 0;   ///< launched, a bucket counts once
  std::size_t hidden_count = 0;  ///< of these: at whose waits nothing stalled
  bytes peak;                    ///< inputs included

  friend bool operator==(const timeline&, const timeline&) = default;
};

}  // namespace shardweave::inline v0

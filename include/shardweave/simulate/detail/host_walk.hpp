#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// What the host hands to the device, piece by piece, and when.

namespace shardweave::inline v0::detail {

/// What a piece does to the compute stream; `skip` is a member of a bucket that others still miss.
enum class stream_step : std::uint8_t { compute, pack, launch, skip, stall, unpack };

/// A piece of the compute stream's program.
struct stream_action {
  stream_step what;
  task_index task;       ///< of packing and launch: the member that completes the bucket; of unpacking: the wait
  std::uint32_t bucket;  ///< of packing, launch of a bucket, unpacking; else `no_index`
  nanoseconds duration;  ///< on the compute stream; of a launch: on its channel
  nanoseconds launched;  ///< when the host was done with it
};

/// The host's walk of the order, from 0 on. It waits for nothing that the device does, so it can be taken first.
/// \pre the schedule is valid
/// \throws error of `costs_of`
/// Complexity: O(V) and the costs of the buckets
class host_walk {
 public:
  host_walk(const task_graph& g, const schedule& s, const launch_costs& costs)
      : owner(bucket_of_tasks(g.size(), s.buckets)), launched(g.size()) {
    const nanoseconds none;
    std::vector<bucket_costs> prices;
    std::vector<std::size_t> missing;
    std::vector<bool> unpacked(s.buckets.size());
    for (const bucket& b : s.buckets) {
      prices.push_back(costs_of(g, b));
      missing.push_back(b.members.size());
    }
    // copies that take no time are not launched
    const auto copy = [&](stream_step what, task_index t, std::uint32_t b, nanoseconds duration) {
      push(what, t, b, duration, duration > none ? costs.kernel : none);
    };
    actions.reserve(g.size());
    for (const task_index t : s.order) {
      const task_kind kind = g.kind(t);
      if (kind == task_kind::collective) {
        const std::uint32_t b = owner[t];
        if (b == no_index) {
          push(stream_step::launch, t, b, g.duration(t), costs.collective);
        } else if (--missing[b] > 0) {
          push(stream_step::skip, t, no_index, none, none);
        } else {
          copy(stream_step::pack, t, b, prices[b].pack);
          push(stream_step::launch, t, b, prices[b].duration, costs.collective);
          for (const task_index member : s.buckets[b].members) launched[member] = end;
        }
      } else if (kind == task_kind::wait) {
        push(stream_step::stall, t, no_index, none, costs.bookkeeping);
        const task_index c = g.completes(t);
        if (const std::uint32_t b = c == no_index ? no_index : owner[c]; b != no_index && !unpacked[b]) {
          unpacked[b] = true;
          const nanoseconds waited = end;
          copy(stream_step::unpack, t, b, prices[b].unpack);
          launched[t] = waited;
        }
      } else {
        const bool silent = kind == task_kind::input || kind == task_kind::output;
        const nanoseconds idle = silent ? none : costs.bookkeeping;
        push(stream_step::compute, t, no_index, g.duration(t), g.duration(t) > none ? costs.kernel : idle);
      }
    }
  }

  std::vector<stream_action> actions = {};
  std::vector<std::uint32_t> owner = {};   ///< by task: its bucket, or `no_index`
  std::vector<nanoseconds> launched = {};  ///< by task, as in `machine_timeline`
  nanoseconds end;                         ///< of the last launch

 private:
  void push(stream_step what, task_index t, std::uint32_t b, nanoseconds duration, nanoseconds cost) {
    end += cost;
    launched[t] = end;
    actions.push_back({what, t, b, duration, end});
  }
};

}  // namespace shardweave::inline v0::detail

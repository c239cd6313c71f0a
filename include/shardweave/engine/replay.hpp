#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Executes a schedule on an engine and tells when everything ran.

namespace shardweave::inline v0 {

/// Settings of `replay`.
struct replay_options {
  /// A wait that stalls no longer than this counts as none: where clocks are real, none is ever exactly 0.
  nanoseconds stall_tolerance = {};
};

namespace detail {
/// First tells the engine what to do, in order, and keeps the numbers of its operations; the times are read when all
/// is done, so that an engine with a queue of its own is not held up.
template <collective_engine Engine>
class replayer {
 public:
  replayer(const task_graph& g, const schedule& s, Engine& engine)
      : g_(g),
        s_(s),
        engine_(engine),
        task_(g.size(), none),
        bucket_of_(g.size(), no_index),
        buckets_(s.buckets.size()) {
    for (std::uint32_t b = 0; b < s.buckets.size(); ++b) {
      buckets_[b].costs = costs_of(g, s.buckets[b]);
      buckets_[b].missing = s.buckets[b].members.size();
      for (const task_index t : s.buckets[b].members) {
        bucket_of_[t] = b;
        buckets_[b].parts.push_back({t, g.collective(t).bytes_in});
      }
    }
  }

  timeline run(const replay_options& options) {
    engine_.connect(g_.groups());
    if constexpr (ranked_engine<Engine>) check_agreement(g_, s_, engine_);
    const nanoseconds zero = engine_.now();
    for (const task_index t : s_.order) {
      if (g_.is_collective(t)) {
        launch(t);
      } else if (g_.kind(t) == task_kind::wait && g_.completes(t) != no_index) {
        wait(t);
      } else {
        // a wait for nothing here is free, whatever its duration says
        task_[t] = last_ = engine_.run({t, g_.kind(t) == task_kind::wait ? nanoseconds(0) : g_.duration(t)});
      }
    }
    engine_.finish();
    return read(zero, options);
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);
  struct bucket_run {
    bucket_costs costs = {};
    std::vector<bucket_part> parts = {};
    collective_call call = {};  // stays where it is: engines know the bucket by it
    std::size_t missing = 0;    // members that the order has not reached
    std::size_t launch = none;
    std::size_t pack = none, unpack = none;  // copies; of a coalesced bucket: what the compute stream did before them
  };

  void launch(task_index t) {
    const collective_info c = g_.collective(t);
    if (bucket_of_[t] == no_index) {
      task_[t] = engine_.start({t, c.group, c.op, c.dtype, c.reduce, c.bytes_in, c.bytes_out, g_.duration(t)});
      return;
    }
    bucket_run& b = buckets_[bucket_of_[t]];
    if (--b.missing > 0) return;  // the last member launches them all
    const bucket& all = s_.buckets[bucket_of_[t]];
    const task_index first = all.members.front();
    b.call = {first,         all.channel,      c.op,    c.dtype,      c.reduce, all.bytes_in,
              all.bytes_out, b.costs.duration, b.parts, all.coalesced};
    if (!all.coalesced) last_ = engine_.run({first, b.costs.pack, compute_work::pack, &b.call});
    b.pack = last_;
    b.launch = engine_.start(b.call);
    for (const task_index member : all.members) task_[member] = b.launch;
  }
  void wait(task_index t) {
    const task_index c = g_.completes(t);
    task_[t] = last_ = engine_.wait(task_[c]);
    if (bucket_of_[c] == no_index) return;
    bucket_run& b = buckets_[bucket_of_[c]];
    if (b.unpack != none) return;
    if (!b.call.coalesced) last_ = engine_.run({b.call.task, b.costs.unpack, compute_work::unpack, &b.call});
    b.unpack = last_;
  }

  timeline read(nanoseconds zero, const replay_options& options) const {
    const auto span = [&](std::size_t operation) {
      const time_span s = engine_.span(operation);
      return time_span{s.start - zero, s.end - zero};
    };
    timeline line;
    nanoseconds compute_end;
    const auto launched = [&](std::uint32_t channel, const time_span& ran) {
      line.channel_busy[channel] += ran.length();
      line.communication += ran.length();
      line.end_to_end = std::max(line.end_to_end, ran.end);
      ++line.collectives;
    };
    line.start.resize(g_.size());
    line.end.resize(g_.size());
    line.channel_busy.resize(g_.groups().size());
    std::vector<bool> stalled(g_.size());  // by first member of what was launched
    for (task_index t = 0; t < g_.size(); ++t) {
      const time_span ran = span(task_[t]);
      line.start[t] = ran.start;
      line.end[t] = ran.end;
      if (g_.is_collective(t)) {
        if (bucket_of_[t] == no_index) launched(g_.collective(t).group, ran);
        continue;
      }
      compute_end = std::max(compute_end, ran.end);
      if (g_.kind(t) != task_kind::wait) {
        line.compute += ran.length();
      } else if (const task_index c = g_.completes(t); c != no_index) {
        line.exposed += ran.length();
        if (ran.length() > options.stall_tolerance)
          stalled[bucket_of_[c] == no_index ? c : s_.buckets[bucket_of_[c]].members.front()] = true;
      }
    }
    const auto copied = [&](const bucket_run& b, std::size_t operation) {
      const time_span all = operation == none ? time_span{} : span(operation);
      return b.call.coalesced ? time_span{all.end, all.end} : all;
    };
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const bucket_run& b = buckets_[i];
      const time_span pack = copied(b, b.pack), ran = span(b.launch), unpack = copied(b, b.unpack);
      line.buckets.push_back({pack.start, ran.start, ran.end, unpack.start, unpack.end});
      line.packing += pack.length() + unpack.length();
      compute_end = std::max({compute_end, pack.end, unpack.end});
      launched(s_.buckets[i].channel, ran);
    }
    line.end_to_end = std::max(line.end_to_end, compute_end);
    line.tail = line.end_to_end - compute_end;
    line.hidden = line.communication - line.exposed - line.tail;
    line.hidden_count = line.collectives - static_cast<std::size_t>(std::count(stalled.begin(), stalled.end(), true));
    line.peak = peak();
    return line;
  }

  // By the order alone: an engine moves no tensors of the task graph.
  bytes peak() const {
    const storage_uses uses(g_);
    memory_tracker memory(uses, g_.storages().size());
    std::vector<std::size_t> missing;
    for (const bucket& b : s_.buckets) missing.push_back(b.members.size());
    std::vector<bool> unpacked(s_.buckets.size());
    for (const task_index t : s_.order) {
      if (const std::uint32_t b = bucket_of_[t]; b != no_index) {
        if (--missing[b] == 0) memory.launch(s_.buckets[b]);
        continue;
      }
      if (g_.kind(t) == task_kind::wait && g_.completes(t) != no_index)
        if (const std::uint32_t b = bucket_of_[g_.completes(t)]; b != no_index && !unpacked[b]) {
          unpacked[b] = true;
          memory.unpack(s_.buckets[b]);
        }
      memory.run(t);
    }
    return memory.peak();
  }

  const task_graph& g_;
  const schedule& s_;
  Engine& engine_;
  std::vector<std::size_t> task_;  // operation of each task; members of a bucket share one
  std::vector<std::uint32_t> bucket_of_;
  std::vector<bucket_run> buckets_;
  std::size_t last_ = none;  // operation of the compute stream
};
}  // namespace detail

/// Executes a schedule: collectives are launched, buckets packed, launched and unpacked, and waits hold the compute
/// stream, by the rule that `simulate` follows. Times of the timeline are those of the engine's clock, counted from
/// the beginning of the replay; the peak of memory is that of the order. `memory` stays empty. Where the engine is one
/// rank of several (`ranked_engine`), the ranks first make sure that they launch the same (`check_agreement`).
///
/// \throws error of `validate_schedule`, of `costs_of`, of `check_agreement`, and of the engine
/// Complexity: O(V + E), and what the engine takes
template <class Engine>
[[nodiscard]] timeline replay(const task_graph& g, const schedule& s, Engine& engine,
                              const replay_options& options = {}) {
  static_assert(collective_engine<Engine>,
                "An engine must have a member name, connect(groups), run(compute_call), start(collective_call), "
                "wait(number), finish(), now() and span(number) (shardweave::collective_engine).");
  validate_schedule(g, s);
  if constexpr (collective_engine<Engine>) return detail::replayer<Engine>(g, s, engine).run(options);
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

/// \file
/// The walk of the reference timing.

namespace shardweave::inline v0 {

namespace detail {
/// The walk of the order: clocks, launches, stalls. A launch is one collective or one bucket.
class simulation {
 public:
  simulation(const task_graph& g, const schedule& s, const simulate_options& options)
      : g_(g),
        s_(s),
        options_(options),
        uses_(g),
        memory_(uses_, g.storages().size()),
        channel_(g.groups().size()),
        owner_(bucket_of_tasks(g.size(), s.buckets)),
        waiting_(s.buckets.size()),
        unpacked_(s.buckets.size()),
        stalled_(g.size()) {
    line_.start.resize(g.size());
    line_.end.resize(g.size());
    line_.buckets.resize(s.buckets.size());
    line_.channel_busy.resize(g.groups().size());
    if (options.memory_samples) line_.memory.reserve(g.size());
    for (std::uint32_t b = 0; b < s.buckets.size(); ++b) {
      costs_.push_back(costs_of(g, s.buckets[b]));
      waiting_[b] = s.buckets[b].members.size();
    }
  }

  [[nodiscard]] timeline run() {
    for (const task_index t : s_.order) {
      switch (g_.kind(t)) {
        case task_kind::collective:
          owner_[t] == no_index ? launch_alone(t) : pass_member(owner_[t]);
          break;
        case task_kind::wait:
          wait(t);
          break;
        default:
          line_.start[t] = now_;
          line_.compute += g_.duration(t);
          now_ += g_.duration(t);
          line_.end[t] = now_;
          memory_.run(t);
      }
      if (options_.memory_samples) line_.memory.push_back({t, now_, memory_.live()});
    }
    nanoseconds last = now_;
    for (const nanoseconds clock : channel_) last = std::max(last, clock);
    line_.end_to_end = last;
    line_.tail = last - now_;
    line_.hidden = line_.communication - line_.exposed - line_.tail;
    line_.hidden_count = line_.collectives - stalls_;
    line_.peak = memory_.peak();
    return std::move(line_);
  }

 private:
  nanoseconds occupy(std::uint32_t channel, nanoseconds duration) {
    const nanoseconds start = std::max(now_, channel_[channel]);
    channel_[channel] = start + duration;
    line_.channel_busy[channel] += duration;
    line_.communication += duration;
    ++line_.collectives;
    return start;
  }
  void launch_alone(task_index t) {
    line_.start[t] = occupy(g_.collective(t).group, g_.duration(t));
    line_.end[t] = line_.start[t] + g_.duration(t);
    memory_.run(t);
  }
  void pass_member(std::uint32_t b) {
    if (--waiting_[b] > 0) return;  // the last member launches them all
    const bucket& all = s_.buckets[b];
    bucket_times& times = line_.buckets[b];
    times.pack_start = now_;
    now_ += costs_[b].pack;
    line_.packing += costs_[b].pack;
    times.start = occupy(all.channel, costs_[b].duration);
    times.end = times.start + costs_[b].duration;
    for (const task_index t : all.members) {
      line_.start[t] = times.start;
      line_.end[t] = times.end;
    }
    memory_.launch(all);
  }
  void wait(task_index t) {
    line_.start[t] = now_;
    const task_index c = g_.completes(t);
    if (c != no_index) {
      if (line_.end[c] > now_) {
        line_.exposed += line_.end[c] - now_;
        now_ = line_.end[c];
        // one launch may stall at several waits: its first member stands for a bucket
        const task_index launch = owner_[c] == no_index ? c : s_.buckets[owner_[c]].members.front();
        stalls_ += !stalled_[launch];
        stalled_[launch] = true;
      }
      if (const std::uint32_t b = owner_[c]; b != no_index && !unpacked_[b]) {
        unpacked_[b] = true;
        line_.buckets[b].unpack_start = now_;
        line_.end[t] = now_;
        now_ += costs_[b].unpack;
        line_.packing += costs_[b].unpack;
        line_.buckets[b].unpack_end = now_;
        memory_.unpack(s_.buckets[b]);
        memory_.run(t);
        return;
      }
    }
    line_.end[t] = now_;
    memory_.run(t);
  }

  const task_graph& g_;
  const schedule& s_;
  const simulate_options& options_;
  storage_uses uses_;
  memory_tracker memory_;
  std::vector<nanoseconds> channel_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::size_t> waiting_;
  std::vector<bool> unpacked_, stalled_;
  std::vector<bucket_costs> costs_;
  nanoseconds now_;
  std::size_t stalls_ = 0;
  timeline line_;
};
}  // namespace detail

SHARDWEAVE_INLINE timeline simulate(const task_graph& g, const schedule& s, const simulate_options& options) {
  if (options.validate) validate_schedule(g, s);
  return detail::simulation(g, s, options).run();
}

SHARDWEAVE_INLINE timeline simulate(const task_graph& g, const simulate_options& options) {
  schedule s;
  s.order.resize(g.size());
  std::iota(s.order.begin(), s.order.end(), task_index{0});
  return simulate(g, s, options);
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

/// \file
/// What a schedule takes, told a second time by other means than the simulator's: slow, for small graphs.

namespace shardweave_test {

namespace sw = shardweave;

/// The same rule once more, told as processes and events: the compute stream is a process that blocks at
/// waits, each channel a server with a queue.
struct by_events {
  enum class what { compute_continues, channel_is_free };
  struct event {
    std::int64_t time;
    std::uint64_t number;
    what kind;
    std::uint32_t channel;
    bool operator>(const event& o) const { return std::tie(time, number) > std::tie(o.time, o.number); }
  };
  const sw::task_graph& g;
  const sw::schedule& s;
  std::priority_queue<event, std::vector<event>, std::greater<>> events = {};
  std::uint64_t number = 0;
  std::map<sw::task_index, std::size_t> bucket_of = {};
  std::map<std::size_t, std::set<sw::task_index>> not_yet = {};
  std::map<sw::task_index, std::int64_t> completed = {};  // by collective
  std::set<std::size_t> unpacked = {};
  struct job {
    std::vector<sw::task_index> members;
    std::int64_t duration;
  };
  std::map<std::uint32_t, std::deque<job>> queue = {};
  std::map<std::uint32_t, bool> busy = {};
  std::map<std::uint32_t, job> running = {};
  std::size_t next = 0;
  sw::task_index blocked_on = sw::no_index;
  std::int64_t blocked_since = 0, exposed = 0, last = 0, compute_end = 0;
  std::set<std::size_t> stalled_launches = {};
  std::size_t launches = 0;

  void post(std::int64_t time, what kind, std::uint32_t channel = 0) { events.push({time, number++, kind, channel}); }
  std::size_t launch_id(sw::task_index c) const { return bucket_of.count(c) ? bucket_of.at(c) : s.buckets.size() + c; }

  void serve(std::uint32_t channel, std::int64_t now) {
    if (busy[channel] || queue[channel].empty()) return;
    running[channel] = queue[channel].front();
    queue[channel].pop_front();
    busy[channel] = true;
    post(now + running[channel].duration, what::channel_is_free, channel);
  }
  /// The compute stream at `now`: returns when it blocks or works.
  void advance(std::int64_t now) {
    compute_end = std::max(compute_end, now);
    while (next < s.order.size()) {
      const sw::task_index t = s.order[next];
      if (g.is_collective(t)) {
        const auto channel = g.collective(t).group;
        if (!bucket_of.count(t)) {
          queue[channel].push_back({{t}, g.duration(t).count()});
        } else {
          const std::size_t b = bucket_of[t];
          if (not_yet[b].size() > 1) {
            not_yet[b].erase(t);
            ++next;
            continue;
          }
          const sw::bucket_costs costs = sw::costs_of(g, s.buckets[b]);
          if (!not_yet[b].empty()) {  // pack first, then come back
            not_yet[b].clear();
            if (costs.pack.count() > 0) return post(now + costs.pack.count(), what::compute_continues);
          }
          queue[channel].push_back({s.buckets[b].members, costs.duration.count()});
        }
        ++launches;
        ++next;
        serve(channel, now);
      } else if (g.kind(t) == sw::task_kind::wait) {
        const sw::task_index c = g.completes(t);
        if (c != sw::no_index && !completed.count(c)) {
          blocked_on = c;
          blocked_since = now;
          return;
        }
        ++next;
        if (c != sw::no_index && bucket_of.count(c) && unpacked.insert(bucket_of[c]).second) {
          const auto unpack = sw::costs_of(g, s.buckets[bucket_of[c]]).unpack.count();
          if (unpack > 0) return post(now + unpack, what::compute_continues);
        }
      } else {
        ++next;
        if (g.duration(t).count() > 0) return post(now + g.duration(t).count(), what::compute_continues);
      }
    }
  }
  void run() {
    for (std::size_t b = 0; b < s.buckets.size(); ++b)
      for (const auto t : s.buckets[b].members) {
        bucket_of[t] = b;
        not_yet[b].insert(t);
      }
    post(0, what::compute_continues);
    while (!events.empty()) {
      const event e = events.top();
      events.pop();
      last = std::max(last, e.time);
      if (e.kind == what::compute_continues) {
        advance(e.time);
        continue;
      }
      for (const auto t : running[e.channel].members) completed[t] = e.time;
      busy[e.channel] = false;
      serve(e.channel, e.time);
      if (blocked_on != sw::no_index && completed.count(blocked_on)) {
        exposed += e.time - blocked_since;
        if (e.time > blocked_since) stalled_launches.insert(launch_id(blocked_on));
        blocked_on = sw::no_index;
        advance(e.time);
      }
    }
  }
};

/// Peak memory by counting, at every moment of interest, which storages are alive.
[[nodiscard]] inline std::int64_t peak_by_counting(const sw::task_graph& g, const sw::schedule& s) {
  const std::size_t n = s.order.size();
  std::vector<std::size_t> at(n);
  for (std::size_t i = 0; i < n; ++i) at[s.order[i]] = i;
  std::map<sw::task_index, std::size_t> bucket_of;
  std::vector<std::size_t> launch(s.buckets.size(), 0), first_wait(s.buckets.size(), n);
  for (std::size_t b = 0; b < s.buckets.size(); ++b)
    for (const auto t : s.buckets[b].members) {
      bucket_of[t] = b;
      launch[b] = std::max(launch[b], at[t]);
    }
  for (sw::task_index t = 0; t < n; ++t)
    if (g.completes(t) != sw::no_index && bucket_of.count(g.completes(t)))
      first_wait[bucket_of[g.completes(t)]] = std::min(first_wait[bucket_of[g.completes(t)]], at[t]);

  // Moments: 3 per position: 0 = as a bucket is unpacked, 1 = as the task's own storages are live, 2 = after frees.
  std::vector<std::int64_t> live(3 * n);
  for (std::uint32_t piece = 0; piece < g.storages().size(); ++piece) {
    if (g.storages()[piece].device == sw::storage_device::cpu) continue;
    std::size_t born = 3 * n, dies = 3 * n;  // alive at moments [born, dies)
    bool used = false, kept = false;
    std::size_t last_use = 0;
    for (sw::task_index t = 0; t < n; ++t) {
      for (std::size_t i = 0; i < g.output_count(t); ++i)
        if (g.output_storage(t, i) == piece) {
          if (g.kind(t) == sw::task_kind::input) {
            born = 0;
            kept = kept || g.name_of(t).substr(0, 7) == "primals";
          } else if (bucket_of.count(t)) {
            born = std::min(born, 3 * first_wait[bucket_of[t]]);
          } else {
            born = std::min(born, 3 * at[t] + 1);
          }
        }
      for (const auto p : g.inputs(t))
        for (std::size_t i = 0; i < g.output_count(p); ++i)
          if (g.output_storage(p, i) == piece) {
            used = true;
            last_use = std::max(last_use, bucket_of.count(t) ? launch[bucket_of[t]] : at[t]);
          }
    }
    const bool by_output = used && g.kind(s.order[last_use]) == sw::task_kind::output;
    if (used && !kept && !by_output) dies = 3 * last_use + 2;
    for (std::size_t m = born; m < dies; ++m) live[m] += g.storages()[piece].size.count();
  }
  for (std::size_t b = 0; b < s.buckets.size(); ++b)
    for (std::size_t m = 3 * launch[b] + 1; m < 3 * first_wait[b] + 1; ++m)
      live[m] += (s.buckets[b].bytes_in + s.buckets[b].bytes_out).count();
  std::int64_t peak = g.memory_baseline().count();
  for (const std::int64_t bytes : live) peak = std::max(peak, bytes);
  return peak;
}

}  // namespace shardweave_test

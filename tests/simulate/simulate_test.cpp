#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <deque>
#include <map>
#include <queue>
#include <set>
#include <vector>

namespace sw = shardweave;

namespace simulate_tests {
namespace {
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
std::int64_t peak_by_counting(const sw::task_graph& g, const sw::schedule& s) {
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

sw::task_index collective(sw::task_graph_builder& b, const std::string& name, std::int64_t ns,
                          std::vector<sw::task_index> inputs, std::uint32_t group = 0, std::int64_t size = 8) {
  return b.add_task({.name = name,
                     .op = "all_gather",
                     .kind = sw::task_kind::collective,
                     .duration = sw::nanoseconds(ns),
                     .inputs = std::move(inputs),
                     .collective = sw::collective_record{sw::collective::all_gather, group, sw::bytes(size),
                                                         sw::bytes(2 * size), "f32", "none"}});
}
sw::task_index wait_for(sw::task_graph_builder& b, sw::task_index c) {
  return b.add_task({.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
}
sw::task_index compute(sw::task_graph_builder& b, std::int64_t ns, std::vector<sw::task_index> inputs = {}) {
  return b.add_task({.name = "mm",
                     .op = "mm",
                     .kind = sw::task_kind::compute,
                     .duration = sw::nanoseconds(ns),
                     .inputs = std::move(inputs)});
}
}  // namespace

TEST_SUITE("simulate") {
  TEST_CASE("a collective runs beside the compute stream until its wait") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto c1 = compute(b, 5);
    const auto ag = collective(b, "ag", 10, {c1});
    const auto c2 = compute(b, 8, {c1});
    const auto w = wait_for(b, ag);
    compute(b, 3, {w, c2});
    const auto line = sw::simulate(std::move(b).build());
    CHECK(line.end_to_end == sw::nanoseconds(18));  // the critical path
    CHECK(line.exposed == sw::nanoseconds(2));
    CHECK(line.compute == sw::nanoseconds(16));
    CHECK(line.communication == sw::nanoseconds(10));
    CHECK(line.hidden == sw::nanoseconds(8));
    CHECK(line.hidden_count == 0);
    CHECK(line.tail == sw::nanoseconds(0));
    CHECK(line.start[ag] == sw::nanoseconds(5));
    CHECK(line.end[ag] == sw::nanoseconds(15));
    CHECK(line.start[w] == sw::nanoseconds(13));
    CHECK(line.end[w] == sw::nanoseconds(15));
  }

  TEST_CASE("collectives of one group queue, those of two run side by side") {
    for (const std::uint32_t second : {0u, 1u}) {
      sw::task_graph_builder b;
      b.add_group({});
      b.add_group({});
      const auto c0 = compute(b, 1);
      const auto ag1 = collective(b, "ag1", 5, {c0}, 0), ag2 = collective(b, "ag2", 5, {c0}, second);
      const auto c1 = compute(b, 6, {c0});
      const auto w1 = wait_for(b, ag1), w2 = wait_for(b, ag2);
      compute(b, 1, {c1, w1, w2});
      const auto line = sw::simulate(std::move(b).build());
      CHECK(line.end_to_end == sw::nanoseconds(second == 0 ? 12 : 8));
      CHECK(line.channel_busy[0] == sw::nanoseconds(second == 0 ? 10 : 5));
      CHECK(line.hidden_count == (second == 0 ? 1 : 2));
    }
  }

  TEST_CASE("what nothing waits for is the tail") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto c = compute(b, 4);
    collective(b, "rs", 10, {c});
    compute(b, 3, {c});
    const auto line = sw::simulate(std::move(b).build());
    CHECK(line.end_to_end == sw::nanoseconds(14));
    CHECK(line.tail == sw::nanoseconds(7));
    CHECK(line.exposed == sw::nanoseconds(0));
    CHECK(line.hidden == sw::nanoseconds(3));
    CHECK(line.hidden_count == 1);
  }

  TEST_CASE("a wait without a collective of this graph is free, and a second wait finds nothing to wait for") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto in = b.add_task({.name = "x", .op = "input", .kind = sw::task_kind::input});
    b.add_task(
        {.name = "w", .op = "wait", .kind = sw::task_kind::wait, .duration = sw::nanoseconds(50), .inputs = {in}});
    const auto ag = collective(b, "ag", 10, {in});
    const auto w = wait_for(b, ag);
    b.add_task({.name = "ww", .op = "wait", .kind = sw::task_kind::wait, .inputs = {w}, .completes = ag});
    const auto line = sw::simulate(std::move(b).build());
    CHECK(line.end_to_end == sw::nanoseconds(10));
    CHECK(line.exposed == sw::nanoseconds(10));
  }

  TEST_CASE("a bucket is packed at its last member, launched once, and unpacked at its first wait") {
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = 2;
    b.add_group({});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(8), sw::bytes(24)},
                                   {sw::nanoseconds(10), sw::nanoseconds(30)}));
    const auto a1 = collective(b, "a1", 10, {}), x = compute(b, 5), a2 = collective(b, "a2", 10, {});
    const auto y = compute(b, 4), w2 = wait_for(b, a2), z = compute(b, 1, {w2}), w1 = wait_for(b, a1);
    const sw::task_graph g = std::move(b).build();
    const sw::schedule s{.order = {a1, x, a2, y, w2, z, w1}, .buckets = {sw::make_bucket(g, {a1, a2})}};
    const auto line = sw::simulate(g, s);
    // 5 work, 16 pack, 20 communication from 21 to 41, 4 work until 25, stall to 41, 32 unpack, 1 work
    CHECK(line.buckets[0] == sw::bucket_times{sw::nanoseconds(5), sw::nanoseconds(21), sw::nanoseconds(41),
                                              sw::nanoseconds(41), sw::nanoseconds(73)});
    CHECK(line.end_to_end == sw::nanoseconds(74));
    CHECK(line.exposed == sw::nanoseconds(16));
    CHECK(line.packing == sw::nanoseconds(48));
    CHECK(line.communication == sw::nanoseconds(20));
    CHECK(line.collectives == 1);
    CHECK(line.start[a1] == sw::nanoseconds(21));
    CHECK(line.end[w1] == sw::nanoseconds(74));
  }

  TEST_CASE("random orders with random buckets take what an event simulation and a count of storages say") {
    std::size_t bucketed = 0, stalls = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(150U, 25U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 5 + seed % 16});
      sw::random_source random(seed + 1000);
      for (const bool with : {false, true}) {
        sw::schedule s;
        if (with) s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
        s.order = random_order(g, s.buckets, random);
        REQUIRE(s.order.size() == g.size());
        bucketed += s.buckets.size();
        const auto line = sw::simulate(g, s, {.memory_samples = true});
        by_events other{g, s};
        other.run();
        CHECK(line.end_to_end.count() == other.last);
        CHECK(line.exposed.count() == other.exposed);
        CHECK(line.collectives == other.launches);
        CHECK(line.hidden_count == other.launches - other.stalled_launches.size());
        CHECK(line.tail.count() == other.last - other.compute_end);
        stalls += other.stalled_launches.size();
        CHECK(line.peak.count() == peak_by_counting(g, s));
        for (const auto& [c, end] : other.completed) CHECK(line.end[c].count() == end);
        // never below what any moment alone asks for
        for (const auto& sample : line.memory) CHECK(line.peak >= sample.live);
        CHECK(line.peak >= g.memory_baseline());
        CHECK(line.end_to_end == line.compute + line.packing + line.exposed + line.tail);
      }
    }
    CHECK(bucketed > shardweave_test::sized(100U, 16U));
    CHECK(stalls > shardweave_test::sized(300U, 50U));
  }

  TEST_CASE("members of a bucket may stand apart in the order") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(150U, 25U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 16, .groups = 1});
      sw::schedule s;
      s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
      sw::random_source random(seed);
      s.order = random_order(g, s.buckets, random);
      // pull every member but the last as far forward as its inputs allow
      for (const sw::bucket& b : s.buckets)
        for (std::size_t m = 0; m + 1 < b.members.size(); ++m) {
          auto at = std::find(s.order.begin(), s.order.end(), b.members[m]);
          while (at != s.order.begin()) {
            const auto before = *std::prev(at);
            bool needed = false;
            for (const auto& e : g.dependencies().in(*at)) needed = needed || e.source == before;
            if (needed) break;
            std::iter_swap(at, std::prev(at));
            --at;
          }
        }
      const auto line = sw::simulate(g, s);
      by_events other{g, s};
      other.run();
      CHECK(line.end_to_end.count() == other.last);
      CHECK(line.peak.count() == peak_by_counting(g, s));
    }
  }

  TEST_CASE("an empty graph takes no time") {
    const auto line = sw::simulate(sw::task_graph_builder().build());
    CHECK(line.end_to_end == sw::nanoseconds(0));
    CHECK(line.peak == sw::bytes(0));
  }
}

}  // namespace simulate_tests

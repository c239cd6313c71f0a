#include "simulate/three_tasks.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate_machine.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace simulate_machine_tests {
namespace {

namespace sw = shardweave;
using namespace small_steps;

/// Slowdowns that divide 12.
struct whole_factors {
  double compute_slowdown(const sw::running_work& now) const {
    return 1 + static_cast<double>(std::min<std::size_t>(now.communicating.size(), 2));
  }
  double collective_slowdown(const sw::running_work& now, std::size_t) const {
    return (now.computing == sw::no_index ? 1 : 2) * (now.communicating.size() > 1 ? 2 : 1);
  }
};
static_assert(sw::interference_policy<whole_factors>);

/// The same machine nanosecond by nanosecond, in whole numbers: each tick the host, the compute stream and every
/// channel do a piece of what they are at, 12 pieces being one nanosecond's work alone.
struct by_ticks {
  enum class what { work, pack, unpack, launch, wait };
  struct job {
    what kind;
    sw::task_index task;
    std::int64_t duration, host;
    std::size_t bucket;
    bool launched = false;
  };
  struct channel {
    std::deque<std::size_t> queue = {};
    bool held = false, moves = false;
    std::int64_t latency = 0, done = 0;
  };
  const sw::task_graph& g;
  const sw::schedule& s;
  sw::launch_costs costs;
  bool contends;
  std::vector<job> jobs = {};
  std::map<sw::task_index, std::int64_t> start = {}, end = {}, launched = {};
  std::int64_t exposed = 0, starved = 0, compute = 0, packing = 0, communication = 0, last = 0, clock = 0, host_end = 0;

  void list() {
    std::map<sw::task_index, std::size_t> bucket_of;
    std::map<std::size_t, std::size_t> seen, waited;
    for (std::size_t b = 0; b < s.buckets.size(); ++b)
      for (const auto t : s.buckets[b].members) bucket_of[t] = b;
    const std::int64_t kernel = costs.kernel.count(), book = costs.bookkeeping.count();
    for (const auto t : s.order) {
      const std::int64_t d = g.duration(t).count();
      if (g.is_collective(t)) {
        if (!bucket_of.count(t)) {
          jobs.push_back({what::launch, t, d, costs.collective.count(), s.buckets.size()});
        } else if (const std::size_t b = bucket_of[t]; ++seen[b] == s.buckets[b].members.size()) {
          const auto c = sw::costs_of(g, s.buckets[b]);
          jobs.push_back({what::pack, t, c.pack.count(), c.pack.count() > 0 ? kernel : 0, b});
          jobs.push_back({what::launch, t, c.duration.count(), costs.collective.count(), b});
        }
      } else if (g.kind(t) == sw::task_kind::wait) {
        jobs.push_back({what::wait, t, 0, book, s.buckets.size()});
        const auto c = g.completes(t);
        if (c != sw::no_index && bucket_of.count(c) && waited[bucket_of[c]]++ == 0) {
          const auto unpack = sw::costs_of(g, s.buckets[bucket_of[c]]).unpack.count();
          jobs.push_back({what::unpack, t, unpack, unpack > 0 ? kernel : 0, bucket_of[c]});
        }
      } else {
        const bool silent = g.kind(t) == sw::task_kind::input || g.kind(t) == sw::task_kind::output;
        jobs.push_back({what::work, t, d, d > 0 ? kernel : silent ? 0 : book, s.buckets.size()});
      }
    }
  }
  std::vector<sw::task_index> tasks_of(const job& j) const {
    return j.bucket < s.buckets.size() ? s.buckets[j.bucket].members : std::vector<sw::task_index>{j.task};
  }

  void run() {
    list();
    std::map<std::uint32_t, channel> channels;
    for (std::uint32_t c = 0; c < g.groups().size(); ++c) channels[c];
    std::size_t host = 0, at = 0;
    std::int64_t host_left = jobs.empty() ? 0 : jobs[0].host, done = 0;
    bool works = false, hungry = false, stalls = false;
    for (std::int64_t now = 0; now < 100'000; ++now) {  // far longer than any of these graphs takes
      for (bool moved = true; moved;) {
        moved = false;
        for (; host < jobs.size() && host_left == 0; moved = true) {
          jobs[host].launched = true;
          if (jobs[host].kind == what::launch)
            for (const auto t : tasks_of(jobs[host])) launched[t] = now;
          host_end = now;
          if (++host < jobs.size()) host_left = jobs[host].host;
        }
        while (at < jobs.size()) {
          const job& j = jobs[at];
          const bool device = j.kind == what::wait || (j.kind != what::launch && j.duration > 0);
          hungry = stalls = false;
          if (j.kind == what::launch) {
            channels[g.collective(j.task).group].queue.push_back(at);
          } else if (device && !j.launched) {
            hungry = true;
            break;
          } else if (j.kind == what::wait) {
            const auto c = g.completes(j.task);
            start.emplace(j.task, now);
            if (c != sw::no_index && !end.count(c)) {
              stalls = true;
              break;
            }
            end[j.task] = now;
          } else {
            if (!works && j.kind == what::work) start[j.task] = now;
            works = true;
            if (done < 12 * j.duration) break;
            works = false;
            done = 0;
            if (j.kind == what::work) end[j.task] = now;
          }
          clock = now;
          ++at;
          moved = true;
        }
        for (auto& [number, c] : channels) {
          if (c.queue.empty() || !jobs[c.queue.front()].launched) continue;
          const job& j = jobs[c.queue.front()];
          if (!c.held) {
            c.held = true;
            c.latency = costs.latency.count();
            c.done = 0;
            for (const auto t : tasks_of(j)) start[t] = now;
            moved = true;
          }
          c.moves = c.latency == 0;
          if (!c.moves || c.done < 12 * j.duration) continue;
          for (const auto t : tasks_of(j)) end[t] = now;
          last = std::max(last, now);
          c.held = c.moves = false;
          c.queue.pop_front();
          moved = true;
        }
      }
      std::int64_t moving = 0, held = 0;
      for (const auto& [number, c] : channels) {
        moving += c.moves;
        held += c.held;
      }
      if (host == jobs.size() && at == jobs.size() && held == 0) break;
      if (host < jobs.size()) --host_left;
      for (auto& [number, c] : channels) {
        if (c.held && !c.moves) --c.latency;
        if (c.moves) c.done += contends ? 12 / ((works ? 2 : 1) * (moving > 1 ? 2 : 1)) : 12;
      }
      communication += held;
      if (works) {
        done += contends ? 12 / (1 + std::min<std::int64_t>(moving, 2)) : 12;
        ++(jobs[at].kind == what::work ? compute : packing);
      }
      if (at < jobs.size()) {
        starved += hungry;
        exposed += stalls;
      }
    }
    last = std::max(last, clock);
  }
};

/// A random graph with a random order and, for odd seeds, buckets.
sw::schedule random_schedule_of(const sw::task_graph& g, std::uint64_t seed) {
  sw::schedule s;
  if (seed % 2 == 1) s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
  for (sw::bucket& b : s.buckets) b.coalesced = seed % 8 == 3;  // nothing is copied, so no copy is launched
  sw::random_source random(seed + 500);
  s.order = random_order(g, s.buckets, random);
  return s;
}

}  // namespace

TEST_SUITE("simulate on a machine") {
  TEST_CASE("a machine without costs and interference keeps the reference timing") {
    std::size_t bucketed = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 5 + seed % 25, .groups = 1 + seed % 3});
      const sw::schedule s = random_schedule_of(g, seed);
      bucketed += s.buckets.size();
      const sw::machine_timeline run = sw::simulate(g, s, sw::machine(), {.memory_samples = true});
      CHECK(run.line == sw::simulate(g, s, {.memory_samples = true}));
      CHECK(run.host == ns(0));
      CHECK(run.starved + run.compute_slowed + run.communication_slowed == ns(0));
    }
    CHECK(bucketed > shardweave_test::at_scale(100));
  }

  TEST_CASE("random machines take what a simulation nanosecond by nanosecond says") {
    std::size_t starved = 0, slowed = 0, delayed = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(160); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 3 + seed % 12, .groups = 1 + seed % 3});
      const sw::schedule s = random_schedule_of(g, seed);
      sw::random_source random(seed);
      const auto some = [&] { return ns(random.chance(0.3) ? 0 : static_cast<std::int64_t>(random.below(25))); };
      const sw::launch_costs costs{some(), some(), some(), some()};
      const bool contends = seed % 4 < 2;
      const auto run =
          contends ? sw::simulate(g, s, sw::machine(costs, whole_factors{})) : sw::simulate(g, s, sw::machine(costs));
      by_ticks other{g, s, costs, contends};
      other.run();
      const sw::timeline& line = run.line;
      const auto found = {line.end_to_end, line.exposed,       run.starved, line.compute,
                          line.packing,    line.communication, run.host,    line.tail};
      const auto expected = {other.last,    other.exposed,       other.starved,  other.compute,
                             other.packing, other.communication, other.host_end, other.last - other.clock};
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < found.size(); ++i) wrong += found.begin()[i].count() != expected.begin()[i];
      CHECK(line.end_to_end == line.compute + line.packing + line.exposed + run.starved + line.tail);
      for (sw::task_index t = 0; t < g.size(); ++t) {
        wrong += run.line.start[t].count() != other.start.at(t);
        wrong += run.line.end[t].count() != other.end.at(t);
      }
      for (const auto& [t, when] : other.launched) wrong += run.launched[t].count() != when;
      wrong += line.peak != sw::simulate(g, s).peak;
      CHECK(wrong == 0);
      starved += run.starved > ns(0);
      slowed += run.compute_slowed > ns(0);
      delayed += run.communication_slowed > ns(0);
    }
    CHECK(starved > shardweave_test::at_scale(80));
    CHECK(slowed > shardweave_test::at_scale(20));
    CHECK(delayed > shardweave_test::at_scale(20));
  }

  TEST_CASE("an empty graph takes no time on any machine") {
    const auto run = sw::simulate(sw::task_graph_builder().build(), {}, sw::machine(sw::launch_costs::each(ns(9))));
    CHECK(run.line.end_to_end == ns(0));
    CHECK(run.host == ns(0));
  }
}

}  // namespace simulate_machine_tests

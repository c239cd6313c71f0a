#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace timeline_tests {

TEST_SUITE("timeline") {
  TEST_CASE("the figures of the whole are what starts and ends of tasks and buckets add up to") {
    std::size_t packed = 0, stalled_waits = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 5 + seed % 16, .groups = 1 + seed % 3});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
      REQUIRE(line.start.size() == g.size());
      REQUIRE(line.end.size() == g.size());
      REQUIRE(line.buckets.size() == s.buckets.size());

      std::vector<std::size_t> bucket_of(g.size(), s.buckets.size());
      ns copies, compute_end, last;
      std::vector<ns> busy(g.groups().size());
      for (std::size_t b = 0; b < s.buckets.size(); ++b) {
        const sw::bucket_times& t = line.buckets[b];
        for (const sw::task_index m : s.buckets[b].members) {
          bucket_of[m] = b;
          CHECK(line.start[m] == t.start);
          CHECK(line.end[m] == t.end);
        }
        busy[s.buckets[b].channel] += t.end - t.start;
        const ns packing = sw::costs_of(g, s.buckets[b]).pack, unpacking = t.unpack_end - t.unpack_start;
        CHECK(t.pack_start + packing <= t.start);
        CHECK(t.end <= t.unpack_start);
        copies += packing + unpacking;
        compute_end = std::max({compute_end, t.pack_start + packing, t.unpack_end});
        last = std::max(last, t.unpack_end);
        ++packed;
      }
      ns compute, exposed;
      std::size_t launches = s.buckets.size();
      std::set<std::size_t> stalled;  // launches
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const ns length = line.end[t] - line.start[t];
        last = std::max(last, line.end[t]);
        if (g.is_collective(t)) {
          if (bucket_of[t] < s.buckets.size()) continue;
          ++launches;
          busy[g.collective(t).group] += length;
          continue;
        }
        compute_end = std::max(compute_end, line.end[t]);
        if (g.kind(t) != sw::task_kind::wait) {
          compute += length;
          continue;
        }
        exposed += length;
        if (length == ns(0)) continue;
        ++stalled_waits;
        const sw::task_index c = g.completes(t);
        stalled.insert(bucket_of[c] < s.buckets.size() ? bucket_of[c] : s.buckets.size() + c);
      }
      CHECK(line.end_to_end == last);
      CHECK(line.compute == compute);
      CHECK(line.packing == copies);
      CHECK(line.channel_busy == busy);
      ns communication;
      for (const ns b : busy) communication += b;
      CHECK(line.communication == communication);
      CHECK(line.exposed == exposed);
      CHECK(line.tail == last - compute_end);
      CHECK(line.hidden == communication - exposed - line.tail);
      CHECK(line.collectives == launches);
      CHECK(line.hidden_count == launches - stalled.size());
      REQUIRE(line.memory.size() == s.order.size());
      for (std::size_t i = 0; i < s.order.size(); ++i) CHECK(line.memory[i].task == s.order[i]);
      CHECK(sw::simulate(g, s).memory.empty());  // only if asked for
    }
    CHECK(packed > shardweave_test::at_scale(50));
    CHECK(stalled_waits > shardweave_test::at_scale(100));
  }
}

}  // namespace timeline_tests

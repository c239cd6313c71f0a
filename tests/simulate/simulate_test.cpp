#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/slow_timeline.hpp>

#include <vector>

namespace sw = shardweave;

namespace simulate_tests {
namespace {
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
        shardweave_test::by_events other{g, s};
        other.run();
        CHECK(line.end_to_end.count() == other.last);
        CHECK(line.exposed.count() == other.exposed);
        CHECK(line.collectives == other.launches);
        CHECK(line.hidden_count == other.launches - other.stalled_launches.size());
        CHECK(line.tail.count() == other.last - other.compute_end);
        stalls += other.stalled_launches.size();
        CHECK(line.peak.count() == shardweave_test::peak_by_counting(g, s));
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
      shardweave_test::by_events other{g, s};
      other.run();
      CHECK(line.end_to_end.count() == other.last);
      CHECK(line.peak.count() == shardweave_test::peak_by_counting(g, s));
    }
  }

  TEST_CASE("an empty graph takes no time") {
    const auto line = sw::simulate(sw::task_graph_builder().build());
    CHECK(line.end_to_end == sw::nanoseconds(0));
    CHECK(line.peak == sw::bytes(0));
  }
}

}  // namespace simulate_tests

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>
#include <support/untidy_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sw = shardweave;
using namespace small_tasks;

namespace unusual_settings_tests {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
constexpr sw::bytes all_bytes(std::numeric_limits<std::int64_t>::max());

sw::task_graph_builder with_prices() {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {sw::nanoseconds(100)}));
  return b;
}
/// Layers one after the other, each with a gather of what it needs.
sw::task_graph layers(int count) {
  sw::task_graph_builder b = with_prices();
  const auto held = [&](sw::task_record t) {
    t.outputs = {{sw::bytes(40), b.add_storage(sw::bytes(40)), "bf16", {}}};
    return t;
  };
  std::vector<sw::task_index> before;
  for (int i = 0; i < count; ++i) {
    std::vector<sw::task_index> needs{b.add_task(held(wait_for("w", b.add_task(held(gather("c", 100, {}, 10))))))};
    needs.insert(needs.end(), before.begin(), before.end());
    before = {b.add_task(work("m", 100, needs))};
  }
  return std::move(b).build();
}
double statistic(const sw::schedule& s, const char* name) {
  for (const auto& one : s.statistics)
    if (one.name == name) return one.value;
  return -1;
}

}  // namespace

TEST_SUITE("unusual settings") {
  TEST_CASE("a plan beyond a budget of memory says so") {
    const sw::task_graph g = layers(10);
    const sw::schedule chosen = sw::benefit<>{.memory = sw::bytes(1)}.plan(g);
    CHECK(sw::simulate(g, chosen).peak > sw::bytes(1));
    CHECK_FALSE(chosen.within_memory);
    CHECK(sw::benefit<>{.memory = sw::bytes(4000)}.plan(g).within_memory);
    const sw::schedule searched = sw::search<>{.start = {.memory = sw::bytes(1)}}(g, {});
    CHECK_FALSE(searched.within_memory);  // of the start; the search has no budget
  }

  TEST_CASE("a search takes schedules of any origin") {
    sw::task_graph_builder b = with_prices();
    b.add_task(work("m", 10, {b.add_task(wait_for("w", b.add_task(gather("c", 100, {}, 10))))}));
    const sw::task_graph g = std::move(b).build();
    sw::schedule s = sw::in_order{}(g, {});
    s.hides = {{.collective = 2, .exposed = sw::nanoseconds(5)}, {.collective = 99}};  // neither is a collective
    CHECK(sw::search<>{}.improve(g, s).order == s.order);
  }

  TEST_CASE("what comes after one member of a bucket alone keeps a search of all orders from saying that it was one") {
    sw::task_graph_builder b = with_prices();
    b.add_group({.id = 1, .size = 4});
    b.add_task(gather("a", 100, {}, 10));   // 0, in the bucket
    b.add_task(work("m", 1000));            // 1
    b.add_task(gather("b", 100, {1}, 10));  // 2, in the bucket
    sw::task_record x = work("x", 10);      // 3
    x.after = {0};
    b.add_task(x);
    b.add_task(gather("far", 1000, {3}, 10, 1));  // 4
    for (const sw::task_index c : {4U, 0U, 2U}) b.add_task(wait_for("w", c));
    const sw::task_graph g = std::move(b).build();
    const sw::bucketing_result buckets{{sw::make_bucket(g, {0, 2})}, {}};
    const sw::schedule found = sw::exact{}(g, buckets);
    sw::schedule better;
    better.buckets = buckets.buckets;
    better.order = {0, 3, 4, 1, 2, 5, 6, 7};
    CHECK_NOTHROW(sw::validate_schedule(g, better));
    CHECK(sw::simulate(g, better).end_to_end < sw::simulate(g, found).end_to_end);
    CHECK(statistic(found, "proven") == 0);
  }

  TEST_CASE("a search of all orders leaves large graphs as they are") {
    sw::task_graph_builder b = with_prices();
    for (int i = 0; i < 8000; ++i) {  // prefetch is not known to be the best here
      const sw::task_index a = b.add_task(work("a", 7 + i % 5));
      b.add_task(work("m", 3 + i % 7, {b.add_task(wait_for("w", b.add_task(gather("c", 11 + i % 3, {a}, 10))))}));
    }
    const sw::task_graph g = std::move(b).build();
    const sw::schedule found = sw::exact{}(g, {});
    CHECK(found.order == sw::prefetch{}(g, {}).order);
    CHECK(statistic(found, "proven") == 0);
    CHECK(statistic(found, "states") == 0);
  }

  TEST_CASE("settings may be without a limit") {
    const sw::task_graph g = layers(10);
    const sw::schedule usual = sw::prefetch{}(g, {});
    CHECK(sw::prefetch{.compute_ahead = unlimited}(g, {}).order == usual.order);
    const auto tried = [&](std::size_t changes) {
      return statistic(sw::best_known{.changes = changes}.plan(g, {.iterations = 500}), "changes_tried");
    };
    CHECK(tried(unlimited) == tried(100'000));
    const auto order = [&](const sw::overlap_settings& settings) {
      return sw::account_of_overlap(g, {}, settings).order;
    };
    const sw::overlap_settings free{.memory_increase = std::nullopt, .memory_ratio = std::nullopt};
    CHECK(order({.memory_increase = all_bytes}) == order(free));
    CHECK(order({.memory_ratio = 1e300}) == order(free));
    sw::overlap_settings hides_all{}, hides_nothing{}, hides_no_number{};
    hides_all.compute_share = 1e300;
    hides_nothing.compute_share = 0;
    hides_no_number.compute_share = std::numeric_limits<double>::quiet_NaN();
    CHECK(order(hides_all).size() == g.size());
    CHECK(order(hides_no_number) == order(hides_nothing));
  }

  TEST_CASE("buckets that no schedule could launch are refused by number") {
    sw::task_graph_builder b = with_prices();
    for (int i = 0; i < 2; ++i) b.add_task(wait_for("w", b.add_task(gather("c", 100, {}, 10))));
    const sw::task_graph g = std::move(b).build();
    const auto expect = [&](const sw::bucket& one, const char* words) {
      CHECK_THROWS_WITH_AS((void)sw::in_order{}(g, {{one}, {}}), doctest::Contains(words), sw::error);
      CHECK_THROWS_WITH_AS((void)sw::makespan_bound(g, std::vector<sw::bucket>{one}), doctest::Contains(words),
                           sw::error);
    };
    expect({}, "bucket 0 has no members");
    expect({.members = {1, 3}}, "is no collective");
    sw::bucket elsewhere = sw::make_bucket(g, {0, 2});
    elsewhere.channel = 99999;
    expect(elsewhere, "bucket 0 is on channel 99999, expected that of its members, 0");
  }

  TEST_CASE("graphs that no writer would write get orders that can be launched, and end no earlier than their bound") {
    std::size_t buckets = 0, met = 0;
    for (std::uint64_t seed = 0; seed < (shardweave_test::is_small_scale ? 150U : 3000U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = untidy_tasks(seed, {.blocks = 3 + seed % 15});
      const sw::bucketing_result made = sw::greedy{.fsdp_only = false, .needs_gain = false}(g);
      buckets += made.buckets.size();
      const auto bound = sw::makespan_bound(g, made.buckets).value();
      sw::nanoseconds least(std::numeric_limits<std::int64_t>::max());
      for (const sw::schedule& s : {sw::in_order{}(g, made), sw::prefetch{}(g, made), sw::overlap_scheduler{}(g, made),
                                    sw::search<>{.changes = 50}(g, made), sw::exact{.states = 2000}(g, made)}) {
        CHECK_NOTHROW(sw::validate_schedule(g, s));
        const sw::nanoseconds end = sw::simulate(g, s).end_to_end;
        least = std::min(least, end);
        CHECK(end >= bound);
        if (statistic(s, "proven") == 1) CHECK(end == least);
      }
      met += least == bound ? 1U : 0U;
    }
    CHECK(buckets > 0);
    CHECK(met > 0);
  }
}

}  // namespace unusual_settings_tests

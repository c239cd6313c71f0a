#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <numeric>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("in_order") {
  TEST_CASE("without buckets the original order is returned as it is") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(50); ++seed) {
      const sw::task_graph g = random_tasks(seed);
      const auto s = sw::schedule_tasks(g, {}, sw::in_order{});
      std::vector<sw::task_index> identity(g.size());
      std::iota(identity.begin(), identity.end(), 0u);
      CHECK(s.order == identity);
      CHECK(sw::simulate(g, s) == sw::simulate(g));
      CHECK(s.within_memory);
    }
  }
  TEST_CASE("an original order that is not topological is made so with least change") {
    sw::task_graph_builder b;
    b.add_task({.name = "a", .inputs = {2}});
    b.add_task({.name = "b"});
    b.add_task({.name = "c"});
    CHECK(sw::in_order{}(std::move(b).build(), {}).order == std::vector<sw::task_index>{1, 2, 0});
  }
  TEST_CASE("with buckets the schedule is valid, keeps them, and each member stands beside the others") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 20});
      const auto buckets = sw::greedy{.cap = sw::bytes(50), .fsdp_only = false, .needs_gain = false}(g);
      const auto s = sw::in_order{}(g, buckets);
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      CHECK(s.buckets == buckets.buckets);
      std::vector<std::size_t> at(g.size());
      for (std::size_t i = 0; i < g.size(); ++i) at[s.order[i]] = i;
      for (const auto& bucket : s.buckets)
        for (std::size_t m = 1; m < bucket.members.size(); ++m)
          CHECK(at[bucket.members[m]] == at[bucket.members[0]] + m);
      CHECK(s.hides.size() == sw::simulate(g, s).collectives);
    }
  }
}

TEST_SUITE("launch_units") {
  TEST_CASE("buckets that cannot be launched are refused") {
    const auto launch = [](sw::task_graph_builder& b, sw::task_index from) {
      return b.add_task({.name = "c",
                         .kind = sw::task_kind::collective,
                         .inputs = {from},
                         .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "f32", "sum"}});
    };
    sw::task_graph_builder b;
    b.add_group({});
    b.add_table(sw::duration_table(sw::collective::all_reduce, 0, {sw::bytes(0)}, {sw::nanoseconds(1)}));
    const auto x = b.add_task({.name = "x", .kind = sw::task_kind::input});
    const auto c1 = launch(b, x), c2 = launch(b, c1), c3 = launch(b, x), y = b.add_task({.name = "y", .inputs = {c3}}),
               c4 = launch(b, y);
    const sw::task_graph g = std::move(b).build();
    const std::vector<sw::bucket> direct{sw::make_bucket(g, {c1, c2})}, round{sw::make_bucket(g, {c3, c4})},
        twice{sw::make_bucket(g, {c1, c3}), sw::make_bucket(g, {c3, c4})};
    CHECK_THROWS_WITH_AS(sw::launch_units(g, direct),
                         "task 2 (c) depends on task 1 (c) and cannot be in one bucket with it", sw::error);
    CHECK_THROWS_WITH_AS(sw::launch_units(g, round), "the graph has a cycle through vertex 3", sw::error);
    CHECK_THROWS_WITH_AS(sw::launch_units(g, twice), "bucket 1 names task 3, which is in bucket 0", sw::error);
    std::vector<sw::bucket> unknown = direct;
    unknown[0].members[1] = 60;
    CHECK_THROWS_WITH_AS(sw::launch_units(g, unknown), "bucket 0 names task 60, but there are only 6", sw::error);
  }
}

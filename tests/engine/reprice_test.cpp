#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/reprice.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <vector>

namespace sw = shardweave;

namespace reprice_tests {
namespace {

/// Ten microseconds for each rank, and one for each byte.
struct by_hand {
  sw::collective_estimate estimate(sw::collective, sw::bytes size, sw::group_shape group) const {
    sw::collective_estimate e;
    e.time_us = static_cast<double>(10 * group.ranks() + size.count());
    return e;
  }
};

}  // namespace

TEST_SUITE("group_ranks") {
  TEST_CASE("groups are translates of the listed one, neighbours, or everyone") {
    CHECK(sw::layout_of({.size = 2, .stride = 1}, 8) == sw::rank_layout{2, 1});
    CHECK(sw::layout_of({.size = 2, .ranks = {0, 4}}, 8) == sw::rank_layout{2, 4});
    CHECK(sw::layout_of({.size = 4}, 8) == sw::rank_layout{4, 1});
    CHECK(sw::layout_of({}, 6) == sw::rank_layout{6, 1});
    CHECK(sw::layout_of({.size = 8, .ranks = {0, 3, 1, 2, 7, 4, 5, 6}}, 8) == sw::rank_layout{8, 1});
    CHECK(sw::layout_of({.size = 1, .stride = 4}, 2) == sw::rank_layout{1, 1});
    CHECK(sw::rank_layout{2, 4}.members(5) == std::vector<std::int64_t>{1, 5});
    CHECK(sw::rank_layout{4, 2}.members(9) == std::vector<std::int64_t>{9, 11, 13, 15});
    CHECK(sw::rank_layout{4, 2}.position(13) == 2);
  }
  TEST_CASE("every rank is in exactly one group, which all its members name alike") {
    for (const sw::rank_layout layout : {sw::rank_layout{2, 1}, {2, 6}, {3, 2}, {4, 3}, {12, 1}, {1, 1}}) {
      std::vector<int> seen(12);
      for (std::int64_t r = 0; r < 12; ++r) {
        const auto members = layout.members(r);
        CHECK(members[static_cast<std::size_t>(layout.position(r))] == r);
        for (const std::int64_t m : members) {
          CHECK(layout.members(m) == members);
          ++seen[static_cast<std::size_t>(m)];
        }
      }
      CHECK(seen == std::vector<int>(12, static_cast<int>(layout.size)));
    }
  }
  TEST_CASE("groups that do not fit are refused by name") {
    CHECK_THROWS_WITH_AS(sw::layout_of({.id = 3, .name = "dp", .size = 8}, 4),
                         "group 3 (dp) has 8 ranks, 1 apart, which does not divide the 4 ranks of this run", sw::error);
    CHECK_THROWS_WITH_AS(sw::layout_of({.size = 2, .stride = 4}, 4),
                         "group 0 has 2 ranks, 4 apart, which does not divide the 4 ranks of this run", sw::error);
    CHECK_THROWS_WITH_AS(sw::layout_of({.size = 3, .ranks = {0, 1, 3}}, 6),
                         "group 0 lists rank 3 after 1, expected ranks 1 apart", sw::error);
  }
}

TEST_SUITE("reprice") {
  TEST_CASE("collectives take what the model says, other tasks the scaled duration, and nothing else changes") {
    const sw::task_graph g = random_tasks(4, {.blocks = 40});
    const std::vector<sw::group_shape> shapes{{4, 1}, {2, 2}};
    const sw::task_graph h = sw::reprice(g, by_hand{}, shapes, {.compute_scale = 2.5, .dram_bytes_per_ns = 7});
    REQUIRE(h.size() == g.size());
    CHECK(h.device().dram_bytes_per_ns == 7);
    CHECK(h.memory_baseline() == g.memory_baseline());
    for (sw::task_index t = 0; t < g.size(); ++t) {
      sw::task_record a = g.record(t), b = h.record(t);
      if (g.is_collective(t)) {
        const auto c = g.collective(t);
        const std::int64_t size = c.bytes_in.count() * (c.op == sw::collective::all_gather ? 4 : 1);
        CHECK(b.duration == sw::nanoseconds(1000 * (40 + size)));
      } else {
        CHECK(static_cast<double>(b.duration.count()) == std::nearbyint(2.5 * static_cast<double>(a.duration.count())));
      }
      a.duration = b.duration = {};
      CHECK(a == b);
    }
  }
  TEST_CASE("a group's shape follows from the ranks on a node") {
    const std::vector<sw::process_group> groups{{.size = 4, .stride = 1}, {.size = 2, .stride = 4}, {}};
    CHECK(sw::shapes_of(groups, 8, 4) == std::vector<sw::group_shape>{{4, 1}, {1, 2}, {4, 2}});
    CHECK(sw::shapes_of(groups, 8, 8) == std::vector<sw::group_shape>{{4, 1}, {2, 1}, {8, 1}});
    CHECK_THROWS_WITH_AS(sw::shapes_of(groups, 8, 3),
                         "group 0 has 3 of its 4 ranks on the first node, expected as many on each", sw::error);
  }

  TEST_CASE("times that no longer fit are refused") {
    sw::task_graph_builder b;
    b.add_task({.op = "mm", .duration = sw::nanoseconds(1000)});
    const sw::task_graph g = std::move(b).build();
    const auto scaled = [&](double scale) {
      return sw::reprice(g, sw::any_collectives(by_hand{}), {}, {.compute_scale = scale});
    };
    CHECK(scaled(1e15).record(0).duration == sw::nanoseconds(std::int64_t{1'000'000'000'000'000'000}));
    CHECK_THROWS_WITH_AS(static_cast<void>(scaled(5e15)), doctest::Contains("more nanoseconds than 64 bits can count"),
                         sw::error);
    CHECK_THROWS_AS(static_cast<void>(scaled(1e300)), sw::error);
  }
}

}  // namespace reprice_tests

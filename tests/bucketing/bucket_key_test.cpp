#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bucket_key_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("bucket_keys") {
  TEST_CASE("equal operation, group, dtype and reduction make equal keys, all_to_all has none") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(50U, 10U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 20, .communicates = 1});
      const auto keys = sw::bucket_keys(g);
      for (sw::task_index a = 0; a < g.size(); ++a) {
        if (!g.is_collective(a) || g.collective(a).op == sw::collective::all_to_all) {
          CHECK(keys[a] == sw::no_index);
          continue;
        }
        for (sw::task_index b = 0; b < a; ++b) {
          if (keys[b] == sw::no_index) continue;
          const auto x = g.collective(a), y = g.collective(b);
          CHECK((keys[a] == keys[b]) ==
                (x.op == y.op && x.group == y.group && x.dtype == y.dtype && x.reduce == y.reduce));
        }
      }
    }
  }

  TEST_CASE("a collective is fit for buckets unless there is a reason, which is told with what stands in the way") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "dp", .size = 4});
    b.add_group({.id = 1, .name = "tp", .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {sw::nanoseconds(1)}));
    const auto gather = [&](std::uint32_t group, sw::collective kind = sw::collective::all_gather) {
      return b.add_task(
          {.name = "c",
           .op = "c",
           .kind = sw::task_kind::collective,
           .collective = sw::collective_record{kind, group, sw::bytes(8), sw::bytes(32), "bf16", "none"}});
    };
    const auto wait = [&](sw::task_index c) {
      return b.add_task({.name = "w", .op = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
    };
    const auto fit = gather(0), used = gather(0), alone = gather(0), unpriced = gather(1),
               other = gather(0, sw::collective::all_to_all);
    for (const auto c : {fit, used, unpriced, other}) wait(c);
    const auto user = b.add_task({.name = "mm", .op = "mm", .kind = sw::task_kind::compute, .inputs = {used}});
    b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {fit}});
    const sw::task_graph g = std::move(b).build();
    const auto refused = sw::refused_as_members(g);
    CHECK_FALSE(refused[fit].has_value());  // the output may name it
    CHECK_FALSE(refused[user].has_value());
    REQUIRE(refused[used].has_value());
    CHECK(refused[used]->reason == sw::decision_reason::foreign_user);
    CHECK(refused[used]->other == user);
    REQUIRE(refused[alone].has_value());
    CHECK(refused[alone]->reason == sw::decision_reason::no_wait);
    REQUIRE(refused[unpriced].has_value());
    CHECK(refused[unpriced]->reason == sw::decision_reason::unpriced);
    REQUIRE(refused[other].has_value());
    CHECK(refused[other]->reason == sw::decision_reason::not_mergeable);
    std::vector<bool> expected(g.size());
    expected[fit] = true;
    CHECK(sw::fit_for_buckets(g) == expected);
  }

  TEST_CASE("as bytes gathers of several dtypes have one key, and nothing else changes its own") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "dp", .size = 4});
    for (const auto& [kind, dtype] : {std::pair(sw::collective::all_gather, "bf16"),
                                      {sw::collective::all_gather, "f32"},
                                      {sw::collective::reduce_scatter, "bf16"},
                                      {sw::collective::reduce_scatter, "f32"}})
      b.add_task({.name = "c",
                  .op = "c",
                  .kind = sw::task_kind::collective,
                  .collective = sw::collective_record{kind, 0, sw::bytes(8), sw::bytes(32), dtype, "sum"}});
    const sw::task_graph g = std::move(b).build();
    CHECK(sw::bucket_keys(g) == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(sw::bucket_keys(sw::with_gathers_of_bytes(g)) == std::vector<std::uint32_t>{0, 0, 1, 2});
  }
}

}  // namespace bucket_key_tests

#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bucket_costs_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("costs_of") {
  TEST_CASE("a bucket is priced at the sums of its members") {
    const sw::task_graph g = random_tasks(3);
    std::vector<sw::task_index> members;
    for (sw::task_index t = 0; t < g.size() && members.size() < 2; ++t)
      if (g.is_collective(t) && g.collective(t).op != sw::collective::all_to_all) members.push_back(t);
    REQUIRE(members.size() == 2);
    const sw::bucket b = sw::make_bucket(g, {members[0], members[0]});
    const auto c = g.collective(members[0]);
    CHECK(b.bytes_in == 2 * c.bytes_in);
    CHECK(b.bytes_out == 2 * c.bytes_out);
    CHECK(b.channel == c.group);
    const auto costs = sw::costs_of(g, b);
    CHECK(costs.duration == (*g.table(c.op, c.group))(2 * c.bytes_in));
    CHECK(costs.pack == sw::copy_time(2 * c.bytes_in, 3));
    CHECK(costs.unpack == sw::copy_time(2 * c.bytes_out, 3));
  }
  TEST_CASE("casts that packing does on the way cost what it reads more, and only where nothing else needs them") {
    // parameters of 40 bytes, cast to 20 and gathered; the third cast has another user
    sw::task_graph_builder b;
    b.add_group({});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {sw::nanoseconds(9)}));
    b.device.dram_bytes_per_ns = 4;
    std::vector<sw::task_index> gathers, casts;
    for (int i = 0; i < 3; ++i) {
      const auto x = b.add_task({.name = "primals",
                                 .kind = sw::task_kind::input,
                                 .outputs = {{sw::bytes(40), b.add_storage(sw::bytes(40)), "f32", {}}}});
      casts.push_back(b.add_task({.name = "cast",
                                  .op = i == 0 ? "prims.convert_element_type.default" : "aten._to_copy.default",
                                  .duration = sw::nanoseconds(15),
                                  .inputs = {x}}));
      gathers.push_back(b.add_task({.name = "ag",
                                    .op = "all_gather",
                                    .kind = sw::task_kind::collective,
                                    .duration = sw::nanoseconds(9),
                                    .inputs = {casts.back()},
                                    .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(20),
                                                                        sw::bytes(80), "bf16", "none"}}));
    }
    b.add_task({.name = "uses it", .inputs = {casts.back()}});
    const sw::task_graph g = std::move(b).build();
    const std::vector<sw::bucket> buckets = {sw::make_bucket(g, gathers)};
    CHECK(sw::absorbed_casts(g, buckets) == std::vector<sw::task_index>{casts[0], casts[1]});
    const sw::task_graph credited = sw::with_absorbed_casts(g, buckets);
    for (const auto c : casts) CHECK(credited.duration(c) == sw::nanoseconds(c == casts[2] ? 15 : 5));
    CHECK(credited.duration(gathers[0]) == sw::nanoseconds(9));
  }
  TEST_CASE("without a table it refuses") {
    sw::task_graph_builder b;
    b.add_group({});
    b.add_task({.name = "x",
                .kind = sw::task_kind::collective,
                .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "f32", "sum"}});
    const sw::task_graph g = std::move(b).build();
    CHECK_THROWS_WITH_AS(sw::costs_of(g, sw::make_bucket(g, {0})),
                         "no duration table prices a bucket of all_reduce on group 0 with task 0 (x)", sw::error);
  }
}

}  // namespace bucket_costs_tests

#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace lowered_graph_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("lowered_graph") {
  TEST_CASE("computation is the own work of operations, communication what redistributes their arguments") {
    sw::task_graph_builder b;
    sw::lowered_graph l;
    const auto add = [&](std::int64_t time, sw::task_origin origin) {
      b.add_task({.name = "t", .op = "t", .kind = sw::task_kind::other, .duration = sw::nanoseconds(time)});
      l.origin.push_back(origin);
    };
    add(1, {.operation = 0});
    add(10, {.operation = 1, .argument = 0});
    add(100, {.operation = 1});
    add(1000, {.operation = 1, .argument = 3});
    add(10000, {.operation = 0, .again = true});                  // made again for the backward phase
    add(100000, {.operation = 1, .argument = 0, .again = true});  // and moved again
    l.tasks = std::move(b).build();
    CHECK(l.compute_time() == sw::nanoseconds(10101));
    CHECK(l.communication_time() == sw::nanoseconds(101010));
    CHECK(sw::lowered_graph{}.compute_time() == sw::nanoseconds(0));
  }

  TEST_CASE("a task comes from an operation itself unless it is told of an argument, the first one included") {
    CHECK_FALSE(sw::task_origin{}.is_redistribution());
    CHECK(sw::task_origin{.argument = 0}.is_redistribution());
    CHECK(sw::task_origin{.operation = 1} != sw::task_origin{.operation = 1, .again = true});
  }
}

}  // namespace lowered_graph_tests

#include "tasks/small_graph.hpp"
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace task_graph_builder_tests {
namespace {

namespace sw = shardweave;
using namespace small_graphs;

}  // namespace

TEST_SUITE("task_graph_builder") {
  TEST_CASE("wrong graphs are refused, and the message names the culprit") {
    auto b = small();
    std::string expected;
    SUBCASE("an input that does not exist") {
      b.add_task({.name = "x", .inputs = {9}});
      expected = "task 5 (x) names input task 9, but there are only 6";
    }
    SUBCASE("an earlier task that does not exist") {
      b.add_task({.name = "x", .after = {6}});
      expected = "task 5 (x) names earlier task 6, but there are only 6";
    }
    SUBCASE("a storage that does not exist") {
      b.add_task({.name = "x", .outputs = {{sw::bytes(1), 4, "", {}}}});
      expected = "task 5 (x) names storage 4, but there are only 4";
    }
    SUBCASE("an output of negative size") {
      b.add_task({.name = "x", .outputs = {{sw::bytes(-1), 0, "", {}}}});
      expected = "task 5 (x) has an output of -1 bytes, expected none below 0";
    }
    SUBCASE("a negative duration") {
      b.add_task({.name = "x", .duration = sw::nanoseconds(-4)});
      expected = "task 5 (x) lasts -4 ns, expected none below 0";
    }
    SUBCASE("an unknown group") {
      b.add_task({.name = "x",
                  .kind = sw::task_kind::collective,
                  .collective = sw::collective_record{sw::collective::all_reduce, 1, {}, {}, "f32", "sum"}});
      expected = "task 5 (x) names group 1, but there are only 1";
    }
    SUBCASE("a collective of negative size") {
      b.add_task({.name = "x",
                  .kind = sw::task_kind::collective,
                  .collective = sw::collective_record{sw::collective::all_reduce, 0, sw::bytes(-2), {}, "f32", "sum"}});
      expected = "task 5 (x) communicates -2 bytes, expected none below 0";
    }
    SUBCASE("a collective without a description") {
      b.add_task({.name = "x", .kind = sw::task_kind::collective});
      expected = "task 5 (x) is a collective, but nothing says what it communicates";
    }
    SUBCASE("a description without a collective") {
      b.add_task({.name = "x", .collective = sw::collective_record{}});
      expected = "task 5 (x) has a collective's description, but its kind is other";
    }
    SUBCASE("a wait for what is no collective") {
      b.add_task({.name = "x", .kind = sw::task_kind::wait, .completes = 3});
      expected = "task 5 (x) waits for task 3 (mm), which is of kind compute, expected collective";
    }
    SUBCASE("a wait for what does not exist") {
      b.add_task({.name = "x", .kind = sw::task_kind::wait, .completes = 30});
      expected = "task 5 (x) names collective 30, but there are only 6";
    }
    SUBCASE("a completion by what is no wait") {
      b.add_task({.name = "x", .completes = 1});
      expected = "task 5 (x) completes a collective, but its kind is other, expected wait";
    }
    SUBCASE("a task that needs itself") {
      b.add_task({.name = "x", .inputs = {5}});
      expected = "task 5 (x) depends on itself through a cycle";
    }
    SUBCASE("a storage of negative size") {
      b.add_storage(sw::bytes(-3));
      expected = "storage 4 has -3 bytes, expected none below 0";
    }
    SUBCASE("a table of an unknown group") {
      b.add_table(sw::duration_table(sw::collective::all_gather, 3, {sw::bytes(1)}, {sw::nanoseconds(1)}));
      expected = "duration table of all_gather names group 3, but there are only 1";
    }
    SUBCASE("fused durations for other tasks") {
      b.fused_durations.resize(2);
      expected = "there are 2 fused durations, expected one for each of 5 tasks";
    }
    SUBCASE("a negative fused duration") {
      b.fused_durations.assign(5, sw::nanoseconds(-1));
      expected = "task 0 (primals_1) lasts -1 ns when fused, expected none below 0";
    }
    SUBCASE("a negative bandwidth") {
      b.device.dram_bytes_per_ns = -1;
      expected = "the device's memory bandwidth is negative";
    }
    SUBCASE("durations whose sum leaves 64 bits") {
      b.add_task({.name = "x", .duration = sw::nanoseconds(std::int64_t{1} << 60)});
      expected =
          "the durations of tasks up to task 5 (x) add up to more than 1152921504606846976 ns, what sums are "
          "kept below";
    }
    SUBCASE("fused durations whose sum leaves 64 bits") {
      b.fused_durations.assign(5, sw::nanoseconds(std::int64_t{1} << 58));
      expected =
          "the fused durations of tasks up to task 4 (output) add up to more than 1152921504606846976 ns, what sums "
          "are kept below";
    }
    SUBCASE("outputs whose sum leaves 64 bits") {
      for (int i = 0; i < 2; ++i)
        b.add_task({.name = "x", .outputs = {{sw::bytes(std::numeric_limits<std::int64_t>::max()), 0, "", {}}}});
      expected =
          "the outputs of tasks up to task 5 (x) add up to more than 1152921504606846976 bytes, what sums are "
          "kept below";
    }
    SUBCASE("collectives whose sum leaves 64 bits") {
      b.add_task({.name = "x",
                  .kind = sw::task_kind::collective,
                  .collective = sw::collective_record{sw::collective::all_reduce, 0, sw::bytes(std::int64_t{1} << 59),
                                                      sw::bytes(std::int64_t{1} << 60), "f32", "sum"}});
      expected =
          "the collectives up to task 5 (x) add up to more than 1152921504606846976 bytes, what sums are kept "
          "below";
    }
    SUBCASE("merged collectives that a duration table takes out of 64 bits") {
      for (int i = 0; i < 2; ++i)
        b.add_task({.name = "x",
                    .kind = sw::task_kind::collective,
                    .collective = sw::collective_record{sw::collective::all_reduce, 0, sw::bytes(1000), sw::bytes(1000),
                                                        "f32", "sum"}});
      std::int64_t last = 0;
      SUBCASE("by its last slope") { last = std::int64_t{1} << 50; }
      SUBCASE("by its points") { last = std::int64_t{1} << 60; }
      b.add_table(sw::duration_table(sw::collective::all_reduce, 0, {sw::bytes(0), sw::bytes(1)},
                                     {sw::nanoseconds(0), sw::nanoseconds(last)}));
      expected =
          "what merged collectives take by the duration tables up to that of all_reduce on group 0 adds up to more "
          "than 1152921504606846976 ns, what sums are kept below";
    }
    SUBCASE("copies that a slow memory takes out of 64 bits") {
      b.add_task({.name = "x", .outputs = {{sw::bytes(1), 0, "", {}}}});
      b.device.dram_bytes_per_ns = 1e-300;
      expected =
          "to copy what collectives and outputs hold takes more than 1152921504606846976 ns at the device's memory "
          "bandwidth, what sums are kept below";
    }
    SUBCASE("storages whose sum leaves 64 bits") {
      b.add_storage(sw::bytes(std::int64_t{1} << 60));
      expected =
          "the sizes of storages up to storage 4 add up to more than 1152921504606846976 bytes, what sums are "
          "kept below";
    }
    SUBCASE("a baseline that leaves 64 bits with the storages") {
      b.memory_baseline = sw::bytes(std::int64_t{1} << 60);
      expected =
          "the sizes of storages up to the memory baseline add up to more than 1152921504606846976 bytes, what "
          "sums are kept below";
    }
    SUBCASE("a negative baseline") {
      b.memory_baseline = sw::bytes(-5);
      expected = "memory baseline is -5 bytes, expected none below 0";
    }
    CHECK(message(std::move(b)) == expected);
  }

  TEST_CASE("a cycle of several tasks is named by one of them") {
    auto b = small();
    b.add_task({.name = "x", .inputs = {6}});
    b.add_task({.name = "y", .inputs = {7}});
    b.add_task({.name = "z", .inputs = {5, 0}});
    b.add_task({.name = "behind", .inputs = {7}});
    const std::string what = message(std::move(b));
    const bool named = what == "task 5 (x) depends on itself through a cycle" ||
                       what == "task 6 (y) depends on itself through a cycle" ||
                       what == "task 7 (z) depends on itself through a cycle";
    CHECK_MESSAGE(named, what);
  }

  TEST_CASE("a builder like a graph has all of it but its tasks, and takes more") {
    sw::task_graph_builder first = small();
    first.device.dram_bytes_per_ns = 3;
    first.memory_baseline = sw::bytes(77);
    const sw::task_graph g = std::move(first).build();
    sw::task_graph_builder again = sw::task_graph_builder::like(g);
    CHECK(again.task_count() == 0);
    const std::uint32_t storage = again.add_storage(sw::bytes(9));
    CHECK(storage == g.storages().size());
    for (sw::task_index t = 0; t < g.size(); ++t) CHECK(again.add_task(g.record(t)) == t);
    const sw::task_graph made = std::move(again).build();
    REQUIRE(made.size() == g.size());
    for (sw::task_index t = 0; t < g.size(); ++t) CHECK(made.record(t) == g.record(t));
    CHECK(made.name == g.name);
    CHECK(made.device().dram_bytes_per_ns == 3);
    CHECK(made.memory_baseline() == sw::bytes(77));
    CHECK(made.groups().size() == g.groups().size());
    CHECK(made.storages().size() == g.storages().size() + 1);
  }
}

}  // namespace task_graph_builder_tests

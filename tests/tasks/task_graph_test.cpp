#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace task_graph_tests {
namespace {
/// input -> all_gather -> wait -> mm(wait, wait) -> output
sw::task_graph_builder small() {
  sw::task_graph_builder b;
  b.name = "small";
  b.add_group({.id = 7, .name = "dp", .size = 8, .stride = 1, .dim = "dp"});
  const auto s0 = b.add_storage(sw::bytes(10)), s1 = b.add_storage(sw::bytes(80)), s2 = b.add_storage(sw::bytes(80));
  const auto host = b.add_storage(sw::bytes(5), sw::storage_device::cpu);
  b.add_task({.name = "primals_1",
              .op = "input",
              .kind = sw::task_kind::input,
              .outputs = {{sw::bytes(10), s0, "bf16", {5}}, {sw::bytes(5), host, "i8", {5}}},
              .is_param = true});
  b.add_task(
      {.name = "gather",
       .op = "ag",
       .kind = sw::task_kind::collective,
       .duration = sw::nanoseconds(100),
       .inputs = {0},
       .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(10), sw::bytes(80), "bf16", "none"},
       .outputs = {{sw::bytes(80), s1, "bf16", {8, 5}}},
       .is_fsdp = true});
  b.add_task({.name = "wait",
              .op = "wait",
              .kind = sw::task_kind::wait,
              .inputs = {1},
              .completes = 1,
              .outputs = {{sw::bytes(80), s2, "bf16", {8, 5}}}});
  b.add_task({.name = "mm",
              .op = "mm",
              .kind = sw::task_kind::compute,
              .duration = sw::nanoseconds(7),
              .inputs = {2, 2},
              .after = {0}});
  b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {3}});
  return b;
}

std::string message(sw::task_graph_builder b) {
  return shardweave_test::refusal_of([&] { return std::move(b).build(); }, sw::error_category::input);
}
}  // namespace

TEST_SUITE("task_graph") {
  TEST_CASE("what was stated is given back, field by field") {
    const sw::task_graph g = small().build();
    REQUIRE(g.size() == 5);
    CHECK(g.name == "small");
    CHECK(g.name_of(3) == "mm");
    CHECK(g.kind(2) == sw::task_kind::wait);
    CHECK(g.duration(1) == sw::nanoseconds(100));
    CHECK(g.inputs(3).size() == 2);
    CHECK(g.completes(2) == 1);
    CHECK(g.completes(3) == sw::no_index);
    CHECK(g.is_fsdp(1) == std::optional<bool>(true));
    CHECK_FALSE(g.is_fsdp(2).has_value());
    CHECK(g.is_param(0));
    CHECK(g.collective(1).op == sw::collective::all_gather);
    CHECK(g.collective(1).bytes_out == sw::bytes(80));
    CHECK(g.output(1, 0).shape.size() == 2);
    CHECK(g.output(1, 0).shape[1] == 5);
    CHECK(g.groups()[0].id == 7);
    CHECK(g.label(3) == "task 3 (mm)");
  }

  TEST_CASE("a record read from a graph and added to another one makes the same graph") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      sw::task_graph_builder b = sw::task_graph_builder::like(g);
      for (sw::task_index t = 0; t < g.size(); ++t) b.add_task(g.record(t));
      const sw::task_graph h = std::move(b).build();
      REQUIRE(h.size() == g.size());
      for (sw::task_index t = 0; t < g.size(); ++t) CHECK(h.record(t) == g.record(t));
      CHECK(h.name == g.name);
      CHECK(h.description == g.description);
      CHECK(h.device() == g.device());
      CHECK(std::ranges::equal(h.groups(), g.groups()));
      CHECK(std::ranges::equal(h.storages(), g.storages()));
      CHECK(h.tables().size() == g.tables().size());
      CHECK(h.memory_baseline() == g.memory_baseline());
    }
  }

  TEST_CASE("dependencies hold each distinct producer, completed collective and earlier task once") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.chained_wait = 0.5});
      std::set<std::pair<sw::task_index, sw::task_index>> expected, found;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        for (const auto p : g.inputs(t)) expected.emplace(p, t);
        for (const auto p : g.after(t)) expected.emplace(p, t);
        if (g.completes(t) != sw::no_index) expected.emplace(g.completes(t), t);
      }
      for (const auto& e : g.dependencies().all_edges()) found.emplace(e.source, e.target);
      CHECK(found == expected);
    }
  }

  TEST_CASE("the baseline is that of the inputs on the accelerator, unless stated") {
    CHECK(small().build().memory_baseline() == sw::bytes(10));
    auto b = small();
    b.memory_baseline = sw::bytes(99);
    CHECK(std::move(b).build().memory_baseline() == sw::bytes(99));
  }

  TEST_CASE("a copy stands on its own, and durations can be exchanged") {
    auto g = std::make_unique<sw::task_graph>(small().build());
    const sw::task_graph copy = *g;
    const std::vector<sw::nanoseconds> other(5, sw::nanoseconds(3));
    const sw::task_graph changed = g->with_durations(other);
    g.reset();
    CHECK(copy.name_of(1) == "gather");
    CHECK(copy.duration(1) == sw::nanoseconds(100));
    CHECK(changed.duration(1) == sw::nanoseconds(3));
    CHECK(changed.name_of(1) == "gather");
  }

  TEST_CASE("durations that a graph may not have are refused by the graph that is to take them") {
    const sw::task_graph g = small().build();
    const auto refusal = [&](std::int64_t last) {
      std::vector<sw::nanoseconds> other(5, sw::nanoseconds(std::int64_t{1} << 58));
      other.back() = sw::nanoseconds(last);
      return shardweave_test::refusal_of([&] { return g.with_durations(other); }, sw::error_category::input);
    };
    CHECK(refusal(0).empty());
    CHECK(refusal(1) ==
          "the durations of tasks up to task 4 (output) add up to more than 1152921504606846976 ns, what sums are kept "
          "below");
    CHECK(refusal(std::numeric_limits<std::int64_t>::max()) == refusal(1));
    CHECK(refusal(-4) == "task 4 (output) lasts -4 ns, expected none below 0");
  }

  TEST_CASE("kinds go to their names and back") {
    for (int i = 0; i < 7; ++i) {
      const auto kind = static_cast<sw::task_kind>(i);
      CHECK(sw::task_kind_from(sw::to_string(kind)) == kind);
    }
    CHECK(sw::to_string(sw::task_kind::view) == "view");
    CHECK_FALSE(sw::task_kind_from("start").has_value());
  }

  TEST_CASE("an empty graph is a graph") { CHECK(sw::task_graph_builder().build().size() == 0); }

  TEST_CASE("a graph in any order of tasks is taken as long as it has no cycle") {
    sw::task_graph_builder b;
    b.add_task({.name = "late", .inputs = {1}});
    b.add_task({.name = "early"});
    CHECK(std::move(b).build().size() == 2);
  }
}

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
}

}  // namespace task_graph_tests

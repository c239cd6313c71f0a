#include "tasks/small_graph.hpp"
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace task_graph_tests {
namespace {

using namespace small_graphs;

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

}  // namespace task_graph_tests

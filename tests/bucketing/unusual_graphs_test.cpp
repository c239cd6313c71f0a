#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/duplicates.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/split_phases.hpp>
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

namespace unusual_graphs_tests {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

sw::task_graph_builder with_prices() {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter})
    b.add_table(sw::duration_table(op, 0, {sw::bytes(0)}, {sw::nanoseconds(100)}));
  return b;
}
sw::task_record input(const char* name, sw::task_role role = sw::task_role::none) {
  return {.name = name, .op = "input", .kind = sw::task_kind::input, .role = role};
}
sw::task_record output(std::vector<sw::task_index> of) {
  return {.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = std::move(of)};
}
sw::task_graph pairs(int count) {
  sw::task_graph_builder b = with_prices();
  for (int i = 0; i < count; ++i) b.add_task(wait_for("w", b.add_task(gather("c", 100, {}, 10))));
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("unusual graphs") {
  TEST_CASE("halves keep what a task needs, in whatever order the graph lists its tasks") {
    sw::task_graph_builder b = with_prices();
    b.add_task(input("primals_1"));              // 0
    b.add_task(gather("late", 1000, {2}, 10));   // 1
    b.add_task(work("x", 5, {4}));               // 2
    b.add_task(gather("early", 1000, {0}, 10));  // 3
    b.add_task(wait_for("w early", 3));          // 4
    b.add_task(wait_for("w late", 1));           // 5
    b.add_task(output({5}));
    const sw::task_graph g = std::move(b).build();
    const sw::split_graph halves = sw::split_phases(g);
    CHECK(halves.forward.graph.inputs(halves.forward.task_of[1]).size() == 1);
    const auto made = sw::after_split<sw::greedy>{.policy = {.fsdp_only = false, .needs_gain = false}}(g);
    CHECK(made.buckets.empty());  // one needs the other
    CHECK_NOTHROW(sw::validate_schedule(g, sw::in_order{}(g, made)));
  }

  TEST_CASE("a collective that is used behind the cut is no member of a bucket") {
    for (const bool is_input : {false, true}) {
      sw::task_graph_builder b = with_prices();
      b.add_task(input("primals_1", sw::task_role::parameter));
      b.add_task(input("tangents_1", sw::task_role::gradient));
      for (int i = 0; i < 2; ++i) b.add_task(gather("c", 100, {0}, 10));
      for (sw::task_index c = 2; c < 4; ++c) b.add_task(wait_for("w", c));
      b.add_task(work("loss", 10, {4, 5}));
      sw::task_record gradient = work("gradient", 10, {1});
      (is_input ? gradient.inputs : gradient.after).push_back(2);
      b.add_task(gradient);
      b.add_task(output({6, 7}));
      const sw::task_graph g = std::move(b).build();
      const sw::bucketing_result made = sw::after_split<>{}(g);
      CHECK(made.buckets.size() == sw::greedy{}(g).buckets.size());
      CHECK_NOTHROW(sw::validate_schedule(g, sw::in_order{}(g, made)));
    }
  }

  TEST_CASE("a half has no bucket of collectives whose waits the other half has") {
    sw::task_graph_builder b = with_prices();
    b.add_task(input("primals_1", sw::task_role::parameter));
    b.add_task(input("tangents_1", sw::task_role::gradient));
    for (int i = 0; i < 2; ++i) {
      sw::task_record c = gather("c", 100, {0}, 10);
      c.when = sw::phase::forward;
      b.add_task(c);
    }
    sw::task_record loss = work("loss", 10, {0});
    loss.when = sw::phase::forward;
    b.add_task(loss);
    for (sw::task_index c = 2; c < 4; ++c) {
      sw::task_record w = wait_for("w", c);
      w.when = sw::phase::backward;
      b.add_task(w);
    }
    b.add_task(work("gradient", 10, {1, 5, 6}));
    b.add_task(output({4, 7}));
    const sw::task_graph g = std::move(b).build();
    const sw::bucketing_result joint = sw::greedy{}(g);
    REQUIRE(joint.buckets.size() == 1);
    const sw::split_graph halves = sw::split_phases(g);
    for (const sw::graph_half* half : {&halves.forward, &halves.backward}) {
      const sw::bucketing_result here = sw::buckets_of_half(*half, joint);
      CHECK(here.buckets.empty());
      CHECK_NOTHROW(sw::validate_schedule(half->graph, sw::in_order{}(half->graph, here)));
    }
  }

  TEST_CASE("waits of different collectives are not one, whatever they are given") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_group({.id = 1, .size = 4});
    b.add_task(input("x"));
    b.add_task(gather("short", 10, {0}, 10));
    b.add_task(gather("long", 1000, {0}, 10, 1));
    for (sw::task_index c = 1; c < 3; ++c) {
      sw::task_record w = wait_for("w", c);
      w.inputs = {0};
      b.add_task(w);
    }
    b.add_task(work("m", 1, {4}));
    const sw::task_graph g = std::move(b).build();
    const sw::reduced_graph made = sw::without_repeated_waits(g);
    CHECK(made.graph.size() == g.size());
    CHECK(sw::simulate(made.graph).end[made.task_of[5]] == sw::nanoseconds(1001));
  }

  TEST_CASE("a repeated wait that needs something else, too, stays") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_task(input("x"));
    b.add_task(gather("c", 10, {0}, 10));
    b.add_task(work("gate", 500, {0}));
    b.add_task(wait_for("w", 1));
    sw::task_record again = wait_for("again", 1);
    again.inputs.push_back(2);
    b.add_task(again);
    b.add_task(work("m", 1, {4}));
    const sw::task_graph g = std::move(b).build();
    const sw::reduced_graph made = sw::without_repeated_waits(g);
    CHECK(made.graph.size() == g.size());
    CHECK(sw::simulate(made.graph).end[made.task_of[5]] == sw::nanoseconds(501));
  }

  TEST_CASE("sums move before reductions only where their waits need nothing else, and fused times with them") {
    for (const bool is_gated : {false, true}) {
      sw::task_graph_builder b = with_prices();
      for (int i = 0; i < 2; ++i) b.add_task(input("g"));
      for (sw::task_index of = 0; of < 2; ++of) b.add_task(scatter("s", 100, {of}, 40));
      b.add_task(work("gate", 5000));  // 4
      for (sw::task_index c = 2; c < 4; ++c) {
        sw::task_record w = wait_for("w", c);
        if (c == 2 && is_gated) w.after = {4};
        b.add_task(w);
      }
      b.add_task({.name = "add",
                  .op = "aten.add.Tensor",
                  .kind = sw::task_kind::other,
                  .duration = sw::nanoseconds(8),
                  .inputs = {5, 6},
                  .outputs = {{sw::bytes(10), b.add_storage(sw::bytes(10)), "f32", {}}}});
      b.add_task(output({7}));
      for (sw::task_index t = 0; t < 9; ++t) b.fused_durations.push_back(sw::nanoseconds(t == 7 ? 6 : 0));
      const sw::task_graph g = std::move(b).build();
      const sw::reduced_graph made = sw::with_sums_before_reductions(g);
      CHECK(made.graph.size() == (is_gated ? g.size() : g.size() - 2));
      CHECK(made.graph.dependencies().out(made.task_of[4]).size() == g.dependencies().out(4).size());
      sw::task_index sum = 0;
      while (made.graph.name_of(sum) != "add") ++sum;
      CHECK(made.graph.duration(sum) == sw::nanoseconds(is_gated ? 8 : 32));
      CHECK(made.graph.fused_durations()[sum] == sw::nanoseconds(is_gated ? 6 : 24));
    }
  }

  TEST_CASE("a computation that is marked as FSDP's is no collective of it") {
    sw::task_graph_builder b = with_prices();
    sw::task_record m = work("m", 10);
    m.is_fsdp = true;
    b.add_task(m);
    CHECK(sw::topological_span{}(std::move(b).build()).buckets.empty());
  }

  TEST_CASE("settings may be without a limit, and groups beyond any machine") {
    const sw::task_graph g = pairs(6);
    const sw::schedule plain = sw::in_order{}(g, {});
    sw::overlap_preserving usual{}, patient{}, far{};
    patient.patience = far.distance = unlimited;
    for (sw::overlap_preserving* o : {&usual, &patient, &far}) {
      o->cap = sw::bytes(100);
      o->exposed_first = false;
    }
    const std::size_t buckets = sw::merge_preserving_overlap(g, plain, usual).buckets.size();
    CHECK(buckets > 0);
    CHECK(sw::merge_preserving_overlap(g, plain, patient).buckets.size() == buckets);
    CHECK(sw::merge_preserving_overlap(g, plain, far).buckets.size() == buckets);
    CHECK(sw::saturation_size(std::numeric_limits<std::int64_t>::max()) == sw::saturation_size(std::int64_t{1} << 40));
  }

  TEST_CASE("halves keep what comes after, whichever way around it is listed") {
    sw::task_graph_builder b;
    b.add_task(work("late", 7, {1}));
    b.add_task(work("early", 5));
    b.add_task(input("tangents_1"));
    b.add_task(work("second", 7, {4}));
    b.add_task(work("first", 7, {2}));
    b.add_task(output({0, 3}));
    const sw::task_graph g = std::move(b).build();
    const sw::split_graph halves = sw::split_phases(g);
    CHECK(halves.forward.graph.inputs(halves.forward.task_of[0]).size() == 1);
    CHECK(halves.backward.graph.inputs(halves.backward.task_of[3]).size() == 1);
    for (const sw::graph_half* half : {&halves.forward, &halves.backward})
      for (sw::task_index t = 0; t < half->graph.size(); ++t)
        if (half->joint[t] != sw::no_index) CHECK(half->task_of[half->joint[t]] == t);
  }

  TEST_CASE("graphs that no writer would write keep their dependencies, and get buckets that can be launched") {
    std::size_t buckets = 0, gone = 0;
    for (std::uint64_t seed = 0; seed < (shardweave_test::is_small_scale ? 200U : 5000U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = untidy_tasks(seed, {.blocks = 5 + seed % 20});
      const sw::greedy any{.fsdp_only = false, .needs_gain = false};
      const sw::split_graph halves = sw::split_phases(g);
      const sw::bucketing_result joint = any(g);
      for (const sw::graph_half* half : {&halves.forward, &halves.backward}) {
        const auto ways = ways_in(half->graph);
        for (const auto& e : g.dependencies().all_edges()) {
          const sw::task_index from = half->task_of[e.source], to = half->task_of[e.target];
          if (from == sw::no_index || to == sw::no_index) continue;
          const sw::task_kind kind = half->graph.kind(to);
          if (kind == sw::task_kind::input || kind == sw::task_kind::output) continue;  // met before, or only returned
          const bool is_done = half->graph.kind(from) == sw::task_kind::input && g.completes(e.target) == e.source;
          CHECK((ways[from][to] || is_done));  // a wait completes nothing that is done before its half
        }
        const sw::bucketing_result here = sw::buckets_of_half(*half, joint);
        CHECK_NOTHROW(sw::validate_schedule(half->graph, sw::in_order{}(half->graph, here)));
      }
      for (const bool before : {false, true}) {
        const sw::bucketing_result made = sw::after_split<sw::greedy>{.policy = any, .roles_before = before}(g);
        CHECK_NOTHROW(sw::validate_schedule(g, sw::in_order{}(g, made)));
        buckets += made.buckets.size();
      }
      const sw::reduced_graph fewer = sw::without_repeated_waits(g);
      const auto ways = ways_in(fewer.graph);
      for (const auto& e : g.dependencies().all_edges()) CHECK(ways[fewer.task_of[e.source]][fewer.task_of[e.target]]);
      gone += g.size() - fewer.graph.size();
    }
    CHECK(buckets > 0);
    CHECK(gone > 0);
  }
}

}  // namespace unusual_graphs_tests

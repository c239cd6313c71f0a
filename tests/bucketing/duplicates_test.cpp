#include <shardweave/bucketing/duplicates.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace duplicates_tests {
namespace {

std::size_t count(const sw::task_graph& g, sw::task_kind kind) {
  std::size_t n = 0;
  for (sw::task_index t = 0; t < g.size(); ++t) n += g.kind(t) == kind;
  return n;
}
sw::timeline line_of(const sw::task_graph& g) { return sw::simulate(g); }

/// A scatter of 8 bytes to 2 whose tensors have storages.
struct scattered {
  sw::task_index start, wait;
};
scattered scatter(overlap_tasks& p, sw::task_index from, const char* reduce = "sum",
                  sw::collective op = sw::collective::reduce_scatter) {
  const auto out = [&](std::int64_t size) {
    return std::vector<sw::output_record>{{sw::bytes(size), p.b.add_storage(sw::bytes(size)), "f32", {}}};
  };
  sw::task_record c{.name = std::string(sw::name_of(op)),
                    .op = std::string(sw::name_of(op)),
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(100),
                    .inputs = {from},
                    .collective = sw::collective_record{op, 0, sw::bytes(8), sw::bytes(2), "f32", reduce},
                    .outputs = out(2)};
  const auto start = p.b.add_task(c);
  return {start, p.b.add_task({.name = "w",
                               .op = "wait",
                               .kind = sw::task_kind::wait,
                               .inputs = {start},
                               .completes = start,
                               .outputs = out(2)})};
}
sw::task_index value(overlap_tasks& p, const std::string& op, std::vector<sw::task_index> inputs, std::int64_t size,
                     std::int64_t takes = 6) {
  return p.b.add_task({.name = op,
                       .op = op,
                       .kind = op == "x" ? sw::task_kind::input : sw::task_kind::other,
                       .duration = sw::nanoseconds(op == "x" ? 0 : takes),
                       .inputs = std::move(inputs),
                       .outputs = {{sw::bytes(size), p.b.add_storage(sw::bytes(size)), "f32", {}}}});
}

}  // namespace

TEST_SUITE("without_repeated_waits") {
  TEST_CASE("a parameter that is read twice is waited for once, and then bucketed") {
    // two gathers; the first is waited for twice, and what one of these waits gave is waited for again
    overlap_tasks p;
    const auto a = p.launch("ag", p.input()), b = p.launch("ag", p.input());
    const auto w1 = p.wait(a), w2 = p.wait(a), v = p.wait(b);
    const auto chained =
        p.b.add_task({.name = "w", .op = "wait", .kind = sw::task_kind::wait, .inputs = {w2}, .completes = a});
    p.output({p.other("sum", {w1, chained, v})});
    const sw::task_graph g = p.graph();
    const sw::reduced_graph once = sw::without_repeated_waits(g);
    CHECK(count(g, sw::task_kind::wait) == 4);
    CHECK(count(once.graph, sw::task_kind::wait) == 2);
    CHECK(once.task_of[w2] == once.task_of[w1]);
    CHECK(once.task_of[chained] == once.task_of[w1]);
    CHECK(once.graph.inputs(once.task_of[v + 2]).size() == 3);  // the sum reads the first twice
    const auto buckets = sw::topological_span{}(once.graph).buckets;
    REQUIRE(buckets.size() == 1);
    CHECK(buckets[0].members.size() == 2);
  }
  TEST_CASE("waits for several parts of one gather stay apart") {
    overlap_tasks p;
    const auto [start, waits] = p.ag_of_several({p.input(), p.input(), p.input()});
    p.output(waits);
    CHECK(sw::without_repeated_waits(p.graph()).graph.size() == 3 + 1 + 6 + 1);
  }
  TEST_CASE("random graphs are timed as before, and a second time nothing is left to do") {
    std::size_t gone = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 20, .chained_wait = 0.5});
      const sw::reduced_graph once = sw::without_repeated_waits(g);
      gone += g.size() - once.graph.size();
      const sw::timeline before = line_of(g), after = line_of(once.graph);
      CHECK(after.end_to_end == before.end_to_end);
      CHECK(after.exposed == before.exposed);
      CHECK(after.communication == before.communication);
      CHECK(sw::without_repeated_waits(once.graph).graph.size() == once.graph.size());
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (g.kind(t) != sw::task_kind::wait) CHECK(once.graph.name_of(once.task_of[t]) == g.name_of(t));
    }
    CHECK(gone > shardweave_test::at_scale(100));
  }
}

TEST_SUITE("with_sums_before_reductions") {
  TEST_CASE("gradients of three microbatches are scattered once") {
    for (const sw::collective op : {sw::collective::reduce_scatter, sw::collective::all_reduce}) {
      overlap_tasks p;
      const auto x = value(p, "x", {}, 8), y = value(p, "x", {}, 8), z = value(p, "x", {}, 8);
      const auto a = scatter(p, x, "sum", op), b = scatter(p, y, "sum", op);
      const auto first = value(p, "aten.add.Tensor", {a.wait, b.wait}, 2);
      const auto c = scatter(p, z, "sum", op);
      const auto all = value(p, "aten.add.Tensor", {first, c.wait}, 2), used = value(p, "mul", {all}, 2);
      p.output({used});
      const sw::task_graph g = p.graph();
      const auto [once, task_of] = sw::with_sums_before_reductions(g);
      REQUIRE(count(once, sw::task_kind::collective) == 1);
      CHECK(count(once, sw::task_kind::wait) == 1);
      CHECK(once.size() == g.size() - 4);
      const sw::task_index reduction = task_of[c.start];
      CHECK(task_of[a.start] == reduction);
      CHECK(task_of[b.wait] == task_of[c.wait]);
      // what used the sum uses the wait, and the launch the sum of a sum
      CHECK(once.inputs(task_of[used])[0] == task_of[c.wait]);
      CHECK(task_of[all] == task_of[c.wait]);
      const sw::task_index sum = once.inputs(reduction)[0];
      CHECK(once.op(sum) == "aten.add.Tensor");
      CHECK(once.duration(sum) == sw::nanoseconds(24));  // four times the bytes
      CHECK(once.output(sum, 0).size == sw::bytes(8));
      CHECK(once.op(once.inputs(sum)[0]) == "aten.add.Tensor");
      CHECK(once.inputs(sum)[1] == task_of[z]);
      CHECK(line_of(once).end_to_end == sw::nanoseconds(24 + 24 + 100 + 6));
    }
  }
  TEST_CASE("a view of the sum is one of what the wait gives") {
    overlap_tasks p;
    const auto x = value(p, "x", {}, 8), y = value(p, "x", {}, 8);
    const auto a = scatter(p, x), b = scatter(p, y);
    const std::uint32_t memory = p.b.add_storage(sw::bytes(2));
    const auto sum = p.b.add_task({.name = "add",
                                   .op = "aten.add.Tensor",
                                   .kind = sw::task_kind::other,
                                   .inputs = {a.wait, b.wait},
                                   .outputs = {{sw::bytes(2), memory, "f32", {}}}});
    const auto view = p.b.add_task({.name = "view",
                                    .op = "view",
                                    .kind = sw::task_kind::view,
                                    .inputs = {sum},
                                    .outputs = {{sw::bytes(2), memory, "f32", {}}}});
    p.output({value(p, "mul", {view}, 2)});
    const sw::task_graph g = p.graph();
    const auto [once, task_of] = sw::with_sums_before_reductions(g);
    REQUIRE(count(once, sw::task_kind::collective) == 1);
    CHECK(once.output_storage(task_of[view], 0) == once.output_storage(task_of[b.wait], 0));
    CHECK(once.output_storage(once.inputs(task_of[b.start])[0], 0) != once.output_storage(task_of[b.wait], 0));
    // x, y, their sum before the reduction, what it gives, what the wait gives, and the last value
    CHECK(line_of(once).peak == sw::bytes(8 + 8 + 8));
  }
  TEST_CASE("results that differ in anything, or that something else uses, are left alone") {
    const auto left_alone = [](const char* other, bool read, const char* op = "aten.add.Tensor") {
      overlap_tasks p;
      const auto a = scatter(p, value(p, "x", {}, 8)), b = scatter(p, value(p, "x", {}, 8), other);
      const auto sum = value(p, op, {a.wait, b.wait}, 2);
      p.output(read ? std::vector<sw::task_index>{sum, a.wait} : std::vector<sw::task_index>{sum});
      const sw::task_graph g = p.graph();
      return sw::with_sums_before_reductions(g).graph.size() == g.size();
    };
    CHECK_FALSE(left_alone("sum", false));
    CHECK(left_alone("avg", false));
    CHECK(left_alone("sum", true));
    CHECK(left_alone("sum", false, "aten.mul.Tensor"));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      CHECK(line_of(sw::with_sums_before_reductions(g).graph) == line_of(g));
    }
  }
}

}  // namespace duplicates_tests

#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>
#include <support/untidy_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace pieces_tests {

namespace sw = shardweave;

using tasks = std::vector<sw::piecewise>;
using wishes = std::vector<char>;
using sw::piecewise::no;

/// x -> p -> [pack] -> c, w -> [unpack] -> q, r -> output; q and r are products, s beside them is not.
struct pipeline_graph {
  sw::task_index x = 0, p = 0, pack = 0, c = 0, w = 0, unpack = 0, q = 0, r = 0, s = 0, out = 0;
  sw::task_graph graph;

  explicit pipeline_graph(std::int64_t longest = 10) {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "tp", .size = 2});
    const auto add = [&](const char* name, sw::task_kind kind, std::int64_t time, std::vector<sw::task_index> inputs) {
      sw::task_record t{.name = name, .op = name, .kind = kind, .duration = sw::nanoseconds(time)};
      t.inputs = std::move(inputs);
      t.outputs = {{sw::bytes(7), b.add_storage(sw::bytes(7)), "f32", {}}};
      if (kind == sw::task_kind::collective)
        t.collective = sw::collective_record{
            .op = sw::collective::all_gather, .group = 0, .bytes_in = sw::bytes(7), .bytes_out = sw::bytes(14)};
      if (kind == sw::task_kind::wait) t.completes = t.inputs.front();
      return b.add_task(t);
    };
    x = add("x", sw::task_kind::input, 0, {});
    p = add("p", sw::task_kind::compute, longest, {x});
    pack = add("pack", sw::task_kind::other, 0, {p});
    c = add("c", sw::task_kind::collective, longest, {pack});
    w = add("w", sw::task_kind::wait, 0, {c});
    unpack = add("unpack", sw::task_kind::other, 0, {w});
    q = add("q", sw::task_kind::compute, longest / 2, {unpack, x});
    r = add("r", sw::task_kind::compute, longest / 2, {unpack});
    s = add("s", sw::task_kind::other, 0, {unpack});
    out = add("out", sw::task_kind::output, 0, {q, r, s});
    graph = std::move(b).build();
  }
  [[nodiscard]] std::vector<sw::piecewise> how() const {
    std::vector<sw::piecewise> result(graph.size(), sw::piecewise::no);
    for (const sw::task_index t : {p, q, r}) result[t] = sw::piecewise::product;
    for (const sw::task_index t : {pack, unpack}) result[t] = sw::piecewise::passes_on;
    return result;
  }
};

/// Of each task its share of the time, rounded up.
auto evenly(const sw::task_graph& g, unsigned pieces) {
  return [&g, pieces](sw::task_index t) { return sw::nanoseconds((g.duration(t).count() + pieces - 1) / pieces); };
}

TEST_SUITE("pieces") {
  TEST_CASE("what is cut is the collective, the products on both sides, and what lies between") {
    const pipeline_graph m;
    wishes wanted(m.graph.size(), 1);
    const tasks cut = sw::tasks_in_pieces(m.graph, m.how(), wanted);
    for (const sw::task_index t : {m.p, m.pack, m.c, m.w, m.unpack, m.q, m.r}) CHECK(cut[t] != no);
    for (const sw::task_index t : {m.x, m.s, m.out}) CHECK(cut[t] == no);

    auto only_r = m.how();
    only_r[m.p] = only_r[m.q] = sw::piecewise::no;
    const tasks less = sw::tasks_in_pieces(m.graph, only_r, wanted);
    for (const sw::task_index t : {m.c, m.w, m.unpack, m.r}) CHECK(less[t] != no);
    for (const sw::task_index t : {m.p, m.pack, m.q}) CHECK(less[t] == no);

    only_r[m.r] = sw::piecewise::no;  // no product: nothing is worth it
    CHECK(sw::tasks_in_pieces(m.graph, only_r, wanted) == tasks(m.graph.size(), no));
    wanted[m.c] = 0;
    CHECK(sw::tasks_in_pieces(m.graph, m.how(), wanted) == tasks(m.graph.size(), no));
  }

  TEST_CASE("a sum hides what it waits for, feeds no pieces, and is read as a whole") {
    const pipeline_graph m(20);
    auto how = m.how();
    how[m.p] = how[m.q] = how[m.r] = sw::piecewise::sum;
    const tasks cut = sw::tasks_in_pieces(m.graph, how, wishes(m.graph.size(), 1));
    for (const sw::task_index t : {m.c, m.w, m.unpack, m.q, m.r}) CHECK(cut[t] != no);
    for (const sw::task_index t : {m.x, m.p, m.pack, m.s, m.out}) CHECK(cut[t] == no);
    CHECK(cut[m.q] == sw::piecewise::sum);
    const auto halves = sw::with_pieces(m.graph, cut, 2, evenly(m.graph, 2));
    const auto best = [](const sw::task_graph& g) { return sw::simulate(g, sw::exact{}(g, {})).end_to_end.count(); };
    CHECK(best(m.graph) == 60);
    CHECK(best(halves.tasks) == 50);  // half of q and r beside the second half of c

    tasks chain(m.graph.size(), no);  // a product beside the sum that it reads: all of the sum, then the product
    chain[m.p] = sw::piecewise::sum;
    chain[m.pack] = sw::piecewise::product;
    const auto read = sw::with_pieces(m.graph, chain, 2, evenly(m.graph, 2));
    CHECK(read.tasks.inputs(m.p + 2).size() == 2);
    CHECK_NOTHROW(sw::validate_schedule(read.tasks, sw::in_pieces(m.graph, sw::in_order{}(m.graph, {}), chain, 2)));
  }

  TEST_CASE("products and a collective between them take a third less in halves, but for what halves are longer") {
    const pipeline_graph m;
    const tasks cut = sw::tasks_in_pieces(m.graph, m.how(), wishes(m.graph.size(), 1));
    const auto best = [](const sw::task_graph& g) { return sw::simulate(g, sw::exact{}(g, {})).end_to_end.count(); };
    CHECK(best(m.graph) == 30);
    const auto two = sw::with_pieces(m.graph, cut, 2, evenly(m.graph, 2));
    CHECK(two.longer.count() == 2);  // 5 of q and of r are cut into 3 and 3
    CHECK(best(two.tasks) == 22);
    const pipeline_graph even(20);
    const auto halves = sw::with_pieces(even.graph, cut, 2, evenly(even.graph, 2));
    CHECK(halves.longer.count() == 0);
    CHECK(best(even.graph) == 60);
    CHECK(best(halves.tasks) == 40);
    // the order of the whole, in pieces, is that pipeline already
    const sw::schedule whole = sw::in_order{}(even.graph, {});
    const sw::schedule mapped = sw::in_pieces(even.graph, whole, cut, 2);
    sw::validate_schedule(halves.tasks, mapped);
    CHECK(sw::simulate(halves.tasks, mapped).end_to_end.count() == 40);
  }

  TEST_CASE("of random graphs: each dependency once per piece, all pieces for who is whole, bytes and memory kept") {
    std::size_t with_cuts = 0, sums = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      sw::random_source random(seed + 1000);
      tasks cut(g.size(), no);
      for (sw::task_index t = 0; t < g.size(); ++t) {
        if (g.kind(t) == sw::task_kind::input || g.kind(t) == sw::task_kind::output) continue;
        const bool may_sum = g.kind(t) == sw::task_kind::compute;
        const sw::piecewise drawn = random.below(2) == 0              ? no
                                    : may_sum && random.below(2) == 0 ? sw::piecewise::sum
                                                                      : sw::piecewise::product;
        cut[t] = g.completes(t) != sw::no_index ? cut[g.completes(t)] : drawn;
        sums += cut[t] == sw::piecewise::sum ? 1U : 0U;
      }
      const unsigned pieces = 2 + static_cast<unsigned>(random.below(3));
      const auto made = sw::with_pieces(g, cut, pieces, evenly(g, pieces));
      with_cuts += std::ranges::any_of(cut, [](sw::piecewise how) { return how != no; }) ? 1U : 0U;
      std::vector<std::vector<sw::task_index>> pieces_of(g.size());
      for (sw::task_index t = 0; t < made.tasks.size(); ++t) pieces_of[made.original[t]].push_back(t);
      std::set<std::pair<sw::task_index, sw::task_index>> expected, found;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        REQUIRE(pieces_of[t].size() == (cut[t] != no ? pieces : 1U));
        for (const auto& e : g.dependencies().in(t))
          for (std::size_t i = 0; i < pieces_of[t].size(); ++i)
            for (std::size_t k = 0; k < pieces_of[e.source].size(); ++k)
              if (cut[t] == no || cut[e.source] == no || cut[e.source] == sw::piecewise::sum || i == k)
                expected.emplace(pieces_of[e.source][k], pieces_of[t][i]);
        std::int64_t moved = 0, given = 0, was_given = 0;
        for (const sw::task_index piece : pieces_of[t]) {
          if (g.is_collective(t)) moved += made.tasks.collective(piece).bytes_in.count();
          for (const sw::output_record& o : made.tasks.record(piece).outputs) given += o.size.count();
        }
        for (const sw::output_record& o : g.record(t).outputs) was_given += o.size.count();
        if (g.is_collective(t)) CHECK(moved == g.collective(t).bytes_in.count());
        CHECK(given == was_given);
      }
      for (sw::task_index t = 0; t < made.tasks.size(); ++t)
        for (const auto& e : made.tasks.dependencies().in(t)) found.emplace(e.source, t);
      CHECK(found == expected);
      const sw::timeline whole = sw::simulate(g, sw::in_order{}(g, {})),
                         cut_up = sw::simulate(made.tasks, sw::in_order{}(made.tasks, {}));
      CHECK(cut_up.peak == whole.peak);
      const sw::schedule early = sw::prefetch{}(g, {});
      const sw::schedule mapped = sw::in_pieces(g, early, cut, pieces);
      CHECK_NOTHROW(sw::validate_schedule(made.tasks, mapped));
    }
    CHECK(with_cuts > 50);
    CHECK(sums > 50);
  }

  TEST_CASE("lists of another size, single pieces and a wait that is cut alone are refused") {
    const pipeline_graph m;
    const auto time = evenly(m.graph, 2);
    tasks cut(m.graph.size(), no);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_pieces(m.graph, tasks(3), 2, time)),
                         "pieces: 3 tasks are told of, the graph has 10", sw::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_pieces(m.graph, cut, 1, time)),
                         "pieces: a task is cut into 1, expected 2 or more", sw::error);
    cut[m.w] = sw::piecewise::passes_on;
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_pieces(m.graph, cut, 2, time)),
                         "pieces: one of task 3 (c) and its wait task 4 (w) is cut, expected both or neither",
                         sw::error);
  }

  TEST_CASE("ways may be many and long") {
    const auto passed_on = [](std::size_t diamonds, std::size_t views) {
      sw::task_graph_builder b;
      b.add_group({.id = 0, .size = 4});
      b.add_task(small_tasks::gather("c", 10, {}, 10));
      sw::task_index last = b.add_task(small_tasks::wait_for("w", 0));
      for (std::size_t i = 0; i < diamonds; ++i) {
        const sw::task_index left = b.add_task(small_tasks::work("l", 1, {last}));
        const sw::task_index right = b.add_task(small_tasks::work("r", 1, {last}));
        last = b.add_task(small_tasks::work("cat", 1, {left, right}));
      }
      for (std::size_t i = 0; i < views; ++i) last = b.add_task(small_tasks::work("v", 1, {last}));
      b.add_task(small_tasks::work("product", 50, {last}));
      const sw::task_graph g = std::move(b).build();
      tasks how(g.size(), sw::piecewise::passes_on);
      how.back() = sw::piecewise::product;
      return sw::tasks_in_pieces(g, how, wishes(g.size(), 1)) == how;
    };
    CHECK(passed_on(64, 0));
    CHECK(passed_on(0, 100'000));
  }

  TEST_CASE("all waits of a collective go in pieces, if one does") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_task(small_tasks::gather("c", 100, {}, 10));
    for (int i = 0; i < 2; ++i) b.add_task(small_tasks::wait_for("w", 0));
    b.add_task(small_tasks::work("product", 50, {1}));
    b.add_task(small_tasks::work("other", 50, {2}));
    const sw::task_graph g = std::move(b).build();
    const tasks cut = sw::tasks_in_pieces(g, tasks{no, no, no, sw::piecewise::product, no}, wishes(g.size(), 1));
    CHECK(cut[0] == sw::piecewise::passes_on);
    CHECK(cut[1] == sw::piecewise::passes_on);
    CHECK(cut[2] == sw::piecewise::passes_on);
    CHECK_NOTHROW((void)sw::with_pieces(g, cut, 2, [](sw::task_index) { return sw::nanoseconds(30); }));
  }

  TEST_CASE("what only comes after a wait does not use it") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_task(small_tasks::gather("c", 10, {}, 10));
    b.add_task(small_tasks::wait_for("w", 0));
    sw::task_record product = small_tasks::work("product", 50);
    product.after = {1};
    b.add_task(product);
    const sw::task_graph g = std::move(b).build();
    CHECK(sw::tasks_in_pieces(g, tasks{no, no, sw::piecewise::product}, wishes(3, 1)) == tasks{no, no, no});
  }

  TEST_CASE("what is said to go in pieces can be cut, in graphs that no writer would write") {
    std::size_t in_pieces = 0;
    for (std::uint64_t seed = 0; seed < (shardweave_test::is_small_scale ? 300U : 5000U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = untidy_tasks(seed, {.blocks = 3 + seed % 15});
      sw::random_source random(seed);
      tasks how(g.size(), no);
      wishes wanted(g.size());
      for (sw::task_index t = 0; t < g.size(); ++t) {
        wanted[t] = random.chance(0.7) ? 1 : 0;
        if (g.kind(t) == sw::task_kind::input || g.kind(t) == sw::task_kind::output) continue;
        how[t] = random.chance(0.4)   ? sw::piecewise::passes_on
                 : random.chance(0.5) ? sw::piecewise::product
                 : random.chance(0.3) ? sw::piecewise::sum
                                      : no;
      }
      const tasks cut = sw::tasks_in_pieces(g, how, wanted);
      CHECK_NOTHROW((void)sw::with_pieces(g, cut, 2, [](sw::task_index) { return sw::nanoseconds(3); }));
      for (sw::task_index t = 0; t < g.size(); ++t) {
        if (!g.is_collective(t)) continue;
        CHECK((cut[t] == no || wanted[t] != 0));
        in_pieces += cut[t] == no ? 0U : 1U;
      }
    }
    CHECK(in_pieces > 0);
  }
}

}  // namespace pieces_tests

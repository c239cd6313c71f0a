#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/schedule/bound/detail/cheapest_in_bucket.hpp>
#include <shardweave/schedule/bound/detail/order_bounds.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <utility>
#include <vector>

namespace sw = shardweave;

using small_tasks::scatter;
using small_tasks::wait_for;
using small_tasks::work;

namespace makespan_bound_tests {
namespace {
sw::detail::machine_job job(std::int64_t release, std::int64_t duration, std::int64_t rest) {
  return {sw::nanoseconds(release), sw::nanoseconds(duration), sw::nanoseconds(rest)};
}
/// The best of all valid orders without buckets, by depth first search.
std::int64_t best_of_all(const sw::task_graph& g, std::vector<sw::task_index>& order, std::vector<bool>& done,
                         std::size_t& seen) {
  if (order.size() == g.size()) {
    ++seen;
    return sw::simulate(g, sw::schedule{.order = order}, {.validate = false}).end_to_end.count();
  }
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (sw::task_index t = 0; t < g.size(); ++t) {
    const auto in = g.dependencies().in(t);
    if (done[t] || std::any_of(in.begin(), in.end(), [&](const auto& e) { return !done[e.source]; })) continue;
    done[t] = true;
    order.push_back(t);
    best = std::min(best, best_of_all(g, order, done, seen));
    order.pop_back();
    done[t] = false;
    // tasks that take no time and launch nothing may as well come first: no need to try others
    if (g.duration(t).count() == 0 && !g.is_collective(t) && g.kind(t) != sw::task_kind::wait) break;
  }
  return best;
}
}  // namespace

TEST_SUITE("preemptive_bound") {
  TEST_CASE("it is Jackson's preemptive schedule") {
    CHECK(sw::detail::preemptive_bound({}).count() == 0);
    CHECK(sw::detail::preemptive_bound({job(3, 4, 5)}).count() == 12);
    // the one with the longer rest interrupts the other
    CHECK(sw::detail::preemptive_bound({job(0, 10, 0), job(2, 3, 20)}).count() == 25);
    CHECK(sw::detail::preemptive_bound({job(0, 4, 7), job(1, 2, 9), job(10, 1, 0)}).count() == 13);
  }
  TEST_CASE("it lies between the best subset bound and every sequence") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      sw::random_source random(seed);
      std::vector<sw::detail::machine_job> jobs;
      const std::size_t n = 1 + random.below(6);
      for (std::size_t i = 0; i < n; ++i)
        jobs.push_back(job(static_cast<std::int64_t>(random.below(20)), 1 + static_cast<std::int64_t>(random.below(9)),
                           static_cast<std::int64_t>(random.below(20))));
      const auto bound = sw::detail::preemptive_bound(jobs).count();
      std::int64_t subsets = 0;  // Carlier: the preemptive optimum is the best of these
      for (std::size_t mask = 1; mask < (std::size_t{1} << n); ++mask) {
        std::int64_t release = 1000, rest = 1000, sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          if ((mask >> i & 1) == 0) continue;
          release = std::min(release, jobs[i].release.count());
          rest = std::min(rest, jobs[i].rest.count());
          sum += jobs[i].duration.count();
        }
        subsets = std::max(subsets, release + sum + rest);
      }
      CHECK(bound == subsets);
    }
  }
}

TEST_SUITE("makespan_bound") {
  TEST_CASE("chains count collectives only where something waits for them") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto a = b.add_task({.name = "a", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(5)});
    const auto c =
        b.add_task({.name = "c",
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(10),
                    .inputs = {a},
                    .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "f32", "sum"}});
    b.add_task({.name = "peek", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(30), .inputs = {c}});
    const auto w = b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
    b.add_task({.name = "z", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(3), .inputs = {w}});
    const sw::task_graph g = std::move(b).build();
    const auto bounds = sw::makespan_bound(g);
    CHECK(bounds.compute == sw::nanoseconds(38));
    CHECK(bounds.channel == sw::nanoseconds(10));
    CHECK(bounds.critical_path == sw::nanoseconds(35));
    CHECK(bounds.released == sw::nanoseconds(38));
    CHECK(bounds.value() == sw::simulate(g).end_to_end);
  }
  TEST_CASE("a moment after a stop chains alone lead to a join, and the bound is one all the same") {
    std::stop_source source;
    source.request_stop();
    const sw::solve_control control{.stop = source.get_token()};
    const sw::deadline limit(control);
    std::size_t above = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed);
      const sw::launch_units units(g, {});
      sw::last_moment none(limit, 0);
      const auto cut =
          sw::detail::order_bounds(sw::detail::network_with(units), 1 + g.groups().size(), 192, none).bounds();
      CHECK(cut.value() == sw::makespan_bound(g, {}, {.reach = 0}).value());
      const auto whole = sw::makespan_bound(g), stopped = sw::makespan_bound(g, {}, {.stop = source.get_token()});
      CHECK(cut.value() <= stopped.value());
      CHECK(stopped.value() <= whole.value());
      above += cut.value() < whole.value() ? 1U : 0U;
    }
    CHECK(above > 0);
  }
  TEST_CASE("work before and after a busy channel is added to it") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto a = b.add_task({.name = "a", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(5)});
    std::vector<sw::task_index> ends;
    for (int i = 0; i < 3; ++i) {
      const auto c =
          b.add_task({.name = "c",
                      .kind = sw::task_kind::collective,
                      .duration = sw::nanoseconds(10),
                      .inputs = {a},
                      .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "f32", "sum"}});
      const auto w = b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
      ends.push_back(
          b.add_task({.name = "z", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(3), .inputs = {w}}));
    }
    const auto bounds = sw::makespan_bound(std::move(b).build());
    CHECK(bounds.critical_path == sw::nanoseconds(18));
    CHECK(bounds.channel == sw::nanoseconds(30));
    CHECK(bounds.released == sw::nanoseconds(38));
  }
  TEST_CASE("work for another channel cannot all be put off behind the last collective of one") {
    sw::task_graph_builder b;
    for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
    const auto first = b.add_task(work("first", 200)), second = b.add_task(work("second", 100, {first}));
    for (int i = 0; i < 10; ++i) b.add_task(scatter("s", 40, {b.add_task(work("side", 10, {first}))}, 1, 1));
    b.add_task(scatter("last", 300, {second}, 1, 0));
    const sw::task_graph g = std::move(b).build();
    const auto bounds = sw::makespan_bound(g);
    CHECK(bounds.compute == sw::nanoseconds(400));
    CHECK(bounds.released == sw::nanoseconds(610));  // the other channel, from its first work on
    CHECK(bounds.in_a_row == sw::nanoseconds(623));  // 625, less what rounding may have added
    CHECK(bounds.limited_by() == "in_a_row");
    // three of the ten go first: the last one is launched at 330
    CHECK(sw::simulate(g, sw::exact{}(g, {})).end_to_end == sw::nanoseconds(630));
  }
  TEST_CASE("no order of a step whose last collective is long is below its bound") {
    std::size_t tight = 0, in_a_row = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(60U, 3U); ++seed) {
      sw::random_source random(seed);
      const auto number = [&](std::size_t n) { return static_cast<std::int64_t>(1 + random.below(n)); };
      sw::task_graph_builder b;
      for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
      auto value = b.add_task(work("x", number(5)));
      for (int i = 0; i < 2; ++i) {
        const auto before = value;
        value = b.add_task(work("m", number(8), {before}));
        for (int k = 0; k < 2; ++k) {
          const auto side = b.add_task(work("s", number(12), {before}));
          const auto c = b.add_task(scatter("c", number(30), {side}, 1, static_cast<std::uint32_t>(random.below(2))));
          if (random.chance(0.3)) b.add_task(wait_for("w", c));
        }
      }
      b.add_task(scatter("last", number(60), {value}, 40, 0));
      const sw::task_graph g = std::move(b).build();
      const auto best = sw::exact{}(g, {});
      const auto bounds = sw::makespan_bound(g);
      const auto end = sw::simulate(g, best).end_to_end;
      CHECK(bounds.value() <= end);
      CHECK(sw::bound_of_all_bucketings(g).value() <= bounds.value());
      tight += bounds.value() == end;
      in_a_row += bounds.limited_by() == "in_a_row";
    }
    CHECK(tight > shardweave_test::sized(30U, 0U));
    CHECK((shardweave_test::is_small_scale || in_a_row > 2));
  }
  TEST_CASE("no order of a random graph, with or without buckets, is below its bound") {
    std::size_t tight = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(150); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 16});
      for (const bool with : {false, true}) {
        sw::bucketing_result buckets;
        if (with) buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g);
        const auto bounds = sw::makespan_bound(g, buckets.buckets);
        CHECK(bounds.value() >= std::max({bounds.compute, bounds.channel, bounds.critical_path}));
        sw::random_source random(seed);
        for (int i = 0; i < 5; ++i) {
          const sw::schedule s{.order = random_order(g, buckets.buckets, random), .buckets = buckets.buckets};
          CHECK(sw::simulate(g, s).end_to_end >= bounds.value());
        }
        const auto fast = sw::simulate(g, sw::prefetch{}(g, buckets)).end_to_end;
        CHECK(fast >= bounds.value());
        tight += fast == bounds.value();
        CHECK(sw::simulate(g, sw::in_order{}(g, buckets)).end_to_end >= bounds.value());
      }
    }
    CHECK(tight > shardweave_test::at_scale(50));  // the bound is not a trivial one
  }
  TEST_CASE("on tiny graphs it does not exceed the best of all orders, and prefetch is near it") {
    std::size_t met = 0, orders = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(60U, 4U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 3, .groups = 1 + seed % 2, .chained_wait = 0});
      std::vector<sw::task_index> order;
      std::vector<bool> done(g.size());
      const std::int64_t best = best_of_all(g, order, done, orders);
      const auto bounds = sw::makespan_bound(g);
      CHECK(bounds.value().count() <= best);
      met += bounds.value().count() == best;
      CHECK(sw::simulate(g, sw::prefetch{}(g, {})).end_to_end.count() >= best);
    }
    CHECK(met > shardweave_test::sized(20U, 1U));
    CHECK(orders > shardweave_test::at_scale(1000));
  }
  TEST_CASE("an empty graph has bound zero") {
    CHECK(sw::makespan_bound(sw::task_graph_builder().build()).value().count() == 0);
  }
}

TEST_SUITE("bound_of_all_bucketings") {
  TEST_CASE("what joins must all have been done on one machine") {
    // a -> {q, k, v} -> join -> c -> w -> {x, y} -> end: a chain takes one of three and one of two, the stream all
    sw::task_graph_builder b;
    b.add_group({});
    const auto mm = [&](std::int64_t duration, std::vector<sw::task_index> inputs) {
      return b.add_task({.name = "m",
                         .kind = sw::task_kind::compute,
                         .duration = sw::nanoseconds(duration),
                         .inputs = std::move(inputs)});
    };
    const auto a = mm(5, {});
    const auto join = mm(2, {mm(10, {a}), mm(11, {a}), mm(12, {a})});
    const auto c =
        b.add_task({.name = "c",
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(20),
                    .inputs = {join},
                    .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "f32", "sum"}});
    const auto w = b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
    const auto join2 = mm(1, {mm(4, {w}), mm(3, {w})});
    b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {join2}});
    const sw::task_graph g = std::move(b).build();
    CHECK(sw::makespan_bound(g, {}, {.reach = 0}).value() == sw::nanoseconds(5 + 33 + 2 + 20 + 4 + 1));
    CHECK(sw::makespan_bound(g).value() == sw::nanoseconds(5 + 33 + 2 + 20 + 7 + 1));
    CHECK(sw::makespan_bound(g).limited_by() == "released");
    CHECK(sw::simulate(g).end_to_end == sw::makespan_bound(g).value());
    CHECK(sw::bound_of_all_bucketings(g).value() == sw::makespan_bound(g).value());
  }
  TEST_CASE("it counts a launch that may be merged by the cheapest bucket it can be in") {
    const sw::duration_table table(sw::collective::all_gather, 0, {sw::bytes(10), sw::bytes(20), sw::bytes(40)},
                                   {sw::nanoseconds(30), sw::nanoseconds(32), sw::nanoseconds(80)});
    // of 20 bytes in 32 ns (a nanosecond less for rounding) ten bytes take 31 / 2
    const auto floor = sw::detail::cheapest_in_bucket(table, sw::nanoseconds(30), sw::bytes(10), sw::bytes(40));
    CHECK(floor.duration == sw::nanoseconds(30));
    CHECK(floor.share == sw::nanoseconds(15));
    // nothing to merge with
    const auto alone = sw::detail::cheapest_in_bucket(table, sw::nanoseconds(30), sw::bytes(10), sw::bytes(10));
    CHECK(alone.share == sw::nanoseconds(29));
  }
  TEST_CASE("no order of a random graph with any buckets is below it, and a longer reach is never weaker") {
    std::size_t bucketed = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(300); ++seed) {
      const std::size_t blocks = 4 + seed % shardweave_test::sized(20U, 12U);
      const sw::task_graph g = random_tasks(seed, {.blocks = blocks, .groups = 1 + seed % 3});
      const auto bound = sw::bound_of_all_bucketings(g).value();
      CHECK(sw::bound_of_all_bucketings(g, {.reach = 0}).value() <= bound);
      CHECK(bound <= sw::makespan_bound(g).value());
      sw::random_source random(seed);
      for (const std::int64_t cap : {0, 20, 60, 1000}) {
        const auto buckets = sw::greedy{.cap = sw::bytes(cap), .fsdp_only = false, .needs_gain = false}(g);
        bucketed += !buckets.buckets.empty();
        const auto chosen = sw::makespan_bound(g, buckets.buckets).value();
        CHECK(bound <= chosen);
        for (int i = 0; i < 3; ++i) {
          sw::schedule s;
          s.buckets = buckets.buckets;
          s.order = random_order(g, s.buckets, random);
          const auto end = sw::simulate(g, s).end_to_end;
          REQUIRE(chosen <= end);
          REQUIRE(bound <= end);
        }
        REQUIRE(chosen <= sw::simulate(g, sw::prefetch{}(g, buckets)).end_to_end);
      }
    }
    CHECK(bucketed > shardweave_test::at_scale(300));
  }
}

}  // namespace makespan_bound_tests

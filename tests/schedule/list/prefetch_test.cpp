#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/list/detail/launch_budget.hpp>
#include <shardweave/schedule/list/detail/list_plan.hpp>
#include <shardweave/schedule/list/detail/list_run.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace prefetch_tests {
namespace {
/// A chain of layers, each with a gathered parameter behind a cast: x = mm(x, wait(gather(cast(p)))).
struct chain {
  sw::task_graph_builder b;
  std::vector<sw::task_index> gathers = {};
  sw::task_index last = 0;
  chain(int layers, std::int64_t gather, std::int64_t work) : chain(layers, gather, work, [](chain&) {}) {}
  /// \param more  adds what comes between the last layer and the output
  template <class More>
  chain(int layers, std::int64_t gather, std::int64_t work, More more) {
    b.add_group({});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {sw::nanoseconds(gather)}));
    std::vector<sw::task_index> parameters;
    for (int i = 0; i < layers; ++i)
      parameters.push_back(b.add_task({.name = "primals", .kind = sw::task_kind::input, .outputs = keep(10)}));
    last = b.add_task({.name = "x", .kind = sw::task_kind::input, .outputs = keep(1)});
    for (int i = 0; i < layers; ++i) {
      const auto cast = b.add_task({.name = "cast",
                                    .kind = sw::task_kind::other,
                                    .duration = sw::nanoseconds(1),
                                    .inputs = {parameters[static_cast<std::size_t>(i)]},
                                    .outputs = keep(5)});
      gathers.push_back(b.add_task({.name = "ag",
                                    .kind = sw::task_kind::collective,
                                    .duration = sw::nanoseconds(gather),
                                    .inputs = {cast},
                                    .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(5),
                                                                        sw::bytes(40), "bf16", "none"},
                                    .outputs = keep(40),
                                    .is_fsdp = true}));
      const auto w = b.add_task({.name = "w",
                                 .kind = sw::task_kind::wait,
                                 .inputs = {gathers.back()},
                                 .completes = gathers.back(),
                                 .outputs = keep(40)});
      last = b.add_task({.name = "mm",
                         .kind = sw::task_kind::compute,
                         .duration = sw::nanoseconds(work),
                         .inputs = {last, w},
                         .outputs = keep(1)});
    }
    more(*this);
    b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {last}});
  }
  std::vector<sw::output_record> keep(std::int64_t size) {
    return {{.size = sw::bytes(size), .storage = b.add_storage(sw::bytes(size))}};
  }
  /// A step of the compute stream; the next one needs it.
  sw::task_index then(const char* name, sw::task_kind kind, std::vector<sw::task_index> inputs, std::int64_t size) {
    inputs.push_back(last);
    return last = b.add_task({.name = name,
                              .kind = kind,
                              .duration = sw::nanoseconds(12),
                              .inputs = std::move(inputs),
                              .outputs = keep(size)});
  }
  /// A collective and its wait.
  sw::task_index launch(sw::collective op, sw::task_index from, std::int64_t in, std::int64_t out) {
    const auto start =
        b.add_task({.name = "launch",
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(10),
                    .inputs = {from},
                    .collective = sw::collective_record{op, 0, sw::bytes(in), sw::bytes(out), "bf16", "none"},
                    .outputs = keep(out)});
    return b.add_task(
        {.name = "w", .kind = sw::task_kind::wait, .inputs = {start}, .completes = start, .outputs = keep(out)});
  }
};
/// A chain of 60 products, each of a parameter that is gathered in 90 ns to `part` bytes over one group, and then in 90
/// ns to 80 bytes over another one.
sw::task_graph gathered_twice(std::int64_t part, std::int64_t work) {
  sw::task_graph_builder b;
  for (int i = 0; i < 2; ++i) b.add_group({});
  const auto keep = [&](std::int64_t size) {
    return std::vector<sw::output_record>{{.size = sw::bytes(size), .storage = b.add_storage(sw::bytes(size))}};
  };
  const auto gathered = [&](sw::task_index from, std::uint32_t group, std::int64_t in, std::int64_t out) {
    const auto c = b.add_task({.name = "c",
                               .kind = sw::task_kind::collective,
                               .duration = sw::nanoseconds(90),
                               .inputs = {from},
                               .collective = sw::collective_record{sw::collective::all_gather, group, sw::bytes(in),
                                                                   sw::bytes(out), "bf16", "none"},
                               .outputs = keep(out)});
    return b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c, .outputs = keep(out)});
  };
  std::vector<sw::task_index> parameters;
  for (int i = 0; i < 60; ++i)
    parameters.push_back(b.add_task({.name = "primals", .kind = sw::task_kind::input, .outputs = keep(1)}));
  sw::task_index x = b.add_task({.name = "x", .kind = sw::task_kind::input, .outputs = keep(1)});
  for (const sw::task_index p : parameters)
    x = b.add_task({.name = "mm",
                    .kind = sw::task_kind::compute,
                    .duration = sw::nanoseconds(work),
                    .inputs = {x, gathered(gathered(p, 0, 1, part), 1, part, 80)},
                    .outputs = keep(1)});
  b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {x}});
  return std::move(b).build();
}
struct reverse {
  static constexpr std::string_view name = "reverse";
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&, const sw::solve_control& = {}) const {
    return {};
  }
};
struct nameless {
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&, const sw::solve_control& = {}) const {
    return {};
  }
};
std::vector<std::size_t> places(const sw::schedule& s) {
  std::vector<std::size_t> at(s.order.size());
  for (std::size_t i = 0; i < at.size(); ++i) at[s.order[i]] = i;
  return at;
}
}  // namespace

TEST_SUITE("prefetch") {
  TEST_CASE("what is in flight on one channel for later does not hold back what is needed soon on another") {
    // parameters gathered along one group, each as large as the limit; between products a sum along another group
    sw::task_graph_builder b;
    b.add_group({});
    b.add_group({});
    const auto keep = [&](std::int64_t size) {
      return std::vector<sw::output_record>{{.size = sw::bytes(size), .storage = b.add_storage(sw::bytes(size))}};
    };
    const auto moved = [&](sw::task_index from, sw::collective op, std::uint32_t group, std::int64_t size,
                           std::int64_t time) {
      const auto c =
          b.add_task({.name = "c",
                      .kind = sw::task_kind::collective,
                      .duration = sw::nanoseconds(time),
                      .inputs = {from},
                      .collective = sw::collective_record{op, group, sw::bytes(size), sw::bytes(size), "bf16", "none"},
                      .outputs = keep(size)});
      return b.add_task(
          {.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c, .outputs = keep(size)});
    };
    const auto compute = [&](std::vector<sw::task_index> inputs, std::int64_t time) {
      return b.add_task({.name = "mm",
                         .kind = sw::task_kind::compute,
                         .duration = sw::nanoseconds(time),
                         .inputs = std::move(inputs),
                         .outputs = keep(1)});
    };
    constexpr int layers = 12;
    std::vector<sw::task_index> parameters;
    for (int i = 0; i < layers; ++i)
      parameters.push_back(b.add_task({.name = "primals", .kind = sw::task_kind::input, .outputs = keep(10)}));
    sw::task_index x = b.add_task({.name = "x", .kind = sw::task_kind::input, .outputs = keep(1)});
    for (int i = 0; i < layers; ++i) {
      const auto w = moved(parameters[static_cast<std::size_t>(i)], sw::collective::all_gather, 0, 50, 105);
      x = compute({moved(compute({x, w}, 100), sw::collective::all_reduce, 1, 5, 10)}, 1);
    }
    b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {x}});
    const sw::task_graph g = std::move(b).build();
    // the first gather, and every sum: no sum waits for the end of the next gather, which is 5 ns later
    const auto s = sw::prefetch{.in_flight = sw::bytes(100)}(g, {});
    CHECK(sw::simulate(g, s).exposed == sw::nanoseconds(105 + 10 * layers));
  }

  TEST_CASE("two gathers may be in flight, however large they are") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto keep = [&](sw::bytes size) {
      return std::vector<sw::output_record>{{.size = size, .storage = b.add_storage(size)}};
    };
    const auto compute = [&](std::vector<sw::task_index> inputs, std::int64_t time) {
      return b.add_task({.name = "mm",
                         .kind = sw::task_kind::compute,
                         .duration = sw::nanoseconds(time),
                         .inputs = std::move(inputs),
                         .outputs = keep(sw::bytes(1))});
    };
    constexpr int pairs = 4;
    constexpr auto part = sw::mebibytes(208), whole = sw::mebibytes(1664);
    std::vector<sw::task_index> parameters;
    for (int i = 0; i < 2 * pairs; ++i)
      parameters.push_back(b.add_task({.name = "primals", .kind = sw::task_kind::input, .outputs = keep(part)}));
    sw::task_index x = b.add_task({.name = "x", .kind = sw::task_kind::input, .outputs = keep(sw::bytes(1))});
    for (int i = 0; i < 2 * pairs; ++i) {
      const auto c =
          b.add_task({.name = "c",
                      .kind = sw::task_kind::collective,
                      .duration = sw::nanoseconds(25),
                      .inputs = {parameters[static_cast<std::size_t>(i)]},
                      .collective = sw::collective_record{sw::collective::all_gather, 0, part, whole, "bf16"},
                      .outputs = keep(whole)});
      const auto w =
          b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c, .outputs = keep(whole)});
      x = compute({x, w}, i % 2 == 0 ? 50 : 5);  // behind the long one both gathers that follow can hide
    }
    b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {x}});
    const sw::task_graph g = std::move(b).build();
    constexpr auto best = sw::nanoseconds(25 + pairs * (50 + 5));
    CHECK(sw::simulate(g, sw::prefetch{}(g, {})).end_to_end == best);
    CHECK(sw::simulate(g, sw::prefetch{.in_flight = sw::gibibytes(2)}(g, {})).end_to_end > best);
  }

  TEST_CASE("all but the first gather of a chain hide behind the layer before, casts included") {
    const sw::task_graph g = chain(6, 10, 12).b.build();
    const auto line = sw::simulate(g, sw::prefetch{}(g, {}));
    CHECK(sw::simulate(g).end_to_end == sw::nanoseconds(6 * 23));
    // one cast, one gather behind which only the other five casts can run, then the work
    CHECK(line.end_to_end == sw::nanoseconds(1 + 10 + 6 * 12));
    CHECK(line.exposed == sw::nanoseconds(5));
    CHECK(line.hidden_count == 5);
  }
  TEST_CASE("gathers that take longer than the work keep their channel busy without a gap") {
    const sw::task_graph g = chain(6, 20, 12).b.build();
    const auto line = sw::simulate(g, sw::prefetch{}(g, {}));
    CHECK(line.end_to_end == sw::nanoseconds(1 + 6 * 20 + 12));
    CHECK(line.end_to_end == sw::makespan_bound(g).value());
  }
  TEST_CASE("a wait stands where its collective is done, or before its first user") {
    chain c(6, 10, 12);
    const sw::task_graph g = std::move(c.b).build();
    const auto s = sw::prefetch{}(g, {});
    const auto line = sw::simulate(g, s);
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == sw::task_kind::wait && g.completes(t) != c.gathers[0]) CHECK(line.start[t] == line.end[t]);
  }
  TEST_CASE("no gather is pulled further ahead than the limits allow") {
    chain c(8, 1, 50);
    const sw::task_graph g = std::move(c.b).build();
    SUBCASE("by computations") {
      const auto s = sw::prefetch{.compute_ahead = 0}(g, {});
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      // with none ahead every gather stands between the products around it
      const auto at = places(s);
      for (std::size_t i = 1; i < 8; ++i) CHECK(at[c.gathers[i]] > at[c.gathers[i - 1] + 2]);
      CHECK(std::any_of(s.decisions.begin(), s.decisions.end(),
                        [](const auto& d) { return d.reason == sw::decision_reason::distance_limit; }));
    }
    SUBCASE("by bytes in flight") {
      // each is 45 bytes; two are in flight at most
      const auto s = sw::prefetch{.in_flight = sw::bytes(90)}(g, {});
      std::int64_t now = 0, most = 0;
      for (const auto t : s.order) {
        if (g.is_collective(t)) most = std::max(most, now += 45);
        if (g.completes(t) != sw::no_index) now -= 45;
      }
      CHECK(most <= 90);
      CHECK(most > 45);
    }
  }
  TEST_CASE("a gradient on its way out holds nobody up") {
    // w0 = scatter(mm0) is waited for by the output alone; its wait is first in the original order
    sw::task_graph_builder b;
    b.add_group({});
    const auto m0 = b.add_task({.name = "m0", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(5)});
    const auto rs =
        b.add_task({.name = "rs",
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(20),
                    .inputs = {m0},
                    .collective = sw::collective_record{sw::collective::reduce_scatter, 0, {}, {}, "f32", "sum"}});
    const auto w = b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {rs}, .completes = rs});
    auto x = m0;
    for (int i = 0; i < 5; ++i)
      x = b.add_task({.name = "m", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(5), .inputs = {x}});
    b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {w, x}});
    const sw::task_graph g = std::move(b).build();
    const auto s = sw::prefetch{}(g, {});
    CHECK(sw::simulate(g, s).end_to_end == sw::nanoseconds(30));
    CHECK(s.order.back() == g.size() - 1);
  }
  TEST_CASE("schedules of random graphs are valid, keep the buckets, are repeatable, and mostly faster") {
    std::int64_t before = 0, after = 0;
    const std::size_t graphs = shardweave_test::sized<std::size_t>(200, 24);  // at least one of every size
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 24});
      const auto buckets = sw::greedy{.cap = sw::bytes(50), .fsdp_only = seed % 2 == 0, .needs_gain = false}(g);
      for (const auto& policy : {sw::prefetch{}, sw::prefetch{.in_flight = sw::bytes(30), .compute_ahead = 1},
                                 sw::prefetch{.in_flight = sw::bytes(0), .compute_ahead = 0}}) {
        const auto s = policy(g, buckets);
        CHECK_NOTHROW(sw::validate_schedule(g, s));
        CHECK(s.buckets == buckets.buckets);
        CHECK(s == policy(g, buckets));
        CHECK(s.order.back() == g.size() - 1);  // the output
        before += sw::simulate(g, sw::in_order{}(g, buckets)).end_to_end.count();
        after += sw::simulate(g, s).end_to_end.count();
      }
    }
    CHECK(after < before);
  }
  TEST_CASE("a memory budget is kept, or said to be exceeded") {
    std::size_t kept = 0, lost = 0, tightened = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 24});
      const auto buckets = sw::greedy{.cap = sw::bytes(50), .fsdp_only = false, .needs_gain = false}(g);
      const auto plain = sw::simulate(g, sw::in_order{}(g, buckets)).peak;
      const auto free = sw::simulate(g, sw::prefetch{}(g, buckets)).peak;
      for (const std::int64_t budget : {plain.count(), plain.count() * 9 / 10, plain.count() / 2}) {
        const auto s = sw::prefetch{.memory = sw::bytes(budget)}(g, buckets);
        CHECK_NOTHROW(sw::validate_schedule(g, s));
        const auto peak = sw::simulate(g, s).peak;
        CHECK(s.within_memory == (peak.count() <= budget));
        if (budget >= plain.count()) CHECK(s.within_memory);
        ++(s.within_memory ? kept : lost);
        tightened += s.within_memory && free.count() > budget;
      }
    }
    CHECK(kept > shardweave_test::at_scale(200));
    CHECK(lost > shardweave_test::at_scale(50));
    CHECK(tightened > shardweave_test::at_scale(10));
  }
  TEST_CASE("in the memory that the original order needs most random graphs end earlier") {
    std::size_t faster = 0;
    constexpr std::size_t graphs = 400;
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 24});
      const auto plain = sw::simulate(g);
      const auto line = sw::simulate(g, sw::prefetch{.memory = plain.peak}(g, {}));
      CHECK(line.peak <= plain.peak);
      faster += line.end_to_end < plain.end_to_end ? 1U : 0U;
    }
    CHECK(100 * faster >= 64 * graphs);
  }
  TEST_CASE("within a memory both gathers of a parameter hide, one behind each of the two products before it") {
    // the second one begins before the next product does, though the wait for the first one stands behind that
    const sw::task_graph g = gathered_twice(20, 100);
    const auto line = sw::simulate(g, sw::prefetch{.memory = sw::bytes(450)}(g, {}));
    CHECK(line.peak <= sw::bytes(450));
    CHECK(line.end_to_end == sw::nanoseconds(2 * 90 + 60 * 100));
  }
  TEST_CASE("within a memory what is far leaves room for what another channel brings for the next product") {
    const sw::task_graph g = gathered_twice(40, 200);
    for (const std::int64_t limit : {600, 900, 1200}) {
      const auto line = sw::simulate(g, sw::prefetch{.memory = sw::bytes(limit)}(g, {}));
      CHECK(line.peak <= sw::bytes(limit));
      CHECK(line.end_to_end == sw::nanoseconds(2 * 90 + 60 * 200));
    }
  }
  TEST_CASE("what nothing computes with is launched early only where memory has room for it") {
    // the peak is at the end, 400 bytes above all else: gathers of the layers have room to hide
    const auto hides = [](const sw::task_graph& g) {
      const auto plain = sw::simulate(g);
      const auto s = sw::prefetch{.memory = plain.peak}(g, {});
      const auto line = sw::simulate(g, s);
      CHECK(line.peak == plain.peak);
      CHECK(s.within_memory);
      // each of the last five layers hides its gather, the casts behind the first one as well
      CHECK(line.end_to_end <= plain.end_to_end - sw::nanoseconds(5 * 10));
    };
    SUBCASE("a gather whose result an element-wise operation takes at the end") {
      chain c(6, 10, 12, [](chain& made) {
        const auto parameter =
            made.b.add_task({.name = "primals", .kind = sw::task_kind::input, .outputs = made.keep(10)});
        made.then("large", sw::task_kind::compute, {}, 400);
        made.then("small", sw::task_kind::compute, {}, 1);
        const auto w = made.launch(sw::collective::all_gather, parameter, 10, 40);
        made.then("scaled", sw::task_kind::other, {w}, 1);
      });
      hides(std::move(c.b).build());
    }
    SUBCASE("a gradient whose cast takes more memory than the scatter frees") {
      sw::task_index w = 0;
      chain c(6, 10, 12, [&](chain& made) {
        const auto large = made.then("large", sw::task_kind::compute, {}, 400);
        const auto gradient = made.then("gradient", sw::task_kind::compute, {}, 10);
        made.then("uses large", sw::task_kind::compute, {large}, 1);
        const auto cast = made.b.add_task({.name = "cast",
                                           .kind = sw::task_kind::other,
                                           .duration = sw::nanoseconds(1),
                                           .inputs = {gradient},
                                           .outputs = made.keep(300)});
        w = made.launch(sw::collective::reduce_scatter, cast, 300, 30);
      });
      hides(std::move(c.b).build());
    }
  }
  TEST_CASE("a run is given up after a stop, and what was asked for has an order whatever comes") {
    chain made(12, 90, 100);
    const sw::task_graph g = std::move(made.b).build();
    const std::vector<sw::bucket> none;
    const sw::detail::list_plan plan(g, none, {});
    std::stop_source source;
    const sw::detail::list_limits limits{sw::gibibytes(2), 200, std::nullopt, std::nullopt, {}};
    CHECK(sw::detail::list_run(plan, limits).run(source.get_token()).size() == g.size());
    source.request_stop();
    CHECK(sw::detail::list_run(plan, limits).run(source.get_token()).empty());
    sw::prefetch tight;
    tight.memory = sw::bytes(1);
    CHECK(tight(g, {}).statistics.front().value > 1);
    const sw::schedule stopped = tight(g, {}, {.stop = source.get_token()});
    CHECK(stopped.statistics.front().value == 1);
    sw::validate_schedule(g, stopped);
    CHECK(stopped.order == sw::prefetch{}(g, {}).order);
  }
  TEST_CASE("a graph without collectives, and an empty one, are scheduled") {
    sw::task_graph_builder b;
    b.add_task({.name = "a"});
    CHECK(sw::prefetch{}(std::move(b).build(), {}).order == std::vector<sw::task_index>{0});
    CHECK(sw::prefetch{}(sw::task_graph_builder().build(), {}).order.empty());
  }
  TEST_CASE("what a user writes is a scheduler if it has a name and the call") {
    static_assert(sw::scheduler<reverse>);
    static_assert(!sw::scheduler<nameless>);
    static_assert(!sw::scheduler<sw::greedy>);
    CHECK(sw::schedule_tasks(sw::task_graph_builder().build(), {}, reverse{}).order.empty());
  }
}

}  // namespace prefetch_tests

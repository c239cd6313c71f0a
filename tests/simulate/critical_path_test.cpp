#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/critical_path.hpp>
#include <shardweave/simulate/simulate_machine.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace sw = shardweave;

namespace critical_path_tests {
namespace {
using ns = sw::nanoseconds;
using steps = std::vector<sw::critical_step>;
using sw::critical_reason, sw::critical_work;

sw::schedule path_schedule(const sw::task_graph& g, std::uint64_t seed, bool buckets) {
  sw::schedule s;
  if (buckets) s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
  sw::random_source random(seed + 500);
  s.order = random_order(g, s.buckets, random);
  return s;
}

/// Members of the launch of which `t` is the first.
std::vector<sw::task_index> launch_of(const sw::schedule& s, sw::task_index t) {
  for (const sw::bucket& b : s.buckets)
    if (std::find(b.members.begin(), b.members.end(), t) != b.members.end()) return b.members;
  return {t};
}
/// Does `t` need `other`, straight or through tasks of the compute stream that take no time?
bool needs_by_definition(const sw::task_graph& g, const sw::timeline& line, sw::task_index t, sw::task_index other) {
  for (const auto& e : g.dependencies().in(t)) {
    if (e.source == other) return true;
    if (!g.is_collective(e.source) && line.start[e.source] == line.end[e.source] &&
        line.start[e.source] >= line.end[other] && needs_by_definition(g, line, e.source, other))
      return true;
  }
  return false;
}

/// How much is wrong with a list of steps that ought to be a chain that explains the end-to-end time.
std::size_t flaws_of(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& line, const steps& path,
                     const std::vector<ns>& launched, const sw::launch_costs& costs,
                     std::set<critical_reason>& reasons) {
  std::size_t flaws = 0;
  const auto expect = [&](bool holds) { flaws += !holds; };
  ns clock = line.end_to_end;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const sw::critical_step& step = path[i];
    expect(step.end == clock);
    expect(step.start < step.end);
    clock = step.start;
    reasons.insert(step.reason);
    const auto all = launch_of(s, step.task);
    const std::size_t number = [&] {
      std::size_t b = 0;
      while (b < s.buckets.size() && s.buckets[b].members.front() != step.task) ++b;
      return b;
    }();
    switch (step.work) {
      case critical_work::computation:
        expect(!g.is_collective(step.task));
        [[fallthrough]];
      case critical_work::communication:
        expect(step.start == line.start[step.task]);
        expect(step.end == line.end[step.task]);
        break;
      case critical_work::packing:
        expect(step.start == line.buckets.at(number).pack_start);
        break;
      case critical_work::unpacking:
        expect(step.start == line.buckets.at(number).unpack_start);
        expect(step.end == line.buckets.at(number).unpack_end);
        break;
      case critical_work::host:
        expect(step.start == ns(0));
        expect(i > 0);
        // packing is launched just before its bucket, unpacking just after its wait
        expect(std::count(launched.begin(), launched.end(),
                          path[i - 1].work == critical_work::packing     ? step.end + costs.collective
                          : path[i - 1].work == critical_work::unpacking ? step.end - costs.kernel
                                                                         : step.end) > 0);
        break;
    }
    expect((i + 1 == path.size()) == (step.reason == critical_reason::start));
    if (i + 1 == path.size()) break;
    const sw::critical_step& before = path[i + 1];
    const auto is = [&](critical_work work) { return before.work == work; };
    bool needed = false;
    if (step.work != critical_work::unpacking && is(critical_work::computation))
      for (const auto t : all) needed = needed || needs_by_definition(g, line, t, before.task);
    switch (step.reason) {
      case critical_reason::start:
        break;
      case critical_reason::dependency:
        expect(is(critical_work::computation));
        expect((needed || step.work == critical_work::unpacking));
        break;
      case critical_reason::compute_busy:
        expect(is(critical_work::computation));
        expect(!needed);
        break;
      case critical_reason::channel_busy:
        expect(is(critical_work::communication));
        expect(step.work == critical_work::communication);
        expect(g.collective(before.task).group == g.collective(step.task).group);
        break;
      case critical_reason::wait: {
        bool stalled = false;
        for (sw::task_index t = 0; t < g.size(); ++t)
          if (const auto c = g.completes(t); c != sw::no_index && launch_of(s, c) == launch_of(s, before.task))
            stalled = stalled || (line.end[t] == step.start && line.start[t] < line.end[t]);
        expect(stalled);
        break;
      }
      case critical_reason::packing:
        expect((is(critical_work::packing) || is(critical_work::unpacking)));
        break;
      case critical_reason::host_launch:
        expect(is(critical_work::host));
        break;
    }
  }
  expect(clock == ns(0));
  return flaws;
}
}  // namespace

TEST_SUITE("critical_path") {
  TEST_CASE("the chain has no gaps from the end to the start, and every reason holds") {
    std::set<critical_reason> reasons;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(150); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 20, .groups = 1 + seed % 3});
      const sw::schedule s = path_schedule(g, seed, seed % 2 == 1);
      const sw::timeline line = sw::simulate(g, s);
      CHECK(flaws_of(g, s, line, sw::critical_path(g, s, line), {}, {}, reasons) == 0);
      CHECK(!reasons.count(critical_reason::host_launch));

      const auto host = [&](std::uint64_t n) { return ns(static_cast<std::int64_t>(seed % n)); };
      const sw::machine machine(sw::launch_costs{host(7), host(5), host(2), host(9)}, sw::uniform_interference{});
      const sw::machine_timeline run = sw::simulate(g, s, machine);
      auto with_host = reasons;
      CHECK(flaws_of(g, s, run.line, sw::critical_path(g, s, run), run.launched, machine.launches, with_host) == 0);
    }
    CHECK(reasons.size() == 6);  // all but the host
  }

  TEST_CASE("what is on the chain makes the step longer, what is off it does not make it shorter") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(60); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 12, .groups = 1 + seed % 3});
      const sw::schedule s = path_schedule(g, seed, false);
      const sw::timeline line = sw::simulate(g, s);
      std::vector<ns> usual;
      for (sw::task_index t = 0; t < g.size(); ++t) usual.push_back(g.duration(t));
      std::vector<ns> shorter = usual;
      for (ns& d : shorter) d = d / 2;
      for (const sw::critical_step& step : sw::critical_path(g, s, line)) {
        shorter[step.task] = usual[step.task];
        std::vector<ns> longer = usual;
        longer[step.task] += ns(3);
        CHECK(sw::simulate(g.with_durations(longer), s).end_to_end == line.end_to_end + ns(3));
      }
      CHECK(sw::simulate(g.with_durations(shorter), s).end_to_end == line.end_to_end);
    }
  }

  TEST_CASE("a small step by hand") {
    sw::task_graph_builder b;
    b.add_group({});
    const auto work = [&](std::int64_t d, std::vector<sw::task_index> inputs) {
      return b.add_task(
          {.name = "mm", .op = "mm", .kind = sw::task_kind::compute, .duration = ns(d), .inputs = std::move(inputs)});
    };
    const auto gather = [&](std::int64_t d, std::vector<sw::task_index> inputs) {
      const sw::collective_record record{sw::collective::all_gather, 0, sw::bytes(8), sw::bytes(16), "f32", "none"};
      return b.add_task({.name = "ag",
                         .op = "all_gather",
                         .kind = sw::task_kind::collective,
                         .duration = ns(d),
                         .inputs = std::move(inputs),
                         .collective = record});
    };
    const auto c0 = work(4, {});
    const auto view = b.add_task({.name = "view", .op = "view", .kind = sw::task_kind::view, .inputs = {c0}});
    const auto c1 = work(6, {view}), a0 = gather(10, {c1}), a1 = gather(7, {c0}), c2 = work(5, {});
    const auto w =
        b.add_task({.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .inputs = {a1}, .completes = a1});
    const auto c3 = work(2, {w}), c4 = work(1, {});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    // computation to 4 and 10, gathers to 20 and 27, work to 15, a stall to 27, work to 29 and 30
    const steps expected = {{c4, critical_work::computation, critical_reason::compute_busy, ns(29), ns(30)},
                            {c3, critical_work::computation, critical_reason::wait, ns(27), ns(29)},
                            {a1, critical_work::communication, critical_reason::channel_busy, ns(20), ns(27)},
                            {a0, critical_work::communication, critical_reason::dependency, ns(10), ns(20)},
                            {c1, critical_work::computation, critical_reason::dependency, ns(4), ns(10)},
                            {c0, critical_work::computation, critical_reason::start, ns(0), ns(4)}};
    CHECK(sw::critical_path(g, s, sw::simulate(g, s)) == expected);
    (void)c2;
    // a host of 40 for every launch: the last task waits for the ninth launch
    const auto run = sw::simulate(g, s, sw::machine(sw::launch_costs::each(ns(40))));
    CHECK(sw::critical_path(g, s, run) ==
          steps{{c4, critical_work::computation, critical_reason::host_launch, ns(360), ns(361)},
                {c4, critical_work::host, critical_reason::start, ns(0), ns(360)}});
    CHECK(sw::to_string(critical_reason::host_launch) == "host_launch");
    CHECK(sw::to_string(critical_work::unpacking) == "unpacking");
  }

  TEST_CASE("no work has no chain, and what nothing waits for may end it") {
    const sw::task_graph nothing = sw::task_graph_builder().build();
    CHECK(sw::critical_path(nothing, {}, sw::simulate(nothing)).empty());
    sw::task_graph_builder b;
    b.add_group({});
    const sw::collective_record record{sw::collective::all_gather, 0, sw::bytes(8), sw::bytes(16), "f32", "none"};
    b.add_task({.name = "ag", .op = "ag", .kind = sw::task_kind::collective, .duration = ns(9), .collective = record});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s{.order = {0}};
    CHECK(sw::critical_path(g, s, sw::simulate(g)) ==
          steps{{0, critical_work::communication, critical_reason::start, ns(0), ns(9)}});
  }
}

}  // namespace critical_path_tests

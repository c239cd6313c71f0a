#include "random_schedule.hpp"
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace thread_engine_tests {
namespace {
/// What every engine promises of a schedule's timeline, whatever its clock says.
void check_constraints(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& line) {
  std::vector<std::uint32_t> owner(g.size(), sw::no_index);
  std::vector<std::size_t> missing;
  for (std::uint32_t b = 0; b < s.buckets.size(); ++b) {
    missing.push_back(s.buckets[b].members.size());
    for (const auto t : s.buckets[b].members) owner[t] = b;
  }
  ns compute;                               // end of the compute stream so far
  std::vector<ns> busy(g.groups().size());  // end of each channel so far
  std::vector<bool> unpacked(s.buckets.size());
  for (const sw::task_index t : s.order) {
    CAPTURE(t);
    CHECK(line.end[t] >= line.start[t]);
    if (g.is_collective(t)) {
      if (owner[t] != sw::no_index) {
        const auto& times = line.buckets[owner[t]];
        if (--missing[owner[t]] > 0) continue;
        CHECK(times.pack_start >= compute);
        compute = std::max(compute, times.pack_start + sw::costs_of(g, s.buckets[owner[t]]).pack);
        CHECK(line.start[t] == times.start);
        CHECK(line.end[t] == times.end);
      }
      ns& channel = busy[g.collective(t).group];
      CHECK(line.start[t] >= compute);
      CHECK(line.start[t] >= channel);
      channel = line.end[t];
      continue;
    }
    CHECK(line.start[t] >= compute);
    compute = line.end[t];
    if (const auto c = g.completes(t); c != sw::no_index && g.kind(t) == sw::task_kind::wait) {
      CHECK(line.end[t] >= line.end[c]);
      if (const auto b = owner[c]; b != sw::no_index && !unpacked[b]) {
        unpacked[b] = true;
        CHECK(line.buckets[b].unpack_start >= compute);
        compute = line.buckets[b].unpack_end;
      }
    }
  }
}

constexpr auto patience = std::chrono::seconds(120);
}  // namespace

TEST_SUITE("thread_engine") {
  TEST_CASE("a replay keeps every constraint, and nothing ends before the simulator says") {
    sw::thread_engine engine;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      // durations of some microseconds
      const sw::task_graph small = random_tasks(seed, {.blocks = 20, .groups = 3});
      std::vector<ns> longer;
      for (sw::task_index t = 0; t < small.size(); ++t) longer.push_back(small.duration(t) * 400);
      const sw::task_graph g = small.with_durations(longer);
      const sw::schedule s = random_schedule(g, random);
      REQUIRE(!s.order.empty());
      const sw::timeline predicted = sw::simulate(g, s);
      const sw::timeline measured = sw::replay(g, s, engine);
      check_constraints(g, s, predicted);
      check_constraints(g, s, measured);
      // each operation takes at least its duration, and ends only move later
      for (sw::task_index t = 0; t < g.size(); ++t) CHECK(measured.end[t] >= predicted.end[t]);
      for (std::size_t c = 0; c < g.groups().size(); ++c) CHECK(measured.channel_busy[c] >= predicted.channel_busy[c]);
      CHECK(measured.end_to_end >= predicted.end_to_end);
      CHECK(measured.compute >= predicted.compute);
      CHECK(measured.collectives == predicted.collectives);
      CHECK(measured.peak == predicted.peak);
      CHECK(measured.hidden == measured.communication - measured.exposed - measured.tail);
    }
  }

  TEST_CASE("channels communicate at the same time, beside the compute stream") {
    // each side of a pair waits until the other is there: on one thread this would never end
    std::promise<void> here[2];
    std::shared_future<void> is_here[2] = {here[0].get_future().share(), here[1].get_future().share()};
    std::atomic<int> met{0};
    sw::thread_engine engine({.communicate = [&](const sw::collective_call& c) {
      here[c.channel].set_value();
      met += is_here[1 - c.channel].wait_for(patience) == std::future_status::ready;
    }});
    const std::vector<sw::process_group> groups(2);
    engine.connect(groups);
    const auto a = engine.start({.channel = 0}), b = engine.start({.channel = 1});
    CHECK(is_here[0].wait_for(patience) == std::future_status::ready);  // no wait yet: start returned at once
    engine.wait(a);
    engine.wait(b);
    engine.finish();
    CHECK(met == 2);
    const auto overlap_start = std::max(engine.span(a).start, engine.span(b).start);
    CHECK(overlap_start <= std::min(engine.span(a).end, engine.span(b).end));
  }

  TEST_CASE("the collectives of one channel come one after the other, in the order of their launches") {
    std::vector<sw::task_index> seen;
    std::atomic<int> inside{0};
    bool alone = true;
    sw::thread_engine engine({.communicate = [&](const sw::collective_call& c) {
      alone = alone && ++inside == 1;
      seen.push_back(c.task);
      --inside;
    }});
    engine.connect(std::vector<sw::process_group>(1));
    std::vector<sw::task_index> launched;
    for (sw::task_index t = 0; t < 50; ++t) {
      launched.push_back(t);
      CHECK(engine.start({.task = t}) == t);
    }
    engine.finish();
    CHECK(seen == launched);
    CHECK(alone);
    for (std::size_t i = 1; i < launched.size(); ++i) CHECK(engine.span(i).start >= engine.span(i - 1).end);
  }

  TEST_CASE("the scale makes the wall clock slower, not the measured times") {
    sw::thread_engine engine({.scale = 50});
    engine.connect({});
    const auto before = std::chrono::steady_clock::now();
    const auto operation = engine.run({.duration = ns(20'000)});
    const auto wall = std::chrono::steady_clock::now() - before;
    engine.finish();
    CHECK(wall >= std::chrono::milliseconds(1));
    const ns length = engine.span(operation).length();
    CHECK(length >= ns(19'999));  // both ends are rounded down
    CHECK(length <= ns(std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() / 50 + 1));
  }

  TEST_CASE("what a channel throws comes out of finish, and the engine goes on") {
    int calls = 0;
    sw::thread_engine engine({.communicate = [&](const sw::collective_call&) {
      if (++calls == 2) throw std::runtime_error("the link is down");
    }});
    const std::vector<sw::process_group> groups(1);
    engine.connect(groups);
    engine.start({});
    const auto second = engine.start({});
    engine.wait(second);  // done, if badly
    CHECK_THROWS_WITH_AS(engine.finish(), "the link is down", std::runtime_error);
    engine.finish();
    engine.connect(groups);
    engine.start({});
    engine.finish();
    CHECK(calls == 3);
  }

  TEST_CASE("an engine that goes away works off what it was given") {
    std::atomic<int> done{0};
    {
      sw::thread_engine engine({.communicate = [&](const sw::collective_call&) { ++done; }});
      engine.connect(std::vector<sw::process_group>(3));
      for (std::uint32_t i = 0; i < 30; ++i) engine.start({.channel = i % 3});
    }
    CHECK(done == 30);
    const sw::thread_engine unused;
  }

  TEST_CASE("a scale below 1 is refused") {
    CHECK_THROWS_WITH_AS(sw::thread_engine({.scale = 0}), "the scale of thread_engine is 0, expected 1 or more",
                         sw::error);
  }
}

}  // namespace thread_engine_tests

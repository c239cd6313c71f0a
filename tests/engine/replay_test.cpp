#include "random_schedule.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>
#include <support/small_tasks.hpp>

#include <string>
#include <vector>

namespace sw = shardweave;

namespace replay_tests {
namespace {
/// Writes down what it is told; all its times are those of the virtual engine.
class recorder {
 public:
  static constexpr std::string_view name = "recorder";
  void connect(std::span<const sw::process_group> groups) {
    log += "connect " + std::to_string(groups.size()) + "\n";
    inner_.connect(groups);
  }
  std::size_t run(const sw::compute_call& work) {
    log += "run " + std::to_string(work.task) + " " + std::to_string(work.duration.count()) + "\n";
    return inner_.run(work);
  }
  std::size_t start(const sw::collective_call& c) {
    log += "start " + std::to_string(c.task) + " channel " + std::to_string(c.channel) + " " +
           std::string(sw::name_of(c.op)) + " " + std::string(c.dtype) + " " + std::string(c.reduce) + " " +
           std::to_string(c.bytes_in.count()) + "->" + std::to_string(c.bytes_out.count()) + " " +
           std::to_string(c.duration.count()) + "\n";
    return inner_.start(c);
  }
  std::size_t wait(std::size_t operation) {
    log += "wait #" + std::to_string(operation) + "\n";
    return inner_.wait(operation);
  }
  void finish() {
    log += "finish\n";
    inner_.finish();
    finished = true;
  }
  sw::nanoseconds now() const { return inner_.now(); }
  sw::time_span span(std::size_t operation) const {
    CHECK(finished);  // what an engine with a queue of its own relies on
    return inner_.span(operation);
  }

  std::string log = {};
  bool finished = false;

 private:
  sw::virtual_engine inner_ = {};
};

using small_tasks::gather;
using small_tasks::wait_for;
using small_tasks::work;

/// Two gathers on one channel, work between them and their waits.
sw::task_graph two_gathers() {
  sw::task_graph_builder b;
  b.device.dram_bytes_per_ns = 2;
  b.add_group({.id = 7, .name = "dp", .size = 4});
  b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0), sw::bytes(100)},
                                 {sw::nanoseconds(10), sw::nanoseconds(110)}));
  b.add_task(work("a", 5));               // 0
  b.add_task(gather("g0", 30, {0}, 10));  // 1
  b.add_task(gather("g1", 40, {0}, 20));  // 2
  b.add_task(work("b", 50, {0}));         // 3
  b.add_task(wait_for("w0", 1));          // 4
  b.add_task(wait_for("w1", 2));          // 5
  b.add_task(work("c", 3, {4, 5}));       // 6
  return std::move(b).build();
}
}  // namespace

TEST_SUITE("replay") {
  TEST_CASE("the engine is told launches, waits and work in the order of the schedule") {
    const sw::task_graph g = two_gathers();
    recorder engine;
    const sw::timeline line = sw::replay(g, sw::in_order{}(g, {}), engine);
    CHECK(engine.log ==
          "connect 1\n"
          "run 0 5\n"
          "start 1 channel 0 all_gather bf16 none 10->40 30\n"
          "start 2 channel 0 all_gather bf16 none 20->80 40\n"
          "run 3 50\n"
          "wait #1\n"
          "wait #2\n"
          "run 6 3\n"
          "finish\n");
    // by hand: a 0-5; g0 5-35; g1 35-75; b 5-55; w0 does not stall, w1 stalls 55-75; c 75-78
    using ns = sw::nanoseconds;
    CHECK(line.start == std::vector<ns>{ns(0), ns(5), ns(35), ns(5), ns(55), ns(55), ns(75)});
    CHECK(line.end == std::vector<ns>{ns(5), ns(35), ns(75), ns(55), ns(55), ns(75), ns(78)});
    CHECK(line.end_to_end == ns(78));
    CHECK(line.compute == ns(58));
    CHECK(line.communication == ns(70));
    CHECK(line.exposed == ns(20));
    CHECK(line.tail == ns(0));
    CHECK(line.hidden == ns(50));
    CHECK(line.collectives == 2);
    CHECK(line.hidden_count == 1);
    CHECK(line.channel_busy == std::vector<ns>{ns(70)});
  }

  TEST_CASE("a bucket is packed before its launch, launched once, and unpacked after its first wait") {
    const sw::task_graph g = two_gathers();
    sw::schedule s{.order = {0, 1, 2, 3, 4, 5, 6}, .buckets = {sw::make_bucket(g, {1, 2})}};
    recorder engine;
    const sw::timeline line = sw::replay(g, s, engine);
    // pack 2 * 30 / 2 = 30 ns; table at 30 bytes: 40 ns; unpack 2 * 120 / 2 = 120 ns
    CHECK(engine.log ==
          "connect 1\n"
          "run 0 5\n"
          "run 1 30\n"
          "start 1 channel 0 all_gather bf16 none 30->120 40\n"
          "run 3 50\n"
          "wait #2\n"
          "run 1 120\n"
          "wait #2\n"
          "run 6 3\n"
          "finish\n");
    using ns = sw::nanoseconds;
    CHECK(line.buckets == std::vector<sw::bucket_times>{{ns(5), ns(35), ns(75), ns(85), ns(205)}});
    CHECK(line.packing == ns(150));
    CHECK(line.end_to_end == ns(208));
    CHECK(line.exposed == ns(0));
    CHECK(line.hidden_count == 1);
    CHECK(line == sw::simulate(g, s));
  }

  TEST_CASE("a coalesced bucket is launched once, and the engine hears of no copies") {
    const sw::task_graph g = two_gathers();
    sw::schedule s{.order = {0, 1, 2, 3, 5, 4, 6}, .buckets = {sw::make_bucket(g, {1, 2})}};
    s.buckets[0].coalesced = true;
    recorder engine;
    const sw::timeline line = sw::replay(g, s, engine);
    CHECK(engine.log ==
          "connect 1\n"
          "run 0 5\n"
          "start 1 channel 0 all_gather bf16 none 30->120 40\n"
          "run 3 50\n"
          "wait #1\n"
          "wait #1\n"
          "run 6 3\n"
          "finish\n");
    using ns = sw::nanoseconds;
    CHECK(line.buckets == std::vector<sw::bucket_times>{{ns(5), ns(5), ns(45), ns(55), ns(55)}});
    CHECK(line.packing == ns(0));
    CHECK(line.end_to_end == ns(58));
    CHECK(line == sw::simulate(g, s));
  }

  TEST_CASE("with the virtual engine it is the simulator: random graphs, orders and buckets") {
    sw::virtual_engine engine;  // one for all: a replay does not depend on those before it
    std::size_t buckets = 0, stalls = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(300); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      const sw::task_graph g =
          random_tasks(seed, {.blocks = 4 + random.below(25), .groups = 1 + random.below(4), .chained_wait = 0.3});
      const sw::schedule s = random_schedule(g, random);
      REQUIRE(!s.order.empty());
      const sw::timeline simulated = sw::simulate(g, s);
      CHECK(sw::replay(g, s, engine) == simulated);
      buckets += s.buckets.size();
      stalls += simulated.collectives - simulated.hidden_count;
    }
    // what the random schedules must hold for this to say anything
    CHECK(buckets > shardweave_test::at_scale(100));
    CHECK(stalls > shardweave_test::at_scale(100));
  }

  TEST_CASE("with the virtual engine it is the simulator: captured training graphs") {
    std::vector<std::string> names = {"llama3-8b-fw-64-1d",
                                      "llama3-8b-bw-64-1d",
                                      "llama3-8b-bw-64-2d",
                                      "llama3-8b-fw-256-2d",
                                      "llama3-8b-bw-256-2d",
                                      "llama3-8b-fw-64-2d",
                                      "deepseek-v3-fw-64",
                                      "deepseek-v3-bw-64",
                                      "llama3-8b-fw-256-2d-80layers-derived",
                                      "llama3-8b-bw-256-2d-106layers-derived"};
    if (shardweave_test::is_small_scale) names = {"llama3-8b-fw-64-2d"};
    for (const std::string& name : names) {
      const auto path = shared_data("tasks/" + name + ".json.gz");
      if (!path) continue;
      CAPTURE(name);
      const sw::task_graph g = sw::read_task_graph(*path);
      const sw::bucketing_result buckets = sw::greedy{}(g);
      for (const sw::schedule& s : {sw::in_order{}(g, {}), sw::in_order{}(g, buckets), sw::prefetch{}(g, buckets)}) {
        sw::virtual_engine engine;
        CHECK(sw::replay(g, s, engine) == sw::simulate(g, s));
      }
    }
  }

  TEST_CASE("a stall within the tolerance hides its collective, and stays exposed time") {
    const sw::task_graph g = two_gathers();
    const sw::schedule s = sw::in_order{}(g, {});
    sw::virtual_engine engine;
    CHECK(sw::replay(g, s, engine, {.stall_tolerance = sw::nanoseconds(19)}).hidden_count == 1);
    const sw::timeline line = sw::replay(g, s, engine, {.stall_tolerance = sw::nanoseconds(20)});
    CHECK(line.hidden_count == 2);
    CHECK(line.exposed == sw::nanoseconds(20));
  }

  TEST_CASE("a wait for nothing here takes no time, and an empty graph none at all") {
    sw::task_graph_builder b;
    b.add_task(work("a", 5));
    sw::task_record lone = work("w", 9, {0});
    lone.kind = sw::task_kind::wait;
    b.add_task(lone);
    const sw::task_graph g = std::move(b).build();
    sw::virtual_engine engine;
    CHECK(sw::replay(g, sw::in_order{}(g, {}), engine).end_to_end == sw::nanoseconds(5));
    CHECK(sw::replay(g, sw::in_order{}(g, {}), engine) == sw::simulate(g));
    const sw::task_graph none;
    CHECK(sw::replay(none, {}, engine) == sw::timeline{});
  }

  TEST_CASE("communication after the last work is the tail") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 2});
    b.add_group({.id = 1, .size = 2});
    b.add_task(work("a", 5));
    b.add_task(gather("g0", 30, {0}, 10, 0));
    b.add_task(gather("g1", 20, {0}, 10, 1));
    b.add_task(work("b", 8, {0}));
    const sw::task_graph g = std::move(b).build();
    sw::virtual_engine engine;
    const sw::timeline line = sw::replay(g, sw::in_order{}(g, {}), engine);
    CHECK(line.end_to_end == sw::nanoseconds(35));
    CHECK(line.tail == sw::nanoseconds(22));
    CHECK(line.channel_busy == std::vector<sw::nanoseconds>{sw::nanoseconds(30), sw::nanoseconds(20)});
    CHECK(line == sw::simulate(g));
  }

  TEST_CASE("an invalid schedule is refused before the engine hears of it") {
    const sw::task_graph g = two_gathers();
    recorder engine;
    CHECK_THROWS_WITH_AS(sw::replay(g, {.order = {0, 1, 2, 3, 4, 5}}, engine),
                         "the order lists 6 tasks, expected each of 7 once", sw::error);
    CHECK(engine.log.empty());
  }

  TEST_CASE("what an engine refuses reaches the caller") {
    struct broken : sw::virtual_engine {
      std::size_t start(const sw::collective_call& c) {
        sw::refuse(sw::error_category::backend, "no link to group " + std::to_string(c.channel));
      }
    } engine;
    const sw::task_graph g = two_gathers();
    CHECK_THROWS_WITH_AS(sw::replay(g, sw::in_order{}(g, {}), engine), "no link to group 0", sw::error);
  }
}

namespace {
struct without_clock {
  static constexpr std::string_view name = "none";
  void connect(std::span<const sw::process_group>);
  std::size_t run(const sw::compute_call&);
  std::size_t start(const sw::collective_call&);
  std::size_t wait(std::size_t);
  void finish();
  sw::time_span span(std::size_t);
};
static_assert(sw::collective_engine<recorder>);
static_assert(!sw::collective_engine<without_clock>);
static_assert(!sw::collective_engine<int>);
}  // namespace

}  // namespace replay_tests

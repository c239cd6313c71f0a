// What holds on any device: run on a real one where there is one, and on the double.
#include "nccl_ranks.hpp"
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace nccl_device_tests {
namespace {
using nccl_tests::has_devices;
using nccl_tests::small_options;

sw::collective_call gather_of(sw::task_index task, std::int64_t size, std::uint32_t channel = 0) {
  return {task, channel, sw::collective::all_gather, "bf16", "none", sw::bytes(size), sw::bytes(size), {}, {}};
}
sw::schedule in_order(const sw::task_graph& g) {
  sw::schedule s;
  s.order.resize(g.size());
  std::iota(s.order.begin(), s.order.end(), sw::task_index{0});
  return s;
}
/// The gathers of the first four weights as one launch, before the first is needed.
sw::schedule with_bucket(const sw::task_graph& g) {
  sw::schedule s = in_order(g);
  std::vector<sw::task_index> members;
  for (sw::task_index t = 0; t < g.size() && members.size() < 4; ++t)
    if (g.is_collective(t)) members.push_back(t);
  s.buckets.push_back(sw::make_bucket(g, members));
  std::stable_sort(s.order.begin(), s.order.end(), [&](sw::task_index a, sw::task_index b) {
    const auto place = [&](sw::task_index t) {
      return t == 0 ? 0 : std::find(members.begin(), members.end(), t) != members.end() ? 1 : 2;
    };
    return place(a) < place(b);
  });
  return s;
}
}  // namespace

TEST_SUITE("nccl_engine, on a device") {
  TEST_CASE("the compute stream does one thing at a time, and a channel waits for it and for the one before") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    CHECK(engine.size() == 1);
    const std::vector<sw::process_group> groups{{.id = 0, .name = "a", .size = 1}, {.id = 1, .name = "b", .size = 1}};
    for (int replays = 0; replays < 2; ++replays) {
      engine.connect(groups);
      const ns begin = engine.now();
      CHECK(begin >= ns(0));
      const auto first = engine.run({.task = 0, .duration = ns(300'000)});
      const sw::collective_call calls[] = {gather_of(1, 1 << 16), gather_of(2, 4096), gather_of(3, 4096, 1)};
      const auto a = engine.start(calls[0]), b = engine.start(calls[1]), c = engine.start(calls[2]);
      const auto second = engine.run({.task = 4, .duration = ns(50'000)});
      const auto awaited = engine.wait(b), again = engine.wait(a), other = engine.wait(c);
      const auto third = engine.run({.task = 5, .duration = ns(50'000)});
      const ns middle = engine.now();
      engine.finish();
      CHECK(std::vector{first, a, b, c, second, awaited, again, other, third} ==
            std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
      for (const auto& [before, after] : std::vector<std::pair<std::size_t, std::size_t>>{
               {first, a}, {first, c}, {a, b}, {first, second}, {second, awaited}, {again, third}})
        CHECK(engine.span(before).end <= engine.span(after).start);
      CHECK(engine.span(awaited).end >= engine.span(b).end);
      CHECK(engine.span(third).start >= engine.span(c).end);
      CHECK(middle >= engine.span(third).end);
      CHECK(engine.span(first).length() > ns(0));
    }
    CHECK(engine.checked() == 6);
    engine.check(false);
    engine.connect(groups);
    engine.start(gather_of(1, 4096));
    engine.finish();
    CHECK(engine.checked() == 6);
  }

  TEST_CASE("a layer of a LLaMA model is replayed with right values, in order and with a bucket of either kind") {
    if (!has_devices(1)) return;
    const sw::task_graph g = nccl_tests::llama_layer(1);
    for (const sw::nccl_bucket kind : {sw::nccl_bucket::packed, sw::nccl_bucket::grouped}) {
      auto options = small_options();
      options.buckets = kind;
      sw::nccl_engine engine(sw::meet_alone(), options);
      for (const sw::schedule& s : {in_order(g), with_bucket(g)}) {
        const std::size_t before = engine.checked();
        const sw::timeline line = sw::replay(g, s, engine);
        CHECK(engine.checked() - before == 21);  // three collectives for each of seven weights
        CHECK(line.collectives == (s.buckets.empty() ? 21 : 18));
        CHECK(line.compute > ns(0));
        CHECK(line.end_to_end >= line.compute);
        for (const sw::task_index t : s.order)
          for (const sw::task_index p : g.inputs(t))
            if (!g.is_collective(t)) CHECK(line.start[t] >= line.end[p] - (g.is_collective(p) ? line.end[p] : ns(0)));
        CHECK(line.peak == sw::simulate(g, s).peak);
      }
    }
  }

  TEST_CASE("every kind of collective arrives on a group of one, a step around the ring as well") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    engine.connect(std::vector<sw::process_group>{{.id = 0, .name = "a", .size = 1}});
    std::size_t calls = 0;
    for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter,
                                    sw::collective::all_reduce, sw::collective::all_to_all, sw::collective::shift})
      for (const char* dtype : {"bf16", "i32", "f64"})
        for (const std::int64_t size : {0, 8, 1 << 16}) {
          sw::collective_call call = gather_of(static_cast<sw::task_index>(++calls), size);
          call.op = op;
          call.dtype = dtype;
          call.reduce = "sum";
          engine.wait(engine.start(call));
        }
    engine.finish();
    CHECK(engine.checked() == calls);
  }

  TEST_CASE("an engine that goes away with work under way ends it, and the next one works") {
    if (!has_devices(1)) return;
    const std::vector<sw::process_group> groups{{.size = 1}};
    for (int i = 0; i < 3; ++i) {
      sw::nccl_engine engine(sw::meet_alone(), small_options());
      engine.connect(groups);
      for (sw::task_index t = 0; t < 20; ++t) {
        engine.run({.task = t, .duration = ns(100'000)});
        engine.wait(engine.start(gather_of(t, 4096)));
      }
      if (i == 2) engine.finish();
      CHECK(engine.checked() == (i == 2 ? 20 : 0));
    }
  }

  TEST_CASE("four ranks of a run compute a layer together") {
    if (!has_devices(4)) return;
    const sw::task_graph g = nccl_tests::llama_layer(4);
    const auto words = nccl_tests::on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      for (const sw::schedule& s : {in_order(g), with_bucket(g)}) static_cast<void>(sw::replay(g, s, engine));
      if (engine.checked() != 42) sw::refuse(sw::error_category::input, "values were not checked");
      if (engine.largest(engine.rank()) != 3) sw::refuse(sw::error_category::input, "the largest is another");
    });
    CHECK(words == std::vector<std::string>(4));
  }

  TEST_CASE("what makes no sense is refused before a device is asked") {
    const std::string limits =
        "the timeout and the time for answers of nccl_engine must be positive, and the largest copy 2 bytes or more";
    for (const sw::nccl_engine_options& wrong :
         {sw::nccl_engine_options{.timeout_seconds = 0}, {.answer_seconds = -1}, {.largest_copy = sw::bytes(1)}})
      CHECK_THROWS_WITH_AS(sw::nccl_engine(sw::meet_alone(), wrong), limits.c_str(), sw::error);
  }

  TEST_CASE("without a device the engine says what the runtime says") {
    const std::string why = sw::no_device_because();
    if (why.empty()) return shardweave_test::skipped("there is a device");
    CHECK_THROWS_WITH_AS(sw::nccl_engine(sw::meet_alone()), why.c_str(), sw::error);
  }
}

}  // namespace nccl_device_tests

// What only the double can show: exact times, the order of calls, and whatever goes wrong.
#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include "random_schedule.hpp"
#include "rank_groups.hpp"
#include <shardweave/engine/nccl_calibration.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_copy_work.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/nccl_estimator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/nccl_launch.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace nccl_double_tests {
namespace {
using nccl_tests::nothing_left;
using nccl_tests::on_ranks;
using nccl_tests::small_options;

const std::vector<sw::process_group> everyone{{.id = 5, .name = "dp", .size = 4}};

sw::collective_call call_of(sw::collective op, std::int64_t size, const char* dtype = "f32",
                            std::uint32_t channel = 0) {
  return {1, channel, op, dtype, "sum", sw::bytes(size), sw::bytes(size), {}, {}};
}
std::vector<std::string> nccl_calls(int device) {
  std::vector<std::string> kept;
  for (const std::string& c : fake_gpu::calls(device))
    if (c.starts_with("nccl") && !c.starts_with("ncclComm") && !c.starts_with("ncclGetUniqueId")) kept.push_back(c);
  return kept;
}
/// A model that answers always the same.
struct constant {
  double us = 7;
  sw::collective_estimate estimate(sw::collective, sw::bytes, sw::group_shape) const { return {.time_us = us}; }
};
}  // namespace

TEST_SUITE("nccl_engine, on the double") {
  TEST_CASE("random schedules with buckets on three kinds of groups end, with right values on every rank") {
    const nothing_left after;
    for (const sw::nccl_bucket kind : {sw::nccl_bucket::packed, sw::nccl_bucket::grouped}) {
      auto options = small_options();
      options.buckets = kind;
      std::atomic<std::size_t> checked = 0, expected = 0;
      const auto words = on_ranks(4, options, [&](sw::nccl_engine& engine) {
        for (std::uint64_t i = 0; i < shardweave_test::at_scale(20); ++i) {
          const sw::task_graph g = on_groups(random_tasks(i, {.blocks = 16, .groups = 3, .longest = 2000}));
          sw::random_source random(i + 1);
          const sw::schedule s = random_schedule(g, random);
          static_cast<void>(sw::replay(g, s, engine));
          for (sw::task_index t = 0; t < g.size(); ++t)
            if (g.is_collective(t)) ++expected;
        }
        checked += engine.checked();
      });
      CHECK(words == std::vector<std::string>(4));
      // members of a bucket that nobody waits for are never unpacked: there are none in these schedules
      CHECK(checked == expected);
      CHECK(checked > 0);
    }
  }

  TEST_CASE("by the double's clock a replay is what the simulator says, to the nanosecond") {
    // no latency, so that a sum of pieces costs what the whole does
    const nothing_left after({.copy_ns = 0, .copy_bytes_per_ns = 1, .collective_ns = 0, .collective_bytes_per_ns = 2});
    const sw::task_graph stated = nccl_tests::llama_layer(4);
    std::vector<ns> durations;
    for (sw::task_index t = 0; t < stated.size(); ++t) {
      const auto info = stated.is_collective(t) ? stated.collective(t) : sw::collective_info{};
      durations.push_back(stated.is_collective(t) ? ns(std::max(info.bytes_in, info.bytes_out).count() / 2)
                                                  : stated.duration(t));
    }
    const sw::task_graph g = stated.with_durations(durations);
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (t == 0 || (g.is_collective(t) && g.collective(t).op == sw::collective::all_gather)) s.order.push_back(t);
    for (sw::task_index t = 1; t < g.size(); ++t)
      if (!g.is_collective(t) || g.collective(t).op != sw::collective::all_gather) s.order.push_back(t);
    const sw::timeline predicted = sw::simulate(g, s);
    std::vector<sw::timeline> measured(4);
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      static_cast<void>(sw::replay(g, s, engine));
      engine.check(false);
      measured[static_cast<std::size_t>(engine.rank())] = sw::replay(g, s, engine);
    });
    CHECK(words == std::vector<std::string>(4));
    CHECK(predicted.hidden > ns(0));
    CHECK(predicted.exposed > ns(0));
    for (const sw::timeline& line : measured) {
      for (sw::task_index t = 0; t < g.size(); ++t) {
        CAPTURE(t);
        CHECK(line.start[t] == predicted.start[t]);
        CHECK(line.end[t] == predicted.end[t]);
      }
      CHECK(line.end_to_end == predicted.end_to_end);
      CHECK(line.exposed == predicted.exposed);
      CHECK(line.hidden == predicted.hidden);
      CHECK(line.channel_busy == predicted.channel_busy);
    }
  }

  TEST_CASE("a bucket is one launch: packed into one buffer, or grouped") {
    const sw::bucket_part parts[] = {{1, sw::bytes(400)}, {2, sw::bytes(16)}};
    const sw::collective_call bucket{
        1, 0, sw::collective::all_gather, "f32", "none", sw::bytes(416), sw::bytes(1664), {}, parts};
    const auto replayed = [&](sw::nccl_bucket kind) {
      const nothing_left after;
      auto options = small_options();
      options.buckets = kind;
      std::vector<std::string> calls;
      const auto words = on_ranks(4, options, [&](sw::nccl_engine& engine) {
        engine.connect(everyone);
        const std::size_t from = engine.rank() == 2 ? nccl_calls(2).size() : 0;
        engine.run({1, ns(0), sw::compute_work::pack, &bucket});
        const auto launched = engine.start(bucket);
        engine.wait(launched);
        engine.run({1, ns(0), sw::compute_work::unpack, &bucket});
        engine.wait(engine.start(call_of(sw::collective::all_to_all, 32)));
        engine.finish();
        if (engine.checked() != 3) sw::refuse(sw::error_category::input, "not all was checked");
        if (engine.rank() != 2) return;
        calls = nccl_calls(2);
        calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(from));
      });
      CHECK(words == std::vector<std::string>(4));
      return calls;
    };
    std::vector<std::string> exchange{"ncclGroupStart"};
    for (int peer = 0; peer < 4; ++peer) {
      exchange.push_back("ncclSend 2 ncclFloat32");
      exchange.push_back("ncclRecv 2 ncclFloat32");
    }
    exchange.push_back("ncclGroupEnd");
    std::vector<std::string> packed{"ncclAllGather 104 ncclFloat32"};
    packed.insert(packed.end(), exchange.begin(), exchange.end());
    CHECK(replayed(sw::nccl_bucket::packed) == packed);
    std::vector<std::string> grouped{"ncclGroupStart", "ncclAllGather 100 ncclFloat32", "ncclAllGather 4 ncclFloat32",
                                     "ncclGroupEnd"};
    grouped.insert(grouped.end(), exchange.begin(), exchange.end());
    CHECK(replayed(sw::nccl_bucket::grouped) == grouped);
  }

  TEST_CASE("a coalesced bucket is a group of calls without copies, however buckets are packed else") {
    sw::task_graph_builder b;
    b.add_group(everyone[0]);
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0), sw::bytes(4096)}, {ns(10), ns(110)}));
    b.add_task(small_tasks::work("a", 5));
    b.add_task(small_tasks::gather("g0", 30, {0}, 400));
    b.add_task(small_tasks::gather("g1", 40, {0}, 16));
    b.add_task(small_tasks::wait_for("w0", 1));
    b.add_task(small_tasks::wait_for("w1", 2));
    const sw::task_graph g = std::move(b).build();
    sw::schedule s{.order = {0, 1, 2, 4, 3}, .buckets = {sw::make_bucket(g, {2, 1})}};
    s.buckets[0].coalesced = true;
    for (const sw::nccl_bucket kind : {sw::nccl_bucket::packed, sw::nccl_bucket::grouped}) {
      const nothing_left after;
      auto options = small_options();
      options.buckets = kind;
      const auto words = on_ranks(4, options, [&](sw::nccl_engine& engine) {
        for (int again = 0; again < 2; ++again)
          if (sw::replay(g, s, engine).packing != ns(0)) sw::refuse(sw::error_category::input, "there were copies");
        if (engine.checked() != 4) sw::refuse(sw::error_category::input, "not all was checked");
      });
      CHECK(words == std::vector<std::string>(4));
      const auto all = fake_gpu::calls(2);
      CHECK(std::count(all.begin(), all.end(), "cudaMemcpy2DAsync") == 0);
      const std::vector<std::string> group{"ncclGroupStart", "ncclAllGather 8 ncclFloat16",
                                           "ncclAllGather 200 ncclFloat16", "ncclGroupEnd"};
      const auto called = nccl_calls(2);
      CHECK(std::search(called.begin(), called.end(), group.begin(), group.end()) != called.end());
    }
  }

  TEST_CASE("an engine that could not be made says nothing at its meeting any more") {
    const nothing_left after;
    sw::rank_meeting meeting = sw::meet_alone();
    bool is_heard = false;
    meeting.listen = [&, listen = meeting.listen](sw::rank_meeting::state_on_channel mine) {
      is_heard = mine != nullptr;
      listen(std::move(mine));
    };
    fake_gpu::fail_next("ncclCommInitRankConfig", ncclSystemError);
    CHECK_THROWS_WITH_AS(sw::nccl_engine(meeting, small_options()),
                         "ncclCommInitRankConfig: unhandled system error (said by the double)", sw::error);
    CHECK(!is_heard);
    const auto answers = meeting.ask(0, std::chrono::nanoseconds(0), [] {});
    REQUIRE(answers.size() == 1);
    CHECK(answers[0]->waits_task == -1);
    {
      const sw::nccl_engine engine(meeting, small_options());
      CHECK(is_heard);
    }
    CHECK(!is_heard);
  }

  TEST_CASE("every kind, reduction and type arrives as it must") {
    const nothing_left after;
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      engine.connect(everyone);
      std::vector<sw::collective_call> calls;
      for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter,
                                      sw::collective::all_reduce, sw::collective::all_to_all, sw::collective::shift})
        for (const char* dtype : {"u8", "bf16", "i32", "i64", "f32", "f64"})
          for (const char* reduce : {"sum", "max", "min"})
            for (const std::int64_t size : {0, 8, 256}) {
              calls.push_back(call_of(op, size, dtype));
              calls.back().reduce = reduce;
            }
      for (const sw::collective_call& call : calls) engine.start(call);
      engine.finish();
      if (engine.checked() != calls.size()) sw::refuse(sw::error_category::input, "not all was checked");
    });
    CHECK(words == std::vector<std::string>(4));
  }

  TEST_CASE("a wrong value names the collective, the group, the task, the rank and the element") {
    const nothing_left after;
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      engine.connect(everyone);
      if (engine.rank() == 1) fake_gpu::corrupt_next(1);
      engine.wait(engine.start(call_of(sw::collective::all_reduce, 64, "i32")));
      engine.finish();
    });
    CHECK(words[1].starts_with("all_reduce of task 1 on group 5 (dp), task 1: rank 1 holds "));
    CHECK(words[1].find(" at element 0, expected ") != std::string::npos);
    for (const std::size_t right : {0U, 2U, 3U}) CHECK(words[right].empty());
  }

  TEST_CASE("a rank that does not come is named by all others, in time, and nothing is left under way") {
    const nothing_left after;
    const auto begin = std::chrono::steady_clock::now();
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine, const std::atomic<int>& ended) {
      engine.connect(everyone);
      engine.wait(engine.start(call_of(sw::collective::all_gather, 64)));
      engine.finish();
      if (engine.rank() == 2) {  // hangs somewhere else, and answers nobody
        while (ended < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      engine.set_timeout(3);
      engine.wait(engine.start(call_of(sw::collective::all_gather, 128)));
      engine.finish();
    });
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
    for (const std::size_t r : {0U, 1U, 3U})
      CHECK(words[r] ==
            "all_gather of task 1 on group 5 (dp) of ranks 0, 1, 2, 3 is not done after 3 s: rank 2 does not answer");
    CHECK(words[2].empty());
    const auto called = fake_gpu::calls(0);
    CHECK(std::count(called.begin(), called.end(), "ncclCommAbort") == 2);  // of the group, and of all ranks
  }

  TEST_CASE("a rank whose device is busy elsewhere is told apart from one that is gone") {
    const nothing_left after;
    const std::vector<sw::process_group> groups{{.id = 5, .name = "dp", .size = 4},
                                                {.id = 6, .name = "tp", .size = 2, .stride = 1}};
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      engine.connect(groups);
      engine.set_timeout(3);
      // rank 3 waits for its neighbour on the other channel, which never starts that
      if (engine.rank() == 3)
        engine.wait(engine.start({7, 1, sw::collective::all_reduce, "f32", "sum", sw::bytes(4), sw::bytes(4), {}, {}}));
      engine.wait(engine.start(call_of(sw::collective::all_gather, 64)));
      engine.finish();
    });
    CHECK(words[0] ==
          "all_gather of task 1 on group 5 (dp) of ranks 0, 1, 2, 3 is not done after 3 s: rank 3 has not started "
          "it, it waits for task 7 on group 6 (tp)");
    CHECK(words[1] == words[0]);
    CHECK(words[2] == words[0]);
    CHECK(words[3] ==
          "all_reduce of task 7 on group 6 (tp) of ranks 2, 3 is not done after 3 s: rank 2 has not "
          "started it, it waits for task 1 on group 5 (dp)");
  }

  TEST_CASE("a device that hangs, and one that reports an error, end the run with what is known") {
    SUBCASE("it hangs") {
      const nothing_left after;
      const auto words = on_ranks(1, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect({});
        engine.set_timeout(1);
        fake_gpu::hang(0);
        engine.run({.task = 4, .duration = ns(10'000)});
        engine.finish();
      });
      CHECK(words[0] == "nothing was done on the device of rank 0 for 1 s, it is at task 4");
    }
    SUBCASE("an error comes out of an event") {
      const nothing_left after;
      const auto words = on_ranks(1, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect({});
        engine.run({.task = 4, .duration = ns(10'000)});
        fake_gpu::fail_next("cudaEventQuery", 700);
        engine.finish();
      });
      CHECK(words[0] == "cudaEventQuery: an illegal memory access was encountered");
    }
    SUBCASE("a peer is lost") {
      const nothing_left after;
      const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect(std::vector<sw::process_group>{{.id = 1, .name = "all", .size = 2}});
        if (engine.rank() == 1) return;
        fake_gpu::lose_peer(0);
        engine.wait(engine.start(call_of(sw::collective::all_reduce, 64)));
        engine.finish();
      });
      CHECK(words[0].starts_with("all_reduce of task 1 on group 1 (all)"));
      CHECK(words[0].find("remote process exited or there was a network error (said by the double)") !=
            std::string::npos);
    }
  }

  TEST_CASE("what the runtime or NCCL refuses is told with the name of the call") {
    const auto words_of = [](const std::string& call, int code) {
      const nothing_left after;
      return on_ranks(1, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect(std::vector<sw::process_group>{{.id = 1, .name = "one", .size = 1}});
        fake_gpu::fail_next(call, code);
        engine.run({.duration = ns(10'000)});
        const sw::bucket_part parts[] = {{1, sw::bytes(8)}, {2, sw::bytes(8)}};
        const sw::collective_call bucket{
            1, 0, sw::collective::all_reduce, "f32", "sum", sw::bytes(16), sw::bytes(16), {}, parts};
        engine.run({1, ns(0), sw::compute_work::pack, &bucket});
        engine.start(bucket);
        engine.start(call_of(sw::collective::all_to_all, 8));
        engine.start(call_of(sw::collective::all_gather, 4096));
        engine.finish();
      })[0];
    };
    CHECK(words_of("cudaMalloc", cudaErrorMemoryAllocation) == "cudaMalloc of 16 bytes: out of memory");
    CHECK(words_of("cudaMemcpyAsync", cudaErrorInvalidValue) == "cudaMemcpyAsync: invalid argument");
    CHECK(words_of("cudaMemcpy2DAsync", cudaErrorInvalidValue) == "cudaMemcpy2DAsync: invalid argument");
    CHECK(words_of("ncclAllReduce", ncclSystemError) == "ncclAllReduce: unhandled system error (said by the double)");
    CHECK(words_of("ncclSend", ncclInvalidArgument) == "ncclSend and ncclRecv: invalid argument (said by the double)");
    CHECK(words_of("ncclNothing", 1).empty());
  }

  TEST_CASE("ranks that do not meet say who is missing, and ranks with other groups are refused") {
    SUBCASE("one never comes") {
      const nothing_left after;
      const temporary_folder folder;
      auto options = small_options();
      options.timeout_seconds = 1;
      CHECK_THROWS_WITH_AS(sw::nccl_engine(sw::meet_in_folder(folder / "run", 0, 2), options),
                           "ncclCommInitRankConfig is not done after 1 s: rank 1 does not answer", sw::error);
    }
    SUBCASE("one is late for a replay") {
      const nothing_left after;
      const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine, const std::atomic<int>& ended) {
        if (engine.rank() == 1) {
          while (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        engine.set_timeout(1);
        engine.connect({});
      });
      CHECK(words[0] == "the ranks do not meet before a replay: rank 1 does not answer");
    }
    SUBCASE("other groups") {
      const nothing_left after;
      const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect(std::vector<sw::process_group>(engine.rank() == 0 ? 1 : 2, {.size = 2}));
      });
      CHECK(words == std::vector<std::string>(2, "the ranks of this run were given different process groups"));
    }
    SUBCASE("other launches") {
      const nothing_left after;
      sw::task_graph_builder b;
      b.add_group({.id = 5, .name = "dp", .size = 2});
      b.add_task(small_tasks::work("a", 10));
      b.add_task(small_tasks::gather("g", 30, {0}, 4096));
      b.add_task(small_tasks::gather("h", 30, {0}, 8192));
      for (const sw::task_index c : {1U, 2U}) b.add_task(small_tasks::wait_for("w", c));
      const sw::task_graph g = std::move(b).build();
      const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
        sw::schedule s{.order = {0, 1, 2, 3, 4}};
        if (engine.rank() == 1) std::swap(s.order[1], s.order[2]);
        static_cast<void>(sw::replay(g, s, engine));
      });
      CHECK(words[0].starts_with("rank 1 is about to launch other collectives on group 5 (dp)"));
      CHECK(words[1] == words[0]);
    }
    SUBCASE("groups that do not divide the run") {
      const nothing_left after;
      const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
        engine.connect(std::vector<sw::process_group>{{.id = 0, .name = "odd", .size = 3}});
      });
      CHECK(words == std::vector<std::string>(
                         4, "group 0 (odd) has 3 ranks, 1 apart, which does not divide the 4 ranks of this run"));
    }
    SUBCASE("no device") {
      const nothing_left after({.devices = 0});
      CHECK(sw::no_device_because() == "cudaGetDeviceCount: there is no device");
      CHECK_THROWS_WITH_AS(sw::nccl_engine(), "rank 0 cannot work on device -1, this process sees 0", sw::error);
      fake_gpu::fail_next("cudaGetDeviceCount", cudaErrorInsufficientDriver);
      CHECK_THROWS_WITH_AS(sw::nccl_engine(),
                           "cudaGetDeviceCount: CUDA driver version is insufficient for CUDA runtime version",
                           sw::error);
    }
  }

  TEST_CASE("the host is never far ahead of the device, however long a schedule is") {
    const nothing_left after;
    auto options = small_options();
    options.largest_copy = sw::kibibytes(1);
    const auto words = on_ranks(2, options, [&](sw::nccl_engine& engine) {
      engine.connect(std::vector<sw::process_group>{{.size = 2}});
      for (int i = 0; i < 300; ++i) {
        engine.run({.duration = ns(1000)});
        engine.wait(engine.start(call_of(sw::collective::all_reduce, 64)));
      }
      engine.run({.duration = ns(1'000'000)});  // a thousand copies
      engine.finish();
      if (engine.checked() != 300) sw::refuse(sw::error_category::input, "not all was checked");
    });
    CHECK(words == std::vector<std::string>(2));
  }
}

TEST_SUITE("nccl_handles, nccl_copy_work, nccl_launch, nccl_communicator, on the double") {
  TEST_CASE("a rank works on the device that it asks for, or on that of its number; codes become errors") {
    const nothing_left after({.devices = 3});
    CHECK(sw::use_device(7, -1) == 1);
    CHECK(sw::use_device(7, 2) == 2);
    CHECK_THROWS_WITH_AS(sw::use_device(7, 3), "rank 7 cannot work on device 3, this process sees 3", sw::error);
    CHECK_NOTHROW(sw::check_cuda(cudaSuccess, "one"));
    CHECK_THROWS_WITH_AS(sw::check_cuda(cudaErrorInvalidValue, "one"), "one: invalid argument", sw::error);
    CHECK_NOTHROW(sw::check_nccl(ncclSuccess, "one"));
    CHECK_THROWS_WITH_AS(sw::check_nccl(ncclInvalidArgument, "one"), "one: invalid argument (said by the double)",
                         sw::error);
  }

  TEST_CASE("a handle has one owner, which lets it go") {
    const nothing_left after;
    sw::use_device(0, 0);
    sw::device_event first = sw::make_event(), second;
    const cudaEvent_t made = first.get();
    second = std::move(first);
    CHECK(second.get() == made);
    const sw::device_event third(std::move(second));
    CHECK(third.get() == made);
    CHECK(fake_gpu::alive() == after.before + 1);
    CHECK(sw::make_device_memory(24).size() == 24);
    CHECK(sw::make_pinned_memory(24).data() != nullptr);
    CHECK(fake_gpu::alive() == after.before + 1);
  }

  TEST_CASE("copies take what was asked for, in as few pieces as the largest one allows") {
    const nothing_left after;
    sw::use_device(0, 0);
    const sw::device_stream stream = sw::make_stream();
    const sw::nccl_copy_work work(stream.get(), sw::bytes(50'001));  // 1 us for the first byte, 1 us for the others
    CHECK(work.floor() == ns(1000));
    CHECK(work.dram_bytes_per_ns() == doctest::Approx(100));
    for (const auto& [duration, copies, size] : {std::tuple{-5, 0, 0},
                                                 {0, 0, 0},
                                                 {499, 0, 0},
                                                 {500, 1, 1},
                                                 {1000, 1, 1},
                                                 {1500, 1, 25'001},
                                                 {2000, 1, 50'001},
                                                 {2001, 2, 26},
                                                 {6000, 3, 50'001}}) {
      CHECK(work.copies(ns(duration)) == copies);
      CHECK(work.size(ns(duration)) == sw::bytes(size));
    }
    const sw::device_event begin = sw::make_event(), end = sw::make_event();
    sw::detail::record(begin.get(), stream.get());
    work.enqueue(stream.get(), ns(5200));
    sw::detail::record(end.get(), stream.get());
    while (!sw::is_reached(end.get())) std::this_thread::yield();
    CHECK(std::abs(sw::elapsed(begin.get(), end.get()).count() - 5200) <= 3);  // whole nanoseconds of each
  }

  TEST_CASE("types and reductions are those that NCCL has, 16 bits as floats") {
    const nothing_left after;
    CHECK(sw::device_element_of("bf16") == sw::element_type::f16);
    CHECK(sw::device_element_of("i32") == sw::element_type::u32);
    for (const auto& [dtype, type] : {std::pair{"u8", ncclUint8},
                                      {"f16", ncclFloat16},
                                      {"i32", ncclUint32},
                                      {"i64", ncclUint64},
                                      {"f32", ncclFloat32},
                                      {"f64", ncclFloat64}})
      CHECK(sw::nccl_type_of(sw::device_element_of(dtype)) == type);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::sum) == ncclSum);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::max) == ncclMax);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::min) == ncclMin);
  }

  TEST_CASE("a communicator is made and split while its rank waits, carries launches, and is let go once") {
    bool splits_in_silence = false;
    SUBCASE("a split says that it is under way") {}
    SUBCASE("a split says that it is done before it is, as with NCCL 2.28") { splits_in_silence = true; }
    const nothing_left after({.polls = 3, .splits_in_silence = splits_in_silence});
    sw::use_device(0, 0);
    std::vector<std::string> waited;
    const sw::nccl_waiting waiting = [&](std::string_view call, auto) { waited.emplace_back(call); };
    sw::nccl_communicator all = sw::nccl_communicator::create(sw::meet_alone(), waiting);
    const sw::nccl_communicator part = all.split(0, 0, 1, waiting);
    CHECK(std::count(waited.begin(), waited.end(), "ncclCommInitRankConfig") >= 1);
    CHECK(std::count(waited.begin(), waited.end(), "ncclCommSplit") >= 1);
    CHECK(part.size() == 1);
    const sw::device_stream stream = sw::make_stream();
    const sw::device_memory sent = sw::make_device_memory(16), received = sw::make_device_memory(16);
    const sw::nccl_piece pieces[] = {{sent.data(), received.data(), 1}, {sent.data() + 4, received.data() + 4, 3}};
    const auto launch = [&](sw::collective kind, std::size_t count) {
      part.settle(sw::launch_on(part, stream.get(), kind, sw::element_type::u32, sw::reduce_op::max,
                                std::span(pieces).first(count)),
                  sw::nccl_call_of(kind), waiting);
    };
    const std::size_t from = nccl_calls(0).size();
    launch(sw::collective::all_gather, 1);
    launch(sw::collective::reduce_scatter, 2);
    launch(sw::collective::all_reduce, 1);
    launch(sw::collective::all_to_all, 1);
    launch(sw::collective::shift, 1);
    std::vector<std::string> calls = nccl_calls(0);
    calls.erase(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(from));
    CHECK(calls ==
          std::vector<std::string>{"ncclAllGather 1 ncclUint32", "ncclGroupStart", "ncclReduceScatter 1 ncclUint32",
                                   "ncclReduceScatter 3 ncclUint32", "ncclGroupEnd", "ncclAllReduce 1 ncclUint32",
                                   "ncclGroupStart", "ncclSend 1 ncclUint32", "ncclRecv 1 ncclUint32", "ncclGroupEnd",
                                   "ncclGroupStart", "ncclSend 1 ncclUint32", "ncclRecv 1 ncclUint32", "ncclGroupEnd"});
    fake_gpu::fail_next("ncclReduceScatter", ncclSystemError);
    CHECK_THROWS_WITH_AS(launch(sw::collective::reduce_scatter, 2),
                         "ncclReduceScatter: unhandled system error (said by the double)", sw::error);
    CHECK(nccl_calls(0).back() == "ncclGroupEnd");  // what was refused leaves no group open
    sw::nccl_communicator moved = std::move(all);
    CHECK(static_cast<bool>(moved));
    moved.abort();
    CHECK(!moved);
    moved.abort();
  }
}

TEST_SUITE("calibrate_nccl, on the double") {
  TEST_CASE("it finds what the double takes: curves of every kind on pairs and on everyone, and copies") {
    const nothing_left after({.copy_ns = 100});
    std::vector<sw::machine_calibration> found(4);
    const auto words = on_ranks(4, small_options(), [&](sw::nccl_engine& engine) {
      found[static_cast<std::size_t>(engine.rank())] =
          sw::calibrate_nccl(engine, {.largest = sw::kibibytes(64), .factor = 8, .repetitions = 1, .warm_up = 0}, 2);
    });
    CHECK(words == std::vector<std::string>(4));
    for (const sw::machine_calibration& one : found) {
      CHECK(one.device.collectives == found[0].device.collectives);
      CHECK(one.dram_bytes_per_ns == doctest::Approx(100).epsilon(1e-4));  // the double counts whole nanoseconds
      CHECK(one.device.collectives.size() == 24);                          // 4 kinds, 3 sizes, 2 groups
      for (const sw::collective_measurement& m : one.device.collectives) {
        CHECK(m.group.ranks_per_node == 2);
        CHECK(m.group.nodes == m.group.ranks() / 2);
        CHECK(m.time_us == doctest::Approx(10 + static_cast<double>(m.size.count()) / 1e5).epsilon(1e-3));
      }
      // the double's copies and collectives do not disturb each other
      CHECK(one.device.under_load->compute_factor == doctest::Approx(1).epsilon(1e-3));
      CHECK(one.device.under_load->collective_factor == doctest::Approx(1).epsilon(1e-3));
    }
    CHECK(found[0].device.name == "4 devices of compute capability 9.0");
  }
}

TEST_SUITE("nccl_estimator") {
  TEST_CASE("NCCL is asked for one collective at a time, once, and for what it knows") {
    const nothing_left after;
    const temporary_folder folder;
    std::vector<std::string> faults(4);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 4; ++r)
      ranks.emplace_back([&, r] {
        std::string& fault = faults[static_cast<std::size_t>(r)];
        try {
          sw::check_cuda(cudaSetDevice(r), "cudaSetDevice");
          const sw::nccl_estimator model(sw::meet_in_folder(folder / "run", r, 4), {.ranks_per_node = 4}, constant{},
                                         sw::mebibytes(1));
          const auto us = [&](sw::collective kind, std::int64_t size, std::int64_t n = 4) {
            return model.estimate(kind, sw::bytes(size), {.ranks_per_node = n}).time_us;
          };
          const auto near = [&](double found, double expected) {
            if (std::abs(found - expected) > 1e-3) fault += std::to_string(found) + " ";
          };
          for (int again = 0; again < 2; ++again)
            for (const auto kind :
                 {sw::collective::all_gather, sw::collective::reduce_scatter, sw::collective::all_reduce})
              near(us(kind, 400'000), 14);
          near(us(sw::collective::all_to_all, 400'000), 7);     // no estimate
          near(us(sw::collective::all_reduce, 400'000, 2), 7);  // another group
          near(us(sw::collective::all_reduce, 1 << 21), 7);     // larger than the memory
        } catch (const std::exception& e) {
          fault = e.what();
        }
      });
    for (std::thread& rank : ranks) rank.join();
    CHECK(faults == std::vector<std::string>(4));
    const auto called = fake_gpu::calls(3);
    CHECK(std::count(called.begin(), called.end(), "ncclGroupSimulateEnd") == 3);
    CHECK(std::count(called.begin(), called.end(), "ncclGroupEnd") == 0);
  }

  TEST_CASE("a question that NCCL refused is asked again") {
    const nothing_left after;
    const temporary_folder folder;
    fake_gpu::fail_next("ncclAllReduce", ncclSystemError);
    std::atomic<int> refused = 0;
    std::vector<std::string> faults(2);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.emplace_back([&, r] {
        try {
          sw::check_cuda(cudaSetDevice(r), "cudaSetDevice");
          const sw::nccl_estimator model(sw::meet_in_folder(folder / "run", r, 2), {.ranks_per_node = 2}, constant{},
                                         sw::mebibytes(1));
          const auto ask = [&] {
            return model.estimate(sw::collective::all_reduce, sw::bytes(400'000), {.ranks_per_node = 2}).time_us;
          };
          double us = 0;
          try {
            us = ask();
          } catch (const sw::error&) {
            ++refused;
            us = ask();
          }
          if (std::abs(us - 14) > 1e-3) faults[static_cast<std::size_t>(r)] = std::to_string(us);
        } catch (const std::exception& e) {
          faults[static_cast<std::size_t>(r)] = e.what();
        }
      });
    for (std::thread& rank : ranks) rank.join();
    CHECK(refused == 1);
    CHECK(faults == std::vector<std::string>(2));
  }

  TEST_CASE("a group that is not the communicator's, and what NCCL refuses, are errors") {
    const nothing_left after;
    sw::check_cuda(cudaSetDevice(0), "cudaSetDevice");
    CHECK_THROWS_WITH_AS(sw::nccl_estimator(sw::meet_alone(), {.ranks_per_node = 2}, constant{}, sw::kibibytes(1)),
                         "estimates for a group of 2 ranks were asked for on a communicator of 1", sw::error);
  }
}

TEST_SUITE("meet_in_folder") {
  TEST_CASE("a folder of another run and a rank that is none are refused") {
    const temporary_folder folder;
    const auto mine = sw::meet_in_folder(folder.path(), 0, 1);
    CHECK_THROWS_WITH_AS(
        sw::meet_in_folder(folder.path(), 0, 1),
        ("folder " + folder.path().string() + " has seen rank 0 already, expected a folder that no other run has used")
            .c_str(),
        sw::error);
    CHECK_THROWS_AS(sw::meet_in_folder(folder.path(), 1, 1), sw::error);
    CHECK_THROWS_AS(sw::meet_in_folder(folder.path(), -1, 1), sw::error);
    const auto late = sw::meet_in_folder(folder / "other", 1, 2, 0.02);
    std::byte word[1] = {};
    CHECK_THROWS_WITH_AS(late.share(word),
                         ("rank 0 has not come to folder " + (folder / "other").string() + " after 0.02 s").c_str(),
                         sw::error);
  }
}

}  // namespace nccl_double_tests

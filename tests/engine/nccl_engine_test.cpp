// What only the double can show: exact times, the order of calls, and whatever goes wrong.
#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include "random_schedule.hpp"
#include "rank_groups.hpp"
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace nccl_engine_tests {
namespace {
using nccl_tests::nccl_calls;
using nccl_tests::nothing_left;
using nccl_tests::on_ranks;
using nccl_tests::small_options;

const std::vector<sw::process_group> everyone{{.id = 5, .name = "dp", .size = 4}};

sw::collective_call call_of(sw::collective op, std::int64_t size, const char* dtype = "f32",
                            std::uint32_t channel = 0) {
  return {1, channel, op, dtype, "sum", sw::bytes(size), sw::bytes(size), {}, {}};
}
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

}  // namespace nccl_engine_tests

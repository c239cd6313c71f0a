#include "mpi_ranks.hpp"
#include "random_schedule.hpp"
#include "rank_groups.hpp"
#include <shardweave/engine/mpi_calibration.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <mpi.h>
#include <support/scale.hpp>
#include <support/skipped.hpp>
#include <support/small_tasks.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace mpi_engine_tests {
namespace {
using mpi_tests::check_ranks;
using mpi_tests::fail;
using mpi_tests::has_mpirun;
using mpi_tests::mpi_run;
using mpi_tests::one_rank;
using mpi_tests::processes_with;
using mpi_tests::right;
using mpi_tests::run_command;
using mpi_tests::run_ranks;
using mpi_tests::same;
using mpi_tests::words_of;

std::size_t number_from(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

/// Sends rank 2 a signal in the middle of a run, which then ends in time with these words and leaves no process behind.
template <class Run>
void check_end(Run run, const std::string& name, int signal, double seconds, std::initializer_list<const char*> words) {
  const std::string mark = "SHARDWEAVE_TEST_RUN=" + name + std::to_string(getpid());
  mpi_run ended = run("a rank goes", mark + " SHARDWEAVE_MPI_SIGNAL=" + std::to_string(signal));
  std::ranges::replace(ended.out, '\n', ' ');  // versions of MPI break its lines elsewhere
  CAPTURE(ended.out);
  CHECK(ended.status != 0);
  CHECK(ended.seconds < seconds);
  for (const char* word : words) CHECK(ended.out.find(word) != std::string::npos);
  CHECK(processes_with(mark) == 0);
}

/// One launch and its wait on everyone.
sw::task_graph one_gather() {
  sw::task_graph_builder b;
  b.add_group({.id = 5, .name = "dp", .size = 4});
  b.add_task(small_tasks::work("a", 1000));
  b.add_task(small_tasks::gather("g", 30, {0}, 4096));
  b.add_task(small_tasks::wait_for("w", 1));
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("mpi_engine") {
  TEST_CASE("operations are numbered, take their time, come after what they wait for, and are checked once") {
    check_ranks("an engine", "engine");
  }

  TEST_CASE("random schedules with buckets on three kinds of groups end, with right values on every rank") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("random schedules");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    CHECK(run.out.find("RIGHT ") != std::string::npos);
    if (std::getenv("SHARDWEAVE_MPI_SCHEDULES") != nullptr) MESSAGE(run.out);
  }

  TEST_CASE("two hosts replay as one does, on groups within them and between, and end with a rank of either") {
    if (!has_mpirun()) return;
    const auto run_on_two_hosts = [](const std::string& test_case, const std::string& environment) {
      return run_command("env ASAN_OPTIONS=detect_leaks=0 " + environment +
                         " " SHARDWEAVE_SOURCE_DIR "/tests/engine/two_hosts.sh" + one_rank(test_case));
    };
    const mpi_run run = run_on_two_hosts("two hosts", "");
    if (run.status == 77) {
      shardweave_test::skipped(run.out.substr(run.out.find(' ') + 1));  // "skipped: ..." and why
      return;
    }
    CAPTURE(run.out);
    CHECK(run.status == 0);
    CHECK(run.out.find("RIGHT 2 hosts of 2 ranks") != std::string::npos);
    CHECK(run.out.find("RIGHT 5 schedules") != std::string::npos);
    CHECK(run.out.find("RIGHT 8 curve points") != std::string::npos);

    check_end(run_on_two_hosts, "hosts", 9, 20, {"rank 2", "on node 10.213.7.2 exited on signal 9"});
  }

  TEST_CASE("a killed rank ends the run, which names it and leaves no process behind") {
    if (!has_mpirun()) return;
    check_end(run_ranks, "kill", 9, 20, {"rank 2", "exited on signal 9"});
  }

  TEST_CASE("a rank that hangs is named with the collective and the group, in time, and ends with the others") {
    if (!has_mpirun()) return;
    check_end(run_ranks, "stop", 19, 30,
              {"FAULT all_gather of task 1 on group 5 (dp) of ranks 0, 1, 2, 3 is not done after 0.5 s: "
               "rank 2 does not answer"});
  }

  TEST_CASE("a rank that is only late is told apart from one that is gone") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("a rank is late");
    CAPTURE(run.out);
    CHECK(run.status != 0);
    CHECK(run.seconds < 20);
    CHECK(run.out.find("FAULT all_gather of task 1 on group 5 (dp) of ranks 0, 1, 2, 3 is not done after 0.5 s: "
                       "rank 3 has not started it\n") != std::string::npos);
  }

  TEST_CASE("groups that do not divide the run are refused on every rank") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("a group of three");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    CHECK(run.out.find("RIGHT group 0 (odd) has 3 ranks, 1 apart, which does not divide the 4 ranks of this run") !=
          std::string::npos);
  }

  TEST_CASE("a rank that would launch other collectives is named by all before anything is launched") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("other launches");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    const std::string words =
        "RIGHT rank 2 is about to launch other collectives on group 5 (dp), or the same in another order, than rank 0";
    std::size_t times = 0;
    for (auto at = run.out.find(words); at != std::string::npos; at = run.out.find(words, at + 1)) ++times;
    CHECK(times == 4);
    CHECK(run.out.find("AGREED 2000") != std::string::npos);
  }
}

TEST_SUITE("mpi rank") {
  TEST_CASE("an engine" * doctest::skip()) {
    const sw::mpi_session session;
    const std::string limits = "the timeout, the time for answers and the slice of mpi_engine must be positive";
    for (const sw::mpi_engine_options& wrong : {sw::mpi_engine_options{.timeout_seconds = 0},
                                                {.timeout_seconds = -1},
                                                {.answer_seconds = 0},
                                                {.slice = sw::nanoseconds(0)}})
      same(words_of([&] { const sw::mpi_engine engine(MPI_COMM_WORLD, wrong); }), limits,
           "limits that are not positive");

    sw::mpi_engine engine;
    const std::vector<sw::process_group> groups{{.id = 0, .size = 2, .stride = 2}, {.id = 1, .size = 4}};
    engine.connect(groups);
    const std::size_t work = engine.run({0, sw::nanoseconds(50'000)});
    const sw::collective_call first{3,  0, sw::collective::all_reduce, "f32", "max", sw::bytes(64), sw::bytes(64),
                                    {}, {}};
    const sw::collective_call second{4,  0, sw::collective::all_to_all, "i8", "none", sw::bytes(64), sw::bytes(64),
                                     {}, {}};
    const sw::collective_call third{5,  1, sw::collective::reduce_scatter, "bf16", "sum", sw::bytes(64), sw::bytes(16),
                                    {}, {}};
    const std::size_t a = engine.start(first), b = engine.start(second), c = engine.start(third);
    const std::size_t waited = engine.wait(b);  // and so for the one before it on its channel
    engine.finish();
    same(std::vector{work, a, b, c, waited}, std::vector<std::size_t>{0, 1, 2, 3, 4}, "operations are numbered");
    same(engine.checked(), std::size_t{3}, "every collective is checked once");
    if (engine.span(work).length() < sw::nanoseconds(10'000)) fail("work took no time");
    if (engine.span(b).start < engine.span(a).end) fail("a channel did two collectives at a time");
    if (engine.span(waited).end < engine.span(b).end) fail("a wait ended before its collective");
    if (engine.now() < engine.span(c).end) fail("the clock goes back");
    engine.check(false);
    engine.connect(groups);
    engine.wait(engine.start(first));
    engine.finish();
    same(engine.checked(), std::size_t{3}, "nothing is checked where that is off");
    engine.check(true);
    const sw::bucket_part parts[] = {{7, sw::bytes(40)}, {8, sw::bytes(400)}, {9, sw::bytes(0)}};
    const sw::bytes all(440);
    const sw::collective_call members{7,     1,   sw::collective::reduce_scatter, "f32", "sum", all, sw::bytes(110), {},
                                      parts, true};
    engine.connect(groups);
    const std::size_t together = engine.start(members);
    engine.wait(together);
    engine.wait(together);
    engine.finish();
    same(engine.checked(), std::size_t{6}, "every member of a coalesced bucket is checked once, where it is");
    engine.connect(groups);  // two steps around rings of two and of four at the same time
    engine.start({10, 0, sw::collective::shift, "bf16", "none", sw::bytes(64), sw::bytes(64), {}, {}});
    engine.start({11, 1, sw::collective::shift, "f32", "none", sw::bytes(1 << 20), sw::bytes(1 << 20), {}, {}});
    engine.start({12, 1, sw::collective::shift, "f32", "none", sw::bytes(4), sw::bytes(4), {}, {}});
    engine.finish();
    same(engine.checked(), std::size_t{9}, "what came around a ring is checked");
    same(words_of([&] {
           engine.start({6, 1, sw::collective::other, "f32", "none", sw::bytes(4), sw::bytes(4), {}, {}});
         }),
         std::string(
             "task 6 is a collective of another kind, expected all_gather, reduce_scatter, all_reduce, all_to_all or "
             "shift"),
         "another operation");
    right(session, "engine");
  }

  void replay_random_schedules(const sw::mpi_session& session, std::size_t count) {
    sw::mpi_engine engine(MPI_COMM_WORLD, {.timeout_seconds = 60});
    std::size_t buckets = 0;
    try {
      for (std::size_t i = 0; i < count; ++i) {
        const sw::task_graph g = on_groups(random_tasks(i, {.blocks = 16, .groups = 3, .longest = 2000}));
        sw::random_source random(i + 1);
        const sw::schedule s = random_schedule(g, random);
        buckets += s.buckets.size();
        // every rank is late somewhere else
        sw::random_source own(1000 * i + static_cast<std::uint64_t>(session.rank()));
        std::vector<sw::nanoseconds> durations;
        for (sw::task_index t = 0; t < g.size(); ++t)
          durations.emplace_back(
              g.is_collective(t) ? 0 : static_cast<std::int64_t>(own.below(own.chance(0.1) ? 200'000 : 5'000)));
        const sw::timeline line = sw::replay(g.with_durations(durations), s, engine);
        if (line.end_to_end <= sw::nanoseconds(0)) fail("a replay took no time");
        const auto is_coalesced = [](const sw::bucket& b) { return b.coalesced; };
        if (line.packing > sw::nanoseconds(0) && std::all_of(s.buckets.begin(), s.buckets.end(), is_coalesced))
          fail("a coalesced bucket was packed");
      }
    } catch (const sw::error& e) {
      fail(e.what());
    }
    if (engine.checked() < count || buckets < count / 4)
      fail("too little was tried: " + std::to_string(engine.checked()) + " values, " + std::to_string(buckets) +
           " buckets");
    if (session.rank() == 0)
      std::printf("RIGHT %zu schedules, %zu buckets, %zu collectives on rank 0\n", count, buckets, engine.checked());
  }

  TEST_CASE("random schedules" * doctest::skip()) {
    const sw::mpi_session session;
    replay_random_schedules(session, number_from("SHARDWEAVE_MPI_SCHEDULES", shardweave_test::at_scale(30)));
  }

  TEST_CASE("two hosts" * doctest::skip()) {
    const sw::mpi_session session;
    char names[4][MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(names[session.rank()], &length);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_CHAR, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD);
    const std::string first = names[0], last = names[3];
    if (first == last || first != names[1] || last != names[2] || sw::ranks_on_node(MPI_COMM_WORLD) != 2)
      fail("these are not two hosts");
    right(session, "2 hosts of 2 ranks");
    replay_random_schedules(session, 5);
    try {
      const sw::mpi_calibration found =
          sw::calibrate_mpi(MPI_COMM_WORLD, {}, {.largest = sw::kibibytes(1), .repetitions = 1, .warm_up = 0});
      std::size_t between = 0;
      for (const sw::collective_measurement& m : found.device.collectives)
        if (m.group.ranks() == 4 && m.group.nodes == 2) ++between;
      if (between != 4) fail(std::to_string(between) + " points are between the hosts");
      if (session.rank() == 0) std::printf("RIGHT %zu curve points\n", found.device.collectives.size());
    } catch (const sw::error& e) {
      fail(e.what());
    }
  }

  TEST_CASE("a rank is late" * doctest::skip()) {
    sw::mpi_session session;
    sw::mpi_engine engine(MPI_COMM_WORLD, {.work = sw::host_work::time, .timeout_seconds = 0.5, .answer_seconds = 0.5});
    const sw::task_graph g = one_gather();
    try {
      engine.connect(g.groups());
      if (session.rank() == 3) engine.run({0, sw::nanoseconds(15'000'000'000)});
      const sw::collective_call call{
          1, 0, sw::collective::all_gather, "bf16", "none", sw::bytes(4096), sw::bytes(16384), {}, {}};
      engine.wait(engine.start(call));
    } catch (const sw::error& e) {
      fail(e.what());
    }
  }

  TEST_CASE("a group of three" * doctest::skip()) {
    sw::mpi_session session;
    sw::mpi_engine engine;
    const sw::process_group odd{.id = 0, .name = "odd", .size = 3};
    try {
      engine.connect(std::span(&odd, 1));
      fail("it was not refused");
    } catch (const sw::error& e) {
      std::printf("RIGHT %s\n", e.what());
    }
  }

  TEST_CASE("other launches" * doctest::skip()) {
    sw::mpi_session session;
    sw::mpi_engine engine;
    sw::task_graph_builder b;
    b.add_group({.id = 5, .name = "dp", .size = 4});
    b.add_task(small_tasks::work("a", 1000 * (session.rank() + 1)));
    b.add_task(small_tasks::gather("g", 30, {0}, 4096));
    b.add_task(small_tasks::gather("h", 30, {0}, 8192));
    b.add_task(small_tasks::wait_for("v", 1));
    b.add_task(small_tasks::wait_for("w", 2));
    const sw::task_graph g = std::move(b).build();
    sw::schedule s{.order = {0, 1, 2, 3, 4}};
    static_cast<void>(sw::replay(g, s, engine));  // all alike
    const sw::task_graph agreed = sw::agreed_durations(g, engine);
    if (session.rank() == 3) std::printf("AGREED %lld\n", static_cast<long long>(agreed.duration(0).count()));
    if (session.rank() == 2) std::swap(s.order[1], s.order[2]);
    try {
      static_cast<void>(sw::replay(g, s, engine));
      fail("it was not refused");
    } catch (const sw::error& e) {
      std::printf("RIGHT %s\n", e.what());
    }
  }

  TEST_CASE("a rank goes" * doctest::skip()) {
    sw::mpi_session session;
    sw::mpi_engine engine(MPI_COMM_WORLD, {.timeout_seconds = 0.5, .answer_seconds = 0.5});
    const sw::task_graph g = one_gather();
    try {
      for (int i = 0; i < 1000; ++i) {
        engine.connect(g.groups());
        if (i == 3 && session.rank() == 2) raise(static_cast<int>(number_from("SHARDWEAVE_MPI_SIGNAL", 9)));
        const sw::collective_call call{
            1, 0, sw::collective::all_gather, "bf16", "none", sw::bytes(4096), sw::bytes(16384), {}, {}};
        engine.wait(engine.start(call));
        engine.finish();
      }
    } catch (const sw::error& e) {
      fail(e.what());
    }
  }
}

}  // namespace mpi_engine_tests

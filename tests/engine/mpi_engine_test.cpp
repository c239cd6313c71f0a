#include "random_schedule.hpp"
#include "rank_groups.hpp"
#include <shardweave/engine/mpi_calibration.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/mpi_meeting.hpp>
#include <shardweave/engine/mpi_roll_call.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/mpi_settings.hpp>
#include <support/scale.hpp>
#include <support/skipped.hpp>
#include <support/small_tasks.hpp>
#include <support/temporary_folder.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sw = shardweave;

/// Tests in this file start this program again, four times under mpirun. What those processes do are the test cases of
/// the suite "mpi rank", which are skipped otherwise.
namespace mpi_engine_tests {
namespace {

struct mpi_run {
  int status = -1;
  std::string out = {};  // of all ranks, and of mpirun
  double seconds = 0;
};

bool has_mpirun() {
  if (std::system("command -v mpirun >/dev/null 2>&1") == 0) return true;
  shardweave_test::skipped("there is no mpirun here");
  return false;
}

/// This program, to run one test case of the suite "mpi rank".
std::string one_rank(const std::string& test_case) {
  static const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return " '" + self + "' --no-skip --test-suite='mpi rank' --test-case='" + test_case + "' 2>&1 </dev/null";
}

mpi_run run_command(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  mpi_run run;
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char text[4096];
  for (std::size_t n; (n = std::fread(text, 1, sizeof text, pipe)) > 0;) run.out.append(text, n);
  const int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

/// Four ranks run one test case of the suite "mpi rank". Where processes see each other's memory is not allowed, and
/// where there are fewer cores than ranks, MPI must be told.
mpi_run run_ranks(const std::string& test_case, const std::string& environment = "") {
  const temporary_folder shared;  // the memory that ranks share lies here: a killed rank does not remove it
  return run_command("env " + environment + mpi_settings() +
                     "OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_backing_directory=" + shared.path().string() +
                     " timeout -k 5 100 mpirun -np 4" + one_rank(test_case));
}

/// How many processes have this text in their environment.
int processes_with(const std::string& text) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (all.find(text) != std::string::npos) ++count;
  }
  return count;
}

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

/// Says what went wrong, as a program does, and ends all ranks.
[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "FAULT %s\n", what.c_str());
  std::fflush(stderr);
  sw::mpi_session::abort(7);
}
}  // namespace

TEST_SUITE("mpi_engine") {
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
}

TEST_SUITE("mpi_engine") {
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
}

TEST_SUITE("mpi_engine") {
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

TEST_SUITE("mpi_calibration") {
  TEST_CASE("it measures every collective on pairs and on everyone, alike on all ranks") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("calibration");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    CHECK(run.out.find("RIGHT 16 curve points") != std::string::npos);
  }
}

TEST_SUITE("mpi_session, mpi_roll_call, mpi_meeting") {
  TEST_CASE("sessions, communicators, roll calls and meetings do what they say on four ranks") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("pieces");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    for (const char* part :
         {"RIGHT session", "RIGHT communicators", "RIGHT roll call", "RIGHT meeting", "RIGHT refusals", "RIGHT engine"})
      CHECK(run.out.find(part) != std::string::npos);
  }

  TEST_CASE("leaving a session by an exception ends all ranks instead of waiting for them") {
    if (!has_mpirun()) return;
    const std::string mark = "SHARDWEAVE_TEST_RUN=leave" + std::to_string(getpid());
    const mpi_run run = run_ranks("an exception", mark);
    CAPTURE(run.out);
    CHECK(run.status != 0);
    CHECK(run.seconds < 20);
    CHECK(run.out.find("a session was left and its run goes on") == std::string::npos);
    CHECK(processes_with(mark) == 0);
  }
}

TEST_SUITE("mpi rank") {
  /// A fault unless both are the same.
  template <class T, class U>
  void same(const T& found, const U& expected, const char* what) {
    if (!(found == expected)) fail(what);
  }
  void right(const sw::mpi_session& session, const char* part) {
    if (session.rank() == 0) std::printf("RIGHT %s\n", part);
  }
  /// Answers until every rank is here.
  template <class Answer>
  void meet(Answer answer) {
    MPI_Request request = MPI_REQUEST_NULL;
    sw::check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    for (int done = 0; done == 0;) {
      answer();
      sw::check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
  }
  template <class Call>
  std::string words_of(Call call) {
    try {
      call();
    } catch (const sw::error& e) {
      return e.what();
    }
    return {};
  }

  TEST_CASE("pieces" * doctest::skip()) {
    sw::mpi_session session;
    {
      same(session.size(), 4, "the size of the session");
      const sw::mpi_session inner;  // within another one it neither starts nor ends MPI
      same(inner.rank(), session.rank(), "the rank of an inner session");
    }
    same(words_of([] { sw::check_mpi(MPI_SUCCESS, "MPI_Nothing"); }), std::string(), "success is no error");
    if (!words_of([] { sw::check_mpi(MPI_ERR_COMM, "MPI_Nothing"); }).starts_with("MPI_Nothing: MPI_ERR_COMM"))
      fail("an error names its call");
    right(session, "session");

    {
      sw::mpi_communicator all = sw::mpi_communicator::duplicate(MPI_COMM_WORLD);
      same(all.rank(), session.rank(), "the rank in a duplicate");
      sw::mpi_communicator half = sw::mpi_communicator::split(all.get(), session.rank() % 2);
      same(half.size(), 2, "the size of a half");
      same(half.rank(), session.rank() / 2, "the order in a half");
      int sum = 0;
      const int mine = session.rank();
      sw::check_mpi(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, half.get()), "MPI_Allreduce");
      same(sum, session.rank() % 2 == 0 ? 2 : 4, "who is in a half");
      const sw::mpi_communicator moved = std::move(half);
      same(moved.size(), 2, "the size of what was moved");
      // what MPI refuses is returned, not fatal
      const std::string words =
          words_of([&] { sw::check_mpi(MPI_Bcast(nullptr, 1, MPI_INT, 17, moved.get()), "MPI_Bcast"); });
      if (!words.starts_with("MPI_Bcast: MPI_ERR_")) fail("a wrong root is not refused: " + words);
      sw::mpi_communicator kept = sw::mpi_communicator::duplicate(MPI_COMM_WORLD);
      kept.leak();
      same(kept.get(), MPI_COMM_NULL, "what was let go");
    }
    right(session, "communicators");

    {
      sw::mpi_roll_call calls(MPI_COMM_WORLD, [&](std::int64_t channel) {
        return sw::rank_state{10 * channel + session.rank(), session.rank() == 2 ? 77 : -1, session.rank()};
      });
      calls.answer();  // nobody asked
      if (session.rank() == 1) {
        const auto states = calls.ask(4, std::chrono::seconds(20), [] {});
        same(states.size(), std::size_t{4}, "a state for each rank");
        for (std::int64_t r = 0; r < 4; ++r) {
          const auto& state = states[static_cast<std::size_t>(r)];
          if (!state) fail("a rank did not answer");
          same(state->started, 40 + r, "what a rank has started");
          same(state->waits_task, r == 2 ? 77 : -1, "for what a rank waits");
          same(state->waits_channel, r, "on which channel a rank waits");
        }
      }
      meet([&] { calls.answer(); });
      calls.give_up();  // the run counts as failed on all ranks
    }
    right(session, "roll call");

    {
      const sw::rank_meeting meeting = sw::meet_over_mpi();
      same(meeting.rank, session.rank(), "the rank at a meeting");
      same(meeting.size, 4, "the size of a meeting");
      int word = 10 + session.rank();
      meeting.share(std::as_writable_bytes(std::span(&word, 1)));
      same(word, 10, "what rank 0 shares");
      if (session.rank() != 3)  // who does not listen yet has not started anything
        meeting.listen([&](std::int64_t channel) { return sw::rank_state{channel, session.rank(), -1}; });
      for (int asking = 0; asking < 4; ++asking) {  // by turns: several ranks may ask
        if (session.rank() == asking) {
          const auto states = meeting.ask(7, std::chrono::seconds(20), [] {});
          same(states.size(), std::size_t{4}, "an answer for each rank");
          for (int r = 0; r < 4; ++r) {
            const auto& state = states[static_cast<std::size_t>(r)];
            if (!state) fail("a rank did not answer at a meeting");
            same(state->started, r == 3 ? 0 : 7, "what a rank of a meeting has started");
            same(state->waits_task, r == 3 ? -1 : r, "for what a rank of a meeting waits");
          }
        }
        meet(meeting.answer);
      }
      meeting.listen({});
    }
    right(session, "meeting");

    const std::string limits = "the timeout, the time for answers and the slice of mpi_engine must be positive";
    for (const sw::mpi_engine_options& wrong : {sw::mpi_engine_options{.timeout_seconds = 0},
                                                {.timeout_seconds = -1},
                                                {.answer_seconds = 0},
                                                {.slice = sw::nanoseconds(0)}})
      same(words_of([&] { const sw::mpi_engine engine(MPI_COMM_WORLD, wrong); }), limits,
           "limits that are not positive");
    const auto calibrated = [](const sw::mpi_calibration_options& options) {
      return words_of([&] { static_cast<void>(sw::calibrate_mpi(MPI_COMM_WORLD, {}, options)); });
    };
    const std::string rest =
        " repetitions, expected a size that is positive, a factor of 2 or more and one repetition or more";
    same(calibrated({.factor = 1}), "calibrate_mpi was given sizes from 1024 bytes by a factor of 1 and 15" + rest,
         "a factor of 1");
    same(calibrated({.smallest = sw::bytes(0)}),
         "calibrate_mpi was given sizes from 0 bytes by a factor of 4 and 15" + rest, "no size");
    same(calibrated({.repetitions = 0}), "calibrate_mpi was given sizes from 1024 bytes by a factor of 4 and 0" + rest,
         "no repetition");
    right(session, "refusals");

    {
      sw::mpi_engine engine;
      const std::vector<sw::process_group> groups{{.id = 0, .size = 2, .stride = 2}, {.id = 1, .size = 4}};
      engine.connect(groups);
      const std::size_t work = engine.run({0, sw::nanoseconds(50'000)});
      const sw::collective_call first{3,  0, sw::collective::all_reduce, "f32", "max", sw::bytes(64), sw::bytes(64),
                                      {}, {}};
      const sw::collective_call second{4,  0, sw::collective::all_to_all, "i8", "none", sw::bytes(64), sw::bytes(64),
                                       {}, {}};
      const sw::collective_call third{
          5, 1, sw::collective::reduce_scatter, "bf16", "sum", sw::bytes(64), sw::bytes(16), {}, {}};
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
      const sw::collective_call members{
          7, 1, sw::collective::reduce_scatter, "f32", "sum", all, sw::bytes(110), {}, parts, true};
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
    }
    right(session, "engine");
  }

  TEST_CASE("an exception" * doctest::skip()) {
    sw::mpi_session outer;
    try {
      const sw::mpi_session session;
      if (outer.rank() == 1) throw std::runtime_error("gone");
      sw::check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");  // one rank never comes
    } catch (const std::runtime_error&) {
      std::printf("a session was left and its run goes on\n");
    }
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

  TEST_CASE("calibration" * doctest::skip()) {
    sw::mpi_session session;
    try {
      const sw::mpi_calibration found =
          sw::calibrate_mpi(MPI_COMM_WORLD, {}, {.largest = sw::kibibytes(4), .repetitions = 3, .warm_up = 1});
      for (const sw::collective_measurement& m : found.device.collectives) {
        double least = 0, most = 0;
        MPI_Allreduce(&m.time_us, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&m.time_us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (!(least > 0) || least != most) fail("a time is not positive, or not the same on all ranks");
        if (m.group.nodes != 1 || (m.group.ranks() != 2 && m.group.ranks() != 4)) fail("a group is wrong");
      }
      if (!(found.dram_bytes_per_ns > 0) || !found.device.under_load) fail("copies or contention are missing");
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

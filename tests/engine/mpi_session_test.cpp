#include "mpi_ranks.hpp"
#include <shardweave/engine/mpi_session.hpp>

#include <doctest/doctest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace sw = shardweave;

namespace mpi_session_tests {
namespace {
using mpi_tests::fail;
using mpi_tests::has_mpirun;
using mpi_tests::mpi_run;
using mpi_tests::processes_with;
using mpi_tests::right;
using mpi_tests::run_ranks;
using mpi_tests::same;
using mpi_tests::words_of;
}  // namespace

TEST_SUITE("mpi_session") {
  TEST_CASE("sessions and communicators do what they say on four ranks") {
    if (!has_mpirun()) return;
    const mpi_run run = run_ranks("a session");
    CAPTURE(run.out);
    CHECK(run.status == 0);
    for (const char* part : {"RIGHT session", "RIGHT communicators"}) CHECK(run.out.find(part) != std::string::npos);
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
  TEST_CASE("a session" * doctest::skip()) {
    const sw::mpi_session session;
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
}

}  // namespace mpi_session_tests

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/mpi_session.hpp>

#include <doctest/doctest.h>
#include <mpi.h>
#include <support/mpi_settings.hpp>
#include <support/skipped.hpp>
#include <support/temporary_folder.hpp>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

/// Tests of component mpi start this program again, four times under mpirun. What those processes do are the test cases
/// of the suite "mpi rank", which are skipped otherwise.
namespace mpi_tests {

namespace sw = shardweave;

struct mpi_run {
  int status = -1;
  std::string out = {};  // of all ranks, and of mpirun
  double seconds = 0;
};

inline bool has_mpirun() {
  if (std::system("command -v mpirun >/dev/null 2>&1") == 0) return true;
  shardweave_test::skipped("there is no mpirun here");
  return false;
}

/// This program, to run one test case of the suite "mpi rank".
inline std::string one_rank(const std::string& test_case) {
  static const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return " '" + self + "' --no-skip --test-suite='mpi rank' --test-case='" + test_case + "' 2>&1 </dev/null";
}

inline mpi_run run_command(const std::string& command) {
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
inline mpi_run run_ranks(const std::string& test_case, const std::string& environment = "") {
  const temporary_folder shared;  // the memory that ranks share lies here: a killed rank does not remove it
  return run_command("env " + environment + mpi_settings() +
                     "OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_backing_directory=" + shared.path().string() +
                     " timeout -k 5 100 mpirun -np 4" + one_rank(test_case));
}

/// Four ranks run one test case of the suite "mpi rank" to its end, and say what was right (`right`).
inline void check_ranks(const std::string& test_case, const std::string& said) {
  if (!has_mpirun()) return;
  const mpi_run run = run_ranks(test_case);
  CAPTURE(run.out);
  CHECK(run.status == 0);
  CHECK(run.out.find("RIGHT " + said) != std::string::npos);
}

/// How many processes have this text in their environment.
inline int processes_with(const std::string& text) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (all.find(text) != std::string::npos) ++count;
  }
  return count;
}

/// Says what went wrong, as a program does, and ends all ranks.
[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "FAULT %s\n", what.c_str());
  std::fflush(stderr);
  sw::mpi_session::abort(7);
}
/// A fault unless both are the same.
template <class T, class U>
void same(const T& found, const U& expected, const char* what) {
  if (!(found == expected)) fail(what);
}
inline void right(const sw::mpi_session& session, const char* part) {
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

}  // namespace mpi_tests

#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// \file
/// What the programs have in common: options, exit status, one line for what goes wrong.

namespace programs {

/// 0 done, 1 no feasible answer, 2 wrong input or usage.
enum exit_status : int { done = 0, no_answer = 1, wrong_input = 2 };

/// Options of every program.
struct common_options {
  bool json = false;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  double seconds = std::numeric_limits<double>::infinity();

  void add_to(CLI::App& app, const char* what_takes_seconds) {
    app.add_flag("--json", json, "print one JSON object, and nothing else, on standard output");
    app.add_option("--seed", seed, "of what is random (default 1)");
    app.add_option("--threads", threads, "at most this many (default: the cores there are)")
        ->check(CLI::PositiveNumber);
    if (what_takes_seconds != nullptr)
      app.add_option("--seconds", seconds, std::string("time limit of ") + what_takes_seconds + " (default: none)")
          ->check(CLI::NonNegativeNumber);
  }
  [[nodiscard]] shardweave::solve_control control() const {
    return {.seconds = seconds, .seed = seed, .threads = threads};
  }
};

/// The largest memory that the process ever had, in bytes.
[[nodiscard]] inline std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// "a, b, c"
[[nodiscard]] inline std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/// Runs `work` on a file and puts the file's name before what goes wrong, unless it is there already.
template <class Work>
auto about(const std::string& file, Work work) {
  try {
    return work();
  } catch (const shardweave::error& e) {
    const std::string what = e.what();
    if (what.starts_with(file + ":")) throw;
    shardweave::refuse(e.category(), file + ": " + what);
  }
}

/// Reads the command line and runs `body`, which returns the exit status. Whatever goes wrong becomes one line on
/// standard error, "PROGRAM: what", and status 2, or 1 if constraints contradict each other or a limit came too early.
template <class Body>
int run(CLI::App& app, int argc, char** argv, Body body) {
  const auto complain = [&](std::string_view what, int status) {
    std::string line = app.get_name() + ": " + std::string(what);
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s\n", line.c_str());
    return status;
  };
  try {
    app.parse(argc, argv);
    return body();
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return done;
  } catch (const CLI::ParseError& e) {
    return complain(std::string(e.what()) + " (see --help)", wrong_input);
  } catch (const shardweave::error& e) {
    const bool unanswered =
        e.category() == shardweave::error_category::constraint || e.category() == shardweave::error_category::stopped;
    return complain(e.what(), unanswered ? no_answer : wrong_input);
  } catch (const std::bad_alloc&) {
    return complain("the memory does not suffice", wrong_input);
  } catch (const std::exception& e) {
    return complain(e.what(), wrong_input);
  }
}

}  // namespace programs

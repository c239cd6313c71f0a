#pragma once

#include "huge_pages.hpp"
#include "interruption.hpp"
#include "option_values.hpp"
#include "peak_memory.hpp"
#include "progress_line.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// What the programs have in common: options, exit status, one line for what goes wrong.

namespace programs {

/// 0 done, 1 no feasible answer, 2 wrong input or usage, 3 a signal ended the work early, the best so far is the
/// answer, 4 the answer needs more than a machine has by itself, which nobody stated as a limit.
enum exit_status : int { done = 0, no_answer = 1, wrong_input = 2, interrupted = 3, does_not_fit = 4 };

/// Options of every program.
struct common_options {
  bool json = false;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  double seconds = std::numeric_limits<double>::infinity();

  /// \param what_takes_seconds  what --seconds limits; null: nothing does
  /// \param is_stopped          a signal stops the work, which has an answer then
  /// \param fits_where           what an answer may not fit (`does_not_fit`); null: there is no such thing
  void add_to(CLI::App& app, const char* what_takes_seconds, bool is_stopped = false,
              const char* fits_where = nullptr) {
    app.add_flag("--json", json, "print one JSON object, and nothing else, on standard output");
    app.add_option("--seed", seed, "of what is random (default 1)")
        ->check(within<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max(), "a whole number from 0 on"));
    app.add_option("--threads", threads, "at most this many (default: the cores there are)")
        ->check(whole_within(1, std::numeric_limits<unsigned>::max()));
    if (what_takes_seconds == nullptr && !is_stopped) {
      app.footer(app.get_footer() + "\nExit status: 0 done, 1 no answer, 2 wrong input or usage.\n");
      return;
    }
    if (what_takes_seconds != nullptr)
      app.add_option("--seconds", seconds, std::string("time limit of ") + what_takes_seconds + " (default: none)")
          ->check(not_negative());
    app.footer(app.get_footer() +
               "\nThe first Ctrl-C (or SIGTERM) stops the work: the best so far is the answer, files are written, and "
               "the exit\nstatus is 3. The second one ends the program at once.\n"
               "Exit status: 0 done, 1 no feasible answer, 2 wrong input or usage, 3 stopped by a signal, with an "
               "answer" +
               (fits_where == nullptr ? std::string() : std::string(", 4 an answer that does not fit ") + fits_where) +
               ".\n");
  }
  [[nodiscard]] shardweave::solve_control control() const {
    return {.seconds = seconds, .seed = seed, .threads = threads};
  }
};
/// Work that takes long: the line that tells where it is, and signals that stop it. One at a time.
class long_work {
 public:
  /// \param unit  of what is reported, where a report has none of its own
  long_work(std::string program, const common_options& options, std::string unit = {})
      : progress(std::move(unit)), signals_(std::move(program)), control_(options.control()) {
    control_.stop = signals_.token();
    control_.progress = [this](const shardweave::progress_report& report) { progress(report); };
  }
  [[nodiscard]] const shardweave::solve_control& control() const { return control_; }
  [[nodiscard]] bool is_interrupted() const { return signals_.has_come(); }

  progress_line progress;

 private:
  interruption signals_;
  shardweave::solve_control control_;
};

/// What a command line has and the program does not know, options first; empty if there is nothing.
[[nodiscard]] inline std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  for (const std::string& word : words)
    if (word.starts_with('-')) return "there is no option " + word.substr(0, word.find('='));
  return words.empty() ? std::string() : "'" + words.front() + "' was not expected";
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
  } catch (const std::bad_alloc&) {
    shardweave::refuse(shardweave::error_category::system, file + ": the memory does not suffice");
  }
}

/// The exit status. After a stop it ends the program at once, if all was told: to give the memory back piece by piece
/// may take longer than all else that a stop leaves to do. \pre files are written
[[nodiscard]] inline int ended(int status, const long_work& work) {
  if (!work.is_interrupted() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return status;
  std::_Exit(status);
}

/// Takes memory in huge pages, reads the command line and runs `body`, which returns the exit status. Whatever goes
/// wrong becomes one line on standard error, "PROGRAM: what", and status 2, or 1 if constraints contradict each other
/// or a limit came too early.
template <class Body>
int run(CLI::App& app, int argc, char** argv, Body body) {
  use_huge_pages(argv);
  const auto complain = [&](std::string_view what, int status) {
    std::string line = app.get_name() + ": " + std::string(what);
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s\n", line.c_str());
    return status;
  };
  // what was answered must have arrived
  const auto told = [&](int status) {
    errno = 0;
    if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || status == no_answer || status == wrong_input)
      return status;
    return complain(std::string("standard output: cannot be written") +
                        (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()),
                    wrong_input);
  };
  try {
    app.allow_extras();  // they are named before whatever else is wrong
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success&) {
      throw;
    } catch (const CLI::ParseError&) {
      if (unknown_word(app).empty()) throw;
    }
    if (const std::string unknown = unknown_word(app); !unknown.empty())
      return complain(unknown + " (see --help)", wrong_input);
    return told(body());
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return told(done);
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

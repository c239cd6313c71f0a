#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Control of long computations: limits, a seed, a stop request, a progress callback.

namespace shardweave::inline v0 {

/// The standard's stop token, which some standard libraries lack.
using stop_token = std::stop_token;

/// One report of a long computation. Costs are in the problem's unit.
struct progress_report {
  std::string_view stage;                                         ///< name of the solver or stage that reports
  double seconds = 0;                                             ///< since the work started
  double objective = std::numeric_limits<double>::infinity();     ///< best known; +infinity if none
  double lower_bound = -std::numeric_limits<double>::infinity();  ///< best known; -infinity if none
  double done = -1;            ///< share of the work done in [0,1]; negative if it cannot be told
  std::string_view unit = {};  ///< of objective and bound where it is not the problem's
  bool is_new = false;         ///< a stage begins: earlier objectives and bounds are of another problem
};

/// Duration of a stage of a longer computation, for display; no decision depends on it.
struct stage_time {
  std::string stage = {};
  double seconds = 0;
};

/// Limits and hooks of one piece of work. Unless a time limit or a stop request ends it early, the result depends on
/// nothing but the input, the seed and the build; the one exception is `race` on several threads.
struct solve_control {
  double seconds = std::numeric_limits<double>::infinity();  ///< wall-clock limit, from the call on; not negative
  std::size_t iterations = std::numeric_limits<std::size_t>::max();  ///< of the policy's own loop
  std::uint64_t seed = 1;                                            ///< of every random choice
  unsigned threads = 1;                                              ///< at most this many; policies may use fewer
  stop_token stop = {};                                       ///< a request ends the work early; how soon says `solver`
  std::function<void(const progress_report&)> progress = {};  ///< called by one thread at a time
  /// Of solvers: relative gap at which an answer is accepted (`solution::gap`). 0: prove the optimum.
  double gap = 0;
  /// Of solvers: an assignment, one strategy per vertex. If it is feasible the answer is not worse; one that is not is
  /// repaired where the solver can, or left, and `statistics.note` says so. Empty: none.
  std::vector<std::uint32_t> start = {};
};

/// Refuses limits that mean nothing.
/// \throws error (input) if the seconds or the gap are negative or not a number
inline void validate(const solve_control& control) {
  if (!(control.gap >= 0))
    refuse(error_category::input, "solve_control: gap is " + number_text(control.gap) +
                                      ", expected a number from 0 on; 0 proves the optimum, 0.001 allows 0.1 %");
  if (control.seconds >= 0) return;
  refuse(error_category::input, "solve_control: seconds is " + number_text(control.seconds) +
                                    ", expected a number from 0 on; infinity is no limit");
}

/// The control for a subproblem, or another problem, without a time limit: seed, threads and stop stay. The rest is
/// about the whole and left out: start, gap, iterations, progress.
[[nodiscard]] inline solve_control without_time_limit(const solve_control& whole) {
  return {.seed = whole.seed, .threads = whole.threads, .stop = whole.stop};
}

/// A running clock against a control. Copies share the start.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  /// \throws error (input) as `validate`
  explicit deadline(const solve_control& control) : control_(&control) { validate(control); }
  explicit deadline(const solve_control&& control) = delete;  ///< the control must outlive it

  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  [[nodiscard]] double remaining() const { return control_->seconds - elapsed(); }
  /// Whether a stop was requested or the time is up. Without a time limit the clock is not read.
  [[nodiscard]] bool expired() const {
    if (control_->stop.stop_requested()) return true;
    return control_->seconds < std::numeric_limits<double>::infinity() && elapsed() >= control_->seconds;
  }
  /// The same control with the time that is left.
  [[nodiscard]] solve_control rest() const {
    solve_control left = *control_;
    if (left.seconds < std::numeric_limits<double>::infinity()) left.seconds = std::max(0.0, remaining());
    return left;
  }
  /// The same for a subproblem, or another problem (`without_time_limit`), with the time that is left.
  [[nodiscard]] solve_control rest_for_part() const {
    solve_control part = without_time_limit(*control_);
    if (control_->seconds < std::numeric_limits<double>::infinity()) part.seconds = std::max(0.0, remaining());
    return part;
  }

 private:
  const solve_control* control_;
  clock::time_point start_ = clock::now();
};

}  // namespace shardweave::inline v0

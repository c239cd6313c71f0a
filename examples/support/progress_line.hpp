#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/report/unit_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

/// \file
/// Progress of long work, for someone who watches.

namespace programs {

/// "302.91 ms" of 302910 us; other units as they are, without one the number alone.
[[nodiscard]] inline std::string figure_text(double value, std::string_view unit) {
  const double nanoseconds = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
  if (nanoseconds > 0 && std::abs(value * nanoseconds) < 9e18)
    return shardweave::time_text(shardweave::nanoseconds(static_cast<std::int64_t>(std::llround(value * nanoseconds))));
  char text[64];
  std::snprintf(text, sizeof text, "%.9g", value);
  return unit.empty() ? text : std::string(text) + " " + std::string(unit);
}

/// Where and how often progress is told.
struct progress_settings {
  bool live = isatty(STDERR_FILENO) != 0;  ///< one line that is drawn over and over; gone when the object is
  double interval = live ? 0.1 : 10;       ///< seconds from line to line
  std::function<void(const std::string&)> write = [](const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  };
};

/// Tells stage, best, bound and gap of work in lines on standard error, whether the work reports or not:
///
/// solve: guided_search  [=========>          ]  12.3 s  best 302.91 ms  bound 299.52 ms  gap 1.13 %
///
/// Within a stage the best only falls and the bound only rises; what is not known yet is said to be so.
class progress_line {
 public:
  /// \param unit  of objectives and bounds, where a report has none of its own
  explicit progress_line(std::string unit = {}, progress_settings settings = {})
      : unit_(std::move(unit)), settings_(std::move(settings)), clock_([this](std::stop_token over) { tick(over); }) {}
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line() {
    clock_.request_stop();
    clock_.join();
    clear();
  }

  /// A report, from any thread.
  void operator()(const shardweave::progress_report& report) {
    const std::scoped_lock lock(guard_);
    if (report.is_new) {
      state_ = {.stage = std::string(report.stage)};
      return;
    }
    if (report.stage != state_.stage) state_.policy = report.stage;
    state_.done = report.done;
    if (!state_.has_figures) return;
    state_.has_solver = true;
    if (!report.unit.empty()) state_.unit = report.unit;
    state_.best = std::min(state_.best, report.objective);
    state_.bound = std::max(state_.bound, report.lower_bound);
  }

  /// Work begins whose reports speak of more than one problem: only its name is told.
  void begin(std::string_view stage) {
    const std::scoped_lock lock(guard_);
    state_ = {.stage = std::string(stage), .has_figures = false};
  }

  /// Nothing is told until work begins again.
  void clear() {
    const std::scoped_lock lock(guard_);
    if (drawn_) settings_.write("\r\x1b[K");
    drawn_ = false;
    state_ = {};
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct state {
    std::string stage = {};
    std::string policy = {};
    std::string unit = {};
    double best = infinity;
    double bound = -infinity;
    double done = -1;
    bool has_figures = true;
    bool has_solver = false;
  };

  void tick(const std::stop_token& over) {
    std::unique_lock lock(guard_);
    const auto step = std::chrono::duration<double>(settings_.interval);
    while (!waiting_.wait_for(lock, over, step, [] { return false; }) && !over.stop_requested()) {
      if (state_.stage.empty() && state_.policy.empty()) continue;
      settings_.write(settings_.live ? "\r\x1b[K" + text() : text() + "\n");
      drawn_ = settings_.live;
    }
  }

  [[nodiscard]] std::string text() const {
    std::string line = state_.stage;
    if (!state_.policy.empty()) line += (line.empty() ? "" : ": ") + state_.policy;
    line += bar(state_.done);
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "  %.1f s", std::chrono::duration<double>(clock::now() - start_).count());
    line += seconds;
    if (!state_.has_solver) return line;
    const std::string& unit = state_.unit.empty() ? unit_ : state_.unit;
    const bool has_best = std::isfinite(state_.best), has_bound = std::isfinite(state_.bound);
    line += "  best " + (has_best ? figure_text(state_.best, unit) : "none yet");
    line += "  bound " + (has_bound ? figure_text(state_.bound, unit) : "none yet");
    if (has_best && has_bound) {
      const double gap = std::max(0.0, state_.best - state_.bound) / std::max(std::abs(state_.bound), 1e-300);
      line += "  gap " + shardweave::percent_text(gap, gap < 0.001 ? 4 : 2);
    }
    return line;
  }
  static std::string bar(double done) {
    if (!(done >= 0)) return "";
    constexpr std::size_t width = 20;
    const auto full = static_cast<std::size_t>(std::min(1.0, done) * width);
    return "  [" + std::string(full, '=') + std::string(width - full, ' ') + "]";
  }

  std::string unit_;
  progress_settings settings_;
  clock::time_point start_ = clock::now();
  std::mutex guard_;
  std::condition_variable_any waiting_;
  state state_ = {};
  bool drawn_ = false;
  std::jthread clock_;  // last: it needs the others
};

}  // namespace programs

#pragma once

#include <shardweave/core/control.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

/// \file
/// Progress of long work, for someone who watches.

namespace programs {

/// One line on standard error that is drawn over and over, and only on a terminal; gone when the object is.
///
/// solving trws  [=========>          ]  12.3 s  best 114420.6  bound 114398.2  gap 0.02 %
class progress_line {
 public:
  progress_line() : shown_(isatty(STDERR_FILENO) != 0) {}
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line() { clear(); }

  void operator()(const shardweave::progress_report& report) {
    const auto now = clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    std::string line = std::string(report.stage) + "  " + bar(report.done);
    add(line, "%.1f s", report.seconds);
    if (std::isfinite(report.objective)) add(line, "best %.8g", report.objective);
    if (std::isfinite(report.lower_bound)) add(line, "bound %.8g", report.lower_bound);
    if (std::isfinite(report.objective) && std::isfinite(report.lower_bound))
      add(line, "gap %.3g %%",
          100 * std::max(0.0, report.objective - report.lower_bound) / std::max(std::abs(report.lower_bound), 1e-300));
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    drawn_ = true;
  }

  void clear() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;

  static void add(std::string& line, const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    line += std::string(text) + "  ";
  }
  static std::string bar(double done) {
    if (!(done >= 0)) return "";
    constexpr std::size_t width = 20;
    const auto full = static_cast<std::size_t>(std::min(1.0, done) * width);
    return "[" + std::string(full, '=') + std::string(width - full, ' ') + "]  ";
  }

  bool shown_;
  bool drawn_ = false;
  clock::time_point last_{};
};

}  // namespace programs

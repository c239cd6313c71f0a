#pragma once

#include "kept_memory.hpp"
#include <shardweave/core/control.hpp>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

/// \file
/// Ctrl-C: the first time work stops and answers with the best so far, the second time the program ends.

namespace programs {

/// As long as this lives the first SIGINT or SIGTERM asks for a stop, and the second one has its usual effect at once.
/// One at a time. A handler may do next to nothing, so it writes to a pipe, and a thread that reads the pipe asks.
class interruption {
 public:
  /// \param program  who speaks on standard error
  explicit interruption(std::string program) : program_(std::move(program)) {
    if (pipe(ends_.data()) != 0) return;  // then signals keep their usual effect
    writing_end() = ends_[1];
    came() = false;
    listener_ = std::thread([this] { listen(); });
    struct sigaction action {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before_[i]);
  }
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption() {
    if (!listener_.joinable()) return;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
    send(ends_[1], 'q');
    listener_.join();
    for (const int end : ends_) close(end);
  }

  [[nodiscard]] shardweave::stop_token token() const { return stop_.get_token(); }
  [[nodiscard]] bool has_come() const { return stop_.stop_requested(); }

 private:
  static constexpr std::array<int, 2> signals{SIGINT, SIGTERM};

  static std::atomic<int>& writing_end() {
    static std::atomic<int> end = -1;
    return end;
  }
  static std::atomic<bool>& came() {
    static std::atomic<bool> flag = false;
    return flag;
  }
  static void send(int end, char letter) {
    while (write(end, &letter, 1) < 0) {
    }
  }
  static void on_signal(int number) {
    if (came().exchange(true)) {
      signal(number, SIG_DFL);
      raise(number);  // is delivered when this returns
    } else {
      send(writing_end(), 's');
    }
  }

  void listen() {
    char letter = 0;
    while (letter != 'q') {
      if (read(ends_[0], &letter, 1) != 1 || letter != 's') continue;
      keeps_memory = true;
      stop_.request_stop();
      std::fprintf(stderr, "%s%s: stopping; the best so far is the answer (once more: end at once)\n",
                   isatty(STDERR_FILENO) != 0 ? "\n" : "", program_.c_str());
    }
  }

  std::string program_;
  std::stop_source stop_;
  std::array<int, 2> ends_{-1, -1};
  std::array<struct sigaction, 2> before_{};
  std::thread listener_;
};

}  // namespace programs

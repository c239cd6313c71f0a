#pragma once

#include <shardweave/core/control.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

/// \file
/// A time limit as a stop request.

namespace shardweave::inline v0 {

/// A stop that is requested when that of a control is, or when its time is up: for work that checks the stop but not
/// the clock. Valid as long as this object.
/// Complexity: a thread that sleeps where the time is limited; none otherwise
class timed_stop {
 public:
  /// \throws error (input) as `validate`
  explicit timed_stop(const solve_control& control) : passed_on_(control.stop, request{&source_}) {
    validate(control);
    constexpr double longest = 1e9;  // seconds, thirty years; longer ones a clock does not count
    if (control.seconds < longest)
      clock_.emplace([this, seconds = std::chrono::duration<double>(control.seconds)](const std::stop_token& ended) {
        std::mutex own;
        std::unique_lock lock(own);
        std::condition_variable_any end;
        end.wait_for(lock, ended, seconds, [] { return false; });
        if (!ended.stop_requested()) source_.request_stop();
      });
  }
  timed_stop(const timed_stop&) = delete;
  timed_stop& operator=(const timed_stop&) = delete;
  ~timed_stop() = default;

  [[nodiscard]] stop_token token() const { return source_.get_token(); }

 private:
  struct request {
    std::stop_source* of;
    void operator()() const { of->request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<request> passed_on_;
  std::optional<std::jthread> clock_;  ///< the first to go: it asks for the stop
};

}  // namespace shardweave::inline v0

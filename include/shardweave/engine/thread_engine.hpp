#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/tasks/task.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// An engine with real concurrency and a real clock, in this process.

namespace shardweave::inline v0 {

/// Settings of `thread_engine`.
struct thread_engine_options {
  /// Wall time for each nanosecond of duration. Larger is slower and nearer to the prediction, because what threads
  /// cost weighs less. Measured times are divided by it, so that they compare with durations.
  std::int64_t scale = 1;
  /// What a channel does, on its own thread, before the rest of the duration passes; may be empty.
  std::function<void(const collective_call&)> communicate = {};
};

/// Lets durations pass on a steady clock: the calling thread is the compute stream, and each channel is a thread that
/// works off what was started on it. What it measures is the order of things under a real scheduler, with late
/// wake-ups; nothing is communicated unless `communicate` does. Models `collective_engine`.
///
/// An operation never takes less than its duration: it ends at the first look at the clock after that.
class thread_engine {
 public:
  static constexpr std::string_view name = "threads";

  /// \throws error if the scale is below 1
  explicit thread_engine(thread_engine_options options = {}) : options_(std::move(options)) {
    if (options_.scale < 1)
      refuse(error_category::input,
             "the scale of thread_engine is " + std::to_string(options_.scale) + ", expected 1 or more");
  }
  thread_engine(const thread_engine&) = delete;
  thread_engine& operator=(const thread_engine&) = delete;
  ~thread_engine() { disconnect(); }

  void connect(std::span<const process_group> groups) {
    disconnect();
    operations_.clear();
    for (std::size_t i = 0; i < groups.size(); ++i) channels_.push_back(std::make_unique<channel>());
    for (const auto& c : channels_) c->thread = std::thread([this, at = c.get()] { serve(*at); });
  }
  std::size_t run(const compute_call& work) {
    const auto begin = clock::now();
    pass(begin, work.duration);
    return record(begin, clock::now());
  }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < channels_.size());
    channel& c = *channels_[call.channel];
    const std::lock_guard lock(mutex_);
    operations_.push_back({.call = call});
    c.queue.push_back(&operations_.back());
    ++running_;
    c.work.notify_one();
    return operations_.size() - 1;
  }
  /// \pre `operation` was returned by `start`
  std::size_t wait(std::size_t operation) {
    const auto begin = clock::now();
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return operations_[operation].done; });
    }
    return record(begin, clock::now());
  }
  /// \throws what `communicate` threw first
  void finish() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  [[nodiscard]] nanoseconds now() const { return scaled(clock::now()); }
  /// \pre `operation` is one since the last `connect`, and `finish` has returned
  [[nodiscard]] time_span span(std::size_t operation) const {
    return {scaled(operations_[operation].begin), scaled(operations_[operation].end)};
  }

 private:
  using clock = std::chrono::steady_clock;
  struct entry {
    collective_call call = {};
    clock::time_point begin = {};
    clock::time_point end = {};
    bool done = false;
  };
  struct channel {
    std::deque<entry*> queue = {};
    std::condition_variable work = {};
    std::thread thread = {};
    bool closed = false;
  };

  [[nodiscard]] nanoseconds scaled(clock::time_point t) const {
    return nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(t - birth_).count() / options_.scale);
  }
  /// Sleeps for most of the time and looks at the clock for the rest: sleeping alone wakes up some 50 us late.
  void pass(clock::time_point begin, nanoseconds duration) const {
    constexpr auto nap_ends = std::chrono::microseconds(200);
    const auto end = begin + std::chrono::nanoseconds(duration.count() * options_.scale);
    if (end - clock::now() > nap_ends) std::this_thread::sleep_until(end - nap_ends);
    while (clock::now() < end) std::this_thread::yield();
  }
  std::size_t record(clock::time_point begin, clock::time_point end) {
    const std::lock_guard lock(mutex_);
    operations_.push_back({.begin = begin, .end = end, .done = true});
    return operations_.size() - 1;
  }
  /// The body of a channel's thread.
  void serve(channel& c) {
    std::unique_lock lock(mutex_);
    for (;;) {
      c.work.wait(lock, [&] { return c.closed || !c.queue.empty(); });
      if (c.queue.empty()) return;
      entry& job = *c.queue.front();
      c.queue.pop_front();
      lock.unlock();
      const auto begin = clock::now();
      const std::exception_ptr failure = failure_of([&] {
        if (options_.communicate) options_.communicate(job.call);
      });
      pass(begin, job.call.duration);
      const auto end = clock::now();
      lock.lock();
      job.begin = begin;
      job.end = end;
      job.done = true;
      if (failure && !failure_) failure_ = failure;
      --running_;
      done_.notify_all();
    }
  }
  /// Works off what is queued, then ends the threads.
  void disconnect() {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& c : channels_) {
        c->closed = true;
        c->work.notify_one();
      }
    }
    for (const auto& c : channels_)
      if (c->thread.joinable()) c->thread.join();  // one that could not be made is not
    channels_.clear();
    failure_ = nullptr;
  }

  thread_engine_options options_;
  clock::time_point birth_ = clock::now();
  mutable std::mutex mutex_;  // of all below while threads run
  std::condition_variable done_;
  std::deque<entry> operations_;  // stays where it is while it grows
  std::vector<std::unique_ptr<channel>> channels_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
};

static_assert(collective_engine<thread_engine>);

}  // namespace shardweave::inline v0

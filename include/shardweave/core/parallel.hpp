#pragma once

#include <shardweave/core/attempt.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// Work that falls into parts, on several threads.

namespace shardweave::inline v0 {

namespace detail {
/// Calls `run(what)` on that many threads, of which the caller's is one. No template: what a thread takes to start is
/// compiled once, whatever runs on it.
inline void run_together(std::size_t workers, void (*run)(void*), void* what) {
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < workers; ++t) others.emplace_back(run, what);
  run(what);
}
}  // namespace detail

/// Calls `make()` on each of at most `threads` threads and what it returns with the numbers below `count`, each once.
/// Numbers are handed out as threads become free: what is done for one must not depend on the others.
/// Complexity: one atomic operation per number, and the start of the threads
/// \throws what the work threw for the lowest number, whatever the number of threads
template <class Make>
void for_each_number(std::size_t count, unsigned threads, Make make) {
  const std::size_t workers = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1));
  if (workers == 1) {
    auto work = make();
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  auto run = [&] {
    std::size_t at = next++;
    const std::exception_ptr failure = failure_of([&] {
      for (auto work = make(); at < count; at = next++) work(at);
    });
    if (failure && at < count) failures[at] = failure;
    if (failure) next = count;
  };
  const auto call = [](void* what) { (*static_cast<decltype(run)*>(what))(); };
  detail::run_together(workers, call, &run);
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

/// Two parts of a work that do not depend on each other, on two threads if there may be as many; else one after the
/// other.
/// \throws what the first threw, else what the second did
template <class First, class Second>
void side_by_side(unsigned threads, const First& first, const Second& second) {
  for_each_number(2, threads, [&] {
    return [&](std::size_t part) {
      if (part == 0) first();
      if (part == 1) second();
    };
  });
}

/// As `for_each_number`, for work with results: `take(i, result)` is called for one number after the other, from 0 on,
/// and one at a time. No more results than threads wait for their turn. When `take` returns false, the rest is left
/// undone. What the work throws is a result too, thrown in its turn: what is taken and thrown does not depend on the
/// number of threads.
template <class Make, class Take>
void for_each_in_order(std::size_t count, unsigned threads, Make make, Take take) {
  std::mutex guard;
  std::condition_variable turn_changed;
  std::size_t turn = 0;
  bool is_over = false;
  for_each_number(count, threads, [&] {
    return [&, work = std::optional<decltype(make())>()](std::size_t i) mutable {
      {
        const std::lock_guard lock(guard);
        if (is_over) return;
      }
      std::optional<decltype((*work)(i))> made;
      std::exception_ptr failure = failure_of([&] {
        if (!work) work.emplace(make());
        made.emplace((*work)(i));
      });
      std::unique_lock lock(guard);
      turn_changed.wait(lock, [&] { return turn == i || is_over; });
      if (is_over) return;
      if (!failure)
        failure = failure_of([&] {
          is_over = !take(i, std::move(*made));
          ++turn;
        });
      if (failure) is_over = true;  // nobody waits for a turn that does not come
      turn_changed.notify_all();
      if (failure) std::rethrow_exception(failure);
    };
  });
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/error.hpp>

#include <exception>

/// \file
/// What to do when work throws, in the one place that a build without exceptions reads otherwise. There nothing is
/// caught: the host's `boost::throw_exception`, which does not return, is where every refusal ends.

namespace shardweave::inline v0 {

/// Whether `try_to` catches errors: not in a host that is built without exceptions.
#ifdef __cpp_exceptions
inline constexpr bool errors_are_caught = true;
#else
inline constexpr bool errors_are_caught = false;
#endif

/// Calls `work()`. If it throws an `error`, `settles(error)` says whether that was dealt with; if not, it goes on.
template <class Work, class Settles>
void try_to(Work&& work, [[maybe_unused]] Settles&& settles) {
#ifdef __cpp_exceptions
  try {
    work();
  } catch (const error& e) {
    if (!settles(e)) throw;
  }
#else
  work();
#endif
}

/// Calls `work()`; whatever it throws, to be thrown on another thread or later by `std::rethrow_exception`, or null.
template <class Work>
[[nodiscard]] std::exception_ptr failure_of(Work&& work) {
#ifdef __cpp_exceptions
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
#else
  work();
#endif
  return {};
}

}  // namespace shardweave::inline v0

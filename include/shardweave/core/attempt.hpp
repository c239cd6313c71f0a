#pragma once

#include <shardweave/core/error.hpp>

#include <exception>

/// \file
/// Catching errors, in one place, because a build without exceptions differs here alone: it catches nothing, and every
/// refusal ends in the host's `boost::throw_exception`, which does not return.

namespace shardweave::inline v0 {

/// Whether `try_to` catches errors: not in a host that is built without exceptions.
#ifdef __cpp_exceptions
inline constexpr bool errors_are_caught = true;
#else
inline constexpr bool errors_are_caught = false;
#endif

/// Calls `work()`. If it throws an `error`, calls `settles(error)`, which says whether the error is dealt with; if not,
/// the error is thrown on. Other exceptions pass.
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

/// Calls `work()`, and returns what it threw, for `std::rethrow_exception` later or on another thread; null if nothing.
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

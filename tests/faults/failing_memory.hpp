#pragma once

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <string>

/// \file
/// Memory that fails on purpose. `allocations_test.cpp` replaces the operators new and delete of this test program.

namespace failing_memory {

inline std::atomic<long> live{0};      ///< allocations that were not given back yet
inline std::atomic<long> asked{0};     ///< allocations that were asked for since `fail_at` was called
inline std::atomic<long> fails_at{0};  ///< the number, from 1 on, of the one that fails; 0: none does
inline std::atomic<bool> failed{false};

/// The n-th allocation from now on fails, on whatever thread; 0: none does. Later ones succeed.
inline void fail_at(long n) {
  failed = false;
  asked = 0;
  fails_at = n;
}

/// Does `work` once for each of its allocations, which fails, and checks that nothing is lost: it throws bad_alloc, or
/// does without that memory and gives the same answer; it gives back all that it took; and afterwards it works as
/// before. \param work  returns its answer as a text; equal calls ask for memory equally often \param most  of so many
/// allocations, evenly spread, where there are more \return how often it threw
template <class Work>
std::size_t each_fails(const std::string& name, Work work, long most = 100) {
  INFO(name);
  const std::string expected = work();  // what is made once per process is made now
  fail_at(0);
  CHECK(work() == expected);
  const long count = asked;
  CHECK(count > 0);
  const long tries = count < most ? count : shardweave_test::sized(most, most / 4);
  std::size_t thrown = 0;
  for (long i = 0; i < tries; ++i) {
    const long n = 1 + (tries == count ? i : i * (count - 1) / (tries - 1));
    const long before = live;
    bool lost = false;
    {
      std::string answer;
      fail_at(n);
      try {
        answer = work();
        fail_at(0);
        lost = answer != expected;
      } catch (const std::bad_alloc&) {
        fail_at(0);
        ++thrown;
      }
    }
    if (lost) FAIL_CHECK("allocation ", n, " of ", count, " fails, and the answer is another one");
    const long after = live;
    if (after != before) FAIL_CHECK("allocation ", n, " of ", count, " fails, and ", after - before, " are lost");
  }
  CHECK(work() == expected);
  return thrown;
}

}  // namespace failing_memory

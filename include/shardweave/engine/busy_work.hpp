#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

/// \file
/// Computation stood in for by arithmetic that keeps a core busy for a given time.

namespace shardweave::inline v0 {

/// Arithmetic of a known speed. A duration becomes an amount of work when it is asked for, so that work that shares
/// its core with something else takes longer, as real work would.
class busy_work {
 public:
  /// Measures how fast this core is: the fastest of several runs, because whatever disturbs makes it slower.
  /// \param budget  how long to measure
  explicit busy_work(nanoseconds budget = nanoseconds(4'000'000)) {
    using clock = std::chrono::steady_clock;
    constexpr std::int64_t trial = 2000;
    const auto end = clock::now() + std::chrono::nanoseconds(budget.count());
    double fastest = std::numeric_limits<double>::infinity();
    do {
      const auto begin = clock::now();
      step(trial);
      const double took =
          static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - begin).count());
      fastest = std::min(fastest, std::max(took, 1.0));
    } while (clock::now() < end);
    units_per_ns_ = static_cast<double>(trial) / fastest;
  }

  /// Units of arithmetic that this core does in a nanosecond when nothing disturbs it.
  [[nodiscard]] double units_per_ns() const { return units_per_ns_; }

  /// Does as much arithmetic as takes `duration` undisturbed, in slices, and calls `between()` after each.
  /// \pre slice is positive
  template <class Between>
  void run(nanoseconds duration, nanoseconds slice, Between between) {
    SHARDWEAVE_EXPECTS(slice > nanoseconds(0));
    for (nanoseconds left = duration; left > nanoseconds(0); left -= slice) {
      step(static_cast<std::int64_t>(
          std::nearbyint(static_cast<double>(std::min(left, slice).count()) * units_per_ns_)));
      between();
    }
  }

 private:
  /// Each unit waits for the one before.
  void step(std::int64_t units) {
    std::uint64_t x = state_;
    for (std::int64_t i = 0; i < units; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
    state_ = x;
  }

  volatile std::uint64_t state_ = 1;  // read and written, so that the arithmetic is done
  double units_per_ns_ = 1;
};

}  // namespace shardweave::inline v0

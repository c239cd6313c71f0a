#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

/// \file
/// Seeded random numbers whose values are the same on every platform and standard library.

namespace shardweave::inline v0 {

/// A small, fast generator with 64 bits of state; models std::uniform_random_bit_generator.
/// Source: splitmix64, S. Vigna, public domain; G. Steele, D. Lea, C. Flood, OOPSLA 2014.
class random_source {
 public:
  using result_type = std::uint64_t;
  explicit constexpr random_source(std::uint64_t seed) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// A whole number below `n`, uniform up to a bias of n / 2^64.
  /// \pre n > 0
  constexpr std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }
  /// A number in [0, 1).
  constexpr double unit() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  /// True with probability `p`.
  constexpr bool chance(double p) { return unit() < p; }

 private:
  std::uint64_t state_;
};

}  // namespace shardweave::inline v0

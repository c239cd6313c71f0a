#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// \file
/// A 16-bit float, for values that travel as such: hosts store it and compare it, devices add it.

namespace shardweave::inline v0 {

/// A number of IEEE 754 binary16, which computes as a double does. Whole numbers up to 2048 are exact, and so are their
/// sums up to there.
class half_number {
 public:
  half_number() = default;  // as the numbers of the language are
  /// \pre whole is a whole number from 0 to 2048
  template <class Number>
  constexpr explicit half_number(Number whole) : bits_(0) {
    const auto given = static_cast<std::uint64_t>(whole);
    if (given == 0) return;
    const auto exponent = static_cast<unsigned>(std::bit_width(given)) - 1U;  // of the leading bit, below 12
    const auto fraction = (static_cast<unsigned>(given) << 10U >> exponent) & 0x3ffU;
    bits_ = static_cast<std::uint16_t>(((exponent + 15U) << 10U) | fraction);
  }
  /// What is stored, whatever it is.
  operator double() const {
    const int exponent = bits_ >> 10U & 0x1f, fraction = bits_ & 0x3ff;
    const double size = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return (bits_ & 0x8000U) != 0 ? -size : size;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }
  /// By what is stored: what was sent must come out as it was.
  friend constexpr bool operator==(const half_number&, const half_number&) = default;

 private:
  std::uint16_t bits_;
};
static_assert(sizeof(half_number) == 2);

}  // namespace shardweave::inline v0

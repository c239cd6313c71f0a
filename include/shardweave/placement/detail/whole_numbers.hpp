#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

/// \file
/// Exact conversion of floating-point numbers to integer multiples of a power of two.

namespace shardweave::inline v0::detail {

__extension__ typedef __int128 whole_128;
using whole_of_any_size = boost::multiprecision::cpp_int;

/// The least k >= 0 for which value * 2^k is an integer.
[[nodiscard]] inline int fraction_bits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
  return std::max(0, 53 - exponent - std::countr_zero(static_cast<std::uint64_t>(digits)));
}
[[nodiscard]] inline int fraction_bits(std::int64_t) { return 0; }

/// a * 2^bits, rounded down if bits is negative. \pre it fits
template <class Whole>
[[nodiscard]] Whole shifted(Whole a, int bits) {
  if (bits >= 0) return a * (Whole(1) << bits);  // a may be negative
  const Whole unit = Whole(1) << -bits;
  Whole result = a / unit;
  if (result * unit > a) result -= 1;
  return result;
}

/// Of two numbers that are not negative; of 0 and another one that one.
template <class Whole>
[[nodiscard]] Whole greatest_common_divisor(Whole a, Whole b) {
  while (b != 0) a = std::exchange(b, Whole(a % b));
  return a;
}

/// value * 2^bits. \pre it is an integer and fits
template <class Whole>
[[nodiscard]] Whole whole_of(double value, int bits) {
  if (value == 0) return Whole(0);
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return shifted<Whole>(Whole(digits), exponent - 53 + bits);
}
template <class Whole>
[[nodiscard]] Whole whole_of(std::int64_t value, int bits) {
  return shifted<Whole>(Whole(value), bits);
}

}  // namespace shardweave::inline v0::detail

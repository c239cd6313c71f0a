#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

/// \file
/// Exact times and sizes. They are whole numbers, so equal inputs give equal bits and "exposed == 0" is a
/// question with an answer; and they do not mix, so a size never lands where a time is meant.

namespace shardweave::inline v0 {

/// A whole number of `Unit`. Adds and subtracts its own kind, scales by integers; the ratio of two is an
/// integer. Overflow is the caller's to avoid, as with the built-in integers.
template <class Unit>
class quantity {
 public:
  constexpr quantity() = default;
  constexpr explicit quantity(std::int64_t count) : count_(count) {}

  /// The plain number, for formats and formulas.
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr quantity& operator+=(quantity other) { return count_ += other.count_, *this; }
  constexpr quantity& operator-=(quantity other) { return count_ -= other.count_, *this; }
  constexpr quantity& operator*=(std::int64_t factor) { return count_ *= factor, *this; }

  friend constexpr quantity operator+(quantity a, quantity b) { return quantity(a.count_ + b.count_); }
  friend constexpr quantity operator-(quantity a, quantity b) { return quantity(a.count_ - b.count_); }
  friend constexpr quantity operator-(quantity a) { return quantity(-a.count_); }
  friend constexpr quantity operator*(quantity a, std::int64_t b) { return quantity(a.count_ * b); }
  friend constexpr quantity operator*(std::int64_t a, quantity b) { return quantity(a * b.count_); }
  friend constexpr quantity operator/(quantity a, std::int64_t b) { return quantity(a.count_ / b); }
  friend constexpr std::int64_t operator/(quantity a, quantity b) { return a.count_ / b.count_; }
  friend constexpr bool operator==(quantity, quantity) = default;
  friend constexpr auto operator<=>(quantity, quantity) = default;

 private:
  std::int64_t count_ = 0;
};

/// A length of time or a point in time, in nanoseconds.
using nanoseconds = quantity<struct nanosecond_unit>;
/// A size in bytes.
using bytes = quantity<struct byte_unit>;

/// So many times 1024 bytes.
[[nodiscard]] constexpr bytes kibibytes(std::int64_t n) { return bytes(n << 10); }
/// So many times 1024^2 bytes.
[[nodiscard]] constexpr bytes mebibytes(std::int64_t n) { return bytes(n << 20); }
/// So many times 1024^3 bytes.
[[nodiscard]] constexpr bytes gibibytes(std::int64_t n) { return bytes(n << 30); }

/// For people and for cost models, which count in microseconds.
[[nodiscard]] constexpr double to_microseconds(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

/// The nearest whole nanosecond, ties to even, as the file formats ask.
/// \pre the value is finite and fits
[[nodiscard]] inline nanoseconds from_microseconds(double us) {
  return nanoseconds(static_cast<std::int64_t>(std::nearbyint(us * 1e3)));
}

}  // namespace shardweave::inline v0

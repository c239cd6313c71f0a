#pragma once

#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Figures as people read them: with a unit that fits, whatever the host's locale.

namespace shardweave::inline v0 {

/// That many digits behind the point; "inf", "-inf" and "nan" as such, never "-0".
[[nodiscard]] inline std::string fixed_text(double value, int digits = 2) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 400> room{};  // the largest double has 309 digits before the point
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value, std::chars_format::fixed, digits).ptr;
  std::string text(room.data(), end);
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

/// "12,345"
[[nodiscard]] inline std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, 1, ',');
  return text;
}
[[nodiscard]] inline std::string count_text(std::size_t count) { return count_text(static_cast<std::int64_t>(count)); }
/// "1 edge", "12,345 edges".
/// \param many  where it is not `one` with an s: "vertices"
template <std::integral Number>
[[nodiscard]] std::string count_text(Number count, std::string_view one, std::string_view many = {}) {
  return count_text(static_cast<std::int64_t>(count)) + detail::noun_text(count == 1, one, many);
}

namespace detail {
/// The value in the largest unit of which it is at least one, after rounding to two digits, in the first unit to none.
template <std::size_t N>
[[nodiscard]] std::string in_unit(double value, double step, const std::array<std::string_view, N>& units) {
  std::size_t unit = 0;
  while (unit + 1 < N && std::abs(value) >= step - (unit == 0 ? 0.5 : 0.005)) {
    value /= step;
    ++unit;
  }
  return fixed_text(value, unit == 0 ? 0 : 2) + " " + std::string(units[unit]);
}
}  // namespace detail

/// "850 ns", "12.30 µs", "4.56 ms", "78.90 s"
[[nodiscard]] inline std::string time_text(nanoseconds time) {
  return detail::in_unit(static_cast<double>(time.count()), 1000,
                         std::array<std::string_view, 4>{"ns", "\xC2\xB5s", "ms", "s"});
}

/// Seconds of a clock, to the nanosecond.
[[nodiscard]] inline std::string seconds_text(double seconds) {
  return detail::in_unit(std::round(seconds * 1e9), 1000,
                         std::array<std::string_view, 4>{"ns", "\xC2\xB5s", "ms", "s"});
}

/// "17 B", "1.50 KiB", "2.00 MiB", "79.65 GiB", "1.20 TiB"
[[nodiscard]] inline std::string size_text(double size) {
  return detail::in_unit(size, 1024, std::array<std::string_view, 5>{"B", "KiB", "MiB", "GiB", "TiB"});
}
[[nodiscard]] inline std::string size_text(bytes size) { return size_text(static_cast<double>(size.count())); }

namespace detail {
/// Whole costs in full, others to three digits behind the point.
template <class Cost>
[[nodiscard]] std::string cost_text(Cost cost, std::string_view unit = "") {
  std::string text;
  if constexpr (std::integral<Cost>) {
    text = count_text(static_cast<std::int64_t>(cost));
  } else {
    text = fixed_text(static_cast<double>(cost), 3);
  }
  return unit.empty() ? text : text + " " + std::string(unit);
}
}  // namespace detail

/// A fraction: 0.125 is "12.5 %".
[[nodiscard]] inline std::string percent_text(double fraction, int digits = 1) {
  return fixed_text(100 * fraction, digits) + " %";
}
/// What part of a whole; empty where the whole is nothing.
[[nodiscard]] inline std::string share_text(nanoseconds part, nanoseconds whole) {
  if (whole == nanoseconds(0)) return {};
  return percent_text(static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

}  // namespace shardweave::inline v0

#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// Numbers in messages.

namespace shardweave::inline v0 {

/// The shortest text that reads as this number, whole numbers with all their digits: 4497070912, 0.1, 1e-09, inf, nan.
[[nodiscard]] inline std::string number_text(double value) {
  constexpr double exact = 9007199254740992;  // 2^53: up to it whole numbers are what they are
  if (std::abs(value) <= exact && std::trunc(value) == value) return std::to_string(static_cast<std::int64_t>(value));
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}
template <std::integral Number>
[[nodiscard]] std::string number_text(Number value) {
  return std::to_string(value);
}

namespace detail {
/// " edge" or " edges".
[[nodiscard]] inline std::string noun_text(bool is_one, std::string_view one, std::string_view many) {
  std::string text = " ";
  text += is_one || many.empty() ? one : many;
  return is_one || !many.empty() ? text : text + "s";
}
}  // namespace detail

/// "1 edge", "12345 edges".
/// \param many  where it is not `one` with an s: "vertices"
template <std::integral Number>
[[nodiscard]] std::string number_text(Number count, std::string_view one, std::string_view many = {}) {
  return std::to_string(count) + detail::noun_text(count == 1, one, many);
}

}  // namespace shardweave::inline v0

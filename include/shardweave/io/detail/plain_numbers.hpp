#pragma once

#include <array>
#include <bit>
#include <cfloat>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// Long lists of numbers, read faster than one event at a time: what is written plainly is taken, all else is left to
/// the parser.

namespace shardweave::inline v0::detail {

/// A number as it stands in a text: (-) digits times 10^exponent.
struct plain_number {
  std::uint64_t digits = 0;
  std::int32_t exponent = 0;  ///< minus the number of decimals
  bool is_negative = false;
  bool is_whole = true;  ///< has neither decimals nor an exponent
  std::string_view text = {};

  /// The nearest double; nothing if its size is beyond any. As `number_of` has it.
  [[nodiscard]] std::optional<double> to_double() const {
    constexpr std::array<double, 23> power{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    // two doubles that are exact: their quotient is rounded once
    if (FLT_EVAL_METHOD == 0 && digits <= (1ULL << 53U) && exponent >= -22) {
      const double size = static_cast<double>(digits) / power[static_cast<std::size_t>(-exponent)];
      return is_negative ? -size : size;
    }
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc()) return std::nullopt;
    return value;
  }
  /// Nothing if it has decimals or does not fit.
  template <std::integral Integer>
  [[nodiscard]] std::optional<Integer> to_integer() const {
    if (!is_whole || digits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    const auto size = static_cast<std::int64_t>(digits);
    const std::int64_t value = is_negative ? -size : size;
    if (!std::in_range<Integer>(value)) return std::nullopt;
    return static_cast<Integer>(value);
  }
};

/// Bytes that must follow for a number to be read without looking for the end of the text at every step: 24 decimals
/// and some digits before them, blanks and a comma behind.
inline constexpr std::ptrdiff_t room_of_number = 64;

/// The digits from `p` on, at most eight of them, appended to `value`. \returns how many
inline std::size_t up_to_eight_digits(const char* p, std::uint64_t& value) {
  if constexpr (std::endian::native == std::endian::little) {
    constexpr std::array<std::uint64_t, 9> power{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    std::uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    word ^= 0x3030303030303030ULL;
    const std::uint64_t others = ((word + 0x0606060606060606ULL) | word) & 0xf0f0f0f0f0f0f0f0ULL;
    const auto count = static_cast<std::size_t>(std::countr_zero(others)) / 8;  // 8 where there are none
    if (count == 0) return 0;
    word <<= 64 - 8 * count;
    word = (word * 10) + (word >> 8U);  // pairs, then fours, then all eight
    word = (((word & 0x000000ff000000ffULL) * 0x000f424000000064ULL) +
            (((word >> 16U) & 0x000000ff000000ffULL) * 0x0000271000000001ULL)) >>
           32U;
    value = value * power[count] + word;
    return count;
  } else {
    std::size_t count = 0;
    for (; count < 8 && p[count] >= '0' && p[count] <= '9'; ++count)
      value = value * 10 + static_cast<std::uint64_t>(p[count] - '0');
    return count;
  }
}

/// Reads a JSON number without an exponent and of at most 19 digits that count.
/// \pre `room_of_number` bytes may be read from `p` on
/// \returns where it ends; null where there is no such number
inline const char* scan_number(const char* p, plain_number& number) {
  const char* const begin = p;
  number.is_negative = *p == '-';
  if (number.is_negative) ++p;
  std::uint64_t digits = 0;
  const auto run = [&](std::size_t most) {  // in steps of eight
    std::size_t count = 0, more = 8;
    while (count < most && more == 8) {
      more = up_to_eight_digits(p, digits);
      p += more;
      count += more;
    }
    return count;
  };
  std::size_t whole = run(24);
  if (whole == 0 || whole > 19) return nullptr;
  if (begin[number.is_negative ? 1 : 0] == '0') {
    if (whole > 1) return nullptr;  // "01"
    whole = 0;
  }
  std::size_t decimals = 0;
  number.is_whole = *p != '.';
  if (!number.is_whole) {
    const char* const first = ++p;
    decimals = run(24);
    if (decimals == 0 || decimals >= 24) return nullptr;
    if (whole + decimals > 19) {
      std::size_t zeros = 0;  // those before the first digit that counts do not
      if (whole == 0)
        while (zeros < decimals && first[zeros] == '0') ++zeros;
      if (whole + decimals - zeros > 19) return nullptr;
    }
  }
  if (*p == 'e' || *p == 'E') return nullptr;
  number.digits = digits;
  number.exponent = -static_cast<std::int32_t>(decimals);
  number.text = {begin, static_cast<std::size_t>(p - begin)};
  return p;
}

/// The text from `p` to the next comma, which is told by these words and its size: zeros fill them.
struct short_text {
  static constexpr std::size_t most = 24;
  std::array<std::uint64_t, 3> words{};
  std::size_t size = 0;

  [[nodiscard]] std::size_t hash() const {
    return static_cast<std::size_t>(
        (words[0] * 0x9e3779b97f4a7c15ULL ^ words[1] * 0xbf58476d1ce4e5b9ULL ^ words[2] * 0x94d049bb133111ebULL) >>
        40U);
  }
  [[nodiscard]] bool has(const std::array<std::uint64_t, 3>& others) const {
    return ((words[0] ^ others[0]) | (words[1] ^ others[1]) | (words[2] ^ others[2])) == 0;
  }
};

/// \pre `room_of_number` bytes may be read from `p` on
/// \returns false where the comma is further away than the words reach
inline bool read_short_text(const char* p, short_text& text) {
  if constexpr (std::endian::native != std::endian::little) return false;
  std::memcpy(text.words.data(), p, short_text::most);
  const auto comma_in = [&](std::size_t w) {  // the lowest bit that is set is in the first comma
    const std::uint64_t other = text.words[w] ^ 0x2c2c2c2c2c2c2c2cULL;
    return (other - 0x0101010101010101ULL) & ~other & 0x8080808080808080ULL;
  };
  for (std::size_t w = 0; w < text.words.size(); ++w) {
    const std::uint64_t comma = comma_in(w);
    if (comma == 0) continue;
    const auto bits = static_cast<unsigned>(std::countr_zero(comma)) - 7;
    text.words[w] &= (1ULL << bits) - 1;
    for (std::size_t other = w + 1; other < text.words.size(); ++other) text.words[other] = 0;
    text.size = 8 * w + bits / 8;
    return true;
  }
  return false;
}

/// Goes through a list of numbers from where an element is due, as long as each is written plainly and a comma follows.
/// \param count  grows by the elements that were taken
/// \param sink   `take(plain_number)` and `take_null()`: false leaves the element, and all from there on, to the
/// parser.
///               If it has `take_known(short_text)`, that is asked first, for texts that `learn(short_text)` was told
///               of: they were taken before
/// \returns the bytes that were taken: up to behind the comma of the last such element
template <class Sink>
std::size_t take_numbers(std::string_view text, std::size_t& count, Sink&& sink) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  const char* done = text.data();
  const char* const last = text.data() + text.size();
  while (last - done >= room_of_number) {
    constexpr bool remembers = requires(const short_text& known) { sink.take_known(known); };
    [[maybe_unused]] short_text known;
    [[maybe_unused]] bool is_short = false;
    if constexpr (remembers) {
      is_short = read_short_text(done, known);
      if (is_short && sink.take_known(known)) {
        ++count;
        done += known.size + 1;
        continue;
      }
    }
    const char* p = done;
    for (int blanks = 0; blanks < 8 && is_blank(*p); ++blanks) ++p;
    plain_number number;
    const bool none = *p == 'n';
    if (none) {
      if (std::memcmp(p, "null", 4) != 0) break;
      p += 4;
    } else if (p = scan_number(p, number); p == nullptr) {
      break;
    }
    for (int blanks = 0; blanks < 2 && is_blank(*p); ++blanks) ++p;
    if (*p != ',' || !(none ? sink.take_null() : sink.take(number))) break;
    if constexpr (remembers)
      if (is_short) sink.learn(known);
    ++count;
    done = p + 1;
  }
  return static_cast<std::size_t>(done - text.data());
}

}  // namespace shardweave::inline v0::detail

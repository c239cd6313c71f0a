#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Text of users as UTF-8, whatever bytes it has, and as a string of JSON.

namespace shardweave::inline v0::detail {

/// Length of the well-formed UTF-8 character at `at`; 0 if there is none.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() - at < length) return 0;
  // the second byte rules out overlong forms, surrogates and what lies beyond the last code point
  const unsigned low = lead == 0xE0 ? 0xA0U : lead == 0xF0 ? 0x90U : 0x80U;
  const unsigned high = lead == 0xED ? 0x9FU : lead == 0xF4 ? 0x8FU : 0xBFU;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return length;
}

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// Appends the text; `special(out, one)` may write a character, of one to four bytes, in its own way and then says
/// true. Bytes that are no UTF-8 become the replacement character.
template <class Special>
void append_escaped(std::string& out, std::string_view text, Special special) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      out += replacement_character;
      ++at;
      continue;
    }
    if (!special(out, text.substr(at, length))) out += text.substr(at, length);
    at += length;
  }
}

/// With the quotes around it.
inline void append_json(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text, [](std::string& to, std::string_view one) {
    const char c = one.front();
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
      return true;
    }
    if (const auto code = static_cast<unsigned char>(c); code < 0x20) {
      constexpr std::string_view hex = "0123456789abcdef";
      to += "\\u00";
      to += hex[code >> 4U];
      to += hex[code & 15U];
      return true;
    }
    return false;
  });
  out += '"';
}

}  // namespace shardweave::inline v0::detail

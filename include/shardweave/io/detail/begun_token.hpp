#pragma once

#include <boost/json/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Where what is wrong with a JSON text begins. Boost's parser tells of a wrong character, word or escape at one of its
/// bytes: at which depends on how much of it has arrived.

namespace shardweave::inline v0::detail {

/// How many of the last bytes begin a character of UTF-8 that is not whole; 0: there is none.
inline std::size_t begun_character(std::string_view text) {
  for (std::size_t count = std::min<std::size_t>(text.size(), 3); count > 0; --count) {
    const auto c = static_cast<unsigned char>(text[text.size() - count]);
    const std::size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    if (whole > count) return count;
  }
  return 0;
}

/// How many of the last bytes begin `true`, `false` or `null`, where a value may begin; 0: none do.
inline std::size_t begun_word(std::string_view text) {
  for (const std::string_view word : {"true", "false", "null"})
    for (std::size_t count = 1; count < word.size(); ++count)
      if (text.ends_with(word.substr(0, count))) {
        text.remove_suffix(count);
        return text.empty() || std::string_view("[]},: \t\r\n").find(text.back()) != text.npos ? count : 0;
      }
  return 0;
}

/// The most bytes that the following looks at.
inline constexpr std::size_t begun_token_size = 12;

/// Whether an escape is no character: in which of three ways depends on how much of it had arrived.
inline bool is_escape(const boost::json::error_code& ec) {
  using boost::json::error;
  return ec == error::expected_hex_digit || ec == error::illegal_leading_surrogate ||
         ec == error::illegal_trailing_surrogate;
}

/// How many of the bytes before where the parser stopped belong to what it complained about.
/// \param rest  from where it stopped
inline std::size_t begun_token(std::string_view before, std::string_view rest, const boost::json::error_code& ec) {
  if (is_escape(ec)) {
    const std::string around = std::string(before).append(rest.substr(0, 1));
    std::size_t at = std::min(around.rfind("\\u"), before.size());
    if (at >= 2 && around.compare(at - 2, 2, "\\u") == 0) at -= 2;  // what follows an escape without its digits
    return before.size() - at;
  }
  const std::size_t character = begun_character(before);
  return character + begun_word(before.substr(0, before.size() - character));
}

}  // namespace shardweave::inline v0::detail

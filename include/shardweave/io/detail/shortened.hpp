#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardweave::inline v0::detail {

/// Control characters become '?', so that a message stays one line whatever a file holds.
[[nodiscard]] inline std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

/// What a message quotes of a text: its first 40 bytes or a little less, cut between UTF-8 characters, and "..." if
/// there is more; on one line.
[[nodiscard]] inline std::string shortened(std::string_view text) {
  std::size_t size = text.size();
  if (size > 40)
    for (size = 40; size > 36 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80;) --size;
  return one_line(std::string(text.substr(0, size))) + (size < text.size() ? "..." : "");
}

}  // namespace shardweave::inline v0::detail

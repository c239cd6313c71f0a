#pragma once

#include <shardweave/core/utf8_text.hpp>

#include <string>
#include <string_view>

/// \file
/// Names of users inside other languages: XML, DOT, CSV. What comes out is UTF-8 whatever went in.

namespace shardweave::inline v0::detail {

/// For text and for attributes in double quotes. XML has no way to say most control characters, nor U+FFFE and U+FFFF.
inline void append_xml(std::string& out, std::string_view text) {
  append_escaped(out, text, [](std::string& to, std::string_view one) {
    const char c = one.front();
    const bool is_none = static_cast<unsigned char>(c) < 0x20 || one == "\xEF\xBF\xBE" || one == "\xEF\xBF\xBF";
    const std::string_view name = c == '&'                              ? "&amp;"
                                  : c == '<'                            ? "&lt;"
                                  : c == '>'                            ? "&gt;"
                                  : c == '"'                            ? "&quot;"
                                  : c == '\n' || c == '\t' || c == '\r' ? " "
                                  : is_none                             ? replacement_character
                                                                        : "";
    to += name;
    return !name.empty();
  });
}

/// For a DOT string, without the quotes around it. New lines stay new lines.
inline void append_dot(std::string& out, std::string_view text) {
  append_escaped(out, text, [](std::string& to, std::string_view one) {
    const char c = one.front();
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (c == '\n') {
      to += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += ' ';
    } else {
      return false;
    }
    return true;
  });
}

/// One field of a CSV row (RFC 4180): in quotes where it must be.
inline void append_csv(std::string& out, std::string_view text) {
  const bool quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out += '"';
  append_escaped(out, text, [](std::string& to, std::string_view one) {
    const char c = one.front();
    if (c == '"') to += '"';
    return false;
  });
  if (quoted) out += '"';
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/json_handler.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/text_input.hpp>

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Runs a JSON text through a tree of shapes while it is being read.

namespace shardweave {
inline namespace v0 {

/// How readers treat what their format does not name.
struct read_options {
  bool strict = false;  ///< refuse unknown fields, which are ignored otherwise
};

namespace detail {

/// Line ends are rare in large files: to search is faster than to count.
inline std::size_t line_count(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++count;
  return count;
}

/// \param rest  of the piece, from where reading stopped
/// \param more  false at the end of the text, where whatever fails fails for want of more
inline std::string what_is_wrong(const json_handler& handler, const boost::json::error_code& ec, std::string_view rest,
                                 bool more) {
  if (!handler.problem().empty()) return handler.problem();
  if (!more) return "the text ends too early, in " + handler.place();
  std::string at;
  if (!rest.empty()) {
    const auto c = static_cast<unsigned char>(rest.front());
    at = c > 0x20 && c < 0x7f ? std::string(" at '") + rest.front() + "'" : " at byte value " + std::to_string(c);
  }
  if (ec == boost::json::error::extra_data) return "more text follows the end of the JSON value" + at;
  return "not JSON in " + handler.place() + ": " + ec.message() + at;
}

/// Runs what checks data after the whole text was read, and puts the text's name before its complaints.
template <class Check>
auto with_name_of(const text_input& input, Check check) {
  try {
    return check();
  } catch (const error& e) {
    refuse(e.category(), input.name() + ": " + one_line(e.what()));
  }
}

/// Reads one value, or as many as there are.
inline void read_json_text(text_input& input, const json_shape& root, const read_options& options, const bool* enough,
                           bool many) {
  boost::json::basic_parser<json_handler> parser(boost::json::parse_options{}, root, options.strict, enough);
  std::size_t bytes_before = 0, lines_before = 0;
  const auto refuse_at = [&](std::string_view read, const boost::json::error_code& ec, std::string_view rest,
                             bool more) {
    refuse(error_category::format, input.name() + ": line " + std::to_string(lines_before + line_count(read) + 1) +
                                       ", byte " + std::to_string(bytes_before + read.size() + 1) + ": " +
                                       what_is_wrong(parser.handler(), ec, rest, more));
  };
  bool between = false;  // whether a value ended and no other one has begun
  for (bool more = true; more;) {
    const std::string_view piece = input.next();
    more = !piece.empty();
    std::string_view rest = piece;
    do {
      if (between) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
        if (rest.empty()) break;
        parser.reset();
        between = false;
      }
      boost::json::error_code ec;
      rest.remove_prefix(parser.write_some(more, rest.data() == nullptr ? "" : rest.data(), rest.size(), ec));
      if (!ec && many && parser.done()) between = true;
      if (!ec && !rest.empty() && !between) ec = boost::json::make_error_code(boost::json::error::extra_data);
      if (ec && parser.handler().stopped()) return;
      if (ec) refuse_at(piece.substr(0, piece.size() - rest.size()), ec, rest, more);
    } while (!rest.empty());
    bytes_before += piece.size();
    lines_before += line_count(piece);
  }
}

}  // namespace detail

/// Reads a JSON text through a tree of shapes, whose variables then hold what it says.
/// \param enough  if given, reading ends without an error once a callback has set it
/// \throws error (format) "NAME: line L, byte B: PLACE WHAT" for text that is no JSON or has another shape; line
///         and byte, both counted from 1, are where reading stopped
/// Complexity: linear; memory for one piece of the text and the path of the current value (depth at most 32).
inline void read_json(text_input& input, const json_shape& root, const read_options& options = {},
                      const bool* enough = nullptr) {
  detail::read_json_text(input, root, options, enough, false);
}

/// The same of a text of one or more JSON values that follow each other, with or without blanks between them; each of
/// them has the shape of the root.
inline void read_json_values(text_input& input, const json_shape& root, const read_options& options = {},
                             const bool* enough = nullptr) {
  detail::read_json_text(input, root, options, enough, true);
}

}  // namespace v0
}  // namespace shardweave

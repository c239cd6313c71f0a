#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/begun_token.hpp>
#include <shardweave/io/detail/json_handler.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/text_input.hpp>

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Runs a JSON text through a tree of shapes while it is being read.

namespace shardweave::inline v0 {

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

/// The last bytes of a text of which pieces came.
inline std::string_view last_bytes(std::string_view text, std::size_t count) {
  return text.substr(text.size() - std::min(text.size(), count));
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
  if (ec == boost::json::error::too_deep) return handler.place() + " is nested more than 32 deep";
  if (ec == boost::json::error::extra_data) return "more text follows the end of the JSON value" + at;
  return "not JSON in " + handler.place() + ": " + (is_escape(ec) ? "an escape that is no character" : ec.message()) +
         at;
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

/// Boost's parser, and around it the way in which lists of numbers are read in bulk. The parser sees the first element
/// of such a list with its comma, and from then on only what is not taken, from where an element is due: so it knows
/// where it stands, and what is wrong it finds where it would have found it.
class json_run {
 public:
  json_run(const json_shape& root, bool strict, const bool* enough)
      : parser_(boost::json::parse_options{}, root, strict, enough) {}

  [[nodiscard]] const json_handler& handler() const { return parser_.handler(); }
  [[nodiscard]] bool done() const { return parser_.done(); }
  /// For one more value.
  void reset() {
    parser_.reset();
    in_bulk_ = false;
  }

  /// \returns the bytes that were read: all, unless something is wrong or the value has ended
  std::size_t read(std::string_view piece, boost::json::error_code& ec) {
    std::size_t at = 0;
    const auto give = [&](std::size_t to) {
      at += parser_.write_some(true, piece.data() + at, to - at, ec);
      return !ec && at == to;
    };
    while (at < piece.size()) {
      if (in_bulk_) {
        const std::size_t to = piece.find_first_not_of("0123456789.eE+-nul \t\r\n", at);
        if (to == std::string_view::npos) {
          give(piece.size());
          break;
        }
        if (piece[to] == ',') {
          if (!give(to + 1)) break;
          at += parser_.handler().take_bulk(piece.substr(at));
          continue;
        }
        in_bulk_ = false;
      }
      const std::size_t bracket = std::min(piece.find('[', at), piece.size());
      if (!give(std::min(bracket + 1, piece.size()))) break;
      in_bulk_ = bracket < piece.size() && parser_.handler().opens_bulk();
    }
    return at;
  }
  /// The end of the text. \returns 0
  std::size_t end(boost::json::error_code& ec) { return parser_.write_some(false, "", 0, ec); }

 private:
  boost::json::basic_parser<json_handler> parser_;
  bool in_bulk_ = false;  ///< since an element of a list was due, nothing but numbers, null and blanks was read
};

/// Reads one value, or as many as there are.
inline void read_json_text(text_input& input, const json_shape& root, const read_options& options, const bool* enough,
                           bool many) {
  json_run run(root, options.strict, enough);
  std::size_t bytes_before = 0, lines_before = 0;
  std::string last;  // bytes before the piece
  const auto refuse_at = [&](std::string_view read, const boost::json::error_code& ec, std::string_view rest,
                             bool more) {
    std::string before = last + std::string(last_bytes(read, begun_token_size));
    if (const std::size_t begun = more ? begun_token(last_bytes(before, begun_token_size), rest, ec) : 0) {
      before.erase(0, before.size() - begun);
      bytes_before -= begun;
      lines_before -= line_count(before);
      rest = before;
    }
    refuse(error_category::format, input.name() + ": line " + std::to_string(lines_before + line_count(read) + 1) +
                                       ", byte " + std::to_string(bytes_before + read.size() + 1) + ": " +
                                       what_is_wrong(run.handler(), ec, rest, more));
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
        run.reset();
        between = false;
      }
      boost::json::error_code ec;
      rest.remove_prefix(more ? run.read(rest, ec) : run.end(ec));
      if (!ec && many && run.done()) between = true;
      if (!ec && !rest.empty() && !between) ec = boost::json::make_error_code(boost::json::error::extra_data);
      if (ec && run.handler().stopped()) return;
      if (ec) refuse_at(piece.substr(0, piece.size() - rest.size()), ec, rest, more);
    } while (!rest.empty());
    bytes_before += piece.size();
    lines_before += line_count(piece);
    last = last_bytes(last + std::string(last_bytes(piece, begun_token_size)), begun_token_size);
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

}  // namespace shardweave::inline v0

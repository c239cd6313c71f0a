#pragma once

#include <shardweave/core/utf8_text.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

/// \file
/// Writes JSON piece by piece.

namespace shardweave::inline v0 {

/// Writes JSON to a sink in pieces of some 64 KiB. Numbers are the shortest text that reads back to the same
/// bits; what JSON cannot say (infinities, not a number) becomes null, and bytes that are no UTF-8 the replacement
/// character. The caller keeps begins and ends paired, and gives every value in an object a key.
class json_writer {
 public:
  using sink = std::function<void(std::string_view)>;
  explicit json_writer(sink out) : out_(std::move(out)) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_list() { return open('['); }
  json_writer& end_list() { return close(']'); }
  /// The next element starts a line of its own.
  json_writer& line() {
    fresh_line_ = true;
    return *this;
  }

  json_writer& key(std::string_view name) {
    separate();
    string(name);
    text_ += ':';
    comma_ = false;
    return *this;
  }

  json_writer& value(std::string_view text) {
    separate();
    string(text);
    return done();
  }
  json_writer& value(const char* text) { return value(std::string_view(text)); }
  json_writer& value(const std::string& text) { return value(std::string_view(text)); }
  json_writer& null() {
    separate();
    text_ += "null";
    return done();
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  json_writer& value(Number number) {
    if constexpr (std::same_as<Number, bool>) {
      separate();
      text_ += number ? "true" : "false";
      return done();
    } else {
      if constexpr (std::floating_point<Number>)
        if (!std::isfinite(number)) return null();
      separate();
      char digits[32];
      text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
      return done();
    }
  }

  /// A list of all values of a range, on one line.
  template <class Range>
  json_writer& values(const Range& range) {
    begin_list();
    for (const auto& v : range) value(v);
    return end_list();
  }
  template <class Value>
  json_writer& member(std::string_view name, const Value& v) {
    return key(name).value(v);
  }
  /// Nothing for an empty text.
  json_writer& text_if_any(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }
  template <class Range>
  json_writer& list(std::string_view name, const Range& range) {
    return key(name).values(range);
  }

  /// Ends the line, if one is due, and hands what is left to the sink.
  void flush() {
    if (fresh_line_) text_ += '\n';
    fresh_line_ = false;
    hand_over();
  }

 private:
  void hand_over() {
    out_(text_);
    text_.clear();
  }
  void separate() {
    if (comma_) text_ += ',';
    if (fresh_line_) text_ += '\n';
    fresh_line_ = false;
  }
  json_writer& done() {
    comma_ = true;
    if (text_.size() > (1U << 16)) hand_over();
    return *this;
  }
  json_writer& open(char bracket) {
    separate();
    text_ += bracket;
    comma_ = false;
    return *this;
  }
  json_writer& close(char bracket) {
    comma_ = false;
    separate();
    text_ += bracket;
    return done();
  }
  void string(std::string_view text) { detail::append_json(text_, text); }

  sink out_;
  std::string text_;
  bool comma_ = false;
  bool fresh_line_ = false;
};

/// Writes one JSON value with `write(json_writer&)` and gives its text.
template <class Write>
[[nodiscard]] std::string json_string(Write write) {
  std::string text;
  json_writer out([&](std::string_view piece) { text += piece; });
  write(out);
  out.flush();
  return text;
}

}  // namespace shardweave::inline v0

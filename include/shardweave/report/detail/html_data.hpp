#pragma once

#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/report/unit_text.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// JSON as it stands inside of an HTML element, piece by piece.

namespace shardweave::inline v0::detail {

/// JSON inside of HTML, member by member.
class html_data {
 public:
  using sink_type = const std::function<void(std::string_view)>;
  explicit html_data(sink_type& sink) : out_(sink) {}

  void open(char bracket) {
    separate();
    out_.text += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_.text += bracket;
    first_ = false;
    out_.pass();
  }
  html_data& key(std::string_view name) {
    text(name);
    out_.text += ':';
    first_ = true;
    return *this;
  }
  void number(std::int64_t value) {
    separate();
    out_.text += std::to_string(value);
    out_.pass();
  }
  void number(std::size_t value) { number(static_cast<std::int64_t>(value)); }
  void number(std::uint32_t value) { number(static_cast<std::int64_t>(value)); }
  void share(double value) {
    separate();
    out_.text += fixed_text(value, 6);
  }
  void null() {
    separate();
    out_.text += "null";
  }
  /// No text closes the element that it stands in.
  void text(std::string_view value) {
    separate();
    quoted_.clear();
    append_json(quoted_, value);
    for (const char c : quoted_) c == '<' ? void(out_.text += "\\u003c") : void(out_.text += c);
    out_.pass();
  }
  template <class Range, class Value>
  void numbers(std::string_view name, const Range& range, Value value) {
    key(name).open('[');
    for (const auto& x : range) number(static_cast<std::int64_t>(value(x)));
    close(']');
  }
  template <class Range>
  void texts(std::string_view name, const Range& range) {
    key(name).open('[');
    for (const auto& x : range) text(x);
    close(']');
  }
  /// Numbers below 10, a digit each.
  template <class Range, class Value>
  void digits(std::string_view name, const Range& range, Value value) {
    key(name);
    first_ = false;
    out_.text += '"';
    for (const auto& x : range) out_.text += static_cast<char>('0' + static_cast<int>(value(x)));
    out_.text += '"';
    out_.pass();
  }
  /// Each as what it is more than the one before it.
  template <class Range, class Value>
  void differences(std::string_view name, const Range& range, Value value) {
    std::int64_t before = 0;
    numbers(name, range, [&](const auto& x) {
      const std::int64_t now = static_cast<std::int64_t>(value(x));
      return now - std::exchange(before, now);
    });
  }
  /// What is no JSON: the page around it.
  void raw(std::string_view piece) {
    out_.text += piece;
    out_.pass();
  }
  void escaped(std::string_view piece) { append_xml(out_.text, piece); }
  void flush() { out_.flush(); }

 private:
  void separate() {
    if (!first_) out_.text += ',';
    first_ = false;
  }
  buffered_text<sink_type> out_;
  std::string quoted_;
  bool first_ = true;
};

}  // namespace shardweave::inline v0::detail

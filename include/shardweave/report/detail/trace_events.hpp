#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/text_sink.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// \file
/// The letters of Chrome trace JSON.

namespace shardweave::inline v0::detail {

/// Microseconds to the nanosecond, as a decimal number.
inline void append_microseconds(std::string& out, nanoseconds time) {
  const auto size = static_cast<std::uint64_t>(time.count());
  const std::uint64_t ns = time.count() < 0 ? 0 - size : size;
  if (time.count() < 0) out += '-';
  out += std::to_string(ns / 1000);
  if (const std::uint64_t rest = ns % 1000; rest != 0) {
    out += '.';
    out += static_cast<char>('0' + rest / 100);
    if (rest % 100 != 0) out += static_cast<char>('0' + rest / 10 % 10);
    if (rest % 10 != 0) out += static_cast<char>('0' + rest % 10);
  }
}

/// Writes events of one process, one per line.
template <class Sink>
class trace_events : public buffered_text<Sink> {
 public:
  using buffered_text<Sink>::text;

  trace_events(Sink& sink, std::int64_t process_id) : buffered_text<Sink>(sink), process_id_(process_id) {}

  /// Starts an event; the caller closes its brace.
  void begin(char phase, std::string_view name, std::int64_t tid) {
    text += first_ ? "\n" : ",\n";
    first_ = false;
    text += "{\"ph\":\"";
    text += phase;
    text += "\",\"name\":";
    append_json(text, name);
    number("pid", process_id_);
    number("tid", tid);
  }
  void number(std::string_view key, std::int64_t value) {
    text += ",\"";
    (text += key) += "\":";
    text += std::to_string(value);
  }
  void time(std::string_view key, nanoseconds value) {
    text += ",\"";
    (text += key) += "\":";
    append_microseconds(text, value);
  }
  void string(std::string_view key, std::string_view value) {
    text += ",\"";
    (text += key) += "\":";
    append_json(text, value);
  }
  template <class Value>
  void metadata(std::string_view what, std::int64_t tid, std::string_view key, const Value& value) {
    begin('M', what, tid);
    text += ",\"args\":{\"";
    (text += key) += "\":";
    if constexpr (std::is_integral_v<Value>) {
      text += std::to_string(value);
    } else {
      append_json(text, value);
    }
    text += "}}";
  }

 private:
  std::int64_t process_id_;
  bool first_ = true;
};

}  // namespace shardweave::inline v0::detail

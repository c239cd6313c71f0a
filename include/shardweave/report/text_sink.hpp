#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

/// \file
/// Where reports go: the library makes text, the caller decides what becomes of it.

namespace shardweave::inline v0 {

/// Takes text piece by piece: `sink(std::string_view)`. The pieces in their order are the text; a piece is
/// not kept after the call. Whatever the sink throws ends the report.
template <class Sink>
concept text_sink = std::invocable<Sink&, std::string_view>;

namespace detail {
/// Gives a sink its next piece; a static assertion says so of anything else.
template <class Sink>
void pass_on(Sink& sink, std::string_view piece) {
  static_assert(text_sink<Sink>, "A sink of text must be called with a std::string_view (shardweave::text_sink).");
  if constexpr (text_sink<Sink>) sink(piece);
}

/// Collects small pieces, and hands them on when there are some 64 KiB.
template <class Sink>
class buffered_text {
 public:
  explicit buffered_text(Sink& sink) : sink_(&sink) {}
  buffered_text(const buffered_text&) = delete;
  buffered_text& operator=(const buffered_text&) = delete;

  std::string text = {};  ///< append here
  /// Between two records.
  void pass() {
    if (text.size() >= (std::size_t{1} << 16)) flush();
  }
  void flush() {
    if (!text.empty()) pass_on(*sink_, text);
    text.clear();
  }

 private:
  Sink* sink_;
};

/// The whole text that `write(sink)` makes.
template <class Write>
[[nodiscard]] std::string text_of(Write write) {
  std::string all;
  write([&](std::string_view piece) { all += piece; });
  return all;
}
}  // namespace detail

}  // namespace shardweave::inline v0

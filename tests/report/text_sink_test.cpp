#include <shardweave/report/text_sink.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace text_sink_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("text_sink") {
  TEST_CASE("pieces are handed on when they are large, the rest at the end, nothing twice") {
    std::vector<std::string> pieces;
    auto sink = [&](std::string_view piece) { pieces.emplace_back(piece); };
    {
      sw::detail::buffered_text<decltype(sink)> out(sink);
      std::string expected;
      for (int i = 0; i < 20'000; ++i) {
        out.text += "12345678\n";
        expected += "12345678\n";
        out.pass();
      }
      out.flush();
      out.flush();
      std::string all;
      for (const std::string& piece : pieces) all += piece;
      CHECK(all == expected);
    }
    CHECK(pieces.size() == 3);  // 180,000 bytes in pieces of 65,536 and some
    static_assert(sw::text_sink<decltype(sink)>);
    static_assert(!sw::text_sink<std::string>);
  }
}

}  // namespace text_sink_tests

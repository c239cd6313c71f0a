#include <shardweave/core/utf8_text.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace sw = shardweave;

namespace utf8_text_tests {
namespace {
std::string json(std::string_view text) {
  std::string out;
  sw::detail::append_json(out, text);
  return out;
}
}  // namespace

TEST_SUITE("utf8_text") {
  TEST_CASE("characters of one to four bytes stay, other bytes are replaced one by one") {
    CHECK(json("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") == "\"a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    CHECK(json("caf\xE9") == "\"caf\xEF\xBF\xBD\"");
    CHECK(json("\xC0\xAF") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");   // overlong
    CHECK(sw::detail::utf8_length("\xED\xA0\x80", 0) == 0);      // a surrogate
    CHECK(sw::detail::utf8_length("\xF4\x90\x80\x80", 0) == 0);  // beyond the last character
    CHECK(sw::detail::utf8_length("\xF0\x9F\x98", 0) == 0);      // cut off
  }
  TEST_CASE("quotes, backslashes and control characters are escaped") {
    CHECK(json("\"\\\n\x01") == "\"\\\"\\\\\\u000a\\u0001\"");
  }
}

}  // namespace utf8_text_tests

#include <shardweave/report/detail/escape.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <string>
#include <string_view>

namespace sw = shardweave;

namespace escape_tests {
namespace {

template <class Append>
std::string with(Append append, std::string_view text) {
  std::string out;
  append(out, text);
  return out;
}

/// Well-formed by the definition: decoded to a code point that encodes to the same bytes, is no surrogate and
/// is not beyond the last.
bool is_utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const std::size_t n = text.size();
  if (n == 1) return byte(0) < 0x80;
  unsigned code = byte(0) & (0xFFU >> (n + 1));
  if ((byte(0) >> (7 - n)) != (n == 2 ? 0b110U : n == 3 ? 0b1110U : 0b11110U)) return false;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) >> 6U) != 2) return false;
    code = code << 6U | (byte(i) & 63U);
  }
  const unsigned least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
  return code >= least && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

}  // namespace

TEST_SUITE("report escapes") {
  TEST_CASE("UTF-8 is told from other bytes as its definition says") {
    for (unsigned a = 0; a < 256; ++a) {
      for (unsigned b = 0; b < 256; ++b) {
        if (shardweave_test::is_small_scale && b % 16 != 0 && b % 16 != 15) continue;  // all limits are there
        for (const char* rest : {"", "\x80", "\xBF", "\x80\x80", "\xBF\xBF", "\xBFx", "x"}) {
          const std::string text = std::string{static_cast<char>(a), static_cast<char>(b)} + rest;
          std::size_t expected = 0;
          for (std::size_t n = 1; n <= std::min<std::size_t>(4, text.size()); ++n)
            if (is_utf8_character(text.substr(0, n))) expected = n;
          REQUIRE(sw::detail::utf8_length(text, 0) == expected);
        }
      }
    }
  }

  TEST_CASE("each language has its own way out") {
    const std::string_view name = "a\"b\\c<d>&e\nf,g\x01\xC3\xA4\xFF";
    CHECK(with(sw::detail::append_json, name) == "\"a\\\"b\\\\c<d>&e\\u000af,g\\u0001\xC3\xA4\xEF\xBF\xBD\"");
    CHECK(with(sw::detail::append_xml, name) == "a&quot;b\\c&lt;d&gt;&amp;e f,g\xEF\xBF\xBD\xC3\xA4\xEF\xBF\xBD");
    CHECK(with(sw::detail::append_dot, name) == "a\\\"b\\\\c<d>&e\\nf,g \xC3\xA4\xEF\xBF\xBD");
    CHECK(with(sw::detail::append_csv, name) == "\"a\"\"b\\c<d>&e\nf,g\x01\xC3\xA4\xEF\xBF\xBD\"");
    CHECK(with(sw::detail::append_csv, "plain") == "plain");
    const std::string_view none = "\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBC";  // U+FFFE and U+FFFF are no characters of XML
    CHECK(with(sw::detail::append_xml, none) == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBC");
    CHECK(with(sw::detail::append_json, none) == '"' + std::string(none) + '"');
  }
}

}  // namespace escape_tests

#include <shardweave/io/json_writer.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("json_writer") {
  TEST_CASE("objects and lists nest, with commas between and lines where asked for") {
    const std::string text = sw::json_string([](sw::json_writer& out) {
      out.begin_object().member("a", 1).line().key("b").begin_list().value(true).null().begin_object().end_object();
      out.begin_list().end_list().end_list().list("c", std::vector{1, 2}).text_if_any("d", "").end_object().line();
    });
    CHECK(text == "{\"a\":1,\n\"b\":[true,null,{},[]],\"c\":[1,2]}\n");
  }

  TEST_CASE("any text survives, as another parser confirms") {
    std::string every;
    for (int c = 1; c < 0x80; ++c) every += static_cast<char>(c);
    every += "\xc3\xa4\xe2\x82\xac";
    const std::string text = sw::json_string([&](sw::json_writer& out) { out.value(every); });
    CHECK(boost::json::parse(text).as_string() == every);
  }

  TEST_CASE("numbers are the shortest text that means the same, and no JSON number becomes null") {
    const auto of = [](auto number) { return sw::json_string([&](sw::json_writer& out) { out.value(number); }); };
    CHECK(of(0.1) == "0.1");
    CHECK(of(-0.0) == "-0");
    CHECK(of(1e18) == "1e+18");
    CHECK(of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(of(std::numeric_limits<double>::infinity()) == "null");
    CHECK(of(std::numeric_limits<double>::quiet_NaN()) == "null");
  }

  TEST_CASE("long output reaches the sink in pieces") {
    std::size_t pieces = 0;
    std::string text;
    sw::json_writer out([&](std::string_view piece) {
      ++pieces;
      text += piece;
    });
    out.begin_list();
    for (int i = 0; i < 100'000; ++i) out.value(i);
    out.end_list();
    out.flush();
    CHECK(pieces > 5);
    CHECK(boost::json::parse(text).as_array().size() == 100'000);
  }
  TEST_CASE("text is UTF-8 whatever went in") {
    CHECK(sw::json_string([](sw::json_writer& out) { out.begin_object().member("caf\xE9", "\xC3(").end_object(); }) ==
          "{\"caf\xEF\xBF\xBD\":\"\xEF\xBF\xBD(\"}");
    CHECK(sw::json_string([](sw::json_writer& out) { out.value("\"\\\n\xC3\xA9"); }) == "\"\\\"\\\\\\u000a\xC3\xA9\"");
  }
}

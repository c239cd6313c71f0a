#include "io/refused.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace json_stream_tests {
namespace {

/// Reads a text through a shape, in pieces of the given size.
void read(const std::string& text, const sw::json_shape& shape, std::size_t piece = 1U << 18, bool strict = false) {
  auto input = sw::text_input::of_memory("T", text, piece);
  sw::read_json(input, shape, {.strict = strict});
}

struct sample {
  std::string name;
  std::vector<double> costs;
  std::vector<std::string> labels;
  std::int64_t count = 0;
  bool flag = false;
};

sw::json_shape shape_of(sample& s) {
  return sw::json_object(
      {sw::json_required("name", sw::json_text(s.name)), sw::json_required("costs", sw::json_numbers(s.costs)),
       sw::json_optional("labels", sw::json_texts(s.labels)), sw::json_optional("count", sw::json_number(s.count)),
       sw::json_optional("flag", sw::json_flag(s.flag))});
}

const std::string good =
    "{\"name\": \"a \\u00e4 \\\"q\\\"\",\n \"more\": {\"deep\": [1, {\"x\": null}]},\n \"costs\": [1, 2.5, -3e2],\n"
    " \"labels\": [\"S(0)\", \"R\"], \"count\": -9007199254740993, \"flag\": true}\n";

}  // namespace

TEST_SUITE("read_json") {
  TEST_CASE("values go to the variables of their shapes, however the text is cut into pieces") {
    for (std::size_t piece = 1; piece <= good.size() + 1; ++piece) {
      CAPTURE(piece);
      sample s;
      read(good, shape_of(s), piece);
      CHECK(s.name == "a \xc3\xa4 \"q\"");
      CHECK(s.costs == std::vector{1.0, 2.5, -300.0});
      CHECK(s.labels == std::vector<std::string>{"S(0)", "R"});
      CHECK(s.count == -9007199254740993);
      CHECK(s.flag);
    }
  }

  TEST_CASE("a text cut anywhere is refused with one line") {
    for (std::size_t size = 0; size + 2 <= good.size(); ++size) {
      CAPTURE(size);
      sample s;
      const std::string message = refused([&] { return read(good.substr(0, size), shape_of(s)), 0; });
      CHECK(message.starts_with("T: line "));
      CAPTURE(message);
      CHECK(message.find("the text ends too early, in ") != std::string::npos);
      CHECK(is_one_line(message));
    }
  }

  TEST_CASE("what is wrong is told with its line, its byte, its place, what was found and what was expected") {
    const auto message = [](const std::string& text) {
      sample s;
      return refused([&] { return read(text, shape_of(s), 1U << 18, true), 0; });
    };
    CHECK(message("{\"name\": 7}") == "T: line 1, byte 11: name is 7, expected a string");
    CHECK(message("{\"name\": {}}") == "T: line 1, byte 10: name is an object, expected a string");
    CHECK(message("{\n\"costs\": [1,\n \"x\"]}") == "T: line 3, byte 19: costs[1] is \"x\", expected a number");
    CHECK(message("{\"costs\": [null]}") == "T: line 1, byte 12: costs[0] is null, expected a number");
    CHECK(message("{\"costs\": [1e400]}") == "T: line 1, byte 17: costs[0] is 1e400, expected a number");
    CHECK(message("{\"costs\": 1}") == "T: line 1, byte 12: costs is 1, expected a list");
    CHECK(message("{\"costs\": [NaN]}") == "T: line 1, byte 12: not JSON in costs[0]: syntax error at 'N'");
    CHECK(message("{\"costs\": [-Infinity]}") == "T: line 1, byte 13: not JSON in costs[0]: syntax error at 'I'");
    CHECK(message("{\"count\": 1.5}") == "T: line 1, byte 14: count is 1.5, expected a whole number");
    CHECK(message("{\"flag\": \"yes\"}") == "T: line 1, byte 14: flag is \"yes\", expected true or false");
    CHECK(message("{\"name\": \"\", \"name\": \"\"}") == "T: line 1, byte 19: the text has the field 'name' twice");
    CHECK(message("{\"colour\": 1}") == "T: line 1, byte 9: the text has the unknown field 'colour'");
    CHECK(message("{\"name\": \"x\"}") == "T: line 1, byte 13: the text has no field 'costs'");
    CHECK(message("[]") == "T: line 1, byte 1: the text is a list, expected an object");
    CHECK(message("") == "T: line 1, byte 1: the text ends too early, in the text");
    CHECK(message("{\"name\":\"\",\"costs\":[]} {") ==
          "T: line 1, byte 24: more text follows the end of the JSON value at '{'");
    CHECK(message("{\"name\":\"\xff\"}").starts_with("T: line 1, byte 1"));
  }

  TEST_CASE("a character that is none is told of where it begins, however the text is cut into pieces") {
    for (const std::string wrong :
         {"\xee", "\xee\xa0", "\xc3", "\xe0\x80\x80", "\xf0\x9f\x98", "\xf4\xbf\xbf\xbf", "\x80", "\xff"})
      for (const std::string after : {"s\"}", "\n\n\n\"}", "\xc3\xa4\"}"}) {
        const std::string before = "{\"\xc3\xa4\": 1,\n\"name\": \"a\xc3\xa4";
        const auto message = [&](std::size_t piece) {
          sample s;
          return refused([&] { return read(before + wrong + after, shape_of(s), piece), 0; });
        };
        const std::string whole = message(1U << 18);
        CAPTURE(whole);
        CHECK(whole.starts_with("T: line 2, byte " + std::to_string(before.size() + 1) +
                                ": not JSON in name: syntax error"));
        for (std::size_t piece = 1; piece <= before.size() + 2; ++piece) CHECK(message(piece) == whole);
      }
  }

  TEST_CASE("a wrong word or escape is told of where it begins, however the text is cut into pieces") {
    const auto message = [](const std::string& text, std::size_t piece) {
      return refused([&] { return read(text, sw::json_anything(), piece), 0; });
    };
    const std::string at = "T: line 1, byte 2: not JSON in the text: ";
    for (const std::string wrong : {"n\"", "nil", "nulL", "t", "tru e", "f}", "fals]"})
      for (const std::string after : {"]", "    ]"})
        for (std::size_t piece = 1; piece <= 12; ++piece)
          CHECK(message("[" + wrong + after, piece) == at + "syntax error at '" + wrong[0] + "'");
    for (const std::string wrong :
         {"\\u", "\\u1x34", "\\u\\BBB", "\\u\\uaz", "\\u\\u1", "\\ux1x3", "\\udc00", "\\uDFFF"})
      for (const std::string after : {"\"", "      \""})
        for (std::size_t piece = 1; piece <= 16; ++piece)
          CHECK(message("\"" + wrong + after, piece) == at + "an escape that is no character at '\\'");
    CHECK(message("[\"count\n\"]", 1) == "T: line 1, byte 8: not JSON in the text: syntax error at byte value 10");
  }

  TEST_CASE("what is refused, and in which words, is the same however the text is cut into pieces") {
    const std::vector<std::string> tokens{
        "B", "8",       "n",    "u", "l",    "t", "r",    "e",       "f",    "\"",  "\\",  "1",    "0",    "-",
        ".", "E",       "+",    "{", "}",    "[", "]",    ",",       ":",    " ",   "\n",  "\x01", "\xe2", "\x82",
        "x", "\\uda26", "\xf0", "/", "\xff", "a", "null", "\\ud83d", "true", "\\u", "\\n", "\xac", "\xc3", "\"a\":"};
    sw::random_source random(24);
    std::size_t wrong = 0;
    for (int i = 0; i < 3000; ++i) {
      std::string text = std::vector<std::string>{"", "[", "{\"a\":", "\"", "[1,", "{\"a\":\""}[random.below(6)];
      for (auto count = random.below(9); count > 0; --count) text += tokens[random.below(tokens.size())];
      const auto outcome = [&](std::size_t piece) {
        return refused([&] { return read(text, sw::json_anything(), piece), 0; });
      };
      CAPTURE(text);
      const std::string whole = outcome(1U << 18);
      wrong += whole.empty() ? 0U : 1U;
      for (std::size_t piece = 1; piece <= 4; ++piece) CHECK(outcome(piece) == whole);
    }
    CHECK(wrong > 2500);
  }

  TEST_CASE("unknown fields are passed over unless strict reading is asked for") {
    sample s;
    read(good, shape_of(s));
    CHECK(refused([&] { return read(good, shape_of(s), 100, true), 0; }) ==
          "T: line 2, byte 34: the text has the unknown field 'more'");
  }

  TEST_CASE("nesting beyond 32 levels is refused") {
    sample s;
    const std::string deep = "{\"x\": " + std::string(40, '[') + std::string(40, ']') + "}";
    CHECK(refused([&] { return read(deep, shape_of(s)), 0; }).ends_with(" is nested more than 32 deep"));
  }

  TEST_CASE("integers are exact over 64 bits and refused beyond") {
    std::vector<std::int64_t> values;
    read("[9223372036854775807, -9223372036854775808, 9007199254740993, 1e18, 2.50e1]", sw::json_numbers(values));
    CHECK(values == std::vector<std::int64_t>{INT64_MAX, INT64_MIN, 9007199254740993, 1'000'000'000'000'000'000, 25});
    for (const char* text : {"[9223372036854775808]", "[1e19]", "[0.5]", "[-9223372036854775809]"})
      CHECK_THROWS_AS(read(text, sw::json_numbers(values)), sw::error);
    std::vector<std::uint32_t> indices;
    CHECK(refused([&] { return read("[4294967295, -1]", sw::json_numbers(indices)), 0; }) ==
          "T: line 1, byte 16: [1] is -1, expected a whole number from 0 to 4294967295");
    CHECK(refused([&] { return read("[4294967296]", sw::json_numbers(indices)), 0; }) ==
          "T: line 1, byte 12: [0] is 4294967296, expected a whole number from 0 to 4294967295");
  }

  TEST_CASE("doubles are the nearest ones, and what is written reads back to the same bits") {
    sw::random_source random(5);
    std::vector<double> values{0.0,
                               -0.0,
                               1e300,
                               5e-324,
                               0.1,
                               std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::min(),
                               4503599627370497.5,
                               1e18,
                               123456789012345680.0};
    while (values.size() < 20'000) {
      const double any = std::bit_cast<double>(random());
      if (std::isfinite(any)) values.push_back(any);
      values.push_back(random.unit() * 1e6);
    }
    const std::string text = sw::json_string([&](sw::json_writer& out) { out.values(values); });
    for (const std::size_t piece : {std::size_t{7}, std::size_t{1} << 18}) {
      std::vector<double> again;
      read(text, sw::json_numbers(again), piece);
      REQUIRE(again.size() == values.size());
      std::size_t different = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        different += std::bit_cast<std::uint64_t>(values[i]) != std::bit_cast<std::uint64_t>(again[i]);
      CHECK(different == 0);
    }
  }

  TEST_CASE("long decimal numbers are read as strtod reads them") {
    sw::random_source random(6);
    std::string text = "[";
    std::vector<double> expected;
    for (int i = 0; i < 5000; ++i) {
      std::string digits = std::to_string(random.below(1000)) + ".";
      for (int k = 0; k < 25; ++k) digits += static_cast<char>('0' + random.below(10));
      if (random.chance(0.5)) digits += "e" + std::to_string(static_cast<int>(random.below(600)) - 300);
      expected.push_back(std::strtod(digits.c_str(), nullptr));
      text += (i == 0 ? "" : ",") + digits;
    }
    std::vector<double> found;
    read(text + ", 1e-400, -1e-400]", sw::json_numbers(found));
    CHECK((found.back() == 0 && std::signbit(found.back())));
    found.resize(expected.size());
    CHECK(found == expected);
  }

  TEST_CASE("an object with free names gives each name before its value") {
    std::string name;
    double value = 0;
    std::string seen;
    read("{\"a\": 1, \"b\": 2.5}", sw::json_map(name, sw::json_number(value), [&] {
           seen += name + "=" + std::to_string(value) + ";";
           return std::string();
         }));
    CHECK(seen == "a=1.000000;b=2.500000;");
  }

  TEST_CASE("callbacks can refuse an element or a complete value") {
    std::vector<int> two;
    auto pair = sw::json_list(sw::json_numbers(two), [&] {
      return std::string(two.size() == 2 ? "" : "has " + std::to_string(two.size()) + " numbers, expected 2");
    });
    pair.end = [] { return std::string("is never good enough"); };
    CHECK(refused([&] { return read("[[1,2],[1]]", pair), 0; }) == "T: line 1, byte 10: [1] has 1 numbers, expected 2");
    CHECK(refused([&] { return read("[[1,2]]", pair), 0; }) == "T: line 1, byte 7: the text is never good enough");
  }

  TEST_CASE("reading ends where a callback has enough") {
    bool enough = false;
    sw::json_shape first = sw::json_value("a string", [&](const sw::json_scalar&) { return enough = true; });
    auto input = sw::text_input::of_memory("T", "{\"format\": \"x\", this is no JSON");
    sw::read_json(input, sw::json_object({sw::json_optional("format", first)}), {}, &enough);
    CHECK(enough);
  }

  TEST_CASE("files of another format or a newer version are refused") {
    const auto message = [](const std::string& text) {
      return refused([&] { return read(text, sw::json_object(sw::json_header("shardweave.x", 2))), 0; });
    };
    CHECK(message("{\"format\":\"shardweave.x\",\"version\":2}").empty());
    CHECK(message("{\"version\":1,\"format\":\"shardweave.x\"}").empty());
    CHECK(message("{\"format\":\"y\"}") == "T: line 1, byte 13: format is \"y\", expected \"shardweave.x\"");
    CHECK(message("{\"version\":3}") ==
          "T: line 1, byte 13: version is 3, expected a version from 1 to 2, which are those this reader knows");
    CHECK(message("{\"format\":\"shardweave.x\"}") == "T: line 1, byte 25: the text has no field 'version'");
  }
}

}  // namespace json_stream_tests

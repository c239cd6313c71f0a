#include "io/refused.hpp"
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace json_shape_tests {
namespace {

void parse(const std::string& text, const sw::json_shape& shape, bool strict = false) {
  auto input = sw::text_input::of_memory("T", text, 3);
  sw::read_json(input, shape, {.strict = strict});
}
std::string complaint(const std::string& text, const sw::json_shape& shape, bool strict = false) {
  return refused([&] { return parse(text, shape, strict), 0; });
}

/// The number that a text of JSON gives to a variable of a type; empty if it is refused.
template <class Number>
std::optional<Number> number_from(const std::string& text) {
  Number value{};
  if (!complaint(text, sw::json_number(value)).empty()) return std::nullopt;
  return value;
}

std::optional<std::string> text_from(const std::string& text) {
  std::string value;
  if (!complaint(text, sw::json_text(value)).empty()) return std::nullopt;
  return value;
}

}  // namespace

TEST_SUITE("json_number") {
  TEST_CASE("a whole number may be written with a point or an exponent, but must fit its variable") {
    struct row {
      const char* text;
      std::optional<std::int64_t> as_int64;
      std::optional<std::int8_t> as_int8;
      std::optional<std::uint8_t> as_uint8;
      std::optional<std::uint64_t> as_uint64;
    };
    constexpr auto none = std::nullopt;
    const auto i8 = [](int v) { return static_cast<std::int8_t>(v); };
    const auto u8 = [](int v) { return static_cast<std::uint8_t>(v); };
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    for (const row& r : std::vector<row>{
             {"0", 0, i8(0), u8(0), 0U},
             {"-0", 0, i8(0), u8(0), 0U},
             {"-0.0", 0, i8(0), u8(0), 0U},
             {"127", 127, i8(127), u8(127), 127U},
             {"128", 128, none, u8(128), 128U},
             {"-128", -128, i8(-128), none, none},
             {"-129", -129, none, none, none},
             {"255", 255, none, u8(255), 255U},
             {"256", 256, none, none, 256U},
             {"1.0", 1, i8(1), u8(1), 1U},
             {"12e1", 120, i8(120), u8(120), 120U},
             {"1200e-1", 120, i8(120), u8(120), 120U},
             {"1E2", 100, i8(100), u8(100), 100U},
             {"1.5", none, none, none, none},
             {"1e-1", none, none, none, none},
             {"9223372036854775807", most, none, none, 9223372036854775807U},
             {"9223372036854775808", none, none, none, none},
             {"-9223372036854775808", least, none, none, none},
             {"-9223372036854775809", none, none, none, none},
             {"9.2e18", 9'200'000'000'000'000'000, none, none, 9'200'000'000'000'000'000U},
             {"9.3e18", none, none, none, none},
             {"-9.3e18", none, none, none, none},
             {"1e400", none, none, none, none},
             {"18446744073709551616", none, none, none, none},
             {"true", none, none, none, none},
             {"null", none, none, none, none},
             {"\"1\"", none, none, none, none},
             {"[1]", none, none, none, none},
         }) {
      CAPTURE(std::string(r.text));
      CHECK(number_from<std::int64_t>(r.text) == r.as_int64);
      CHECK(number_from<std::int8_t>(r.text) == r.as_int8);
      CHECK(number_from<std::uint8_t>(r.text) == r.as_uint8);
      CHECK(number_from<std::uint64_t>(r.text) == r.as_uint64);
    }
  }

  TEST_CASE("a double is the nearest to the digits, with the sign of zero; what is too large is refused") {
    for (const auto& [text, value] :
         std::vector<std::pair<const char*, double>>{{"0", 0.0},
                                                     {"7", 7},
                                                     {"-7", -7},
                                                     {"0.1", 0.1},
                                                     {"1e22", 1e22},
                                                     {"1e23", 1e23},
                                                     {"9007199254740993", 9007199254740992},
                                                     {"8.41e21", 8.41e21},
                                                     {"2.2250738585072011e-308", 2.2250738585072011e-308},
                                                     {"5e-324", 5e-324},
                                                     {"1.7976931348623157e308", 1.7976931348623157e308},
                                                     {"1e-400", 0.0},
                                                     {"123456789012345678901234567890", 1.2345678901234568e29},
                                                     {"9223372036854775808", 9223372036854775808.0},
                                                     {"18446744073709551615", 18446744073709551615.0},
                                                     {"100000000000000000000000000000000000000000000000000e-50", 1}}) {
      CAPTURE(std::string(text));
      const auto found = number_from<double>(text);
      REQUIRE(found.has_value());
      CHECK(*found == value);
      CHECK_FALSE(std::signbit(*found) != std::signbit(value));
    }
    for (const char* text : {"-0", "-0.0", "-0e5", "-1e-400"}) {
      CAPTURE(std::string(text));
      const auto found = number_from<double>(text);
      REQUIRE(found.has_value());
      CHECK(*found == 0);
      CHECK(std::signbit(*found));
    }
    for (const char* text : {"1e309", "-1e309", "1e99999", "true", "null", "\"1\"", "{}"}) {
      CAPTURE(std::string(text));
      CHECK_FALSE(number_from<double>(text).has_value());
    }
  }

  TEST_CASE("what no JSON number is, is no JSON") {
    for (const char* text : {"01",    "-01", "+1",  ".5",       "1.",        "1.e5", "1e", "1e+",      "--1", "0x10",
                             "1_000", "1,5", "NaN", "Infinity", "-Infinity", "nan",  "1f", "\xd9\xa1", "-",   "e5"}) {
      CAPTURE(std::string(text));
      CHECK_FALSE(number_from<double>(text).has_value());
      CHECK_FALSE(number_from<std::int64_t>(text).has_value());
      double ignored = 0;
      CHECK(is_one_line(complaint(text, sw::json_number(ignored))));
    }
  }

  TEST_CASE("messages say which numbers a variable takes") {
    CHECK(sw::json_number_name<double>() == "a number");
    CHECK(sw::json_number_name<float>() == "a number");
    CHECK(sw::json_number_name<std::int64_t>() == "a whole number");
    CHECK(sw::json_number_name<std::uint64_t>() == "a whole number, not negative");
    CHECK(sw::json_number_name<std::int32_t>() == "a whole number from -2147483648 to 2147483647");
    CHECK(sw::json_number_name<std::uint32_t>() == "a whole number from 0 to 4294967295");
    CHECK(sw::json_number_name<std::int8_t>() == "a whole number from -128 to 127");
    CHECK(sw::json_number_name<std::uint16_t>() == "a whole number from 0 to 65535");
  }

  TEST_CASE("an optional variable tells whether the field was there") {
    std::optional<std::int32_t> count;
    const auto shape = [&] { return sw::json_object({sw::json_optional("count", sw::json_number(count))}); };
    parse("{}", shape());
    CHECK_FALSE(count.has_value());
    parse("{\"count\": 3}", shape());
    CHECK(count == 3);
    CHECK(complaint("{\"count\": null}", shape()) ==
          "T: line 1, byte 11: count is null, expected a whole number from -2147483648 to 2147483647");
  }
}

TEST_SUITE("json_text") {
  TEST_CASE("escapes become the characters that they name, in UTF-8") {
    for (const auto& [text, expected] : std::vector<std::pair<const char*, std::string>>{
             {R"("")", ""},
             {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
             {R"("\u0041\u00e4\u20ac")", "A\xc3\xa4\xe2\x82\xac"},
             {R"("\u00E4\u00FF")", "\xc3\xa4\xc3\xbf"},
             {R"("\ud83d\ude00")", "\xf0\x9f\x98\x80"},  // a pair of surrogates is one character
             {R"("\uD800\uDC00")", "\xf0\x90\x80\x80"},
             {R"("\uDBFF\uDFFF")", "\xf4\x8f\xbf\xbf"},
             {R"("\u007f\u0080\u07ff\u0800\uffff")", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
             {R"("a\u0000b")", std::string("a\0b", 3)},
             {"\"\xf0\x9f\x98\x80 \xe2\x82\xac\"", "\xf0\x9f\x98\x80 \xe2\x82\xac"},
             {"\"\x7f\"", "\x7f"},
         }) {
      CAPTURE(std::string(text));
      CHECK(text_from(text) == expected);
    }
  }

  TEST_CASE("what no JSON string is, is refused") {
    for (const char* text : {R"("\x41")",
                             R"("\u12")",
                             R"("\u12g4")",
                             R"("\ud83d")",
                             R"("\ud83d\u0041")",
                             R"("\ude00")",
                             R"("\U00000041")",
                             "\"\t\"",
                             "\"\n\"",
                             "'a'",
                             "\"a",
                             "a",
                             "\"\\\"",
                             "\"\xff\"",
                             "\"\xc3\"",
                             "\"\xc0\x80\"",
                             "\"\xe2\x82\"",
                             "\"\xed\xa0\x80\"",
                             "\"\xf4\x90\x80\x80\"",
                             "\"\x80\"",
                             "\xef\xbb\xbf\"a\""}) {
      CAPTURE(std::string(text));
      CHECK_FALSE(text_from(text).has_value());
      std::string ignored;
      CHECK(is_one_line(complaint(text, sw::json_text(ignored))));
    }
  }

  TEST_CASE("every text that is written reads back, whatever characters it holds") {
    std::string every;
    for (int c = 0; c < 0x80; ++c) every += static_cast<char>(c);
    for (std::uint32_t point : {0x80U, 0x7ffU, 0x800U, 0xfffdU, 0x10000U, 0x10ffffU}) {
      if (point < 0x800) {
        every += static_cast<char>(0xc0U | (point >> 6U));
      } else if (point < 0x10000) {
        every += static_cast<char>(0xe0U | (point >> 12U));
        every += static_cast<char>(0x80U | ((point >> 6U) & 63U));
      } else {
        every += static_cast<char>(0xf0U | (point >> 18U));
        every += static_cast<char>(0x80U | ((point >> 12U) & 63U));
        every += static_cast<char>(0x80U | ((point >> 6U) & 63U));
      }
      every += static_cast<char>(0x80U | (point & 63U));
    }
    const std::string written = sw::json_string([&](sw::json_writer& out) { out.value(every); });
    CHECK(text_from(written) == every);
    CHECK(written.find("\\u001f") != std::string::npos);
    const std::string as_key =
        sw::json_string([&](sw::json_writer& out) { out.begin_object().member(every, 1).end_object(); });
    std::string name;
    double value = 0;
    parse(as_key, sw::json_map(name, sw::json_number(value), [] { return std::string(); }));
    CHECK(name == every);
  }
}

TEST_SUITE("json_shape") {
  TEST_CASE("only white space of JSON may stand between values, and nothing behind the last") {
    std::vector<int> values;
    const auto good = [&](const std::string& text) { return complaint(text, sw::json_numbers(values)).empty(); };
    CHECK(good(" \t\r\n[ 1 ,\n2\t]\r\n "));
    CHECK(values == std::vector{1, 2});
    for (const char* text : {"[1,2,]", "[,1]", "[1 2]", "[1;2]", "[1]]", "[1] 2", "[1],", "[1]\v", "\f[1]", "[1]//x",
                             "/**/[1]", "[1]\xc2\xa0", "(1)", "[1}", ""}) {
      CAPTURE(std::string(text));
      CHECK_FALSE(good(text));
    }
    CHECK_FALSE(good(std::string("[1]\0", 4)));
  }

  TEST_CASE("objects need colons and quoted names, and close what they opened") {
    int a = 0;
    const auto good = [&](const std::string& text) {
      return complaint(text, sw::json_object({sw::json_optional("a", sw::json_number(a))})).empty();
    };
    CHECK(good("{}"));
    CHECK(good("{\"a\":5}"));
    CHECK(a == 5);
    for (const char* text : {"{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\"=1}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\"}",
                             "{\"a\":1]", "{\"a\":1", "{1:2}", "{\"a\":1 \"b\":2}"}) {
      CAPTURE(std::string(text));
      CHECK_FALSE(good(text));
    }
  }

  TEST_CASE("lists replace what their variable held, once for each time that they are read") {
    std::vector<int> numbers{9, 9};
    std::vector<std::string> texts{"old"};
    const sw::json_shape shape = sw::json_object(
        {sw::json_required("n", sw::json_numbers(numbers)), sw::json_required("t", sw::json_texts(texts))});
    parse(R"({"n": [1, 2, 3], "t": ["a", ""]})", shape);
    parse(R"({"t": [], "n": [4]})", shape);
    CHECK(numbers == std::vector{4});
    CHECK(texts.empty());
    CHECK(complaint(R"({"n": [1], "t": ["a", 7]})", shape) == "T: line 1, byte 24: t[1] is 7, expected a string");
  }

  TEST_CASE("flags take true and false alone") {
    bool flag = false;
    parse("true", sw::json_flag(flag));
    CHECK(flag);
    parse("false", sw::json_flag(flag));
    CHECK_FALSE(flag);
    for (const char* text : {"1", "0", "\"true\"", "null", "[]"})
      CHECK(complaint(text, sw::json_flag(flag)).ends_with("expected true or false"));
    CHECK(complaint("True", sw::json_flag(flag)).starts_with("T: line 1, byte 1: not JSON in the text"));
  }

  TEST_CASE("each object of a list starts from defaults, so that an absent field is not its neighbour's") {
    struct item {
      int a = 7;
      std::string b = "none";
    };
    item now;
    std::vector<item> items;
    parse(R"([{"a": 1, "b": "x"}, {}, {"a": 2}])",
          sw::json_items(now, items,
                         sw::json_object({sw::json_optional("a", sw::json_number(now.a)),
                                          sw::json_optional("b", sw::json_text(now.b))})));
    REQUIRE(items.size() == 3);
    CHECK(items[0].a == 1);
    CHECK(items[0].b == "x");
    CHECK(items[1].a == 7);
    CHECK(items[1].b == "none");
    CHECK(items[2].a == 2);
    CHECK(items[2].b == "none");
  }

  TEST_CASE("callbacks come in the order of the text: begin, elements, end") {
    std::string told;
    double value = 0;
    sw::json_shape list = sw::json_list(sw::json_number(value), [&] {
      told += std::to_string(static_cast<int>(value));
      return std::string();
    });
    list.begin = [&] { told += "["; };
    list.end = [&] { return told += "]", std::string(); };
    sw::json_shape object = sw::json_object({sw::json_optional("l", list)}, [&] { return told += "}", std::string(); });
    object.begin = [&] { told += "{"; };
    parse(R"({"x": 1, "l": [1, 2], "y": [[3]]})", object);
    CHECK(told == "{[12]}");
    parse("{}", object);
    CHECK(told == "{[12]}{}");
  }

  TEST_CASE("an object with free names refuses values of another shape at their place, and what its callback refuses") {
    std::string name;
    double value = 0;
    const sw::json_shape map = sw::json_object({sw::json_required(
        "of", sw::json_map(name, sw::json_number(value), [&] { return std::string(name == "bad" ? "is bad" : ""); }))});
    CHECK(complaint(R"({"of": {"a": 1, "b": 2}})", map, true).empty());
    CHECK(complaint(R"({"of": {"a": "x"}})", map) == "T: line 1, byte 16: of is \"x\", expected a number");
    CHECK(complaint(R"({"of": {"a": 1, "bad": 2}})", map) == "T: line 1, byte 25: of is bad");
  }

  TEST_CASE("a shape of anything passes whatever is JSON, and names nothing inside") {
    for (const char* text : {"1", "\"a\"", "null", "[1, {\"a\": [true]}]", "{\"a\": 1, \"a\": 2}"}) {
      CAPTURE(std::string(text));
      CHECK(complaint(text, sw::json_anything(), true).empty());
    }
    const std::string said = complaint("[1, tru]", sw::json_anything());
    CHECK(said.starts_with("T: line 1, byte "));
    CHECK((said[16] >= '5' && said[16] <= '8'));  // by the version of Boost.JSON, as above
    CHECK(said.substr(17).starts_with(": not JSON in the text"));
  }

  TEST_CASE("the places of errors count lists in lists, and lines across pieces") {
    std::vector<int> row;
    const sw::json_shape rows = sw::json_object(
        {sw::json_required("rows", sw::json_list(sw::json_object({sw::json_required("x", sw::json_numbers(row))})))});
    CHECK(complaint("{\"rows\": [{\"x\": [1]},\n{\"x\": [1, 2,\n\n3.5]}]}", rows) ==
          "T: line 4, byte 40: rows[1].x[2] is 3.5, expected a whole number from -2147483648 to 2147483647");
    CHECK(complaint("{\"rows\": [{}]}", rows) == "T: line 1, byte 12: rows[0] has no field 'x'");
    CHECK(complaint("{\"rows\": [{\"x\": []}, 5]}", rows) == "T: line 1, byte 23: rows[1] is 5, expected an object");
    CHECK(complaint("{\"rows\": {}}", rows) == "T: line 1, byte 10: rows is an object, expected a list");
  }

  TEST_CASE("headers take whole versions from 1 to the reader's own") {
    const auto message = [](const std::string& version) {
      return complaint("{\"format\": \"f\", \"version\": " + version + "}", sw::json_object(sw::json_header("f", 3)));
    };
    for (const char* good : {"1", "2", "3"}) CHECK(message(good).empty());
    for (const char* wrong : {"0", "4", "-1", "1.5", "\"1\"", "null", "true"}) {
      CAPTURE(std::string(wrong));
      CHECK(message(wrong).ends_with(", expected a version from 1 to 3, which are those this reader knows"));
    }
  }
}

TEST_SUITE("read_json") {
  TEST_CASE("values may stand in each other 32 deep, not 33, and names be 64 KiB long, not longer") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(complaint(nested(32), sw::json_anything()).empty());
    CHECK(complaint(nested(33), sw::json_anything()) == "T: line 1, byte 33: the text is nested more than 32 deep");
    const auto named = [](std::size_t size) { return "{\"" + std::string(size, 'n') + "\": 1}"; };
    std::string name;
    double value = 0;
    const auto map = [&] { return sw::json_map(name, sw::json_number(value), [] { return std::string(); }); };
    CHECK(complaint(named(65536), map()).empty());
    CHECK(name.size() == 65536);
    const std::string words = complaint(named(65537), map());
    CHECK(words.find("not JSON in the text") != std::string::npos);
    CHECK(is_one_line(words));
    CHECK(words.size() < 200);
  }

  TEST_CASE("long lists, long strings and long numbers arrive whole, whatever the pieces") {
    std::string text = "[";
    std::vector<std::int64_t> expected, found;
    for (std::int64_t i = 0; i < 20'000; ++i) {
      expected.push_back(i * i * i);
      text += (i == 0 ? "" : ",") + std::to_string(expected.back());
    }
    text += "]";
    parse(text, sw::json_numbers(found));
    CHECK(found == expected);
    const std::string words(100'000, 'w');
    CHECK(text_from("\"" + words + "\"") == words);
    const std::string digits = "1" + std::string(300, '0');
    CHECK(number_from<double>(digits) == 1e300);
    CHECK_FALSE(number_from<std::int64_t>(digits).has_value());
    CHECK(number_from<double>("0." + std::string(300, '0') + "1") == 1e-301);
  }

  TEST_CASE("reading stops at the value that is enough, and at no other") {
    bool enough = false;
    std::string told;
    sw::json_shape list = sw::json_list(sw::json_value("a number", [&](const sw::json_scalar& s) {
      told += s.text;
      enough = s.integer == 2;
      return true;
    }));
    auto input = sw::text_input::of_memory("T", "[1, 2, 3, no JSON", 2);
    sw::read_json(input, list, {}, &enough);
    CHECK(told == "12");
    enough = false;
    told.clear();
    auto other = sw::text_input::of_memory("T", "[1, 3, 4, no JSON", 2);
    CHECK(refused([&] { return sw::read_json(other, list, {}, &enough), 0; }).find("not JSON in [3]") !=
          std::string::npos);
    CHECK(told == "134");
  }
}

TEST_SUITE("messages") {
  TEST_CASE("a quoted text is short, on one line and cut between characters") {
    using sw::detail::shortened;
    CHECK(shortened("").empty());
    CHECK(shortened("abc") == "abc");
    const std::string forty(40, 'x');
    CHECK(shortened(forty) == forty);
    CHECK(shortened(forty + "y") == forty + "...");
    CHECK(shortened("a\nb\tc\x01"
                    "d\x7f"
                    "e") == "a?b?c?d?e");
    CHECK(shortened(std::string("a\0b", 3)) == "a?b");
    // a character of two, three, four bytes that would be cut is left out
    for (const std::string character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
      for (std::size_t before = 36; before <= 40; ++before) {
        const std::string text = std::string(before, 'x') + character + "tail that is cut off";
        const bool fits = before + character.size() <= 40;
        const std::string head = fits ? text.substr(0, 40) : std::string(before, 'x');
        CAPTURE(before);
        CHECK(shortened(text) == head + "...");
      }
    // what is no UTF-8 is cut all the same
    CHECK(shortened(std::string(60, '\x80')).size() <= 43);
  }

  TEST_CASE("errors about strings and names stay one line, whatever the file holds") {
    int a = 0;
    const sw::json_shape shape = sw::json_object({sw::json_optional("a", sw::json_number(a))});
    CHECK(complaint(R"({"a": "two\nlines\u0000and more"})", shape) ==
          "T: line 1, byte 32: a is \"two?lines?and more\", expected a whole number from -2147483648 to 2147483647");
    CHECK(complaint(R"({"a\nb": 1})", shape, true) == "T: line 1, byte 7: the text has the unknown field 'a?b'");
    CHECK(complaint("{\"" + std::string(100, 'k') + "\": 1}", shape, true)
              .ends_with("the text has the unknown field '" + std::string(40, 'k') + "...'"));
    CHECK(
        complaint("{\"a\": " + std::string(100, '1') + "}", shape)
            .ends_with("a is " + std::string(40, '1') + "..., expected a whole number from -2147483648 to 2147483647"));
  }
}

TEST_SUITE("json_writer") {
  TEST_CASE("numbers of every type are written in full, and as the shortest text that means the same") {
    const auto of = [](auto number) { return sw::json_string([&](sw::json_writer& out) { out.value(number); }); };
    CHECK(of(std::int8_t{-128}) == "-128");
    CHECK(of(std::uint8_t{255}) == "255");
    CHECK(of(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(of(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
    CHECK(of(1.0F) == "1");
    CHECK(of(0.1F) == "0.1");
    CHECK(of(1.0 / 3) == "0.3333333333333333");
    CHECK(of(1e21) == "1e+21");
    CHECK(of(123456789.0) == "123456789");
    CHECK(of(5e-324) == "5e-324");
    CHECK(of(-std::numeric_limits<double>::infinity()) == "null");
    CHECK(of(true) == "true");
    CHECK(of(false) == "false");
  }

  TEST_CASE("a line that was asked for comes before the next element, once, or at the end") {
    const auto of = [](auto write) { return sw::json_string(write); };
    CHECK(of([](sw::json_writer& out) { out.begin_list().line().line().value(1).value(2).line().end_list(); }) ==
          "[\n1,2\n]");
    CHECK(of([](sw::json_writer& out) { out.line().begin_object().line().end_object().line(); }) == "\n{\n}\n");
    CHECK(of([](sw::json_writer& out) { out.begin_object().line().key("a").line().value("b").end_object(); }) ==
          "{\n\"a\":\n\"b\"}");
    CHECK(of([](sw::json_writer& out) {
            out.begin_list().begin_list().end_list().begin_object().end_object().null().end_list();
          }) == "[[],{},null]");
    CHECK(of([](sw::json_writer& out) {
            out.begin_object().text_if_any("a", "x").text_if_any("b", "").member("c", std::string("y")).end_object();
          }) == R"({"a":"x","c":"y"})");
    CHECK(of([](sw::json_writer& out) { out.list("l", std::vector<double>{}); }) == R"("l":[])");
  }
}

}  // namespace json_shape_tests

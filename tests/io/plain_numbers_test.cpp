#include "io/refused.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/detail/cost_list.hpp>
#include <shardweave/io/detail/plain_numbers.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace plain_numbers_tests {
namespace {

/// A number as files have them, and some as they do not.
std::string random_number(sw::random_source& random) {
  static constexpr std::array<std::string_view, 24> odd = {"0",
                                                           "-0",
                                                           "0.0",
                                                           "-0.0",
                                                           "01",
                                                           "-",
                                                           "1.",
                                                           ".5",
                                                           "1e5",
                                                           "1E-3",
                                                           "0.1e+7",
                                                           "nul",
                                                           "null",
                                                           "nulll",
                                                           "1 2",
                                                           "NaN",
                                                           "+1",
                                                           "--1",
                                                           "1.2.3",
                                                           "1e",
                                                           "tru",
                                                           "9223372036854775807",
                                                           "9223372036854775808",
                                                           "18446744073709551616"};
  if (random.below(60) == 0) return std::string(odd[random.below(odd.size())]);
  std::string text;
  if (random.below(4) == 0) text += '-';
  const auto digits = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('0' + random.below(10));
  };
  if (random.below(3) == 0) {
    text += '0';
  } else {
    text += static_cast<char>('1' + random.below(9));
    digits(random.below(random.below(20) + 1));
  }
  if (random.below(2) == 0) {
    text += '.';
    if (random.below(3) == 0) text += std::string(random.below(6), '0');
    digits(1 + random.below(random.below(24) + 1));
  }
  return text;
}

std::string list_of(sw::random_source& random, std::size_t count) {
  static constexpr std::array<std::string_view, 6> between = {",", ",", ", ", " ,", ",\n", " \r\n\t, "};
  const std::string_view usual = between[random.below(2)];
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += random.below(12) == 0 ? between[random.below(between.size())] : usual;
    text += random_number(random);
  }
  if (random.below(20) == 0) text += ',';
  return text + (random.below(20) == 0 ? "\"" : "]");
}

/// What a text gives, number by number and bit by bit, and what is wrong with it.
template <class Number>
std::pair<std::vector<Number>, std::string> outcome(const std::string& text, std::size_t piece, bool in_bulk) {
  std::vector<Number> numbers;
  std::string wrong;
  sw::json_shape list = sw::json_numbers(numbers);
  if (!in_bulk) list.many = {};
  auto input = sw::text_input::of_memory("T", text, piece);
  try {
    sw::read_json(input, sw::json_object({sw::json_required("a", std::move(list))}));
  } catch (const sw::error& e) {
    wrong = e.what();
  }
  return {numbers, wrong};
}

template <class Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] || std::signbit(static_cast<double>(a[i])) != std::signbit(static_cast<double>(b[i])))
      return false;
  return true;
}

template <class Number>
void check_equal(const std::string& text, std::size_t piece) {
  const auto [slow, slow_wrong] = outcome<Number>(text, piece, false);
  const auto [fast, fast_wrong] = outcome<Number>(text, piece, true);
  CAPTURE(text);
  CAPTURE(piece);
  CHECK(fast_wrong == slow_wrong);
  CHECK(same_bits(fast, slow));
}

}  // namespace

TEST_SUITE("plain numbers") {
  TEST_CASE("lists give the same numbers, and the same complaints, as they do one by one") {
    sw::random_source random(61);
    std::size_t good = 0, refused = 0;
    const std::size_t count = shardweave_test::at_scale(3000);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = "{\"a\": " + list_of(random, random.below(30)) + "}";
      const std::size_t piece = random.below(2) == 0 ? text.size() : 64 + random.below(200);
      check_equal<double>(text, piece);
      check_equal<std::int64_t>(text, piece);
      check_equal<std::uint16_t>(text, piece);
      (outcome<double>(text, text.size(), true).second.empty() ? good : refused) += 1;
    }
    CHECK(good * 10 > count);
    CHECK(refused * 10 > count);
  }

  TEST_CASE("what is scanned is what the standard library reads") {
    sw::random_source random(62);
    std::size_t taken = 0;
    const std::size_t count = shardweave_test::at_scale(20'000);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = random_number(random);
      const std::string with_room = text + "," + std::string(sw::detail::room_of_number, ' ');
      sw::detail::plain_number number;
      const char* const end = sw::detail::scan_number(with_room.data(), number);
      if (end == nullptr || *end != ',') continue;
      ++taken;
      CAPTURE(text);
      CHECK(static_cast<std::size_t>(end - with_room.data()) == text.size());
      double expected = 0;
      REQUIRE(std::from_chars(text.data(), text.data() + text.size(), expected).ec == std::errc());
      const auto value = number.to_double();
      REQUIRE(value);
      CHECK(std::bit_cast<std::uint64_t>(*value) == std::bit_cast<std::uint64_t>(expected));
      std::int64_t whole = 0;
      const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
      const bool is_whole = code == std::errc() && stop == text.data() + text.size();
      if (whole != std::numeric_limits<std::int64_t>::min())
        CHECK(number.to_integer<std::int64_t>().has_value() == is_whole);
      if (is_whole && number.to_integer<std::int64_t>()) CHECK(*number.to_integer<std::int64_t>() == whole);
    }
    CHECK(taken * 10 > count * 8);
  }

  TEST_CASE("a list of costs makes the table that its entries make, and is equal to what holds the same") {
    sw::random_source random(63);
    const auto as_text = [](double cost) {
      std::array<char, 40> digits{};
      return std::string(
          digits.data(),
          std::to_chars(digits.data(), digits.data() + digits.size(), cost, std::chars_format::fixed, 3).ptr);
    };
    sw::detail::cost_list_builder<double> builder;
    std::vector<double> before;
    sw::detail::cost_list<double> list_before;
    for (std::size_t i = 0; i < shardweave_test::at_scale(300); ++i) {
      const std::size_t rows = 1 + random.below(30), columns = 1 + random.below(30);
      const std::size_t distinct = 1 + random.below(i % 3 == 0 ? 900 : 4), kinds = 1 + random.below(rows);
      const bool has_zeros = i % 7 == 0;
      std::vector<double> entries;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          if (r >= kinds) {
            entries.push_back(entries[(r % kinds) * columns + c]);
          } else if (const std::size_t which = random.below(distinct); which == 0) {
            entries.push_back(sw::forbidden<double>);
          } else {
            const double sign = has_zeros && random.below(2) == 0 ? -1 : 1;
            entries.push_back(sign * static_cast<double>(which - 1) / 8);
          }
        }
      builder.clear();
      for (const double cost : entries) {
        if (sw::is_forbidden(cost) || random.below(3) == 0) {
          builder.push_back(cost);
          continue;
        }
        const std::string text = as_text(cost) + "," + std::string(sw::detail::room_of_number, ' ');
        std::size_t count = 0;
        const auto cost_of = [](const sw::detail::plain_number& n) { return n.to_double(); };
        sw::detail::cost_sink<double, decltype(builder), decltype(cost_of)> sink{builder, cost_of, {}};
        CHECK(sw::detail::take_numbers(text, count, sink) == text.find(',') + 1);
        CHECK(count == 1);
      }
      const auto list = builder.take();
      CAPTURE(i);
      REQUIRE(list.size() == entries.size());
      for (std::size_t k = 0; k < entries.size(); ++k) {
        REQUIRE(list[k] == entries[k]);
        REQUIRE(std::signbit(list[k]) == std::signbit(entries[k]));
      }
      const auto table = list.table(rows, columns);
      const auto expected = sw::cost_table<double>::from_entries(rows, columns, entries);
      CHECK(table == expected);
      CHECK(table.hash() == expected.hash());
      CHECK((list == list_before) == (entries == before));
      for (const double cost : entries) builder.push_back(cost);
      const auto again = builder.take();
      CHECK(again == list);
      CHECK(again.hash() == list.hash());
      before = entries;
      list_before = list;
    }
  }

  TEST_CASE("lists whose costs are all distinct, or too many, are kept as they are") {
    for (const std::size_t count : {std::size_t{5000}, std::size_t{70'000}, std::size_t{150'000}}) {
      sw::detail::cost_list_builder<double> builder;
      std::vector<double> entries;
      for (std::size_t k = 0; k < count; ++k) {
        entries.push_back(static_cast<double>(count == 150'000 ? k / 2 : k));
        builder.push_back(entries.back());
      }
      const auto list = builder.take();
      REQUIRE(list.size() == count);
      bool equal = true;
      for (std::size_t k = 0; k < count; ++k) equal = equal && list[k] == entries[k];
      CHECK(equal);
      CHECK(list.table(count / 100, 100) == sw::cost_table<double>::from_entries(count / 100, 100, entries));
    }
  }
}

}  // namespace plain_numbers_tests

#include <shardweave/core/units.hpp>
#include <shardweave/report/unit_text.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace unit_text_tests {
namespace {

namespace sw = shardweave;

std::string time_of(std::int64_t ns) { return sw::time_text(sw::nanoseconds(ns)); }
std::string size_of(std::int64_t count) { return sw::size_text(sw::bytes(count)); }

}  // namespace

TEST_SUITE("unit_text") {
  TEST_CASE("fixed numbers have their digits, no sign of zero, and words for what is no number") {
    CHECK(sw::fixed_text(1.005, 1) == "1.0");
    CHECK(sw::fixed_text(-0.001) == "0.00");
    CHECK(sw::fixed_text(-0.0, 0) == "0");
    CHECK(sw::fixed_text(-0.006) == "-0.01");
    CHECK(sw::fixed_text(2.5, 3) == "2.500");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK(sw::fixed_text(infinity) == "inf");
    CHECK(sw::fixed_text(-infinity) == "-inf");
    CHECK(sw::fixed_text(std::nan("")) == "nan");
    CHECK(sw::fixed_text(std::numeric_limits<double>::max(), 1).size() == 309 + 2);
  }

  TEST_CASE("counts have a comma before every third digit, and a noun in its number") {
    for (std::int64_t n = 1, digits = 1; digits <= 18; n *= 10, ++digits) {
      const std::string text = sw::count_text(n);
      CHECK(text.size() == static_cast<std::size_t>(digits + (digits - 1) / 3));
      CHECK(sw::count_text(-n) == "-" + text);
    }
    CHECK(sw::count_text(std::int64_t{12'345'678}) == "12,345,678");
    CHECK(sw::count_text(std::size_t{0}) == "0");
    CHECK(sw::count_text(1, "edge") == "1 edge");
    CHECK(sw::count_text(0, "edge") == "0 edges");
    CHECK(sw::count_text(12'345, "vertex", "vertices") == "12,345 vertices");
  }

  TEST_CASE("times and sizes are in the largest unit of which there is one, after rounding") {
    CHECK(time_of(0) == "0 ns");
    CHECK(time_of(999) == "999 ns");
    CHECK(time_of(1000) == "1.00 \xC2\xB5s");
    CHECK(time_of(12'304) == "12.30 \xC2\xB5s");
    CHECK(time_of(999'994) == "999.99 \xC2\xB5s");
    CHECK(time_of(999'996) == "1.00 ms");
    CHECK(time_of(78'900'000'000) == "78.90 s");
    CHECK(time_of(-4'560'000) == "-4.56 ms");
    CHECK(time_of(5'000'000'000'000) == "5000.00 s");
    CHECK(sw::seconds_text(1.5e-6) == "1.50 \xC2\xB5s");
    CHECK(sw::seconds_text(4e-10) == "0 ns");
    CHECK(sw::seconds_text(9.999999e-7) == "1.00 \xC2\xB5s");
    CHECK(size_of(1023) == "1023 B");
    CHECK(size_of(1024) == "1.00 KiB");
    CHECK(size_of(3 << 19) == "1.50 MiB");
    CHECK(size_of((std::int64_t{1} << 30) - 1) == "1.00 GiB");
    CHECK(size_of(std::int64_t{5} << 50) == "5120.00 TiB");
    CHECK(sw::size_text(1023.4) == "1023 B");
    CHECK(sw::size_text(1023.6) == "1.00 KiB");
  }

  TEST_CASE("shares are of a whole, and costs are whole where they are whole numbers") {
    CHECK(sw::percent_text(0.125) == "12.5 %");
    CHECK(sw::percent_text(1.0 / 3, 3) == "33.333 %");
    CHECK(sw::share_text(sw::nanoseconds(1), sw::nanoseconds(8)) == "12.5 %");
    CHECK(sw::share_text(sw::nanoseconds(1), sw::nanoseconds(0)).empty());
    CHECK(sw::detail::cost_text(std::int64_t{1'234'567}) == "1,234,567");
    CHECK(sw::detail::cost_text(1234.5678, "us") == "1234.568 us");
  }
}

}  // namespace unit_text_tests

#include <shardweave/core/number_text.hpp>
#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

namespace number_text_tests {
namespace {

using shardweave::number_text;

TEST_SUITE("numbers in messages") {
  TEST_CASE("whole numbers have all their digits, others no more than they need") {
    CHECK(number_text(0.0) == "0");
    CHECK(number_text(-0.0) == "0");
    CHECK(number_text(-3.0) == "-3");
    CHECK(number_text(80000000000.0) == "80000000000");
    CHECK(number_text(0.1) == "0.1");
    CHECK(number_text(-1e-9) == "-1e-09");
    CHECK(number_text(1e300) == "1e+300");
    CHECK(number_text(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(number_text(std::nan("")) == "nan");
    CHECK(number_text(std::int64_t{-7}) == "-7");
  }
  TEST_CASE("one of a thing is told as one") {
    CHECK(number_text(1, "edge") == "1 edge");
    CHECK(number_text(std::size_t{0}, "edge") == "0 edges");
    CHECK(number_text(12345, "edge") == "12345 edges");
    CHECK(number_text(-1, "edge") == "-1 edges");
    CHECK(number_text(1U, "vertex", "vertices") == "1 vertex");
    CHECK(number_text(2U, "vertex", "vertices") == "2 vertices");
  }
  TEST_CASE("a text reads as the number that it was") {
    shardweave::random_source random(5);
    for (int i = 0; i < 2000; ++i) {
      const auto value = std::bit_cast<double>(random.below(std::numeric_limits<std::uint64_t>::max()));
      if (!std::isfinite(value)) continue;
      for (const double x : {value, std::trunc(std::fmod(value, 1e17))})
        CHECK(std::strtod(number_text(x).c_str(), nullptr) == x);
    }
  }
}

}  // namespace
}  // namespace number_text_tests

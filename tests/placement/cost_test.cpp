#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace sw = shardweave;

namespace cost_tests {
namespace {
static_assert(sw::cost_value<double> && sw::cost_value<float> && sw::cost_value<std::int64_t>);
static_assert(!sw::cost_value<int> && !sw::cost_value<std::uint64_t>);
constexpr auto whole = sw::forbidden<std::int64_t>;
constexpr auto real = sw::forbidden<double>;
}  // namespace

TEST_SUITE("cost") {
  TEST_CASE("what is forbidden stays so in every sum and product") {
    CHECK(sw::plus(whole, std::int64_t{-5}) == whole);
    CHECK(sw::plus(std::int64_t{7}, whole) == whole);
    CHECK(sw::plus(whole, whole) == whole);
    CHECK(sw::times(whole, 3) == whole);
    CHECK(sw::times(whole, 0) == whole);
    CHECK(sw::is_forbidden(sw::plus(real, 1.0)));
    CHECK(sw::is_forbidden(sw::times(real, 2)));
    CHECK(sw::plus(std::int64_t{2}, std::int64_t{3}) == 5);
    CHECK(sw::times(std::int64_t{2}, 3) == 6);
    CHECK(sw::cost_parts<std::int64_t>{1, whole, 2}.total() == whole);
    CHECK(sw::cost_parts<double>{1, 2, 3}.total() == 6);
  }
  TEST_CASE("an amount is what can be hidden: nothing of what is forbidden or below 0") {
    CHECK(sw::amount_of(whole) == 0);
    CHECK(sw::amount_of(std::int64_t{-3}) == 0);
    CHECK(sw::amount_of(4.5) == 4.5);
    CHECK(sw::amount_of(real) == 0);
  }
  TEST_CASE("in double a whole cost is never more than it is, and exact up to 53 bits") {
    CHECK(std::isinf(sw::in_double(whole)));
    for (const std::int64_t near : {std::int64_t{0}, std::int64_t{1} << 52, std::int64_t{1} << 53,
                                    std::int64_t{1} << 61, std::numeric_limits<std::int64_t>::max() - 1024})
      for (std::int64_t by = -600; by <= 600; ++by)
        for (const std::int64_t cost : {near + by, -(near + by)}) {
          const double value = sw::in_double(cost);
          const bool fits = cost >= -(std::int64_t{1} << 53) && cost <= std::int64_t{1} << 53;
          if (fits) {
            CHECK(static_cast<std::int64_t>(value) == cost);
          } else {  // compared as whole numbers: the double is a multiple of a power of two
            CHECK(value < 0x1p63);
            CHECK(static_cast<std::int64_t>(value) <= cost);
            CHECK(cost - static_cast<std::int64_t>(value) < 2048);
          }
        }
  }
}

}  // namespace cost_tests

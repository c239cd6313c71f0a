#include <shardweave/core/units.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace sw = shardweave;

namespace units_tests {
namespace {

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; };
template <class A, class B>
concept multipliable = requires(A a, B b) { a* b; };

// kinds do not mix, and a plain number becomes a quantity only where the caller says so
static_assert(addable<sw::bytes, sw::bytes> && !addable<sw::bytes, sw::nanoseconds> && !addable<sw::bytes, int>);
static_assert(comparable<sw::bytes, sw::bytes> && !comparable<sw::bytes, sw::nanoseconds>);
static_assert(!comparable<sw::bytes, int> && !std::convertible_to<int, sw::bytes>);
static_assert(!std::convertible_to<sw::bytes, std::int64_t> && std::constructible_from<sw::bytes, int>);
static_assert(multipliable<sw::bytes, int> && multipliable<int, sw::bytes> && !multipliable<sw::bytes, sw::bytes>);
static_assert(std::is_trivially_copyable_v<sw::bytes> && sizeof(sw::bytes) == sizeof(std::int64_t));

}  // namespace

TEST_SUITE("quantity") {
  TEST_CASE("a quantity starts at zero") {
    CHECK(sw::nanoseconds{}.count() == 0);
    CHECK(sw::nanoseconds{} == sw::nanoseconds(0));
  }

  TEST_CASE("quantities add, subtract, scale and compare like their numbers") {
    for (const std::int64_t a : {-7, 0, 1, 12})
      for (const std::int64_t b : {-3, 1, 5}) {
        CAPTURE(a);
        CAPTURE(b);
        const sw::nanoseconds x(a);
        const sw::nanoseconds y(b);
        CHECK((x + y).count() == a + b);
        CHECK((x - y).count() == a - b);
        CHECK((-x).count() == -a);
        CHECK((x * b).count() == a * b);
        CHECK((b * x).count() == a * b);
        CHECK((x / b).count() == a / b);
        CHECK(x / y == a / b);
        CHECK((x < y) == (a < b));
        CHECK((x >= y) == (a >= b));
        sw::nanoseconds z = x;
        z += y;
        z -= x;
        CHECK(z == y);
        z *= 3;
        CHECK(z == y + y + y);
      }
  }

  TEST_CASE("binary sizes are powers of 1024") {
    CHECK(sw::kibibytes(1) == sw::bytes(1024));
    CHECK(sw::mebibytes(3) == 3 * 1024 * sw::kibibytes(1));
    CHECK(sw::gibibytes(80).count() == 85899345920);
    CHECK(sw::gibibytes(-1) == -sw::gibibytes(1));
  }

  TEST_CASE("microseconds become the nearest nanosecond, ties to even") {
    CHECK(sw::from_microseconds(1.0) == sw::nanoseconds(1000));
    CHECK(sw::from_microseconds(0.0004) == sw::nanoseconds(0));
    CHECK(sw::from_microseconds(0.0006) == sw::nanoseconds(1));
    CHECK(sw::from_microseconds(0.0005) == sw::nanoseconds(0));
    CHECK(sw::from_microseconds(0.0015) == sw::nanoseconds(2));
    CHECK(sw::from_microseconds(0.0025) == sw::nanoseconds(2));
    CHECK(sw::from_microseconds(-0.0025) == sw::nanoseconds(-2));
    CHECK(sw::from_microseconds(1e9) == sw::nanoseconds(1'000'000'000'000));
  }

  TEST_CASE("nanoseconds survive the way through microseconds") {
    for (std::int64_t t = 1; t < 1'000'000'000'000; t = t * 3 + 1) {
      CAPTURE(t);
      CHECK(sw::from_microseconds(sw::to_microseconds(sw::nanoseconds(t))).count() == t);
    }
  }
}

}  // namespace units_tests

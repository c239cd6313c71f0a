#include <shardweave/engine/half_number.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace half_number_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("half_number") {
  TEST_CASE("whole numbers are exact up to 2048, and other bits are read as binary16 has them") {
    for (int i = 0; i <= 2048; ++i) CHECK(sw::half_number(i) == i);
    const auto read = [](std::uint16_t bits) -> double { return std::bit_cast<sw::half_number>(bits); };
    for (const auto& [bits, value] : std::vector<std::pair<int, double>>{{0x3c00, 1},
                                                                         {0xbc00, -1},
                                                                         {0x3800, 0.5},
                                                                         {0x6800, 2048},
                                                                         {0x7bff, 65504},
                                                                         {0x0001, 0x1p-24},
                                                                         {0x03ff, 0x3ffp-24},
                                                                         {0x0400, 0x1p-14},
                                                                         {0x8000, 0}})
      CHECK(read(static_cast<std::uint16_t>(bits)) == value);
    CHECK(read(0xfc00) == -HUGE_VAL);
    CHECK(std::isnan(read(0x7e00)));
    CHECK(sw::half_number(1).bits() == 0x3c00);
    CHECK(sw::half_number(2048).bits() == 0x6800);
  }
}

}  // namespace half_number_tests

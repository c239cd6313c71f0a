#include <shardweave/memory/held_values.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("held_values") {
  TEST_CASE("what lies beside a timeline is that of the strategies taken") {
    const sw::held_values held{.beside = {{.vertex = 2, .bytes = {1, 10}}, {.vertex = 0, .bytes = {100}}}};
    CHECK(sw::bytes_of(held.beside, std::vector<std::uint32_t>{0, 0, 1}) == 110);
    CHECK(sw::bytes_of({}, std::vector<std::uint32_t>{}) == 0);
  }
}

#include <shardweave/core/enumerator_named.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace enumerator_named_tests {
namespace {

namespace sw = shardweave;
enum class fruit : std::uint8_t { apple, pear };
constexpr std::array<std::string_view, 2> fruit_names = {"apple", "pear"};

}  // namespace

TEST_SUITE("enumerator_named") {
  TEST_CASE("a name gives its enumerator, and nothing else does") {
    CHECK(sw::enumerator_named<fruit>(fruit_names, "apple") == fruit::apple);
    CHECK(sw::enumerator_named<fruit>(fruit_names, "pear") == fruit::pear);
    for (const std::string_view other : {"", "Pear", "pears", "pea"})
      CHECK_FALSE(sw::enumerator_named<fruit>(fruit_names, other).has_value());
  }
}

}  // namespace enumerator_named_tests

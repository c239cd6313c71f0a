#include <shardweave/core/units.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace tensor_tests {
namespace {

using namespace shardweave;

constexpr std::size_t types = static_cast<std::size_t>(dtype::f8e5m2) + 1;

}  // namespace

TEST_SUITE("tensor") {
  TEST_CASE("an element has the bits that its type is named after, a truth value a byte") {
    std::set<std::string> names;
    for (std::size_t i = 0; i < types; ++i) {
      const auto type = static_cast<dtype>(i);
      const std::string name(name_of(type));
      CAPTURE(name);
      CHECK(names.insert(name).second);
      const auto digit = std::ranges::find_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
      if (name == "bool") {
        CHECK(element_size(type) == 1);
      } else {
        REQUIRE(digit != name.end());
        CHECK(8 * element_size(type) == std::stoll(name.substr(static_cast<std::size_t>(digit - name.begin()))));
      }
      CHECK(is_f8(type) == name.starts_with("f8"));
    }
  }

  TEST_CASE("a tensor holds the product of its extents, one element without any, none with an extent of 0") {
    const tensor x{{3, 5, 7}, dtype::bf16};
    CHECK(x.rank() == 3);
    CHECK(x.element_count() == 105);
    CHECK(x.size() == bytes(210));
    CHECK(tensor{{}, dtype::f64}.element_count() == 1);
    CHECK(tensor{{}, dtype::f64}.size() == bytes(8));
    CHECK(tensor{{4, 0, 9}, dtype::f32}.size() == bytes(0));
    CHECK(tensor{{1 << 20, 1 << 20, 16}, dtype::c64}.size() == bytes(std::int64_t{1} << 47));
  }

  TEST_CASE("tensors are equal in shape, type and layout; one is contiguous unless it is told") {
    const tensor x{{2, 3}};
    CHECK(x.contiguous);
    CHECK(x == tensor{{2, 3}, dtype::f32, true});
    CHECK(x != tensor{{3, 2}});
    CHECK(x != tensor{{2, 3}, dtype::bf16});
    CHECK(x != tensor{{2, 3}, dtype::f32, false});
  }

  TEST_CASE("more elements than can be counted count as the most that can") {
    constexpr std::int64_t many = std::int64_t{1} << 32, most = std::numeric_limits<std::int64_t>::max();
    CHECK(tensor{{many, many}}.element_count() == most);
    CHECK(tensor{{many, many}}.size() == bytes(most));
    CHECK(tensor{{many, many, 0}}.element_count() == 0);
    CHECK(tensor{{many, many / 4}}.element_count() == std::int64_t{1} << 62);
    CHECK(tensor{{many, many / 4}}.size() == bytes(most));
  }
}

}  // namespace tensor_tests

#include <shardweave/core/error.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace sw = shardweave;

static_assert(std::is_base_of_v<std::runtime_error, sw::error> && std::is_nothrow_copy_constructible_v<sw::error>);

TEST_SUITE("error") {
  TEST_CASE("a refusal carries its category and its words") {
    for (const auto category : {sw::error_category::input, sw::error_category::format, sw::error_category::constraint,
                                sw::error_category::backend, sw::error_category::system}) {
      try {
        sw::refuse(category, "vertex 3 has no strategy");
        FAIL("refuse returned");
      } catch (const sw::error& e) {
        CHECK(e.category() == category);
        CHECK(std::string(e.what()) == "vertex 3 has no strategy");
      }
    }
  }

  TEST_CASE("a refusal can be caught as a runtime error") {
    CHECK_THROWS_AS(sw::refuse(sw::error_category::input, "x"), std::runtime_error);
  }
}

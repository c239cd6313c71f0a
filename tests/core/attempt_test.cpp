#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace sw = shardweave;

namespace attempt_tests {
namespace {

void fail() { sw::refuse(sw::error_category::constraint, "nothing is left"); }

}  // namespace

TEST_SUITE("attempt") {
  TEST_CASE("an error that is settled ends there, another goes on as it was") {
    std::string said;
    sw::try_to([] { fail(); }, [&](const sw::error& e) { return said = e.what(), true; });
    CHECK(said == "nothing is left");
    CHECK_THROWS_WITH_AS(sw::try_to([] { fail(); }, [](const sw::error&) { return false; }), "nothing is left",
                         sw::error);
  }

  TEST_CASE("what is no error of the library is not asked about") {
    bool asked = false;
    CHECK_THROWS_AS(sw::try_to([] { throw std::runtime_error("x"); }, [&](const sw::error&) { return asked = true; }),
                    std::runtime_error);
    CHECK_FALSE(asked);
  }

  TEST_CASE("a failure is kept with its type, and there is none where nothing is thrown") {
    int done = 0;
    CHECK(sw::failure_of([&] { ++done; }) == nullptr);
    CHECK(done == 1);
    const std::exception_ptr kept = sw::failure_of([] { throw 7; });
    REQUIRE(kept != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(kept), int);
  }
}

}  // namespace attempt_tests

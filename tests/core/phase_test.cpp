#include <shardweave/core/phase.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace phase_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("phase") {
  TEST_CASE("a phase is called as it is read") {
    for (const sw::phase p : {sw::phase::forward, sw::phase::backward, sw::phase::update})
      CHECK(sw::phase_from(sw::name_of(p)) == p);
    CHECK_FALSE(sw::phase_from("sideways").has_value());
  }

  TEST_CASE("phases come in the order of a step, under the names of files") {
    CHECK((sw::phase::forward < sw::phase::backward && sw::phase::backward < sw::phase::update));
    CHECK(sw::phase_from("forward") == sw::phase::forward);
    CHECK(sw::phase_from("backward") == sw::phase::backward);
    CHECK(sw::phase_from("update") == sw::phase::update);
    for (const std::string_view other : {"", "Forward", "forward ", "back"})
      CHECK_FALSE(sw::phase_from(other).has_value());
  }
}

}  // namespace phase_tests

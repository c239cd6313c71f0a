#ifdef SHARDWEAVE_HAS_CLP
#include "solve/linear/linear_models.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/solve/backend/clp.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace clp_tests {
namespace {

namespace sw = shardweave;

using linear_models::infinity;
using linear_models::model_of;
using linear_models::textbook;

static_assert(sw::linear_backend<sw::clp> && !sw::integer_backend<sw::clp>);

}  // namespace

TEST_SUITE("clp") {
  TEST_CASE("whole numbers are refused") {
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::clp{}.solve(model_of({{0, 1, -5, true}}, {{-infinity, 3}}, {{4}}))),
                         "clp: the model asks for whole numbers, which CLP has not", sw::error);
  }
  TEST_CASE("of a linear program there are the optimum, its bound, and multipliers that prove it") {
    const auto out = sw::clp{}.solve(textbook());
    CHECK(out.status == sw::backend_status::optimal);
    CHECK(out.objective == doctest::Approx(-36));
    CHECK(out.bound == doctest::Approx(-36));
    REQUIRE(out.duals.size() == 3);
    CHECK(4 * out.duals[0] + 12 * out.duals[1] + 18 * out.duals[2] == doctest::Approx(-36));
    CHECK(out.nodes == 0);
  }
}

}  // namespace clp_tests
#endif

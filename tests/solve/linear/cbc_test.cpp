#ifdef SHARDWEAVE_HAS_CBC
#include "solve/linear/linear_models.hpp"
#include <shardweave/solve/backend/cbc.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace cbc_tests {
namespace {

namespace sw = shardweave;

using linear_models::infinity;
using linear_models::textbook;

static_assert(sw::integer_backend<sw::cbc>);

}  // namespace

TEST_SUITE("cbc") {
  TEST_CASE("without whole numbers it is the simplex method, with multipliers; with some there are none") {
    const auto relaxed = sw::cbc{}.solve(textbook());
    CHECK(relaxed.objective == doctest::Approx(-36));
    CHECK(relaxed.duals.size() == 3);
    CHECK(relaxed.nodes == 0);
    auto whole = textbook();
    for (auto& c : whole.columns) c.integer = true;
    whole.rows[2].high = 17.5;  // 3x + 2y: the relaxation has 35.5, whole numbers have 33
    const auto out = sw::cbc{}.solve(whole);
    CHECK(out.status == sw::backend_status::optimal);
    CHECK(out.objective == -33);
    CHECK(out.bound == -33);
    CHECK(out.duals.empty());
  }
  TEST_CASE("with a gap the answer is within it, is not called optimal, and its bound is below the optimum") {
    // many items of nearly equal worth
    sw::linear_model model;
    model.offset = 500;
    model.add_row({-infinity, 1009});
    for (int i = 0; i < 40; ++i)
      model.add_entry(0, model.add_column({0, 1, -(100.0 + i * 37 % 11), true}), 97 + i * 53 % 29);
    const auto sure = sw::cbc{}.solve(model);
    const auto near = sw::cbc{}.solve(model, {.gap = 0.2});
    CHECK(near.status == sw::backend_status::stopped);
    CHECK(near.bound <= sure.objective + 1e-6);
    CHECK(near.objective >= sure.objective - 1e-6);
    CHECK(near.objective - near.bound <= 0.2 * std::abs(near.objective) + 1e-9);
  }
}

}  // namespace cbc_tests
#endif

#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bound_cases.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;

TEST_SUITE("bound_cases") {
  TEST_CASE("the least of the cases bounds all labelings, and more tightly than the whole") {
    double by_cases = 0, whole = 0, optima = 0;
    std::size_t divided = 0;
    for (std::uint64_t seed = 0; seed < at_scale(16); ++seed) {
      const auto p = draw_small<std::int64_t>(
          seed,
          {.variables = 6, .density = 0.7, .forbidden = seed % 3 == 0 ? 0.2 : 0.0, .rows = seed % 4 == 3 ? 0U : 2U});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      INFO("seed ", seed);
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 100 && ascent.step(std::numeric_limits<double>::infinity()); ++i) {
      }
      const sw::detail::incumbent<std::int64_t> unknown;
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::detail::bound_cases<std::int64_t> cases(p, ascent.position(), ascent.bound(), unknown, limit);
      for (int i = 0; i < 60 && cases.work(); ++i) {
      }
      const auto most = static_cast<double>(*optimum);
      CHECK(cases.bound() <= most + 1e-6);
      CHECK(cases.bound() >= ascent.bound());
      divided += cases.explored() > 1 ? 1U : 0U;
      by_cases += cases.bound();
      whole += ascent.bound();
      optima += most;
    }
    CHECK(divided > 0);
    CHECK(optima - by_cases <= 0.2 * (optima - whole));
  }
  TEST_CASE("where only what costs less than a cost is wanted, the cases still bound all that does") {
    for (std::uint64_t seed = 0; seed < at_scale(16); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .density = 0.7, .rows = 1});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::price_ascent<std::int64_t> ascent(p);
      ascent.step(std::numeric_limits<double>::infinity());
      sw::detail::incumbent<std::int64_t> best;
      best.set_cutoff(*optimum + 1);  // labelings that cost as much as the optimum would be better
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::detail::bound_cases<std::int64_t> cases(p, ascent.position(), ascent.bound(), best, limit);
      for (int i = 0; i < 60 && cases.work(); ++i) CHECK(cases.bound() <= static_cast<double>(*optimum) + 1e-6);
    }
  }
}

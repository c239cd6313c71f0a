#include <shardweave/core/random.hpp>
#include <shardweave/placement/priced_savings.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sw = shardweave;

namespace priced_savings_tests {
namespace {

using shardweave_test::at_scale;

/// What an assignment costs by costs in place of a problem's own, in the unit of those.
template <class Cost>
double cost_of(const sw::costs_in_place<Cost>& costs, const sw::assignment& choice) {
  double total = 0;
  for (const auto& v : costs.vertices)
    total += static_cast<double>(v.costs[choice[v.vertex]]) * static_cast<double>(v.times);
  for (const auto& e : costs.edges)
    total += static_cast<double>((*e.table)(choice[e.from], choice[e.to])) * static_cast<double>(e.times);
  return std::ldexp(total, -costs.bits);
}

}  // namespace

TEST_SUITE("priced_savings") {
  TEST_CASE_TEMPLATE("whatever the prices, no assignment costs less than what they leave of it", Cost, double,
                     std::int64_t) {
    std::size_t equal = 0, below = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<Cost>(seed);
      const auto& d = stated.description;
      const sw::priced_savings<Cost> savings(d);
      const auto sets = shardweave_test::position_sets(d);
      sw::random_source random(seed * 2 + 1);
      for (int trial = 0; trial < 4; ++trial) {
        sw::savings_prices prices{.bits = 3};
        for (std::uint32_t c = 0; c < savings.channels(); ++c)
          for (std::uint32_t q = 0; q < d.vertices.size(); ++q)
            if (random.chance(0.6))
              prices.runs.push_back(
                  {c, q, static_cast<std::int64_t>(trial == 0 ? 8 * random.below(2) : random.below(9))});
        REQUIRE(!savings.complaint_about(prices));
        const auto costs = savings.costs_at(prices);
        shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
          const auto objective = static_cast<double>(*shardweave_test::price_of(stated, choice) -
                                                     shardweave_test::savings_by_flow(stated, sets, choice));
          const double left = cost_of(costs, choice), tolerance = 1e-9 * (1 + std::abs(objective));
          CHECK(left <= objective + tolerance);
          ++(left >= objective - tolerance ? equal : below);
        });
      }
    }
    CHECK(equal > at_scale(1000));
    CHECK(below > at_scale(1000));
  }
}

}  // namespace priced_savings_tests

#pragma once

#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

/// \file
/// Random problems with savings, and what every answer to one must keep.

namespace shardweave_test {

/// What sums of such costs may be off by.
inline double near(double value) { return 1e-8 * std::max(1.0, std::abs(value)); }

/// Calls try_one(stated, compiled, optimum by trial) for the problems of `count` seeds; those that contradict
/// themselves must be refused, and are left out.
template <class Cost, class F>
void for_savings_problems(std::uint64_t first, std::size_t count, F try_one) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const auto stated = draw_savings_problem<Cost>(seed);
    std::optional<shardweave::placement_problem<Cost>> problem;
    try {
      problem = shardweave::compile(stated.description);
    } catch (const shardweave::error& e) {
      CHECK(e.category() == shardweave::error_category::constraint);
      continue;
    }
    try_one(stated, *problem, brute_force_with_savings(stated));
  }
}

/// bound <= optimum <= objective, whatever the solver is. \returns whether an optimum was proven
template <class Cost>
bool check_savings_answer(const random_problem<Cost>& stated, const brute_optimum<Cost>& best,
                          const shardweave::solution<Cost>& answer) {
  if (!best.objective) {
    CHECK_FALSE(answer.has_assignment());
    return answer.status == shardweave::solve_status::infeasible;
  }
  const auto optimum = static_cast<double>(*best.objective);
  CHECK(answer.lower_bound <= optimum + near(optimum));
  CHECK(answer.status != shardweave::solve_status::infeasible);
  if (!answer.has_assignment()) return false;
  const auto price = price_of(stated, answer.choice);
  REQUIRE(price.has_value());
  const Cost expected = *price - savings_by_flow(stated, answer.choice);
  const auto objective = static_cast<double>(answer.objective);
  if constexpr (std::numeric_limits<Cost>::is_integer)
    CHECK(expected == answer.objective);
  else
    CHECK(std::abs(expected - objective) <= near(expected));
  CHECK(objective >= optimum - near(optimum));
  if (answer.status != shardweave::solve_status::optimal) return false;
  CHECK(objective <= optimum + near(optimum));
  return true;
}

}  // namespace shardweave_test

#pragma once

#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>

#include <algorithm>
#include <cmath>

/// \file
/// What every answer to a problem with savings must keep.

namespace shardweave_test {

/// bound <= optimum <= objective, whatever the solver is. \returns whether an optimum was proven
template <class Cost>
bool check_savings_answer(const random_problem<Cost>& stated, const brute_optimum<Cost>& best,
                          const shardweave::solution<Cost>& answer) {
  const auto near = [](double v) { return 1e-8 * std::max(1.0, std::abs(v)); };
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
  const auto expected = static_cast<double>(*price - savings_by_flow(stated, answer.choice));
  const auto objective = static_cast<double>(answer.objective);
  CHECK(std::abs(expected - objective) <= near(expected));
  CHECK(objective >= optimum - near(optimum));
  if (answer.status != shardweave::solve_status::optimal) return false;
  CHECK(objective <= optimum + near(optimum));
  return true;
}

}  // namespace shardweave_test

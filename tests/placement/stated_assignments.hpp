#pragma once

#include <support/random_problem.hpp>
#include <support/random_savings.hpp>

#include <cstddef>
#include <vector>

/// Assignments of random problems with savings, and what they cost by other means than the library's.
namespace stated_assignments {

namespace sw = shardweave;

/// Some feasible assignments of a random problem, far from each other.
template <class Cost>
std::vector<sw::assignment> some_feasible(const shardweave_test::random_problem<Cost>& stated) {
  std::vector<sw::assignment> all, some;
  shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) { all.push_back(choice); });
  for (std::size_t i = 0; i < 3 && !all.empty(); ++i) some.push_back(all[i * (all.size() - 1) / 2]);
  return some;
}

template <class Cost>
Cost objective_of(const shardweave_test::random_problem<Cost>& stated, const sw::assignment& choice) {
  return *shardweave_test::price_of(stated, choice) - shardweave_test::savings_by_flow(stated, choice);
}

}  // namespace stated_assignments

#pragma once

#include <shardweave/solve/sifted.hpp>

#include <string_view>
#include <utility>

namespace shardweave_test {

/// `shardweave::sifted` with another core, so that small problems have one.
template <class S>
struct sifted_with {
  static constexpr std::string_view name = "sifted";
  static constexpr shardweave::solver_abilities abilities = shardweave::sifted<S>::abilities;

  S inner;
  shardweave::detail::sifting how;

  sifted_with(S inner_solver, const shardweave::detail::sifting& core) : inner(std::move(inner_solver)), how(core) {}

  template <shardweave::cost_value Cost>
  [[nodiscard]] shardweave::solution<Cost> solve(const shardweave::placement_problem<Cost>& problem,
                                                 const shardweave::solve_control& control = {}) const {
    return shardweave::detail::sift_and_solve(inner, problem, control, how);
  }
};

}  // namespace shardweave_test

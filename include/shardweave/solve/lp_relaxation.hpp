#pragma once

#include <shardweave/solve/linear/detail/relaxation.hpp>
#include <shardweave/solve/linear/detail/savings_relaxation.hpp>
#include <shardweave/solve/solver.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

/// \file
/// The linear relaxation as a solver: a strong bound, and an assignment where rounding finds one.

namespace shardweave::inline v0 {

/// Solves the local polytope (`local_polytope`) of the problem with its rows, without whole numbers. The
/// bound is proved anew from the backend's multipliers (`dual_bound`), so a backend that errs can weaken it,
/// never make it wrong. Integral weights are the optimum; fractional ones are rounded and repaired.
/// Savings are columns too, and the chains of computation behind them rows (`budget_chains`).
///
/// Complexity: that of an LP with one column per label and per pair of classes
template <class Backend>
struct lp_relaxation {
  static_assert(linear_backend<Backend>,
                "The backend of lp_relaxation must have a member name and a const member solve(linear_model, "
                "backend_limits) that returns a backend_outcome (shardweave::linear_backend).");
  static constexpr std::string_view name = "lp_relaxation";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  Backend backend;
  std::size_t sweeps;  ///< of message passing before the LP, which drop most columns at little cost; 0: all columns

  explicit lp_relaxation(Backend engine = {}, std::size_t sweeps_before = 200)
      : backend(std::move(engine)), sweeps(sweeps_before) {}

  /// \throws error (input) for costs that are not numbers; error (backend) if the backend breaks down
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() != nullptr)
      return relax(detail::savings_relaxation<Cost, Backend>(problem, backend, control, name));
    return relax(detail::relaxation<Cost, Backend>(problem, backend, control, name));
  }

 private:
  template <class Work>
  [[nodiscard]] auto relax(Work work) const {
    work.start(sweeps);
    work.solve_relaxation();
    return work.finish();
  }
};

}  // namespace shardweave::inline v0

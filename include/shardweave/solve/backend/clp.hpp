#pragma once

#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/backend/detail/column_major.hpp>

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinError.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

/// \file
/// CLP as a backend: component `shardweave::clp`. CLP is under the Eclipse Public License 2.0; no header of the
/// library outside this component and `cbc` includes its headers.

namespace shardweave::inline v0 {
namespace detail {

/// Asked by the simplex method at every iteration whether it should end.
class clp_watch : public ClpEventHandler {
 public:
  explicit clp_watch(const backend_clock& clock) : clock_(&clock) {}
  int event(Event) override { return clock_->expired() ? 0 : -1; }  // -1: go on
  [[nodiscard]] ClpEventHandler* clone() const override { return new clp_watch(*this); }

 private:
  const backend_clock* clock_;
};

/// Runs `f`; what COIN throws comes out as an error (backend) with its words. COIN keeps its state in its objects, so
/// threads need no box of their own.
template <class F>
void in_coin_terms(std::string_view name, F f) {
  try {
    f();
  } catch (const CoinError& e) {
    refuse(error_category::backend,
           std::string(name) + ": " + e.className() + "::" + e.methodName() + ": " + e.message());
  }
}

/// Loads a model without its whole numbers, silent, watched, and to the tolerances that callers are promised.
inline void load_clp(ClpSimplex& engine, const linear_model& model, const backend_clock& clock) {
  const column_major<int> m(model, COIN_DBL_MAX);
  engine.setLogLevel(0);
  engine.loadProblem(static_cast<int>(model.columns.size()), static_cast<int>(model.rows.size()), m.start.data(),
                     m.row.data(), m.weight.data(), m.low.data(), m.high.data(), m.objective.data(), m.row_low.data(),
                     m.row_high.data());
  // a budget may be exceeded by the tolerance, which makes a label of that weight worth having
  engine.setPrimalTolerance(1e-9);
  engine.setDualTolerance(1e-9);
  const clp_watch watch(clock);
  engine.passInEventHandler(&watch);  // a copy
}

/// Solves the relaxation and reads it off.
inline void relax_clp(ClpSimplex& engine, const linear_model& model, const backend_clock& clock,
                      backend_outcome& outcome) {
  if (clock.expired()) return;
  ClpSolve options;
  options.setSolveType(ClpSolve::useDual);  // costs are mostly not negative, so the first basis is dual feasible
  options.setPresolveType(ClpSolve::presolveOn);
  engine.initialSolve(options);
  // presolve may leave traces of infeasibility, and cannot tell infeasible from unbounded; both end here
  if (!clock.expired() && (engine.status() != 0 || engine.secondaryStatus() != 0)) engine.primal(1);
  constexpr int numerical_trouble = 4;  // beside small weights: once more from scratch
  if (engine.status() == numerical_trouble && !clock.expired()) {
    engine.allSlackBasis(true);
    engine.setPerturbation(100);  // off
    engine.primal(0);
  }
  outcome.iterations += static_cast<std::size_t>(engine.numberIterations());
  const auto rows = static_cast<std::size_t>(engine.numberRows());
  const auto columns = static_cast<std::size_t>(engine.numberColumns());
  switch (engine.status()) {
    case 0:
      outcome.status = backend_status::optimal;
      outcome.primal.assign(engine.primalColumnSolution(), engine.primalColumnSolution() + columns);
      outcome.objective = outcome.bound = model.objective_of(outcome.primal);
      break;
    case 1:
      outcome.status = backend_status::infeasible;
      outcome.bound = std::numeric_limits<double>::infinity();
      return;
    case 2:
      outcome.status = backend_status::unbounded;
      return;
    case 3:
    case 5:
      outcome.status = backend_status::stopped;
      break;
    default:
      refuse(error_category::backend, "clp: the simplex method failed with status " + std::to_string(engine.status()));
  }
  outcome.duals.assign(engine.dualRowSolution(), engine.dualRowSolution() + rows);
}

}  // namespace detail

/// COIN-OR's simplex code: linear programs without whole numbers, of some million columns.
///
/// Silent; threads may call at once. A stop is obeyed at the next iteration of the simplex method.
class clp {
 public:
  static constexpr std::string_view name = "clp";
  static constexpr bool whole_numbers = false;

  /// \throws error (input) for a model that `validate` refuses, or that asks for whole numbers; error (backend) if CLP
  ///         breaks down
  [[nodiscard]] backend_outcome solve(const linear_model& model, const backend_limits& limits = {}) const {
    validate(model);
    validate(limits, name);
    if (model.has_integers()) refuse(error_category::input, "clp: the model asks for whole numbers, which CLP has not");
    backend_outcome outcome;
    const detail::backend_clock clock(limits);
    detail::in_coin_terms(name, [&] {
      ClpSimplex engine;
      detail::load_clp(engine, model, clock);
      detail::relax_clp(engine, model, clock, outcome);
    });
    return outcome;
  }
};

static_assert(linear_backend<clp>);

}  // namespace shardweave::inline v0

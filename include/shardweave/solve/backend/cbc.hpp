#pragma once

#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/backend/clp.hpp>

#include <CbcEventHandler.hpp>
#include <CbcHeuristic.hpp>
#include <CbcModel.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

/// \file
/// CBC as a backend: component `shardweave::cbc`. CBC is under the Eclipse Public License 2.0; no other header of the
/// library includes its headers.

namespace shardweave::inline v0 {
namespace detail {

/// Asked by branch and bound between nodes, cuts and heuristics whether it should end.
class cbc_watch : public CbcEventHandler {
 public:
  explicit cbc_watch(const backend_clock& clock) : clock_(&clock) {}
  CbcAction event(CbcEvent) override { return clock_->expired() ? stop : noAction; }
  [[nodiscard]] CbcEventHandler* clone() const override { return new cbc_watch(*this); }

 private:
  const backend_clock* clock_;
};

/// Branch and bound over a relaxation that CLP has solved.
inline void branch_cbc(const OsiClpSolverInterface& relaxed, const linear_model& model, const backend_limits& limits,
                       const backend_clock& clock, backend_outcome& outcome) {
  CbcModel engine(relaxed);
  engine.setLogLevel(0);
  engine.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
  cbc_watch watch(clock);
  engine.passInEventHandler(&watch);  // a copy
  engine.setIntegerTolerance(1e-9);
  // a node is cut off at this distance from the best solution; the default of 1e-5 is coarser than what callers are
  // promised
  engine.setDblParam(CbcModel::CbcCutoffIncrement, 1e-7);
  engine.setAllowableGap(0);
  engine.setAllowableFractionGap(limits.gap);
  // without cuts: beside small weights each kind lost an optimum, and placement problems take as long without any
  CbcRounding nearby(engine);
  engine.addHeuristic(&nearby);
  engine.setNumberStrong(5);
  engine.setNumberBeforeTrust(5);
  if (limits.start.size() == model.columns.size())
    engine.setBestSolution(limits.start.data(), static_cast<int>(limits.start.size()),
                           model.objective_of(limits.start) - model.offset, true);

  engine.branchAndBound();
  outcome.nodes = static_cast<std::size_t>(std::max(engine.getNodeCount(), 0));
  outcome.iterations += static_cast<std::size_t>(std::max(engine.getIterationCount(), 0));
  const bool was_stopped = clock.expired();
  if (engine.isProvenInfeasible() && !was_stopped) {
    outcome.status = backend_status::infeasible;
    outcome.bound = std::numeric_limits<double>::infinity();
    return;
  }
  if (engine.bestSolution() != nullptr) {
    outcome.primal.assign(engine.bestSolution(), engine.bestSolution() + model.columns.size());
    outcome.objective = model.objective_of(outcome.primal);
  }
  outcome.status = backend_status::stopped;
  // stopped from outside it may say that the search is complete, with the start as its best and its bound
  constexpr int by_an_event = 5;
  if (was_stopped && engine.status() != by_an_event) return;
  const bool ended = engine.isProvenOptimal() && !engine.isAbandoned() && !outcome.primal.empty();
  if (ended && limits.gap <= 0) {
    outcome.status = backend_status::optimal;
    outcome.bound = outcome.objective;
    return;
  }
  // after a gap CBC says that the search is complete, and its bound may be the objective: what was cut off is within
  // the gap of it
  const double claim = engine.getBestPossibleObjValue() + model.offset;
  const double open = ended ? outcome.objective - limits.gap * std::abs(outcome.objective) : outcome.objective;
  if (std::abs(claim) < 1e49) outcome.bound = std::max(outcome.bound, std::min(claim, open));
}

}  // namespace detail

/// COIN-OR's branch and bound on top of CLP, without cuts; linear programs without whole numbers go to CLP as they are.
/// Without CBC's own preprocessing of whole numbers, which takes longer than all else where the relaxation is nearly
/// integral.
///
/// Silent; threads may call at once. A stop is obeyed at the next iteration of the simplex method or between cuts.
class cbc {
 public:
  static constexpr std::string_view name = "cbc";

  /// \throws error (input) for a model that `validate` refuses, error (backend) if CBC breaks down
  [[nodiscard]] backend_outcome solve(const linear_model& model, const backend_limits& limits = {}) const {
    validate(model);
    validate(limits, name);
    backend_outcome outcome;
    const detail::backend_clock clock(limits);
    detail::in_coin_terms(name, [&] {
      if (!model.has_integers()) {
        ClpSimplex engine;
        detail::load_clp(engine, model, clock);
        return detail::relax_clp(engine, model, clock, outcome);
      }
      OsiClpSolverInterface relaxed;
      relaxed.messageHandler()->setLogLevel(0);
      detail::load_clp(*relaxed.getModelPtr(), model, clock);
      for (std::size_t j = 0; j < model.columns.size(); ++j)
        if (model.columns[j].integer) relaxed.setInteger(static_cast<int>(j));
      detail::relax_clp(*relaxed.getModelPtr(), model, clock, outcome);
      if (outcome.status != backend_status::optimal) {
        outcome.duals.clear();
        return;
      }
      outcome = {.bound = outcome.bound, .iterations = outcome.iterations};
      detail::branch_cbc(relaxed, model, limits, clock, outcome);
    });
    return outcome;
  }
};

static_assert(linear_backend<cbc>);

}  // namespace shardweave::inline v0

#pragma once

#include "solvers.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/trws.hpp>
#ifdef SHARDWEAVE_HAS_GLPK
#include <shardweave/solve/backend/glpk.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CLP
#include <shardweave/solve/backend/clp.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CBC
#include <shardweave/solve/backend/cbc.hpp>
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
#include <shardweave/solve/backend/highs.hpp>
#endif

#include <string>
#include <utility>
#include <vector>

/// \file
/// What `solvers` is, for the sources that compile it: one for each type of costs.

namespace programs {

namespace detail {

/// Whoever does not see savings reports bounds on costs alone: bounds on the objective are lower by all that could be
/// saved.
template <class Cost>
shardweave::solve_control told_of_objective(const shardweave::placement_problem<Cost>& problem,
                                            shardweave::solve_control control) {
  const auto most = static_cast<double>(problem.savings()->most());
  control.progress = [most, tell = std::move(control.progress)](shardweave::progress_report report) {
    report.lower_bound -= most;
    tell(report);
  };
  return control;
}

}  // namespace detail

template <class Cost>
std::vector<named_solver<Cost>> solvers() {
  const auto named = [](std::string name, std::string about, auto solver) {
    return named_solver<Cost>{std::move(name), std::move(about), [solver](const auto& problem, const auto& control) {
                                if (solver.abilities.savings || problem.savings() == nullptr || !control.progress)
                                  return solver.solve(problem, control);
                                return solver.solve(problem, detail::told_of_objective(problem, control));
                              }};
  };
  namespace sw = shardweave;
  std::vector<named_solver<Cost>> all = {
      named("auto", "the default for anything: reduces, proves what is left where it is small, else searches",
            sw::auto_solver{}),
      named("elimination", "proofs for graphs that are nearly chains or trees, without budgets",
            sw::reduced(sw::elimination{})),
      named("overlapped", "proofs where savings count (--overlap): prices, fixing, branching", sw::overlapped{}),
      named("trws", "a fast bound and assignment by message passing, without budgets", sw::trws{}),
      named("branch_and_bound", "proofs for middling problems, with budgets", sw::reduced(sw::branch_and_bound{})),
      named("budgeted", "a fast bound and assignment where there are budgets", sw::budgeted{}),
      named("local_search", "fast good assignments for anything; no bound", sw::local_search{}),
      named("guided_search", "large problems that nobody proves: bound, dives and windows in turn, until --seconds",
            sw::reduced(sw::guided_search{})),
      named("dive", "a fast assignment for large problems with budgets, along the bound", sw::reduced(sw::dive{})),
      named("exhaustive", "a check of the others on a dozen vertices: tries all assignments", sw::exhaustive{})};
  // one type of backend, so that what stands on it is compiled once
  const auto offer = [&](const sw::any_backend& engine, const std::string& called, const std::string& ending,
                         bool whole_numbers = true) {
    all.push_back(named("lp" + ending, "a bound by the linear relaxation (" + called + ")", sw::lp_relaxation(engine)));
    if (!whole_numbers) return;
    all.push_back(
        named("ilp" + ending, "proofs by an integer program, for comparison (" + called + ")", sw::ilp(engine)));
    all.push_back(named("reduced_ilp" + ending, "the same on the reduced problem", sw::reduced(sw::ilp(engine))));
  };
#ifdef SHARDWEAVE_HAS_GLPK
  offer(sw::any_backend(sw::glpk{}), "GLPK", "");
#endif
#ifdef SHARDWEAVE_HAS_CLP
  offer(sw::any_backend(sw::clp{}), "CLP", "_clp", false);
#endif
#ifdef SHARDWEAVE_HAS_CBC
  offer(sw::any_backend(sw::cbc{}), "CBC", "_cbc");
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
  offer(sw::any_backend(sw::highs{}), "HiGHS", "_highs");
#endif
  static_cast<void>(offer);  // there may be none
  return all;
}

}  // namespace programs

#include "solvers.hpp"

#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/dive.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
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

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace programs {

template <class Cost>
std::vector<named_solver<Cost>> solvers() {
  const auto named = [](std::string name, std::string about, auto solver) {
    return named_solver<Cost>{std::move(name), std::move(about), [solver](const auto& problem, const auto& control) {
                                return solver.solve(problem, control);
                              }};
  };
  namespace sw = shardweave;
  std::vector<named_solver<Cost>> all = {
      named("auto", "reduction; branch and bound where little is left, else guided search", sw::auto_solver{}),
      named("elimination", "exact where factors stay small, on the reduced problem", sw::reduced(sw::elimination{})),
      named("overlapped", "prices on the computation that hides, fixing and branching; for --overlap",
            sw::overlapped(sw::trws{})),
      named("trws", "message passing with a lower bound", sw::trws{}),
      named("branch_and_bound", "proves optima with budgets, on bounds of its own",
            sw::reduced(sw::branch_and_bound{})),
      named("budgeted", "message passing with prices on budgets", sw::budgeted(sw::trws{})),
      named("local_search", "good assignments without a bound", sw::local_search{}),
      named("guided_search", "for problems too large to prove: bound, dives, windows in turn, until the limit",
            sw::reduced(sw::guided_search{})),
      named("dive", "follows the bound down to an assignment", sw::reduced(sw::dive{})),
      named("exhaustive", "tries all assignments; for small problems", sw::exhaustive{})};
  // one type of backend, so that what stands on it is compiled once
  const auto offer = [&](const sw::any_backend& engine, const std::string& called, const std::string& ending,
                         bool whole_numbers = true) {
    all.push_back(named("lp" + ending, "linear relaxation (" + called + ")", sw::lp_relaxation(engine)));
    if (!whole_numbers) return;
    all.push_back(named("ilp" + ending, "linear relaxation, then branch and bound (" + called + ")", sw::ilp(engine)));
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

template std::vector<named_solver<double>> solvers<double>();
template std::vector<named_solver<std::int64_t>> solvers<std::int64_t>();

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const auto& solver : solvers<double>()) names.push_back(solver.name);
  return names;
}

}  // namespace programs

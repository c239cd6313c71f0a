// Compositions of solvers and stages that have proven useful; docs/cookbook.md quotes them.
#include "support/small_step.hpp"
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>
#ifdef SHARDWEAVE_HAS_GLPK
#include <shardweave/solve/backend/glpk.hpp>
#include <shardweave/solve/ilp.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

/// 12 vertices in two chains, 3 strategies, and memory for few of the fast ones.
struct tight_costs {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 3; }
  double vertex_cost(std::uint32_t v, sw::strategy s) const { return (v % 4 + 1) * (3 - s); }
  double edge_cost(sw::compressed_graph::edge_descriptor, sw::strategy a, sw::strategy b) const {
    return a == b ? 0 : 1;
  }
  double memory_usage(std::uint32_t v, sw::strategy s) const { return (1 + v % 3) * s; }
  sw::live_interval live(std::uint32_t) const { return {0, 1}; }
  double memory_limit() const { return 20; }
};

int main() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t v = 0; v + 2 < 12; ++v) ends.emplace_back(v, v + 2);
  const sw::compressed_graph g(12, ends);
  const sw::planner planner(g, tight_costs{}, sw::exhaustive{});
  const double optimum = planner.solve().objective;
  bool right = true;
  const auto check = [&](const char* what, const sw::solution<double>& found) {
    std::printf("%-26s %5g, bound %8.4g, %s\n", what, found.objective, found.lower_bound,
                std::string(sw::name_of(found.status)).c_str());
    right = right && found.has_assignment() && found.objective >= optimum && found.lower_bound <= optimum + 1e-6;
  };

  // [default]
  check("default", planner.with(sw::auto_solver{}).solve());
  // [default]

  // [no_budgets]
  // chains, trees and repeated layers: exact, and often at once
  const auto exact = sw::first_proven(sw::reduced(sw::elimination{}), sw::reduced(sw::trws{}));
  // [no_budgets]
  check("without budgets in mind", sw::first_proven(exact, sw::local_search{}).solve(planner.problem()));

  // [budgets]
  // prices on budgets for bound and assignment, local search for what the prices leave
  const auto priced = sw::reduced(sw::polished(sw::budgeted{}, sw::local_search{}));
  // [budgets]
  check("budgets", planner.with(priced).solve());

#ifdef SHARDWEAVE_HAS_GLPK
  // [proof]
  // and a proof by branch and bound, where the problem that is left is small enough to ask
  const auto sure = sw::first_proven(priced, sw::by_size(sw::reduced(sw::ilp(sw::glpk{})), {.labels = 5000}));
  // [proof]
  check("proof", planner.with(sure).solve({.seconds = 10}));
#endif

  // [second_opinion]
  const auto judged = sw::certified(sw::local_search{.starts = 4}, sw::budgeted{});
  // [second_opinion]
  check("second opinion", planner.with(judged).solve());

  // [race]
  const auto race = sw::race(sw::exhaustive{}, priced);
  // [race]
  check("race", planner.with(race).solve());

  // [control]
  std::stop_source stop;  // another thread may say stop.request_stop()
  const auto limited = planner.with(priced).solve(
      {.seconds = 2, .seed = 7, .stop = stop.get_token(), .progress = [](const sw::progress_report& r) {
         (void)r.objective;  // show it, with r.lower_bound
       }});
  // [control]
  check("limits", limited);

  // [improve]
  // start from an assignment that one has: yesterday's plan, a plan made by hand
  const sw::assignment by_hand(12, 0);
  const auto improved = sw::local_search{}.solve(planner.problem(), {.seed = 3, .start = by_hand});
  // [improve]
  check("improved", improved);

  // [by_name]
  // a choice at run time is a thin layer on top, and the host's own
  using any_solver =
      std::function<sw::solution<double>(const sw::placement_problem<double>&, const sw::solve_control&)>;
  const std::map<std::string, any_solver> known = {
      {"fast", [](const auto& problem, const auto& control) { return sw::local_search{}.solve(problem, control); }},
      {"sure", [=](const auto& problem, const auto& control) { return priced.solve(problem, control); }}};
  check("by name", known.at("fast")(planner.problem(), {}));
  // [by_name]

  // [tasks_only]
  // a task graph from elsewhere: buckets, order and timeline without any placement
  const sw::pipeline way(sw::auto_solver{}, sw::greedy{.cap = sw::mebibytes(16)}, sw::prefetch{});
  const sw::task_plan plan = way.run(programs::small_step());
  // [tasks_only]
  std::printf("%-26s %lld ns, as given %lld ns\n", "tasks only", static_cast<long long>(plan.after.end_to_end.count()),
              static_cast<long long>(plan.before.end_to_end.count()));
  return right && plan.after.end_to_end < plan.before.end_to_end ? 0 : 1;
}

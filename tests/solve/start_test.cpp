#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>
#include <support/backends.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

/// What a start and a gap mean to every solver and every combinator, on small random problems with all kinds of
/// constraints, half of them with savings; judged by trying all assignments.
namespace start_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;

template <class Cost>
struct tried_solver {
  std::string name;
  bool proves = false;  ///< every optimum, where nothing limits it
  std::function<sw::solution<Cost>(const sw::placement_problem<Cost>&, const sw::solve_control&)> solve;
};

template <class Cost>
std::vector<tried_solver<Cost>> all_solvers() {
  std::vector<tried_solver<Cost>> all;
  const auto add = [&](std::string name, bool proves, auto solver) {
    static_assert(sw::solver<decltype(solver), Cost>);
    all.push_back({std::move(name), proves, [solver](const auto& p, const auto& c) { return solver.solve(p, c); }});
  };
  sw::elimination narrow;
  narrow.width = 1;
  sw::guided_search guided;
  guided.rounds = 2;
  guided.first_steps = guided.bounding.most_steps = 60;
  guided.windows = 2;
  sw::dive dive;
  dive.dives = 1;
  dive.root_steps = 60;
  sw::large_neighbourhood<> around;
  around.windows = 5;
  sw::local_search quick;
  quick.effort = 1;
  add("exhaustive", true, sw::exhaustive{});
  add("elimination", false, sw::elimination{});
  add("narrow elimination", false, narrow);
  add("trws", false, sw::trws{});
  add("local_search", false, quick);
  add("dive", false, dive);
  add("large_neighbourhood", false, around);
  add("guided_search", false, guided);
  add("branch_and_bound", true, sw::branch_and_bound{});
  add("overlapped", false, sw::overlapped{});
  add("auto", true, sw::auto_solver{});
  add("reduced", true, sw::reduced(sw::exhaustive{}));
  add("reduced local search", false, sw::reduced(quick));
  add("polished", false, sw::polished(sw::trws{}, quick));
  add("budgeted", false, sw::budgeted{});
  add("first_proven", true, sw::first_proven(narrow, sw::trws{}, sw::exhaustive{}));
  add("race", true, sw::race(sw::trws{}, sw::exhaustive{}));
  add("certified", false, sw::certified(narrow, sw::trws{}));
  add("by_size alone", false, sw::by_size(sw::exhaustive{}, {.labels = 10}));
  add("by_size", false, sw::by_size(sw::exhaustive{}, sw::trws{}, {.labels = 10}));
  for (const sw::any_backend& backend : shardweave_test::backends()) {
    add("lp_relaxation, " + std::string(backend.name), false, sw::lp_relaxation(backend));
    break;
  }
  for (const sw::any_backend& backend : shardweave_test::backends(true)) {
    add("ilp, " + std::string(backend.name), false, sw::ilp(backend));
    break;
  }
  return all;
}

template <class Cost>
struct judged_problem {
  std::optional<sw::placement_problem<Cost>> compiled = {};
  std::vector<sw::assignment> feasible = {};
  std::optional<Cost> optimum = {};
};

template <class Cost>
judged_problem<Cost> draw(std::uint64_t seed) {
  judged_problem<Cost> result;
  auto stated = shardweave_test::draw_savings_problem<Cost>(seed);
  if (seed % 2 == 0) stated.description.counted = sw::savings_form::off;
  try {
    result.compiled = sw::compile(stated.description);
  } catch (const sw::error& e) {
    CHECK(e.category() == sw::error_category::constraint);
    return result;
  }
  shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) { result.feasible.push_back(choice); });
  for (const sw::assignment& choice : result.feasible) {
    const Cost objective = sw::evaluate(*result.compiled, choice).objective;
    if (!result.optimum || objective < *result.optimum) result.optimum = objective;
  }
  return result;
}

template <class Cost>
void check_answer(const judged_problem<Cost>& problem, const sw::solution<Cost>& answer) {
  const double slack = 1e-8 * std::max(1.0, std::abs(static_cast<double>(*problem.optimum)));
  CHECK(answer.lower_bound <= static_cast<double>(*problem.optimum) + slack);
  CHECK(answer.status != sw::solve_status::infeasible);
  if (!answer.has_assignment()) return;
  CHECK(std::find(problem.feasible.begin(), problem.feasible.end(), answer.choice) != problem.feasible.end());
  CHECK(sw::evaluate(*problem.compiled, answer.choice).objective == answer.objective);
  if (answer.status == sw::solve_status::optimal)
    CHECK(static_cast<double>(answer.objective) <= static_cast<double>(*problem.optimum) + slack);
}

template <class Cost>
void try_starts(std::uint64_t first, std::size_t count) {
  const auto solvers = all_solvers<Cost>();
  std::stop_source over;
  over.request_stop();
  std::size_t tried = 0, said = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto problem = draw<Cost>(seed);
    if (!problem.optimum) continue;
    sw::random_source random(seed);
    const sw::assignment start = problem.feasible[random.below(problem.feasible.size())];
    const Cost known = sw::evaluate(*problem.compiled, start).objective;
    sw::assignment wrong = start;
    for (sw::strategy& s : wrong) s = static_cast<sw::strategy>(random.below(5));
    const bool is_wrong = std::find(problem.feasible.begin(), problem.feasible.end(), wrong) == problem.feasible.end();
    for (const auto& solver : solvers) {
      CAPTURE(seed);
      CAPTURE(solver.name);
      for (const sw::solve_control& control :
           {sw::solve_control{.start = start}, sw::solve_control{.iterations = 1, .start = start},
            sw::solve_control{.stop = over.get_token(), .start = start},
            sw::solve_control{.seconds = 0, .gap = 0.2, .start = start}}) {
        const auto answer = solver.solve(*problem.compiled, control);
        check_answer(problem, answer);
        REQUIRE(answer.has_assignment());
        CHECK(answer.objective <= known);
        CHECK(answer.statistics.note.find("the start ") == std::string::npos);
        ++tried;
      }
      if (!is_wrong) continue;
      const auto answer = solver.solve(*problem.compiled, {.start = wrong});
      check_answer(problem, answer);
      const bool is_told = answer.statistics.note.find("the start ") != std::string::npos;
      CHECK(is_told);
      said += is_told ? 1 : 0;
      const auto short_one = solver.solve(*problem.compiled, {.start = sw::assignment(start.size() + 1)});
      check_answer(problem, short_one);
      CHECK(short_one.statistics.note.find("strategies for") != std::string::npos);
    }
  }
  CHECK(tried > shardweave_test::sized<std::size_t>(20, 2) * solvers.size());
  CHECK(said > shardweave_test::sized<std::size_t>(5, 0) * solvers.size());
}

template <class Cost>
void try_gaps(std::uint64_t first, std::size_t count) {
  const auto solvers = all_solvers<Cost>();
  std::size_t enough = 0, proven = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto problem = draw<Cost>(seed);
    if (!problem.optimum) continue;
    for (const auto& solver : solvers)
      for (const double gap : {0.02, 0.5}) {
        CAPTURE(seed);
        CAPTURE(solver.name);
        CAPTURE(gap);
        const auto answer = solver.solve(*problem.compiled, {.gap = gap});
        check_answer(problem, answer);
        if (solver.proves && (problem.compiled->savings() == nullptr || solver.name != "branch_and_bound")) {
          REQUIRE(answer.has_assignment());
          CHECK(answer.gap() <= gap * (1 + 1e-12));
        }
        const bool has_ended = answer.statistics.note.find("stopped") == std::string::npos &&
                               answer.statistics.note.find("gave up") == std::string::npos;
        if (solver.name == "guided_search" && answer.has_assignment() && has_ended) CHECK(std::isfinite(answer.gap()));
        if (!answer.has_assignment() || !(answer.gap() <= gap)) continue;
        const bool is_optimal = sw::proves(answer.lower_bound, answer.objective);
        CHECK(answer.status == (is_optimal ? sw::solve_status::optimal : sw::solve_status::feasible));
        CHECK((answer.statistics.note.find("within the gap that was asked for.") == std::string::npos) == is_optimal);
        ++(is_optimal ? proven : enough);
      }
  }
  MESSAGE(enough << " answers within the gap, " << proven << " proven");
  CHECK(enough > count);
  CHECK(proven > count);
}

}  // namespace

TEST_SUITE("solver suite") {
  TEST_CASE("no answer is worse than a feasible start, whatever ends the work, and others are spoken of") {
    try_starts<double>(1, at_scale(24));
  }
  TEST_CASE("the same with whole costs") { try_starts<std::int64_t>(1001, at_scale(16)); }
  TEST_CASE("a gap is enough for every solver, is kept where optima are proven, and is said") {
    try_gaps<double>(2001, at_scale(24));
  }
  TEST_CASE("the same with whole costs and a gap") { try_gaps<std::int64_t>(3001, at_scale(16)); }
  TEST_CASE("a gap spares work") {
    // ladders of loops, whose bound by messages alone is loose
    const auto problem = [] {
      sw::random_source random(3);
      sw::compact_builder<double> builder;
      for (int x = 0; x < 60; ++x)
        builder.add_variable(std::vector<double>{10 + random.unit(), 10 + random.unit(), 10});
      for (std::uint32_t x = 0; x < 60; ++x)
        for (const std::uint32_t y : {x + 1, x + 7}) {
          if (y >= 60) continue;
          std::vector<double> costs;
          for (int i = 0; i < 9; ++i) costs.push_back(random.unit());
          builder.add_edge(
              x, y, std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(3, 3, costs)));
        }
      return sw::placement_problem<double>(builder.build());
    }();
    const auto sure = sw::branch_and_bound{}.solve(problem);
    const auto near = sw::branch_and_bound{}.solve(problem, {.gap = 0.01});
    REQUIRE(sure.status == sw::solve_status::optimal);
    CHECK(near.status == sw::solve_status::feasible);
    CHECK(near.gap() <= 0.01);
    CHECK(near.gap() > 0);
    CHECK(near.statistics.counters[2].second < sure.statistics.counters[2].second);  // ascent steps
  }
}

}  // namespace start_tests

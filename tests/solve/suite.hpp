#pragma once

#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/solver.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
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
#include <string_view>
#include <utility>

/// \file
/// What every solver and every combinator promises, tried on small random problems against brute force.

namespace shardweave_test {

/// How a solver is tried.
struct suite_settings {
  std::size_t problems = 300;  ///< seeds first_seed, first_seed + 1, ...; combinations of features in turn
  std::uint64_t first_seed = 1;
  bool exact = false;             ///< must prove the optimum, or that there is none, when nothing limits it
                                  ///< (where there are budgets: if the solver handles them)
  bool deterministic = true;      ///< equal calls give equal bits
  double bound_tolerance = 1e-8;  ///< relative; what a bound may exceed the optimum by
  sw::solve_control control = {};
  std::size_t max_vertices = 8;
};

/// What came of it, for figures and for checks that the suite had something to bite on.
struct suite_figures {
  std::size_t problems = 0;
  std::size_t feasible = 0;       ///< by brute force
  std::size_t contradictory = 0;  ///< found infeasible while compiling
  std::size_t optimal = 0;        ///< called so
  std::size_t infeasible = 0;     ///< called so
  std::size_t unanswered = 0;     ///< feasible, but no assignment came
  std::size_t refused = 0;        ///< budgets given to a solver that refuses them
  double excess = 0;              ///< sum of relative distances from the optimum
};

namespace detail {

inline double slack(double value, double relative) { return relative * std::max(1.0, std::abs(value)); }

/// The promises about one answer.
template <class Cost>
void check_answer(const random_problem<Cost>& problem, const brute_optimum<Cost>& best,
                  const sw::solution<Cost>& answer, double bound_tolerance) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK_FALSE(std::isnan(answer.lower_bound));
  CHECK_FALSE(answer.statistics.solver.empty());
  CHECK(answer.statistics.bound_by != answer.statistics.solver);
  CHECK_FALSE(answer.statistics.note.ends_with(' '));
  if (best.objective) {
    const auto optimum = static_cast<double>(*best.objective);
    CHECK(answer.lower_bound <= optimum + slack(optimum, bound_tolerance));
    CHECK(answer.status != sw::solve_status::infeasible);
  } else {
    CHECK_FALSE(answer.has_assignment());
    CHECK(answer.status != sw::solve_status::optimal);
    CHECK(answer.status != sw::solve_status::feasible);
  }
  if (answer.status == sw::solve_status::infeasible) {
    CHECK(answer.lower_bound == infinity);
    CHECK_FALSE(answer.statistics.note.empty());
  }
  if (!answer.has_assignment()) {
    CHECK(answer.objective == sw::forbidden<Cost>);
    CHECK(answer.status != sw::solve_status::optimal);
    CHECK(answer.status != sw::solve_status::feasible);
    return;
  }
  const std::optional<Cost> price = price_of(problem, answer.choice);
  CHECK_MESSAGE(price.has_value(), "the assignment is incomplete or breaks a constraint");
  if (!price || !best.objective) return;
  const auto objective = static_cast<double>(answer.objective);
  const auto optimum = static_cast<double>(*best.objective);
  if constexpr (std::numeric_limits<Cost>::is_integer) {
    CHECK(*price == answer.objective);
    CHECK(answer.objective >= *best.objective);
  } else {
    CHECK(std::abs(*price - answer.objective) <= slack(*price, 1e-9));
    CHECK(objective >= optimum - slack(optimum, 1e-9));
  }
  CHECK(answer.lower_bound <= objective);
  if (answer.status == sw::solve_status::optimal) {
    CHECK(sw::proves(answer.lower_bound, answer.objective));
    CHECK(objective <= optimum + slack(optimum, 2e-9));
  }
}

template <class Cost>
void check_same_bits(const sw::solution<Cost>& a, const sw::solution<Cost>& b) {
  CHECK(a.choice == b.choice);
  CHECK(a.objective == b.objective);
  CHECK(a.lower_bound == b.lower_bound);
  CHECK(a.status == b.status);
  CHECK(a.statistics.iterations == b.statistics.iterations);
  CHECK(a.statistics.solver == b.statistics.solver);
  CHECK(a.statistics.bound_by == b.statistics.bound_by);
  CHECK(a.statistics.note == b.statistics.note);
  REQUIRE(a.statistics.counters.size() == b.statistics.counters.size());
  for (std::size_t i = 0; i < a.statistics.counters.size(); ++i) {
    const auto& [name, value] = a.statistics.counters[i];
    CHECK(name == b.statistics.counters[i].first);
    CHECK_MESSAGE(value == b.statistics.counters[i].second, name);
  }
}

}  // namespace detail

namespace detail {

/// The suite for a solver whose type no longer matters, so that it is compiled once per type of cost.
template <class Cost>
suite_figures run_suite(
    std::string_view name, sw::solver_abilities abilities, const suite_settings& settings,
    const std::function<sw::solution<Cost>(const sw::placement_problem<Cost>&, const sw::solve_control&)>& solve) {
  suite_figures figures;
  std::stop_source stopped;
  stopped.request_stop();
  const std::size_t problems = at_scale(settings.problems);
  for (std::size_t i = 0; i < problems; ++i) {
    const std::uint64_t seed = settings.first_seed + i;
    const auto bits = static_cast<unsigned>((seed * 37) % 128);  // 37 is odd: all 128 combinations in turn
    problem_features features = problem_features::combination(bits);
    features.max_vertices = settings.max_vertices;
    const auto stated = draw_problem<Cost>(seed, features);
    const auto best = brute_force(stated);
    const std::string about = std::string(name) + ", seed " + std::to_string(seed) + ", features " +
                              std::to_string(bits) +
                              (best.objective ? ", optimum " + std::to_string(*best.objective) : ", infeasible");
    INFO(about);
    ++figures.problems;
    figures.feasible += best.objective.has_value();
    std::optional<sw::placement_problem<Cost>> problem;
    try {
      problem = sw::compile(stated.description);
    } catch (const sw::error& e) {
      INFO(std::string(e.what()));
      CHECK(e.category() == sw::error_category::constraint);
      CHECK_FALSE(best.objective.has_value());
      ++figures.contradictory;
      continue;
    }

    sw::solution<Cost> answer;
    try {
      answer = solve(*problem, settings.control);
    } catch (const sw::error& e) {
      INFO(std::string(e.what()));
      CHECK(e.category() == sw::error_category::input);
      CHECK_FALSE(abilities.budgets);
      CHECK_FALSE(problem->compact().rows().empty());
      ++figures.refused;
      continue;
    }
    check_answer(stated, best, answer, settings.bound_tolerance);
    if (settings.exact && (abilities.budgets || problem->compact().rows().empty())) {
      CHECK(answer.status == (best.objective ? sw::solve_status::optimal : sw::solve_status::infeasible));
    }
    figures.optimal += answer.status == sw::solve_status::optimal;
    figures.infeasible += answer.status == sw::solve_status::infeasible;
    figures.unanswered += best.objective.has_value() && !answer.has_assignment();
    if (best.objective && answer.has_assignment())
      figures.excess += static_cast<double>(answer.objective - *best.objective) /
                        std::max(1.0, std::abs(static_cast<double>(*best.objective)));

    switch (i % 5) {  // one of the further promises
      case 0: {
        const auto again = solve(*problem, settings.control);
        check_answer(stated, best, again, settings.bound_tolerance);
        if (settings.deterministic) check_same_bits(answer, again);
        break;
      }
      case 1: {
        INFO("a stop was asked for before the call");
        sw::solve_control control = settings.control;
        control.stop = stopped.get_token();
        check_answer(stated, best, solve(*problem, control), settings.bound_tolerance);
        break;
      }
      case 2: {
        INFO("few iterations");
        sw::solve_control control = settings.control;
        control.iterations = i / 5 % 4;
        const auto few = solve(*problem, control);
        check_answer(stated, best, few, settings.bound_tolerance);
        if (settings.deterministic) check_same_bits(few, solve(*problem, control));
        break;
      }
      case 3: {
        INFO("no time");
        sw::solve_control control = settings.control;
        control.seconds = i / 5 % 2 == 0 ? 0 : 1e-5;
        check_answer(stated, best, solve(*problem, control), settings.bound_tolerance);
        break;
      }
      default: {
        INFO("another seed, and a listener");
        sw::solve_control control = settings.control;
        control.seed = seed * 7919;
        // whoever does not see savings speaks of costs alone
        const bool is_comparable = best.objective && (abilities.savings || problem->savings() == nullptr);
        control.progress = [&](const sw::progress_report& report) {
          CHECK_FALSE(report.stage.empty());
          CHECK_FALSE(std::isnan(report.objective));
          CHECK_FALSE(std::isnan(report.lower_bound));
          if (!is_comparable) return;
          const auto optimum = static_cast<double>(*best.objective);
          CHECK(report.lower_bound <= optimum + slack(optimum, settings.bound_tolerance));
          CHECK(report.objective >= optimum - slack(optimum, settings.bound_tolerance));
        };
        check_answer(stated, best, solve(*problem, control), settings.bound_tolerance);
      }
    }
  }
  return figures;
}

}  // namespace detail

/// Runs a solver on random problems; failures name the seed and the features.
template <class Cost = double, class Solver>
suite_figures run_suite(const Solver& solver, const suite_settings& settings = {}) {
  static_assert(sw::solver<Solver, Cost>);
  return detail::run_suite<Cost>(Solver::name, Solver::abilities, settings,
                                 [&](const sw::placement_problem<Cost>& problem, const sw::solve_control& control) {
                                   return solver.solve(problem, control);
                                 });
}

/// For the logs of a test run.
inline std::string to_text(const suite_figures& f) {
  return std::to_string(f.problems) + " problems: " + std::to_string(f.feasible) + " feasible, " +
         std::to_string(f.contradictory) + " contradictory while compiled, " + std::to_string(f.optimal) +
         " called optimal, " + std::to_string(f.infeasible) + " called infeasible, " + std::to_string(f.unanswered) +
         " unanswered, " + std::to_string(f.refused) + " refused, mean excess " +
         std::to_string(f.excess / static_cast<double>(std::max<std::size_t>(1, f.feasible)));
}

}  // namespace shardweave_test

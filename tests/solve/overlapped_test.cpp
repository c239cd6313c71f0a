#include "savings_answer.hpp"
#include <shardweave/io/read_placement.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/detail/cut_front.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace overlapped_tests {
namespace {

template <class Cost>
using savings_solve = std::function<sw::solution<Cost>(const sw::placement_problem<Cost>&, const sw::solve_control&)>;

template <class Cost, class S>
savings_solve<Cost> by(const S& solver) {
  static_assert(sw::solver<S, Cost>);
  return [solver](const auto& problem, const auto& control) { return solver.solve(problem, control); };
}

template <class Cost>
std::size_t try_with_savings(const savings_solve<Cost>& solve, std::uint64_t first, std::size_t count, bool exact,
                             const sw::solve_control& control = {}) {
  std::size_t proven = 0;
  shardweave_test::for_savings_problems<Cost>(
      first, count, [&](const auto& stated, const auto& problem, const auto& best) {
        const bool settled = shardweave_test::check_savings_answer(stated, best, solve(problem, control));
        if (exact && problem.savings() != nullptr) CHECK(settled);
        proven += settled ? 1 : 0;
      });
  return proven;
}

/// a -> b, whose communication may hide behind a. The first strategy of a costs 4 + 8, of which 4 hide, the second one
/// 7 + 6, of which 6 hide: the optimum is 7, and costs alone do not lead to it.
sw::placement_problem<double> better_when_hidden() {
  sw::placement_description<double> d;
  d.vertices = {{.compute = {4, 7}}, {.compute = {0}}};
  d.tables = {std::make_shared<const sw::cost_table<double>>(
      sw::cost_table<double>::from_entries(2, 1, std::vector<double>{8, 6}))};
  d.edges = {{.from = 0, .to = 1, .communication = 0}};
  d.overlap = {{.edge = 0, .direction = sw::hiding::none, .first = 0, .last = 0}};
  d.counted = sw::savings_form::strict;
  return sw::compile(d);
}

}  // namespace

TEST_SUITE("overlapped") {
  TEST_CASE("combinators say truly whether they count savings") {
    const auto problem = better_when_hidden();
    CHECK(sw::elimination{}.solve(problem).objective == 8);
    const auto check = [&](const auto& solver) {
      CAPTURE(solver.name);
      const auto answer = solver.solve(problem);
      CHECK((answer.status == sw::solve_status::optimal) == solver.abilities.savings);
      if (solver.abilities.savings) CHECK(answer.objective == doctest::Approx(7));
      CHECK(answer.lower_bound <= 7);
    };
    CHECK(sw::exhaustive{}.solve(problem).objective == 7);
    const sw::elimination blind;
    sw::overlapped aware;
    aware.root_steps = 5;
    check(blind);
    check(aware);
    check(sw::exhaustive{});
    check(sw::reduced(sw::exhaustive{}));
    check(sw::reduced(blind));
    check(sw::reduced(aware));
    check(sw::by_size(blind));
    check(sw::by_size(aware));
    check(sw::by_size(blind, aware));
    check(sw::by_size(aware, blind, {.labels = 0}));
    check(sw::by_size(aware, aware));
    check(sw::certified(blind, aware));
    check(sw::certified(aware, blind));
    check(sw::certified(aware, aware));
    check(sw::first_proven(blind, blind));
    check(sw::first_proven(blind, aware));
    check(sw::race(blind, blind));
    check(sw::race(blind, aware));
    check(sw::polished(aware, sw::local_search{}));
    check(sw::budgeted{});
    // it looks for them, though it bounds nothing
    static_assert(sw::polished<sw::elimination, sw::local_search>::abilities.savings);
  }

  TEST_CASE("bound, optimum and objective stand in this order, and the optimum is proven") {
    try_with_savings<double>(by<double>(sw::overlapped{}), 1, shardweave_test::sized<std::size_t>(1500, 40), true);
  }

  TEST_CASE("whole costs are proven as well") {
    try_with_savings<std::int64_t>(by<std::int64_t>(sw::overlapped{}), 50001,
                                   shardweave_test::sized<std::size_t>(300, 15), true);
  }

  TEST_CASE("trying everything proves every optimum with savings, budgets or not") {
    static_assert(sw::exhaustive::abilities.savings);
    const std::size_t n = shardweave_test::sized<std::size_t>(1500, 400);
    const auto all = [](const auto& problem, const auto& control) { return sw::exhaustive{}.solve(problem, control); };
    CHECK(try_with_savings<double>(all, 1, n, true) > n / 2);
    CHECK(try_with_savings<std::int64_t>(all, 50001, n, true) > n / 2);
    sw::solve_control few;
    few.iterations = 20;
    try_with_savings<double>(all, 1, n / 4, false, few);
  }

  TEST_CASE("budgets and savings together") {
    static_assert(sw::overlapped::abilities.savings && sw::overlapped::abilities.budgets);
    try_with_savings<double>(by<double>(sw::overlapped{}), 90001, shardweave_test::sized<std::size_t>(300, 15), true);
  }

  TEST_CASE("without branching the bound is valid all the same") {
    sw::overlapped root_alone;
    root_alone.nodes = 1;
    root_alone.root_steps = 3;
    try_with_savings<double>(by<double>(root_alone), 70001, shardweave_test::sized<std::size_t>(400, 20), false);
  }

  TEST_CASE("solvers that do not see savings never claim what they did not prove") {
    const std::size_t n = shardweave_test::at_scale(150);
    try_with_savings<double>(by<double>(sw::trws{}), 1, n, false);
    try_with_savings<double>(by<double>(sw::reduced(sw::elimination{})), 1, n, false);
    try_with_savings<double>(by<double>(sw::branch_and_bound{}), 1, n, false);
    try_with_savings<double>(by<double>(sw::local_search{}), 1, shardweave_test::at_scale(40), false);
  }

  TEST_CASE("limits are kept, and what was found until then is valid") {
    sw::solve_control few;
    few.iterations = 2;
    try_with_savings<double>(by<double>(sw::overlapped{}), 3001, shardweave_test::at_scale(100), false, few);
    std::stop_source source;
    source.request_stop();
    sw::solve_control stopped;
    stopped.stop = source.get_token();
    try_with_savings<double>(by<double>(sw::overlapped{}), 3001, shardweave_test::at_scale(30), false, stopped);
  }

  TEST_CASE("equal calls give equal bits") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(20U, 5U); ++seed) {
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      try {
        const auto problem = sw::compile(stated.description);
        const auto a = sw::overlapped{}.solve(problem), b = sw::overlapped{}.solve(problem);
        CHECK(a.choice == b.choice);
        CHECK(a.objective == b.objective);
        CHECK(a.lower_bound == b.lower_bound);
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::constraint);
      }
    }
  }

  TEST_CASE("without savings it is message passing, with prices where there are budgets") {
    auto stated = shardweave_test::draw_savings_problem<double>(3);
    stated.description.counted = sw::savings_form::off;
    const auto problem = sw::compile(stated.description);
    CHECK(sw::overlapped{}.solve(problem).statistics.solver == "trws");
  }

  TEST_CASE("a front of labelings bounds the optimum, and one that is complete reaches it") {
    const sw::solve_control unlimited;
    std::size_t closed = 0, tried = 0;
    for (std::uint64_t seed = 400001; seed < 400001 + shardweave_test::at_scale(400); ++seed) {
      CAPTURE(seed);
      auto stated = shardweave_test::draw_savings_problem<double>(seed);
      std::optional<sw::placement_problem<double>> problem;
      try {
        problem = sw::compile(stated.description);
      } catch (const sw::error&) {
        continue;
      }
      const auto best = shardweave_test::brute_force_with_savings(stated);
      if (!best.objective || problem->savings() == nullptr || problem->compact().size() == 0) continue;
      const double optimum = *best.objective, near = 1e-8 * std::max(1.0, std::abs(optimum));
      sw::savings_ascent<double> ascent(problem->compact(), *problem->savings());
      for (int i = 0; i < 3; ++i) ascent.step(optimum);
      double least = std::numeric_limits<double>::infinity();
      const double target = optimum + 1;
      const auto offer = [&](std::span<const sw::strategy> labels) {
        if (problem->compact().keeps_rows(labels)) least = std::min(least, problem->objective(labels));
      };
      for (const double share : {0.0, 0.1}) {
        const auto bound = sw::detail::front_bound(
            problem->compact(), *problem->savings(), ascent, share, sw::deadline(unlimited), [&] { return target; },
            offer);
        REQUIRE(bound.has_value());
        CHECK(*bound <= optimum + near);
        if (share > 0) continue;
        ++tried;
        closed += *bound >= optimum - near ? 1U : 0U;
        CHECK(least >= optimum - near);
      }
      // no labeling lies below the optimum, and a front says so
      const auto none = sw::detail::front_bound(
          problem->compact(), *problem->savings(), ascent, 0, sw::deadline(unlimited), [&] { return optimum - 1; },
          [](std::span<const sw::strategy>) {});
      REQUIRE(none.has_value());
      CHECK(*none <= optimum - 1);
    }
    MESSAGE("closed by fronts alone: " << closed << " of " << tried);
    CHECK(tried > shardweave_test::at_scale(100));
    CHECK(3 * closed > tried);  // rows keep the others apart, or too few cuts
  }

  TEST_CASE("labelings that prices cannot reach are found by fronts") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const auto file = shared_data("placement/tiny2-1d-8-overlap.json.gz");
    if (!file) return;
    auto d = sw::read_placement(*file);
    d.counted = sw::savings_form::inclusive_twice;
    sw::overlapped solver;
    solver.nodes = 1;
    const auto answer = solver.solve(sw::compile(d));
    CHECK(answer.objective <= d.reference->objective);  // which is not proven, and not the optimum
    CHECK(answer.lower_bound <= answer.objective);
    CHECK(std::abs(sw::evaluate(d, std::span<const sw::strategy>(answer.choice)).objective - answer.objective) < 1e-6);
  }

  TEST_CASE("the optimum of real problems is proven") {
    if (shardweave_test::skipped_at_small_scale()) return;
    for (const std::string name : {"llama3-1b-1d-64-overlap", "llama3-1b-1d-64-overlap-gradients",
                                   "llama3-1b-1d-64-overlap-tail", "llama3-1b-2layer-2d-8x8-overlap-gradients"}) {
      CAPTURE(name);
      const auto file = shared_data("placement/" + name + ".json.gz");
      if (!file) continue;
      auto d = sw::read_placement(*file);
      d.counted = sw::savings_form::inclusive_twice;
      const auto answer = sw::overlapped{}.solve(sw::compile(d));
      CHECK(answer.status == sw::solve_status::optimal);
      CHECK(std::abs(answer.objective - d.reference->objective) <= 1e-6 * d.reference->objective);
    }
  }

  TEST_CASE("with savings, usage within the tolerance of a limit counts as within it") {
    using table = sw::cost_table<double>;
    for (const bool may_avoid : {false, true}) {
      sw::placement_description<double> d;
      d.vertices = {{.compute = {0}}, {.compute = {1, 2}}, {.compute = {1, 3}}};
      std::vector<double> usage{1.0000007};
      if (may_avoid) {
        d.vertices[0].compute.push_back(100);
        usage.push_back(0);
      }
      d.tables.push_back(std::make_shared<const table>(table::from_entries(2, 2, std::vector<double>{0, 3, 3, 1})));
      d.edges.push_back({.from = 1, .to = 2, .communication = 0});
      d.overlap.push_back({.edge = 0, .direction = sw::hiding::none, .first = 0, .last = 2});
      d.counted = sw::savings_form::windows;
      d.constraints.budgets.push_back({.name = "use", .high = 1, .terms = {{0, usage, {}}}});
      const auto problem = sw::compile(d);
      REQUIRE(problem.savings() != nullptr);
      const auto found = sw::overlapped{}.solve(problem);
      CHECK(found.status == sw::solve_status::optimal);
      CHECK(found.objective == sw::exhaustive{}.solve(problem).objective);
    }
  }
}

}  // namespace overlapped_tests

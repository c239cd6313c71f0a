#include "solve/limited_chain.hpp"
#include "solve/suite.hpp"
#include "support/random_problem.hpp"
#include "support/scale.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::draw_problem;
using shardweave_test::problem_features;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;

static_assert(sw::solver<sw::branch_and_bound, double> && sw::solver<sw::branch_and_bound, std::int64_t>);
static_assert(sw::solver<sw::auto_solver, double> && sw::solver<sw::auto_solver, std::int64_t>);

namespace branch_and_bound_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Every labeling of a small compact problem that is feasible, with its cost.
template <class Cost, class See>
void for_all_labelings(const sw::compact_problem<Cost>& p, See see) {
  std::vector<sw::strategy> labels(p.size());
  while (true) {
    const Cost cost = p.cost(labels);
    if (!sw::is_forbidden(cost) && p.keeps_rows(labels)) see(labels, static_cast<double>(cost));
    std::size_t x = 0;
    while (x < p.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == p.size()) return;
  }
}

template <class Cost>
std::optional<sw::placement_problem<Cost>> small_problem(std::uint64_t seed, double most_labelings) {
  try {
    auto problem = sw::compile(draw_problem<Cost>(seed, problem_features::combination(seed % 128)).description);
    double labelings = 1;
    for (std::size_t x = 0; x < problem.compact().size(); ++x)
      labelings *= static_cast<double>(problem.compact().label_count(x));
    if (labelings <= most_labelings) return problem;
  } catch (const sw::error& e) {
    REQUIRE(e.category() == sw::error_category::constraint);
  }
  return std::nullopt;
}

/// The time at which two hubs of ten variables each may not both be heavy: 20 variables on one row.
/// Twenty things that are either there, which uses room, or not, which costs something.
constexpr std::uint32_t things = 20;
constexpr std::size_t room = 101;
std::size_t size_of(std::uint32_t thing) { return 7 + thing * 5 % 11; }
double price_of(std::uint32_t thing) { return 3.0 + thing % 7 + 0.1 * thing; }

sw::placement_description<double> knapsack() {
  sw::placement_description<double> d;
  d.constraints.budgets.push_back({.name = "room", .high = static_cast<double>(room)});
  for (std::uint32_t v = 0; v < things; ++v) {
    d.vertices.emplace_back();
    d.vertices.back().compute = {0.0, price_of(v)};
    d.constraints.budgets[0].terms.push_back({v, {static_cast<double>(size_of(v)), 0.0}, std::nullopt});
  }
  return d;
}

/// Its optimum, room by room.
double optimum_of_knapsack() {
  std::vector<double> least(room + 1, 0.0);  // with that much room for the things so far
  for (std::uint32_t v = 0; v < things; ++v)
    for (std::size_t r = room + 1; r-- > 0;)
      least[r] = std::min(least[r] + price_of(v), r < size_of(v) ? infinity : least[r - size_of(v)]);
  return least[room];
}

}  // namespace

TEST_SUITE("price_ascent") {
  TEST_CASE_TEMPLATE("bounds hold after any number of steps, for the problem and for every label", Cost, double,
                     std::int64_t) {
    std::size_t checked = 0, tight = 0, strengthened = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(700); ++seed) {
      const auto problem = small_problem<Cost>(seed, 4000);
      if (!problem) continue;
      const auto& p = problem->compact();
      sw::price_ascent<Cost> ascent(p);
      for (std::uint64_t i = 0; i < (seed % 3 == 0 ? seed % 7 * 15 : 150); ++i)
        if (!ascent.step(infinity)) break;
      if (seed % 3 != 0 && ascent.strengthen(std::size_t{1} << 20)) {
        ++strengthened;
        for (std::uint64_t i = 0; i < seed % 5 * 10; ++i)
          if (!ascent.step(infinity)) break;
      }
      const std::vector<double> bounds = ascent.label_bounds();
      std::vector<double> least(p.total_labels(), infinity);
      double optimum = infinity;
      for_all_labelings(p, [&](const auto& labels, double cost) {
        optimum = std::min(optimum, cost);
        for (std::size_t x = 0; x < p.size(); ++x) {
          double& of_label = least[p.label_start(x) + labels[x]];
          of_label = std::min(of_label, cost);
        }
      });
      REQUIRE(ascent.bound() <= optimum + 1e-9);
      tight += ascent.bound() >= optimum - 1e-6 ? 1U : 0U;
      for (std::size_t i = 0; i < least.size(); ++i) {
        REQUIRE(bounds[i] <= least[i] + 1e-9);
        ++checked;
      }
    }
    CHECK(checked > shardweave_test::at_scale(3000));
    CHECK(tight > shardweave_test::at_scale(200));
    CHECK(strengthened > 0);
  }

  TEST_CASE("what an ascent remembers starts another one, and does no harm when it is wrong") {
    std::size_t kept = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const auto problem = small_problem<double>(seed, 4000);
      if (!problem) continue;
      const auto& p = problem->compact();
      double optimum = infinity;
      for_all_labelings(p, [&](const auto&, double cost) { optimum = std::min(optimum, cost); });
      sw::detail::variable_origin names;  // variable x is called 2x + 1, its label l is called l + 7
      for (std::uint32_t x = 0; x < p.size(); ++x) {
        names.emplace_back(2 * x + 1, std::vector<sw::strategy>());
        for (sw::strategy l = 0; l < p.label_count(x); ++l) names.back().second.push_back(l + 7);
      }
      sw::price_ascent<double> first(p);
      for (int i = 0; i < 300; ++i)
        if (!first.step(infinity)) break;
      first.strengthen(std::size_t{1} << 20);
      for (int i = 0; i < 20; ++i)
        if (!first.step(infinity)) break;
      static_cast<void>(first.label_bounds());
      sw::detail::ascent_memory known = first.memory(names);
      sw::price_ascent<double> second(p);
      second.start(known, names, std::size_t{1} << 20);
      static_cast<void>(second.label_bounds());
      kept += second.bound() >= first.bound() - 1e-6 * std::abs(first.bound()) - 1e-6 ? 1U : 0U;
      sw::random_source random(seed);
      std::vector<double> wrong(p.rows().size());
      for (double& price : wrong) price = 8 * random.unit() - 4;
      known.prices = sw::detail::known_prices(p, wrong);
      for (auto& [label, m] : known.messages.values()) m = 40 * random.unit() - 20;
      for (auto& [row, of_row] : known.row_costs)
        for (auto& [label, c] : of_row.values()) c = 40 * random.unit() - 20;
      sw::price_ascent<double> astray(p);
      astray.start(known, names, std::size_t{1} << 20);
      for (int i = 0; i < 3; ++i) astray.step(infinity);
      static_cast<void>(astray.label_bounds());
      CHECK(astray.bound() <= optimum + 1e-9);
      CHECK(second.bound() <= optimum + 1e-9);
    }
    CHECK(kept > shardweave_test::at_scale(100));
  }

  TEST_CASE("without rows it is message passing, and climbs to the same bound") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto problem = sw::compile(draw_problem<double>(seed, problem_features::combination(2)).description);
      REQUIRE(problem.compact().rows().empty());
      sw::price_ascent<double> ascent(problem.compact());
      for (int i = 0; i < 400 && ascent.step(infinity); ++i) {
      }
      const auto passed = sw::trws{}.solve(problem);
      CHECK(ascent.bound() >= passed.lower_bound - 1e-6 * std::abs(passed.lower_bound) - 1e-6);
      CHECK(ascent.prices().empty());
    }
  }

  TEST_CASE("prices that were good start a later ascent at their bound") {
    const auto problem = sw::compile(knapsack());
    sw::price_ascent<double> first(problem.compact());
    while (first.step(infinity)) {
    }
    sw::price_ascent<double> second(problem.compact());
    second.start(first.prices());
    second.step(infinity);
    CHECK(second.bound() >= first.bound() - 1e-3);
  }

  TEST_CASE("a price never pays for a limit that is not there") {
    auto d = knapsack();
    d.constraints.budgets[0].low = 10;
    const auto problem = sw::compile(d);
    sw::row_prices<double> prices(problem.compact());
    REQUIRE(prices.values().size() == 1);
    prices.follow(std::vector<double>{-1.0}, 1, 2.0);
    CHECK(prices.values()[0] == -2.0);  // there is a lower limit to pay for
    const auto only_high = sw::compile(knapsack());
    sw::row_prices<double> one_sided(only_high.compact());
    one_sided.follow(std::vector<double>{-1.0}, 1, 2.0);
    CHECK(one_sided.values()[0] == 0.0);
    one_sided.follow(std::vector<double>{3.0}, 0.5, 2.0);  // half of 3, and half of the step before
    CHECK(one_sided.values()[0] == 2.0);
    one_sided.forget_direction();
    one_sided.follow(std::vector<double>{-1.0}, 0.5, 0.25);
    CHECK(one_sided.values()[0] == 1.5);
  }
}

TEST_SUITE("branch_and_bound") {
  TEST_CASE("it proves the optimum of every small problem") {
    MESSAGE(to_text(run_suite(sw::branch_and_bound{},
                              {.problems = sized<std::size_t>(500, 200), .first_seed = 400000, .exact = true})));
    MESSAGE(to_text(run_suite<std::int64_t>(
        sw::branch_and_bound{}, {.problems = sized<std::size_t>(400, 200), .first_seed = 410000, .exact = true})));
  }
  TEST_CASE("what a user gets without asking proves it too") {
    MESSAGE(to_text(
        run_suite(sw::auto_solver{}, {.problems = sized<std::size_t>(300, 100), .first_seed = 420000, .exact = true})));
    MESSAGE(to_text(run_suite<std::int64_t>(
        sw::auto_solver{}, {.problems = sized<std::size_t>(200, 100), .first_seed = 430000, .exact = true})));
  }

  TEST_CASE("a knapsack needs branching, and gets it") {
    const auto problem = sw::compile(knapsack());
    const auto& p = problem.compact();
    const double optimum = optimum_of_knapsack();
    sw::price_ascent<double> relaxed(p);
    while (relaxed.step(infinity)) {
    }
    REQUIRE(relaxed.bound() < optimum - 1e-6);  // prices alone leave a gap
    const auto s = sw::branch_and_bound{}.solve(problem);
    CHECK(s.status == sw::solve_status::optimal);
    CHECK(s.objective == doctest::Approx(optimum).epsilon(1e-12));
    CHECK(s.statistics.iterations > 1);
  }

  TEST_CASE("it stops after the steps that it may take, with a valid bound and the best so far") {
    const auto problem = sw::compile(knapsack());
    const double optimum = optimum_of_knapsack();
    const std::size_t all = sw::branch_and_bound{}.solve(problem).statistics.iterations;
    for (std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{7}, all / 2, all}) {
      CAPTURE(most);
      const auto s = sw::branch_and_bound{}.solve(problem, {.iterations = most});
      CHECK(s.statistics.iterations <= std::max<std::size_t>(most, 1));
      CHECK(s.lower_bound <= optimum + 1e-9);
      if (s.has_assignment()) CHECK(s.objective >= optimum - 1e-9);
      if (most < all / 2) CHECK(s.status != sw::solve_status::optimal);
    }
  }

  TEST_CASE("it starts from an assignment, and searches below a cost that is known") {
    std::size_t improved = 0, tried = 0;
    const std::size_t seeds = sized<std::size_t>(300, 12);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const auto problem = small_problem<std::int64_t>(60'000 + seed, sized(3000, 1000));
      if (!problem) continue;
      const auto& p = problem->compact();
      double optimum = infinity;
      std::vector<sw::strategy> worst;
      std::int64_t most = -1;
      for_all_labelings(p, [&](const auto& labels, double cost) {
        optimum = std::min(optimum, cost);
        if (cost > static_cast<double>(most)) worst = labels, most = static_cast<std::int64_t>(cost);
      });
      if (most < 0) continue;
      ++tried;
      const auto s = sw::branch_and_bound{}.solve(*problem, {.start = problem->lift(worst)});
      CHECK(s.status == sw::solve_status::optimal);
      CHECK(static_cast<double>(s.objective) == optimum);
      improved += static_cast<double>(most) > optimum ? 1 : 0;
      // no node at all leaves what it was given
      sw::branch_and_bound none;
      none.nodes = 0;
      CHECK(none.solve(*problem, {.start = problem->lift(worst)}).objective == most);

      const auto at = static_cast<std::int64_t>(optimum);
      const auto below = sw::branch_and_bound{}.solve_below(*problem, at);
      CHECK_FALSE(below.has_assignment());
      CHECK(below.lower_bound > optimum - 1);
      CHECK(below.lower_bound <= optimum);
      const auto above = sw::branch_and_bound{}.solve_below(*problem, at + 1);
      REQUIRE(above.has_assignment());
      CHECK(above.objective == at);
      CHECK(above.status == sw::solve_status::optimal);
    }
    CHECK(tried > seeds / 3);
    CHECK(improved > tried / 2);
  }

  TEST_CASE("the root of a kernel is not reduced again, and local search is no part of the proof") {
    sw::branch_and_bound bare;
    bare.reduces_root = false;
    bare.polish_moves = 0;
    MESSAGE(to_text(run_suite(bare, {.problems = 100, .first_seed = 440000, .exact = true})));
  }

  TEST_CASE("with local search in nodes, and without, the optimum of a chain under a limit is proven") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      CAPTURE(seed);
      const shardweave_test::limited_chain c(600 + seed, 25 + seed % 15, 0.7 + 0.1 * static_cast<double>(seed % 5));
      const auto p = c.problem();
      REQUIRE(sw::reduction<std::int64_t>(p).kernel().size() >= 12);  // nodes of fewer variables have none
      for (const std::size_t moves : {0U, 1U, 40U}) {
        sw::branch_and_bound search;
        search.polish_moves = moves;
        const auto answer = search.solve(sw::placement_problem<std::int64_t>(p), {.seed = 1 + seed});
        CHECK(answer.status == sw::solve_status::optimal);
        CHECK(answer.objective == c.optimum());
      }
    }
  }

  TEST_CASE("without attempts at an assignment on the way it proves as much") {
    sw::branch_and_bound search;
    search.decode_every = 0;
    MESSAGE(to_text(run_suite(search, {.problems = 60, .first_seed = 460000, .exact = true})));
  }

  TEST_CASE("with a time limit it goes on beyond its nodes if it is told to") {
    const auto problem = sw::compile(knapsack());
    sw::branch_and_bound search;
    search.nodes = 1;
    CHECK(search.solve(problem, {.seconds = 60}).status == sw::solve_status::stopped);
    search.goes_on = true;
    CHECK(search.solve(problem, {.seconds = 60}).status == sw::solve_status::optimal);
    CHECK(search.solve(problem).status == sw::solve_status::stopped);  // no limit of time, so that of nodes
  }

  TEST_CASE("a limit on nodes leaves a valid bound and the best assignment") {
    const auto problem = sw::compile(knapsack());
    sw::branch_and_bound one_node;
    one_node.nodes = 1;
    const auto cut = one_node.solve(problem);
    const auto full = sw::branch_and_bound{}.solve(problem);
    REQUIRE(cut.has_assignment());
    CHECK(cut.status == sw::solve_status::stopped);
    CHECK(cut.lower_bound <= full.objective + 1e-9);
    CHECK(cut.lower_bound > -infinity);
    CHECK(cut.objective >= full.objective - 1e-9);
  }

  TEST_CASE("a stop that is there from the start is obeyed") {
    std::stop_source source;
    source.request_stop();
    const auto s = sw::branch_and_bound{}.solve(sw::compile(knapsack()), {.stop = source.get_token()});
    CHECK(s.status == sw::solve_status::stopped);
    CHECK(s.statistics.note.find("stopped after") != std::string::npos);
  }
}

}  // namespace branch_and_bound_tests

#include "solve/limited_chain.hpp"
#include "solve/small_problems.hpp"
#include "solve/suite.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/search/dive.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <stop_token>
#include <vector>

namespace guided_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brief_guided;
using chain = shardweave_test::limited_chain;
using shardweave_test::draw_small;
using shardweave_test::run_suite;
using shardweave_test::sized;
using shardweave_test::to_text;

static_assert(sw::solver<sw::dive, double> && sw::solver<sw::dive, std::int64_t>);
static_assert(sw::solver<sw::large_neighbourhood<>, double> && sw::solver<sw::large_neighbourhood<>, std::int64_t>);
static_assert(sw::solver<sw::guided_search, double> && sw::solver<sw::guided_search, std::int64_t>);

sw::guided_search usual_guided() {
  sw::guided_search usual;
  if (!shardweave_test::is_small_scale) return usual;
  usual.first_steps = 150;
  usual.windows = 2;
  return usual;
}
sw::dive usual_dive() {
  sw::dive usual;
  if (!shardweave_test::is_small_scale) return usual;
  usual.dives = 2;
  usual.root_steps = 150;
  usual.steps = 50;
  return usual;
}
sw::dive brief_dive() {
  sw::dive brief;
  brief.dives = 2;
  brief.root_steps = 60;
  return brief;
}

}  // namespace

TEST_SUITE("dive") {
  TEST_CASE("dives keep the promises of solvers") {
    const auto figures = run_suite(brief_dive(), {.problems = sized<std::size_t>(200, 80), .first_seed = 500000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 10 < figures.feasible);
    MESSAGE(to_text(
        run_suite<std::int64_t>(brief_dive(), {.problems = sized<std::size_t>(100, 40), .first_seed = 510000})));
  }

  TEST_CASE("a chain under a limit is solved to within one in a hundred") {
    for (std::uint64_t seed = 0; seed < at_scale(8); ++seed) {
      const chain c(seed, sized<std::size_t>(60, 20), 1.2);
      const auto p = c.problem();
      const auto answer = usual_dive().solve(sw::placement_problem<std::int64_t>(p), {.seed = seed});
      const std::int64_t optimum = c.optimum();
      REQUIRE(answer.has_assignment());
      CHECK(answer.objective >= optimum);
      CHECK(static_cast<double>(answer.objective) <= 1.01 * static_cast<double>(optimum));
      CHECK(answer.lower_bound <= static_cast<double>(optimum));
    }
  }

  TEST_CASE("what a guide says of labels is true of every assignment") {
    for (std::uint64_t seed = 0; seed < at_scale(6); ++seed) {
      const chain c(seed, 12, 1.0);
      const auto p = c.problem();
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 100 && ascent.step(std::numeric_limits<double>::infinity()); ++i) {
      }
      const sw::dual_guide guide = ascent.guide();
      REQUIRE(guide.label_bounds.size() == p.total_labels());
      REQUIRE(guide.prices.size() == 1);
      CHECK(guide.bound <= static_cast<double>(c.optimum()) + 1e-6);
      CHECK(guide.bound >= 0.8 * static_cast<double>(c.optimum()));
      for (std::size_t x = 0; x < p.size(); ++x)
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          CHECK(guide.label_bounds[p.label_start(x) + l] <= static_cast<double>(c.optimum(x, l)) + 1e-6);
    }
  }

  TEST_CASE("one dive returns labels that keep rows and are no dearer than those it was told to keep") {
    for (std::uint64_t seed = 0; seed < at_scale(6); ++seed) {
      const chain c(seed, sized<std::size_t>(40, 15), 1.0);
      const auto p = c.problem();
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 100; ++i) (void)ascent.step(std::numeric_limits<double>::infinity());
      const sw::dual_guide guide = ascent.guide();
      const std::vector<sw::strategy> zero(p.size(), 0);  // uses nothing
      const sw::solve_control control;
      sw::random_source random(seed);
      const auto labels = sw::dive{}.once(p, guide, 0.7, std::span<const sw::strategy>(zero), p.cost(zero),
                                          sw::deadline(control), random);
      REQUIRE(labels);
      CHECK(p.keeps_rows(*labels));
      CHECK(p.cost(*labels) <= p.cost(zero));
      CHECK(p.cost(*labels) >= c.optimum());
    }
  }

  TEST_CASE("a merge has no labels but those of its parents, and is no dearer than the first") {
    for (std::uint64_t seed = 0; seed < at_scale(6); ++seed) {
      const chain c(seed, sized<std::size_t>(40, 15), 1.0);
      const auto p = c.problem();
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 100; ++i) (void)ascent.step(std::numeric_limits<double>::infinity());
      const sw::dual_guide guide = ascent.guide();
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::random_source random(seed);
      std::vector<std::vector<sw::strategy>> parents{std::vector<sw::strategy>(p.size(), 0)};
      auto& other = parents.emplace_back(parents[0]);
      for (std::size_t x = 0; x < p.size(); ++x)
        other[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));  // may break the row
      const auto child = sw::dive{}.merge(p, guide, 0.8, std::span<const std::vector<sw::strategy>>(parents),
                                          p.cost(parents[0]), limit, random);
      REQUIRE(child);
      CHECK(p.keeps_rows(*child));
      CHECK(p.cost(*child) <= p.cost(parents[0]));
      for (std::size_t x = 0; x < p.size(); ++x) CHECK(((*child)[x] == parents[0][x] || (*child)[x] == parents[1][x]));
      // one parent leaves nothing to choose
      const auto same = sw::dive{}.merge(p, guide, 0.8, std::span<const std::vector<sw::strategy>>(parents).first(1),
                                         sw::forbidden<std::int64_t>, limit, random);
      REQUIRE(same);
      CHECK(*same == parents[0]);
    }
  }

  TEST_CASE("improve returns what it was given, or better") {
    const std::size_t n = sized<std::size_t>(50, 10);
    const chain c(3, n, 1.0);
    const sw::placement_problem<std::int64_t> problem(c.problem());
    const sw::assignment zero(n, 0);
    const auto better = usual_dive().solve(problem, {.start = zero});
    CHECK(better.objective < sw::evaluate(problem, zero).objective);
    const auto same = usual_dive().solve(problem, {.iterations = 0, .start = better.choice});
    CHECK(same.choice == better.choice);
    CHECK(usual_dive().solve(problem, {.start = sw::assignment(n, 77)}).has_assignment());
  }
}

TEST_SUITE("guided_search") {
  TEST_CASE("guided search keeps the promises of solvers") {
    const auto figures = run_suite(brief_guided(), {.problems = 250, .first_seed = 520000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 20 < figures.feasible);
    MESSAGE(to_text(run_suite<std::int64_t>(brief_guided(), {.problems = 150, .first_seed = 530000})));
  }

  TEST_CASE("a long chain under a limit is solved to within two in a thousand, with a bound as near") {
    for (std::uint64_t seed = 0; seed < at_scale(4); ++seed) {
      const chain c(100 + seed, sized<std::size_t>(150, 20), 1.0);
      sw::guided_search search;
      search.rounds = sized<std::size_t>(4, 2);
      const auto answer = search.solve(sw::placement_problem<std::int64_t>(c.problem()), {.seed = seed});
      const auto optimum = static_cast<double>(c.optimum());
      REQUIRE(answer.has_assignment());
      CHECK(static_cast<double>(answer.objective) >= optimum);
      CHECK(static_cast<double>(answer.objective) <= 1.002 * optimum);
      CHECK(answer.lower_bound <= optimum);
      CHECK(answer.lower_bound >= 0.99 * optimum);
    }
  }

  TEST_CASE("a problem without variables, and one without rows, are proven") {
    CHECK(sw::guided_search{}.solve(sw::compile(sw::placement_description<double>{})).status ==
          sw::solve_status::optimal);
    chain c(7, 30, 1.0);
    c.limit = 30 * 5;  // never binds
    const auto answer = sw::guided_search{}.solve(sw::placement_problem<std::int64_t>(c.problem()));
    CHECK(answer.objective == c.optimum());
    CHECK(answer.status == sw::solve_status::optimal);
  }

  TEST_CASE("it starts from an assignment, and a stop leaves the best so far") {
    const std::size_t n = sized<std::size_t>(400, 30);
    const chain c(5, n, 1.0);
    const sw::placement_problem<std::int64_t> problem(c.problem());
    const sw::assignment zero(n, 0);
    std::stop_source source;
    source.request_stop();
    const auto stopped = usual_guided().solve(problem, {.stop = source.get_token(), .start = zero});
    CHECK(stopped.choice == zero);
    CHECK(stopped.status == sw::solve_status::stopped);
    CHECK(stopped.statistics.note.find("stopped after ") == 0);

    // a limit on steps, not on time: the ascent, and what is left for a dive
    const auto limited = usual_guided().solve(problem, {.iterations = sized<std::size_t>(650, 200), .start = zero});
    CHECK(limited.objective < sw::evaluate(problem, zero).objective);

    std::stop_source in_between;
    std::size_t reports = 0;
    sw::solve_control control;
    control.stop = in_between.get_token();
    control.progress = [&](const sw::progress_report& r) {
      CHECK(r.stage == "guided_search");
      if (++reports == 3) in_between.request_stop();
    };
    const auto cut = usual_guided().solve(problem, control);
    CHECK(reports >= 3);
    CHECK(cut.has_assignment());
    CHECK(cut.status == sw::solve_status::stopped);
  }
}

TEST_SUITE("large_neighbourhood") {
  TEST_CASE("windows keep the promises of solvers") {
    sw::large_neighbourhood brief;
    brief.windows = 3;
    const auto figures = run_suite(brief, {.problems = 150, .first_seed = 540000});
    MESSAGE(to_text(figures));
    CHECK(figures.unanswered * 20 < figures.feasible);
    MESSAGE(to_text(run_suite<std::int64_t>(brief, {.problems = 100, .first_seed = 550000})));
  }

  TEST_CASE("windows improve a chain step by step, never break its row, and come near the optimum") {
    for (std::uint64_t seed = 0; seed < at_scale(4); ++seed) {
      const chain c(200 + seed, sized<std::size_t>(80, 30), 1.0);
      const auto p = c.problem();
      const sw::large_neighbourhood windows;
      std::vector<sw::strategy> labels(p.size(), 0);
      std::int64_t cost = p.cost(labels);
      const sw::solve_control control;
      const sw::deadline limit(control);
      sw::random_source random(seed);
      for (int i = 0; i < sized(40, 6); ++i) {
        const std::int64_t before = cost;
        const bool gained = windows.once(p, labels, cost, limit, random);
        CHECK(gained == (cost < before));
        CHECK(cost <= before);
        REQUIRE(cost == p.cost(labels));
        REQUIRE(p.keeps_rows(labels));
      }
      const std::int64_t optimum = c.optimum();
      CHECK(cost >= optimum);
      CHECK(static_cast<double>(cost) <= 1.02 * static_cast<double>(optimum));
    }
  }

  TEST_CASE("a window as large as the problem asks the inner solver for all of it") {
    const chain c(9, 8, 1.0);
    sw::large_neighbourhood all{sw::exhaustive{}};
    all.largest = 8;
    all.windows = 30;  // one of them is a single ball
    const sw::placement_problem<std::int64_t> problem(c.problem());
    const auto answer = all.solve(problem, {.start = sw::assignment(8, 0)});
    CHECK(answer.objective == c.optimum());
    CHECK(answer.status == sw::solve_status::feasible);  // no bound comes with it
    const auto none = all.solve(problem, {.iterations = 0, .start = answer.choice});
    CHECK(none.choice == answer.choice);
    CHECK(none.status == sw::solve_status::stopped);
    CHECK(all.solve(problem, {.start = sw::assignment(8, 77)}).objective == c.optimum());
  }
}

TEST_SUITE("detail::label_costs") {
  TEST_CASE("what every label would cost is known after any moves") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 7, .density = 0.6, .forbidden = 0.3});
      sw::random_source random(seed);
      std::vector<sw::strategy> labels(p.size());
      for (std::size_t x = 0; x < p.size(); ++x) labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
      sw::labeling_state<std::int64_t> state(p, labels);
      sw::detail::label_costs<std::int64_t> known(state);
      for (int step = 0; step < 10; ++step) {
        std::vector<sw::relabel> moves;
        for (std::uint32_t x = 0; x < p.size(); ++x)
          if (random.chance(0.4)) moves.push_back({x, static_cast<sw::strategy>(random.below(p.label_count(x)))});
        known.change(state, moves);
        state.apply(moves);
        for (std::size_t x = 0; x < p.size(); ++x)
          for (sw::strategy l = 0; l < p.label_count(x); ++l) {
            const auto change = state.delta(x, l);
            CHECK(known.allowed(x)[l] - known.allowed(x)[state[x]] == change.cost);
            CHECK(known.conflicts(x)[l] - known.conflicts(x)[state[x]] == change.conflicts);
          }
      }
    }
  }
}

TEST_SUITE("detail::forest_block") {
  TEST_CASE("known costs and costs added up anew give the same moves, and the block's best") {
    std::size_t moved = 0;
    for (std::uint64_t seed = 0; seed < at_scale(150); ++seed) {
      const auto p = draw_small<std::int64_t>(
          seed, {.variables = 7, .most_labels = 3, .density = 0.3, .forbidden = 0.2, .rows = 3});
      sw::random_source random(seed);
      const std::vector<sw::strategy> zero(p.size(), 0);
      const sw::labeling_state<std::int64_t> state(p, zero);
      const sw::detail::label_costs<std::int64_t> known(state);
      sw::detail::forest_block<std::int64_t> block(p);
      const std::uint32_t roots[] = {static_cast<std::uint32_t>(random.below(p.size()))};
      block.grow(roots, 1 + random.below(5), random);
      sw::detail::block_terms terms;
      if (random.chance(0.7)) {
        terms.rows.add(static_cast<std::uint32_t>(random.below(3)), 2);
        terms.rows.add(static_cast<std::uint32_t>(random.below(3)), 1.5);
        terms.rows.finish();
      }
      std::vector<sw::relabel> first, second;
      block.price(state, terms);
      block.best_moves(state, terms, first);
      block.price(state, known);
      block.best_moves(state, terms, second);
      CHECK(first == second);
      moved += !first.empty();
      // no single further move of a member is better at these prices
      auto labels = zero;
      for (const sw::relabel& m : first) labels[m.variable] = m.label;
      const auto priced = [&](const std::vector<sw::strategy>& l) {
        const auto cost = shardweave_test::naive_cost(p, l);
        double total = cost ? static_cast<double>(*cost) : std::numeric_limits<double>::infinity();
        for (std::uint32_t x = 0; x < p.size(); ++x)
          for (const sw::usage_segment& s : p.segments(x)) total += terms.rows.over(s.begin, s.end) * s.usage[l[x]];
        return total;
      };
      for (const sw::relabel& m : first)
        for (sw::strategy l = 0; l < p.label_count(m.variable); ++l) {
          auto other = labels;
          other[m.variable] = l;
          CHECK(priced(labels) <= priced(other) + 1e-9);
        }
    }
    CHECK(moved > at_scale(50));
  }
}

TEST_SUITE("detail::known_prices") {
  TEST_CASE("prices go to the row of their time, or to the nearest in time of their budget") {
    const auto with_rows = [](std::vector<std::pair<std::uint32_t, std::int64_t>> rows) {
      sw::compact_builder<double> builder;
      builder.add_variable(std::vector<double>{0, 1});
      for (const auto& [budget, time] : rows) builder.add_row({.high = 1, .budget = budget, .time = time});
      return builder.build();
    };
    const auto before = with_rows({{0, 1}, {0, 5}, {0, 9}, {1, 2}, {2, 4}});
    const sw::detail::known_prices known(before, std::vector<double>{1, 2, 4, 8, 16});
    CHECK(known.for_rows_of(before) == std::vector<double>{1, 2, 4, 8, 16});
    CHECK(known.for_rows_of(with_rows({{0, 4}, {0, 10}, {1, 90}})) == std::vector<double>{3, 4, 8});
    CHECK(known.for_rows_of(with_rows({})).empty());
  }
  TEST_CASE("the price of a row that is gone goes to the side that implies it") {
    // three times, in each of which two variables use what they use, or nothing
    const auto at_times = [](std::vector<double> highs, std::vector<sw::usage_segment> segments) {
      sw::compact_builder<double> builder;
      for (std::uint32_t x = 0; x < 2; ++x) builder.add_variable(std::vector<double>{0, 1});
      for (const sw::usage_segment& s : segments) builder.add_segment(0, s);
      builder.add_segment(1, {0, static_cast<std::uint32_t>(highs.size()), {0, 4}});
      for (std::size_t t = 0; t < highs.size(); ++t)
        builder.add_row({.high = highs[t], .time = static_cast<std::int64_t>(t) * 10});
      return builder.build();
    };
    const auto prices_without_the_middle = [&](const sw::compact_problem<double>& all) {
      const sw::detail::known_prices known(all, std::vector<double>{1, 2, 4});
      sw::compact_builder<double> builder;
      builder.add_variable(std::vector<double>{0, 1});
      builder.add_row({.high = 5, .time = 0});
      builder.add_row({.high = 5, .time = 20});
      return known.for_rows_of(builder.build());
    };
    const std::vector<double> to_first{3, 4}, to_last{1, 6};
    constexpr double none = std::numeric_limits<double>::infinity();
    // at 10 as much is used as at 0, at 20 as much within a lower limit, and the other way round
    CHECK(prices_without_the_middle(at_times({5, 5, 5}, {{0, 2, {0, 3}}})) == to_first);
    CHECK(prices_without_the_middle(at_times({5, 5, 5}, {{1, 3, {0, 3}}})) == to_last);
    CHECK(prices_without_the_middle(at_times({5, 5, 4}, {})) == to_last);
    CHECK(prices_without_the_middle(at_times({4, 5, 5}, {})) == to_first);
    // where usage changes, not where it is the same with another label
    CHECK(prices_without_the_middle(at_times({5, 5, 5}, {{0, 1, {0, 3}}, {1, 2, {0, 3}}, {2, 3, {2, 0}}})) == to_first);
    CHECK(prices_without_the_middle(at_times({5, 5, 5}, {{0, 1, {3, 0}}, {1, 2, {0, 3}}, {2, 3, {0, 3}}})) == to_last);
    // neither side, or limits that are not there: as near as the other one, the later
    CHECK(prices_without_the_middle(at_times({5, 5, 5}, {})) == to_last);
    CHECK(prices_without_the_middle(at_times({none, none, 5}, {})) == to_last);
  }
  TEST_CASE("the row that implies another one need not be the nearest, and implies nothing about lower limits") {
    const auto with_limits = [](std::vector<std::pair<std::int64_t, double>> rows) {
      sw::compact_builder<double> builder;
      builder.add_variable(std::vector<double>{0, 1});
      for (const auto& [time, high] : rows) builder.add_row({.low = 1, .high = high, .time = time});
      builder.add_segment(0, {0, static_cast<std::uint32_t>(rows.size()), {4, 10}});
      return builder.build();
    };
    const auto before = with_limits({{0, 4}, {10, 9}, {20, 9}, {30, 9}});
    const auto after = with_limits({{0, 4}, {30, 9}});
    CHECK(sw::detail::known_prices(before, std::vector<double>{1, 0, 2, 4}).for_rows_of(after) ==
          std::vector<double>{3, 4});
    CHECK(sw::detail::known_prices(before, std::vector<double>{1, 0, -2, 4}).for_rows_of(after) ==
          std::vector<double>{1, 2});
  }
}

TEST_SUITE("price_ascent") {
  TEST_CASE("whatever the prices are that it begins with, bounds are valid") {
    for (std::uint64_t seed = 0; seed < at_scale(200); ++seed) {
      const auto p = draw_small<double>(
          seed, {.variables = 5, .most_labels = 3, .forbidden = 0.1, .rows = 4, .lower_limits = 0.3});
      const auto best = shardweave_test::brute_optimum_of(p);
      if (!best) continue;
      sw::random_source random(seed);
      std::vector<double> prices(p.rows().size());
      for (double& price : prices) price = 10 * random.unit() - 3;
      sw::price_ascent<double> ascent(p);
      ascent.start(prices);
      for (int i = 0; i < 60; ++i) {
        ascent.step(*best + 5 * random.unit());
        CHECK(ascent.bound() <= *best + 1e-6);
      }
      for (const double bound : ascent.label_bounds()) CHECK(bound >= ascent.bound() - 1e-6);
      CHECK(ascent.bound() <= *best + 1e-6);
    }
  }

  TEST_CASE("a guided search ends where no labeling is left, however large whole costs are") {
    using table = sw::cost_table<std::int64_t>;
    const std::int64_t unit = std::int64_t{1} << 54;
    sw::placement_description<std::int64_t> d;
    d.vertices = {
        {.compute = {5 * unit + 1, 7 * unit}}, {.compute = {6 * unit, 5 * unit + 3}}, {.compute = {unit, unit + 7}}};
    d.tables.push_back(
        std::make_shared<const table>(table::from_entries(2, 2, std::vector<std::int64_t>{0, unit, unit + 1, 3})));
    d.edges = {{.from = 0, .to = 1, .communication = 0},
               {.from = 1, .to = 2, .communication = 0},
               {.from = 0, .to = 2, .communication = 0}};
    const auto problem = sw::compile(d);
    const auto best = sw::exhaustive{}.solve(problem);
    const auto found = sw::guided_search{}.solve(problem);
    CHECK(found.objective == best.objective);
    CHECK(found.lower_bound <= static_cast<double>(best.objective));
  }
}

}  // namespace guided_tests

#include "support/random_problem.hpp"
#include "support/random_savings.hpp"
#include "support/scale.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/local_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace local_search_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::draw_problem;
using shardweave_test::is_small_scale;
using shardweave_test::problem_features;
using shardweave_test::sized;

/// The compiled problem, or nothing where compilation already knows that there is no answer.
template <class Cost>
std::optional<sw::placement_problem<Cost>> compiled(const sw::placement_description<Cost>& d) {
  try {
    return sw::compile(d);
  } catch (const sw::error& e) {
    REQUIRE(e.category() == sw::error_category::constraint);
    return std::nullopt;
  }
}

/// A long ladder of random costs, which takes a while: 3 labels, no two of neighbours equal; `limit` on usage.
sw::placement_problem<double> ladder(std::size_t n, double limit) {
  sw::random_source random(5);
  sw::compact_builder<double> builder;
  const double inf = sw::forbidden<double>;
  for (std::size_t x = 0; x < n; ++x) {
    const std::vector<double> unary{random.unit(), random.unit(), random.unit()};
    builder.add_variable(unary);
  }
  const std::vector<double> differ{inf, 1, 2, 2, inf, 1, 1, 2, inf};
  const auto table = std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(3, 3, differ));
  for (std::uint32_t x = 0; x < n; ++x) {
    if (x + 1 < n) builder.add_edge(x, x + 1, table);
    if (x + 7 < n) builder.add_edge(x, x + 7, table);
  }
  builder.add_row({.high = limit});
  for (std::uint32_t x = 0; x < n; ++x) builder.add_segment(x, {0, 1, {2, 1, 0}});
  return sw::placement_problem<double>(builder.build());
}

/// Couplings of either sign between all pairs, two labels each: many local optima.
sw::placement_problem<double> frustrated(std::uint64_t seed, std::size_t n) {
  sw::random_source random(seed);
  sw::compact_builder<double> builder;
  for (std::size_t x = 0; x < n; ++x) builder.add_variable(std::vector<double>{0, random.unit() / 10});
  for (std::uint32_t x = 0; x < n; ++x)
    for (std::uint32_t y = x + 1; y < n; ++y) {
      const double coupling = random.unit() - 0.5;
      const std::vector<double> costs{coupling, -coupling, -coupling, coupling};
      builder.add_edge(
          x, y, std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(2, 2, costs)));
    }
  return sw::placement_problem<double>(builder.build());
}

/// A random labeling that keeps all; none if throwing dice finds none.
std::vector<sw::strategy> any_feasible(const sw::placement_problem<double>& problem, sw::random_source& random) {
  const auto& p = problem.compact();
  std::vector<sw::strategy> labels(p.size());
  for (int attempt = 0; attempt < 200; ++attempt) {
    for (std::size_t x = 0; x < labels.size(); ++x)
      labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
    if (!sw::is_forbidden(p.cost(labels)) && p.keeps_rows(labels)) return labels;
  }
  return {};
}

/// Changes one label at a time as long as that helps: the first change that does, or the best one of all.
double descend(const sw::placement_problem<double>& problem, std::vector<sw::strategy> labels, bool steepest) {
  const auto& p = problem.compact();
  double now = problem.objective(labels);
  for (bool gained = true; gained;) {
    gained = false;
    double best = now;
    auto best_labels = labels;
    for (std::size_t x = 0; x < labels.size(); ++x)
      for (sw::strategy l = 0; l < p.label_count(x); ++l) {
        auto next = labels;
        next[x] = l;
        if (sw::is_forbidden(p.cost(next)) || !p.keeps_rows(next)) continue;
        const double value = problem.objective(next);
        if (!(value < best - 1e-9)) continue;
        gained = true;
        best = value;
        best_labels = next;
        if (!steepest) labels = next;
      }
    labels = best_labels;
    now = best;
  }
  return now;
}

sw::placement_problem<double> usual_ladder() { return is_small_scale ? ladder(60, 50) : ladder(300, 250); }

template <class Cost>
void judge(unsigned seeds, const problem_features& base, std::size_t& feasible, std::size_t& found, std::size_t& best) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    problem_features features = problem_features::combination(seed % 128);
    features.max_vertices = base.max_vertices;
    features.max_strategies = base.max_strategies;
    const auto problem = draw_problem<Cost>(seed, features);
    const auto brute = shardweave_test::brute_force(problem);
    const auto compact = compiled(problem.description);
    if (!compact) {
      CHECK_FALSE(brute.objective);
      continue;
    }
    const auto answer = sw::local_search{}.solve(*compact, {.seed = seed});
    CAPTURE(seed);
    CHECK(answer.lower_bound == -std::numeric_limits<double>::infinity());
    if (answer.has_assignment()) {
      REQUIRE(brute.objective);
      const auto priced = shardweave_test::price_of(problem, answer.choice);
      REQUIRE(priced);
      CHECK(static_cast<double>(*priced) == doctest::Approx(static_cast<double>(answer.objective)));
      CHECK(answer.status == sw::solve_status::feasible);
    }
    if (!brute.objective) continue;
    ++feasible;
    if (answer.has_assignment()) {
      ++found;
      const auto optimum = static_cast<double>(*brute.objective);
      const auto value = static_cast<double>(answer.objective);
      CHECK(value >= optimum - 1e-9);
      if (value <= optimum + 1e-9) ++best;
    }
  }
}

}  // namespace

TEST_SUITE("local_search") {
  TEST_CASE("what it finds is feasible by a second opinion, nearly always there, and mostly optimal") {
    std::size_t feasible = 0, found = 0, best = 0;
    SUBCASE("floating costs") { judge<double>(shardweave_test::at_scale(768), {}, feasible, found, best); }
    SUBCASE("whole costs") { judge<std::int64_t>(shardweave_test::at_scale(768), {}, feasible, found, best); }
    MESSAGE("feasible " << feasible << ", found " << found << ", optimal " << best);
    CHECK(feasible > shardweave_test::at_scale(300));
    CHECK(found * 100 >= feasible * 99);
    CHECK(best * 100 >= feasible * 96);
  }

  TEST_CASE("a problem without vertices has an empty assignment of cost 0") {
    const auto problem = sw::compile(sw::placement_description<double>{});
    const auto answer = sw::local_search{}.solve(problem);
    CHECK(answer.choice.empty());
    CHECK(answer.objective == 0);
    CHECK(answer.has_assignment());
  }

  TEST_CASE("labels that only fit between two limits are found") {
    sw::compact_builder<std::int64_t> builder;
    for (int x = 0; x < 4; ++x) builder.add_variable(std::vector<std::int64_t>{x, 3, 7});
    builder.add_row({.low = 5, .high = 5});
    for (std::uint32_t x = 0; x < 4; ++x) builder.add_segment(x, {0, 1, {0, 2, 3}});
    const sw::placement_problem<std::int64_t> problem(builder.build());
    const auto answer = sw::local_search{}.solve(problem);
    const auto best = sw::exhaustive{}.solve(problem);
    REQUIRE(answer.has_assignment());
    CHECK(answer.objective == best.objective);
  }

  TEST_CASE("where no assignment is found the answer is stopped and says so") {
    sw::compact_builder<double> builder;  // three variables, two labels, all must differ
    for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{0, 0});
    const std::vector<double> differ{sw::forbidden<double>, 0, 0, sw::forbidden<double>};
    const auto table =
        std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(2, 2, differ));
    builder.add_edge(0, 1, table);
    builder.add_edge(1, 2, table);
    builder.add_edge(0, 2, table);
    const auto answer = sw::local_search{}.solve(sw::placement_problem<double>(builder.build()));
    CHECK_FALSE(answer.has_assignment());
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.statistics.note == "no assignment that keeps all constraints was found.");
  }

  TEST_CASE("equal seeds give equal bits, other seeds may not") {
    const auto problem = usual_ladder();
    const sw::solve_control control{.iterations = sized<std::size_t>(3000, 600), .seed = 9};
    const auto a = sw::local_search{}.solve(problem, control);
    const auto b = sw::local_search{}.solve(problem, control);
    CHECK(a.choice == b.choice);
    CHECK(a.objective == b.objective);
    CHECK(a.statistics.iterations == b.statistics.iterations);
  }

  TEST_CASE("more iterations never make it worse, and the iteration limit is kept") {
    const auto problem = usual_ladder();
    double last = std::numeric_limits<double>::infinity();
    for (const std::size_t iterations : {0U, 1U, 2U, 10U, 100U, sized(1000U, 300U), sized(5000U, 600U)}) {
      const auto answer = sw::local_search{.starts = 1}.solve(problem, {.iterations = iterations});
      CAPTURE(iterations);
      CHECK(answer.statistics.iterations <= iterations);
      if (!answer.has_assignment()) continue;
      CHECK(answer.objective <= last + 1e-9);
      CHECK(answer.status == sw::solve_status::stopped);
      last = answer.objective;
    }
    CHECK(last < std::numeric_limits<double>::infinity());
  }

  TEST_CASE("progress tells falling objectives") {
    const auto problem = usual_ladder();
    std::vector<double> told;
    static_cast<void>(
        sw::local_search{}.solve(problem, {.iterations = 2000, .progress = [&](const sw::progress_report& r) {
                                             CHECK(r.stage == "local_search");
                                             told.push_back(r.objective);
                                           }}));
    REQUIRE(told.size() >= 2);
    for (std::size_t i = 1; i < told.size(); ++i) CHECK(told[i] < told[i - 1]);
  }

  TEST_CASE("improve returns what it was given, or better") {
    const auto problem = is_small_scale ? ladder(50, 45) : ladder(200, 180);
    const auto first = sw::local_search{.starts = 1}.solve(problem, {.iterations = 3});
    REQUIRE(first.has_assignment());
    const auto same = sw::local_search{}.solve(problem, {.iterations = 0, .start = first.choice});
    CHECK(same.choice == first.choice);
    CHECK(same.objective == first.objective);
    const auto better =
        sw::local_search{}.solve(problem, {.iterations = sized<std::size_t>(4000, 1000), .start = first.choice});
    CHECK(better.objective < first.objective);
    const auto again = sw::local_search{}.solve(problem, {.iterations = 50, .start = better.choice});
    CHECK(again.objective <= better.objective);
  }

  TEST_CASE("improve repairs an assignment that breaks constraints, and does without one that makes no sense") {
    const std::size_t n = sized<std::size_t>(100, 30);
    const auto problem = ladder(n, static_cast<double>(n - n / 10));
    const sw::assignment wrong(n, 0);  // neighbours equal, limit exceeded
    REQUIRE_FALSE(sw::evaluate(problem, wrong).is_feasible());
    CHECK(sw::local_search{}.solve(problem, {.start = wrong}).has_assignment());
    CHECK(sw::local_search{}.solve(problem, {.start = sw::assignment{1, 2}}).has_assignment());
    CHECK(sw::local_search{}.solve(problem, {.start = sw::assignment(n, 77)}).has_assignment());
  }

  TEST_CASE("a limit is shared out among starts, and more of them find more") {
    std::size_t better = 0, worse = 0;
    for (std::uint64_t seed = 1; seed <= sized(20U, 5U); ++seed) {
      const auto problem = frustrated(seed, sized<std::size_t>(40, 25));
      const sw::solve_control limited{.iterations = sized<std::size_t>(2000, 500), .seed = seed};
      const auto one = sw::local_search{.starts = 1, .largest_block = 3}.solve(problem, limited);
      const auto many = sw::local_search{.starts = 8, .largest_block = 3}.solve(problem, limited);
      CHECK(one.statistics.counters.front() == std::pair<std::string, double>("starts", 1));
      CHECK(many.statistics.counters.front() == std::pair<std::string, double>("starts", 8));
      CHECK(many.statistics.iterations <= limited.iterations);
      better += many.objective < one.objective ? 1 : 0;
      worse += many.objective > one.objective ? 1 : 0;
    }
    MESSAGE("better " << better << ", worse " << worse);
    CHECK(better > 2 * worse);
  }

  TEST_CASE("from a given assignment it gets at least as far as plain descent does") {
    std::size_t tried = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(400); ++seed) {
      CAPTURE(seed);
      problem_features features = problem_features::combination(static_cast<unsigned>(seed * 37 % 128));
      features.impossible = false;
      const auto stated =
          seed % 4 == 0 ? shardweave_test::draw_savings_problem<double>(seed, 8) : draw_problem<double>(seed, features);
      const auto problem = compiled(stated.description);
      if (!problem) continue;
      sw::random_source random(seed);
      for (int i = 0; i < 3; ++i) {
        const auto labels = any_feasible(*problem, random);
        if (labels.empty()) continue;
        const double plain = std::min(descend(*problem, labels, false), descend(*problem, labels, true));
        const auto answer = sw::local_search{}.solve(*problem, {.start = problem->lift(labels)});
        CHECK(answer.objective <= plain + 1e-9 * std::max(1.0, std::abs(plain)));
        ++tried;
      }
    }
    CHECK(tried > shardweave_test::at_scale(300));
  }

  TEST_CASE("a stop request and a deadline end the work, with the best so far") {
    const auto problem = is_small_scale ? ladder(1000, 1000) : ladder(4000, 4000);
    using clock = std::chrono::steady_clock;
    const auto timed = [&](const sw::solve_control& control) {
      const auto begin = clock::now();
      const auto answer = sw::local_search{}.solve(problem, control);
      return std::pair(answer, std::chrono::duration<double>(clock::now() - begin).count());
    };
    {
      std::stop_source source;
      source.request_stop();
      const auto [answer, seconds] = timed({.stop = source.get_token()});
      CHECK_FALSE(answer.has_assignment());
      CHECK(answer.status == sw::solve_status::stopped);
      CHECK(answer.statistics.iterations == 0);
    }
    const auto [answer, seconds] = timed({.seconds = 0.6});
    CHECK(answer.has_assignment());
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(seconds < 5);  // without a limit it takes far longer; a sanitized build on a busy machine may be late
    CHECK(answer.statistics.note.find("stopped after ") == 0);
  }
}

}  // namespace local_search_tests

#include "solve/savings_answer.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/search/detail/savings_state.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::sized;

namespace savings_search_tests {
namespace {

template <class Cost>
using search_call = std::function<sw::solution<Cost>(const sw::placement_problem<Cost>&)>;

struct search_figures {
  std::size_t feasible = 0, with_savings = 0, with_budgets = 0, answered = 0, optimal = 0;
};

/// Every answer is feasible, priced exactly and no better than the optimum.
template <class Cost>
search_figures try_search(const search_call<Cost>& solve, std::uint64_t first, std::size_t count) {
  search_figures figures;
  shardweave_test::for_savings_problems<Cost>(
      first, count, [&](const auto& stated, const auto& problem, const auto& best) {
        const sw::solution<Cost> answer = solve(problem);
        CHECK(answer.lower_bound == -std::numeric_limits<double>::infinity());
        shardweave_test::check_savings_answer(stated, best, answer);
        if (!best.objective) return;
        ++figures.feasible;
        figures.with_savings += problem.savings() != nullptr;
        figures.with_budgets += problem.savings() != nullptr && !problem.compact().rows().empty();
        if (!answer.has_assignment()) return;
        ++figures.answered;
        const auto optimum = static_cast<double>(*best.objective);
        figures.optimal += static_cast<double>(answer.objective) <= optimum + shardweave_test::near(optimum);
      });
  return figures;
}

/// Not all problems have budgets: where few are tried, the first seed is one from which some do.
void expect_mostly_optimal(const std::string& who, const search_figures& f) {
  MESSAGE(who << ": " << f.optimal << " optimal of " << f.feasible << " feasible (" << f.with_savings
              << " with savings, " << f.with_budgets << " with budgets as well), " << f.answered << " answered");
  CHECK(f.with_savings > f.feasible / 2);
  CHECK(20 * f.with_budgets > f.feasible);
  CHECK(20 * f.answered >= 19 * f.feasible);
  CHECK(10 * f.optimal >= 9 * f.feasible);
}

}  // namespace

TEST_SUITE("savings_state") {
  TEST_CASE("moves are judged as if all were added up anew, and refused ones leave no trace") {
    std::size_t made = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      std::optional<sw::placement_problem<std::int64_t>> problem;
      try {
        problem = sw::compile(stated.description);
      } catch (const sw::error&) {
        continue;
      }
      const auto& p = problem->compact();
      if (problem->savings() == nullptr || p.size() == 0) continue;
      const auto best = shardweave_test::brute_force_with_savings(stated);
      if (!best.objective) continue;
      sw::random_source random(seed);
      sw::detail::savings_state<std::int64_t> state(p, *problem->savings(), *problem->labels_of(best.choice));
      CHECK(state.objective() == problem->objective(state.labels()));
      for (int step = 0; step < 40; ++step) {
        const std::vector<sw::strategy> before(state.labels().begin(), state.labels().end());
        std::vector<sw::strategy> after(before);
        std::vector<sw::relabel> moves;
        std::set<std::uint32_t> moved;
        for (std::size_t n = 1 + random.below(4); n-- > 0;) {
          const auto x = static_cast<std::uint32_t>(random.below(p.size()));
          if (!moved.insert(x).second) continue;
          after[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
          moves.push_back({x, after[x]});
        }
        const std::int64_t now = problem->objective(before), next = problem->objective(after);
        const bool is_better = !sw::is_forbidden(next) && next <= now;
        CHECK(state.accepts(moves) == is_better);
        const auto& expected = is_better ? after : before;
        CHECK(std::equal(expected.begin(), expected.end(), state.labels().begin()));
        CHECK(state.objective() == std::min(now, sw::is_forbidden(next) ? now : next));
        ++(is_better ? made : refused);
      }
      // at the best prices of a labeling its priced cost is its objective
      sw::priced_problem<std::int64_t> priced(p, *problem->savings());
      sw::chain_prices<std::int64_t> chain(*problem->savings());
      chain.values() = state.prices();
      chain.update();
      CHECK(priced.with_prices(chain).cost(state.labels()) ==
            doctest::Approx(static_cast<double>(state.objective())).epsilon(1e-12));
    }
    CHECK(made > at_scale(100));
    CHECK(refused > at_scale(500));
  }
}

TEST_SUITE("local_search") {
  TEST_CASE("savings are counted exactly, alone and with budgets, and most small optima are found") {
    static_assert(sw::local_search::abilities.savings);
    expect_mostly_optimal("local search",
                          try_search<double>([](const auto& problem) { return sw::local_search{}.solve(problem); },
                                             sized(1U, 40U), at_scale(150)));
    expect_mostly_optimal(
        "local search, whole numbers",
        try_search<std::int64_t>([](const auto& problem) { return sw::local_search{}.solve(problem); },
                                 sized(20001U, 20021U), at_scale(60)));
  }
  TEST_CASE("limits are kept, equal calls give equal bits, and improving never makes it worse") {
    for (std::uint64_t seed = 300; seed < 300 + at_scale(40); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      try {
        const auto problem = sw::compile(stated.description);
        double last = std::numeric_limits<double>::infinity();
        for (const std::size_t iterations : {0U, 1U, 3U, 20U, 200U}) {
          const auto a = sw::local_search{.starts = 1}.solve(problem, {.iterations = iterations});
          const auto b = sw::local_search{.starts = 1}.solve(problem, {.iterations = iterations});
          CHECK(a.choice == b.choice);
          CHECK(a.objective == b.objective);
          CHECK(a.statistics.iterations <= iterations);
          if (!a.has_assignment()) continue;
          CHECK(a.objective <= last);
          last = a.objective;
          CHECK(sw::local_search{}.solve(problem, {.iterations = 30, .start = a.choice}).objective <= a.objective);
          CHECK(sw::large_neighbourhood<>{}.solve(problem, {.iterations = 2, .start = a.choice}).objective <=
                a.objective);
        }
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::constraint);
      }
    }
  }
}

TEST_SUITE("large_neighbourhood") {
  TEST_CASE("savings are counted exactly, alone and with budgets, and most small optima are found") {
    static_assert(sw::large_neighbourhood<>::abilities.savings);
    sw::large_neighbourhood<> around;
    around.windows = 8;
    around.largest = 5;
    around.first.effort = 1;
    around.first.starts = 1;
    expect_mostly_optimal("windows", try_search<double>([&](const auto& problem) { return around.solve(problem); },
                                                        40001, at_scale(120)));
    expect_mostly_optimal("windows, whole numbers",
                          try_search<std::int64_t>([&](const auto& problem) { return around.solve(problem); },
                                                   sized(50001U, 50041U), at_scale(40)));
  }
  TEST_CASE("it improves what another solver found") {
    const sw::polished solver(sw::local_search{.starts = 1, .effort = 1}, sw::large_neighbourhood<>{});
    expect_mostly_optimal(
        "polished", try_search<double>([&](const auto& problem) { return solver.solve(problem, {.iterations = 20}); },
                                       60001, at_scale(60)));
  }
}

}  // namespace savings_search_tests

#include "step/stated_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/smoothed_weights.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace step_bound_tests {
namespace {

using stated_step::stated;

/// Finds what is best, and proves half of it.
struct half_proven {
  static constexpr std::string_view name = "half_proven";
  static constexpr sw::solver_abilities abilities = sw::exhaustive::abilities;
  template <sw::cost_value Cost>
  [[nodiscard]] sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem,
                                         const sw::solve_control& control = {}) const {
    sw::solution<Cost> answer = sw::exhaustive{}.solve(problem, control);
    answer.lower_bound /= 2;
    answer.status = sw::solve_status::feasible;
    return answer;
  }
};

}  // namespace

TEST_SUITE("step bound") {
  TEST_CASE("weights go half of the way while that teaches something, and claims that came since the best have none") {
    using weights = std::vector<double>;
    sw::detail::smoothed_weights smoothed;
    CHECK(smoothed.best(2) == weights{1, 1});
    CHECK(smoothed.next({0.25, 0.75}) == weights{0.25, 0.75});
    CHECK_FALSE(smoothed.may_go_on(false));  // nothing is known to go half of the way from
    smoothed.found_better({0.25, 0.75});
    smoothed.start_halfway();
    CHECK(smoothed.best(3) == weights{0.25, 0.75, 0});
    CHECK(smoothed.next({0.75, 0, 0.25}) == weights{0.5, 0.375, 0.125});
    CHECK(smoothed.may_go_on(false));
    CHECK(smoothed.next({0.75, 0, 0.25}) == weights{0.75, 0, 0.25});
    CHECK_FALSE(smoothed.may_go_on(false));
    CHECK(smoothed.may_go_on(true));
    smoothed.stay();
    CHECK(smoothed.stays());
    CHECK(smoothed.next({0, 0, 1}) == weights{0.25, 0.75, 0});
    CHECK_FALSE(smoothed.stays());
  }
  TEST_CASE("no plan of a tiny graph, of all placements, bucketings and orders, ends before the bound") {
    sw::random_source random(11);
    double sum = 0;
    std::size_t met = 0;
    const std::size_t count = shardweave_test::at_scale(60);
    for (std::size_t i = 0; i < count; ++i) {
      const stated s(tiny_steps::random_model(random));
      const auto best = static_cast<double>(tiny_steps::best_step(s.model));
      const sw::step_bounds bounds = s.bound();
      CAPTURE(i);
      CHECK(bounds.bound <= best);
      CHECK(bounds.bound >= bounds.limit * (1 - 1e-5) - 1e-9);
      sum += best == 0 ? 1 : bounds.bound / best;
      met += bounds.bound >= best * (1 - 1e-6) ? 1 : 0;
    }
    MESSAGE("bound over optimum " << sum / static_cast<double>(count) << ", met " << met << " of " << count);
    CHECK(sum >= 0.75 * static_cast<double>(count));  // 0 would be a bound, too
    CHECK(met > 0);
  }

  TEST_CASE("the bound is the value of the game over all placements: no weights on its claims prove more") {
    sw::random_source random(5);
    for (std::size_t i = 0; i < shardweave_test::at_scale(40); ++i) {
      const stated s(tiny_steps::random_model(random));
      const sw::step_bounds bounds = s.bound();
      if (bounds.bound <= 0) continue;
      // by its own weights, priced placement by placement
      double least = std::numeric_limits<double>::infinity();
      const sw::work_prices prices = sw::prices_of(bounds.claims, bounds.weights, s.work);
      tiny_steps::for_each_assignment(s.model, [&](const std::vector<sw::strategy>& choice) {
        const sw::taken_work taken = sw::work_of(s.work, choice, &prices);
        double sum = 0;
        for (std::size_t r = 0; r < bounds.claims.size(); ++r)
          sum += bounds.weights[r] * sw::value_of(bounds.claims[r], s.work, taken);
        least = std::min(least, sum);
      });
      CHECK(bounds.bound == doctest::Approx(least).epsilon(1e-7));
    }
  }

  TEST_CASE("of the claims that a search finds none of a channel or along a path could be larger") {
    sw::random_source random(9);
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(100); ++i) {
      const stated s(tiny_steps::random_model(random));
      sw::detail::claim_search search(s.work);
      tiny_steps::for_each_assignment(s.model, [&](const std::vector<sw::strategy>& choice) {
        const sw::taken_work taken = sw::work_of(s.work, choice);
        std::vector<double> most(s.work.machines() + 1);  // the last: along a path
        for (std::uint32_t c = 0; c < s.work.machines(); ++c) {
          std::vector<double> of_share(s.work.shares);
          std::vector<std::size_t> edges(s.work.shares);
          for (std::size_t e = 0; e < s.work.edges.size(); ++e) {
            double& largest = of_share[s.work.edges[e].share];
            largest = std::max(largest, taken.load[e * s.work.channels + c]);
            chosen += ++edges[s.work.edges[e].share] == 2 ? 1U : 0U;
          }
          for (const double load : of_share) most[c] += load;
          for (const double time : taken.time) most[c] += c == 0 ? time : 0;
        }
        const auto walk = [&](const auto& self, std::uint32_t v, double length) -> void {
          most.back() = std::max(most.back(), length += taken.time[v]);
          for (std::size_t e = 0; e < s.work.edges.size(); ++e)
            if (s.work.edges[e].from == v) self(self, s.work.edges[e].to, length + taken.chain[e]);
        };
        for (std::uint32_t v = 0; v < s.work.vertex_count(); ++v) walk(walk, v, 0);
        std::vector<double> found(most.size());
        for (const sw::step_claim& claim : search.largest(taken)) {
          double& of = claim.channel == sw::step_claim::path ? found.back() : found[claim.channel];
          of = std::max(of, sw::value_of(claim, s.work, taken));
        }
        for (std::size_t c = 0; c < most.size(); ++c) CHECK(found[c] == doctest::Approx(most[c]).epsilon(1e-12));
      });
    }
    CHECK(chosen > 0);  // shares of several edges
  }

  TEST_CASE("the bound is made of what the solver proves, not of what it finds") {
    sw::random_source random(6);
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      const sw::step_bounds whole = s.bound();
      const sw::step_bounds half =
          sw::step_bound(s.problem, s.work, half_proven{}, {.rounds = 60, .tolerance = 1e-6, .placement_gap = 0});
      CHECK(half.bound > 0);
      CHECK(2 * half.bound <= whole.bound * (1 + 1e-5));
    }
  }

  TEST_CASE("a stop and a limit of time leave a bound that is valid") {
    sw::random_source random(8);
    const stated s(tiny_steps::random_model(random));
    std::stop_source stop;
    stop.request_stop();
    const sw::step_bounds nothing = s.bound({.stop = stop.get_token()});
    CHECK(nothing.stopped);
    CHECK(nothing.bound == -std::numeric_limits<double>::infinity());
  }

  TEST_CASE("work that is not of the problem's graph is refused") {
    sw::random_source random(8);
    const stated s(tiny_steps::random_model(random));
    sw::step_work other = s.work;
    other.times_of.push_back(0);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::step_bound(s.problem, other, sw::exhaustive{})),
                         doctest::Contains("but the problem has"), sw::error);
  }

  TEST_CASE("a step of nothing has no waits") {
    const auto problem = sw::compile(sw::placement_description<double>{});
    CHECK(sw::step_bound(problem, {}, sw::exhaustive{}, {.waits = true}).bound <= 0);
  }
}

}  // namespace step_bound_tests

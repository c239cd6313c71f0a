// What guided search does with two threads, which test `threads` looks at under the thread sanitizer.
#include "solve/limited_chain.hpp"
#include "support/scale.hpp"
#include <shardweave/solve/guided_search.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace guided_threads_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brief_guided;
using chain = shardweave_test::limited_chain;

}  // namespace

TEST_SUITE("guided_search") {
  TEST_CASE("with a time limit bounds stay valid, with a thread for the bound too") {
    for (const unsigned threads : {1U, 2U}) {
      const chain c(11, 300, 1.0);
      const auto answer = sw::guided_search{}.solve(sw::placement_problem<std::int64_t>(c.problem()),
                                                    {.seconds = 0.5, .threads = threads});
      const auto optimum = static_cast<double>(c.optimum());
      REQUIRE(answer.has_assignment());
      CHECK(static_cast<double>(answer.objective) >= optimum);
      CHECK(answer.lower_bound <= optimum);
      CHECK(answer.lower_bound > 0);  // how good it is depends on the machine
    }
  }

  TEST_CASE("two threads keep the promises of solvers, whoever is faster") {
    for (std::uint64_t seed = 0; seed < at_scale(30); ++seed) {
      const chain c(300 + seed, 12, 0.6 + 0.1 * static_cast<double>(seed % 5));
      const auto answer = brief_guided().solve(sw::placement_problem<std::int64_t>(c.problem()),
                                               {.seconds = 0.02, .seed = seed, .threads = 2});
      const auto optimum = static_cast<double>(c.optimum());
      CHECK(answer.lower_bound <= optimum);
      if (!answer.has_assignment()) continue;
      CHECK(static_cast<double>(answer.objective) >= optimum);
      CHECK((answer.status != sw::solve_status::optimal || static_cast<double>(answer.objective) == optimum));
    }
  }

  TEST_CASE("what threads find is known to both") {
    sw::detail::shared_findings<std::int64_t> findings;
    sw::detail::incumbent<std::int64_t> mine, other;
    CHECK_FALSE(findings.exchange(mine, 0));
    mine.offer(7, {1, 2}, 0);
    CHECK_FALSE(findings.exchange(mine, 0));
    CHECK(findings.exchange(other, 3));
    CHECK(other.cost() == 7);
    CHECK(other.labels() == std::vector<sw::strategy>{1, 2});
    CHECK(other.found_at() == 3);
    other.offer(5, {0, 0}, 4);
    CHECK_FALSE(findings.exchange(other, 4));
    CHECK(findings.exchange(mine, 5));
    CHECK(mine.cost() == 5);
    findings.raise(3);
    findings.raise(2);
    CHECK(findings.bound() == 3);
  }
}

}  // namespace guided_threads_tests

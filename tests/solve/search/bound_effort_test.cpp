#include "solve/limited_chain.hpp"
#include "solve/suite.hpp"
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/search/bound_effort.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace sw = shardweave;

namespace bound_effort_tests {
namespace {
using chain = shardweave_test::limited_chain;
using shardweave_test::at_scale;
using shardweave_test::sized;

chain drawn(std::uint64_t seed) {
  return chain(200 + seed, sized<std::size_t>(80, 25), 0.7 + 0.1 * static_cast<double>(seed));
}
/// A guided search of a chain whose optimum is known, which proves no more than holds.
sw::solution<std::int64_t> searched(const chain& c, std::uint64_t seed, const sw::bound_effort& effort) {
  sw::guided_search search;
  search.rounds = 4;
  search.bounding = effort;
  const auto answer = search.solve(sw::placement_problem<std::int64_t>(c.problem()), {.seed = seed});
  const auto optimum = static_cast<double>(c.optimum());
  REQUIRE(answer.has_assignment());
  CHECK(static_cast<double>(answer.objective) >= optimum);
  CHECK(answer.lower_bound <= optimum);
  if (answer.status == sw::solve_status::optimal) CHECK(static_cast<double>(answer.objective) == optimum);
  return answer;
}
double counter(const sw::solution<std::int64_t>& answer, const std::string& name) {
  for (const auto& [known, value] : answer.statistics.counters)
    if (known == name) return value;
  FAIL("there is no counter " << name);
  return 0;
}
}  // namespace

TEST_SUITE("bound_effort") {
  TEST_CASE("there are no more steps of the ascent than allowed") {
    const chain c = drawn(2);
    for (const std::size_t most : {0U, 7U, 100U})
      CHECK(counter(searched(c, 1, {.most_steps = most}), "ascent steps") <= static_cast<double>(most));
  }

  TEST_CASE("with no decoding on the way a search keeps the promises of solvers") {
    auto none_on_the_way = shardweave_test::brief_guided();
    none_on_the_way.bounding.decode_every = 0;
    MESSAGE(to_text(shardweave_test::run_suite(none_on_the_way, {.problems = 40, .first_seed = 540000})));
  }

  TEST_CASE("what labels are left once the best assignment is known is searched to the end, if they are few") {
    std::size_t proven = 0, unproven = 0, removing = 0;
    for (std::uint64_t seed = 0; seed < at_scale(6); ++seed) {
      CAPTURE(seed);
      const chain c = drawn(seed);
      const auto answer = searched(c, seed, {});
      proven += answer.status == sw::solve_status::optimal ? 1U : 0U;
      removing += counter(answer, "labels ruled out") > 0 ? 1U : 0U;
      // the ascent alone, which sees the limit through a price, proves less
      const auto wider = searched(c, seed, {.worthwhile = 2});  // no share of labels is as large
      CHECK(wider.lower_bound <= answer.lower_bound);
      CHECK(counter(wider, "labels ruled out") == 0);
      if (counter(answer, "labels ruled out") > 0)
        unproven += searched(c, seed, {.small_labels = 0}).status != sw::solve_status::optimal ? 1U : 0U;
    }
    CHECK(proven > 0);
    CHECK((shardweave_test::is_small_scale || (removing > 0 && unproven > 0)));
  }
}

}  // namespace bound_effort_tests

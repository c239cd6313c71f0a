#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile_costs.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;

namespace compile_costs_tests {
namespace {

/// The least cost of all labelings that keep the rows, one after the other.
std::optional<std::int64_t> least_of(const sw::compact_problem<std::int64_t>& p) {
  std::optional<std::int64_t> least;
  std::vector<sw::strategy> labels(p.size());
  for (;;) {
    const std::int64_t cost = p.cost(labels);
    if (!sw::is_forbidden(cost) && p.keeps_rows(labels) && (!least || cost < *least)) least = cost;
    std::size_t x = 0;
    while (x < p.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == p.size()) return least;
  }
}

}  // namespace

TEST_SUITE("compile_costs") {
  TEST_CASE("the best labeling of what it makes costs what the best assignment as stated does") {
    std::size_t possible = 0, impossible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(300); ++seed) {
      CAPTURE(seed);
      const auto drawn = shardweave_test::draw_problem<std::int64_t>(seed);
      const std::optional<std::int64_t> best = shardweave_test::brute_force(drawn).objective;
      std::optional<std::int64_t> found;
      try {
        found = least_of(
            sw::compile_costs(std::make_shared<const sw::placement_description<std::int64_t>>(drawn.description), {})
                .compact());
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::constraint);
      }
      CHECK(found == best);
      ++(best ? possible : impossible);
    }
    CHECK(possible > at_scale(100));
    CHECK(impossible > 0);
  }

  TEST_CASE("a stop ends it") {
    const auto drawn = shardweave_test::draw_problem<std::int64_t>(1);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(sw::compile_costs(
            std::make_shared<const sw::placement_description<std::int64_t>>(drawn.description), {.seconds = 0})),
        "the problem was not built before the stop", sw::error);
  }
}

}  // namespace compile_costs_tests

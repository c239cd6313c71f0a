#include "small_problem.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile_costs.hpp>
#include <shardweave/placement/evaluation.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;

namespace evaluation_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using strings = std::vector<std::string>;

}  // namespace

TEST_SUITE("evaluation") {
  TEST_CASE("a problem made from a compact one is judged by itself") {
    sw::compact_builder<double> builder;
    const std::vector<double> a{1, 2}, b{3, 4};
    builder.add_constant(100);
    builder.add_variable(a);
    builder.add_variable(b);
    builder.add_edge(0, 1,
                     std::make_shared<const sw::cost_table<double>>(
                         sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, infinity, 10, 20})));
    builder.add_row({0, 3, 0, 0});
    builder.add_segment(0, {0, 1, {1, 1}});
    builder.add_segment(1, {0, 1, {2, 9}});
    const sw::placement_problem<double> p(builder.build());
    CHECK(sw::evaluate(p, sw::assignment{0, 0}).objective == 104);
    CHECK(sw::evaluate(p, sw::assignment{0, 0}).is_feasible());
    CHECK(sw::evaluate(p, sw::assignment{1, 0}).parts == sw::cost_parts<double>{105, 10, 0});
    CHECK(sw::evaluate(p, sw::assignment{0, 1}).violations ==
          strings{"a forbidden pair of labels is used", "a row's limit is broken"});
    CHECK(sw::evaluate(p, sw::assignment{1, 1}).violations == strings{"a row's limit is broken"});
    small::check_refused(
        [&] {
          return sw::evaluate(p, sw::assignment{0, 2});
        },
        sw::error_category::input, "the assignment does not give one of its labels to each of 2 variables");
  }

  TEST_CASE("an assignment of a compiled problem is priced by what was stated, within the constraints or not") {
    std::size_t feasible = 0, broken = 0;
    for (std::uint64_t seed = 0; seed < at_scale(300); ++seed) {
      CAPTURE(seed);
      const auto drawn = shardweave_test::draw_problem<std::int64_t>(seed, {.impossible = false});
      std::optional<sw::placement_problem<std::int64_t>> problem;
      try {
        problem =
            sw::compile_costs(std::make_shared<const sw::placement_description<std::int64_t>>(drawn.description), {});
      } catch (const sw::error&) {
        continue;
      }
      sw::random_source random(seed);
      for (int i = 0; i < 20; ++i) {
        sw::assignment choice;
        for (const auto& v : drawn.description.vertices)
          choice.push_back(static_cast<sw::strategy>(random.below(v.compute.size())));
        const std::optional<std::int64_t> price = price_of(drawn, choice);
        const auto priced = sw::evaluate(*problem, choice);
        CHECK(priced.is_feasible() == price.has_value());
        if (price) CHECK(priced.objective == *price);
        ++(price ? feasible : broken);
      }
    }
    CHECK(feasible > at_scale(300));
    CHECK(broken > at_scale(300));
  }
}

}  // namespace evaluation_tests

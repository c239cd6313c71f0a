#include <shardweave/core/random.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/proof/certify_options.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/solution.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace certify_options_tests {
namespace {

constexpr std::size_t labels = 4;

/// Vertices with costs that are drawn, and as many edges: the bound at the root is below the optimum.
sw::placement_description<double> drawn(std::uint64_t seed, std::uint32_t vertices) {
  sw::random_source random(seed);
  const auto draw = [&](std::size_t count) {
    std::vector<double> costs(count);
    for (double& c : costs) c = static_cast<double>(random.below(1000));
    return costs;
  };
  sw::placement_description<double> d;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    d.vertices.push_back({.name = std::to_string(v), .compute = draw(labels)});
    for (std::uint32_t u = 0; u < v; ++u) {
      if (random.below(3) != 0) continue;
      d.edges.push_back({.from = u, .to = v, .communication = static_cast<std::uint32_t>(d.tables.size())});
      d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
          sw::cost_table<double>::from_entries(labels, labels, draw(labels * labels))));
    }
  }
  return d;
}
}  // namespace

TEST_SUITE("certify_options") {
  TEST_CASE(
      "a proof has no more cases than subproblems are allowed, and one that is branched; more of them prove more") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      const auto d = std::make_shared<const sw::placement_description<double>>(drawn(seed, 16));
      const auto problem = sw::compile(d);
      const auto optimum = sw::elimination{}.solve(problem);
      REQUIRE(optimum.status == sw::solve_status::optimal);
      double last = 0;
      for (const std::size_t nodes : {0U, 1U, 5U, 20U, 100U}) {
        CAPTURE(nodes);
        const auto c = sw::certify_placement(problem, sw::forbidden<double>, {.nodes = nodes, .work = 0});
        CHECK(sw::check_certificate(*d, c).accepted);
        const auto splits = static_cast<std::size_t>(
            std::ranges::count_if(c.cases, [](const auto& one) { return !one.parts.empty(); }));
        CHECK(splits <= std::max<std::size_t>(nodes, 1));
        CHECK((nodes < 20 || splits > 5));
        CHECK(c.lower_bound >= last);
        last = c.lower_bound;
      }
      CHECK(last <= optimum.objective);
      const auto few = sw::certify_placement(problem, optimum.objective, {.nodes = 1, .work = 0});
      CHECK_FALSE(sw::proves(few.lower_bound, optimum.objective));
      const auto at_once = sw::certify_placement(problem, optimum.objective, {.nodes = 1});
      CHECK(sw::proves(at_once.lower_bound, optimum.objective));  // by a dynamic program
      CHECK(sw::proves(sw::certify_placement(problem, optimum.objective).lower_bound, optimum.objective));
    }
  }

  TEST_CASE("a dynamic program that takes long waits until ascents have taken ten times as long") {
    const auto settled = [](const sw::placement_certificate<double>& c) {
      return std::ranges::count_if(c.cases, [](const auto& one) { return !one.elimination_order.empty(); });
    };
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      const auto small = sw::compile(std::make_shared<const sw::placement_description<double>>(drawn(seed, 16)));
      const auto large = sw::compile(std::make_shared<const sw::placement_description<double>>(drawn(seed, 22)));
      CHECK(settled(sw::certify_placement(small, sw::elimination{}.solve(small).objective, {.nodes = 1})) == 1);
      const double optimum = sw::elimination{}.solve(large).objective;
      CHECK(settled(sw::certify_placement(large, optimum, {.steps = 200, .nodes = 1})) == 0);
      const auto whole = sw::certify_placement(large, optimum, {.steps = 200});
      CHECK(settled(whole) > 1);  // parts, later
      CHECK(sw::proves(whole.lower_bound, optimum));
    }
  }

  TEST_CASE("with the default effort the optimum is proven, whether its cost is known before or not") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      CAPTURE(seed);
      const auto problem = sw::compile(std::make_shared<const sw::placement_description<double>>(drawn(seed, 16)));
      const double optimum = sw::elimination{}.solve(problem).objective;
      CHECK(sw::proves(sw::certify_placement(problem, optimum).lower_bound, optimum));
      CHECK(sw::proves(sw::certify_placement(problem).lower_bound, optimum));
    }
  }

  TEST_CASE("a proof without an ascent holds, and proves less") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      const auto d = std::make_shared<const sw::placement_description<double>>(drawn(seed, 16));
      const auto problem = sw::compile(d);
      const auto bound = [&](std::size_t steps) {
        const auto c = sw::certify_placement(problem, sw::forbidden<double>, {.steps = steps, .nodes = 1});
        CHECK(sw::check_certificate(*d, c).accepted);
        return c.lower_bound;
      };
      const double none = bound(0), few = bound(5), all = bound(sw::certify_options().steps);
      CHECK(none < few);
      CHECK(few < all);
    }
  }

  TEST_CASE(
      "with a limit of time there are a hundred steps a second, a thousand at least, and never more than allowed") {
    using sw::detail::steps_within;
    constexpr double no_limit = std::numeric_limits<double>::infinity();
    CHECK(steps_within(16'000, no_limit) == 16'000);
    CHECK(steps_within(16'000, 40) == 4'000);
    CHECK(steps_within(16'000, 1'000) == 16'000);
    CHECK(steps_within(16'000, 0) == 1'000);
    CHECK(steps_within(300, 0) == 300);
    CHECK(steps_within(0, no_limit) == 0);
  }

  TEST_CASE("any number of steps is a limit on them") {
    CHECK(sw::detail::steps_within(~std::size_t{0}, std::numeric_limits<double>::infinity()) == ~std::size_t{0});
    CHECK(sw::detail::steps_within(16'000, std::numeric_limits<double>::infinity()) == 16'000);
    CHECK(sw::detail::steps_within(~std::size_t{0}, 1) == 1000);
    CHECK(sw::detail::steps_within(16'000, 20) == 2000);
  }
}

}  // namespace certify_options_tests

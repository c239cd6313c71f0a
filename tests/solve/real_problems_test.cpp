#include <shardweave/io/read_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <cmath>
#include <string>

namespace sw = shardweave;

namespace real_problems_tests {
namespace {

/// Optima that two solvers of others proved, each from the extracted problem alone, or message passing by its bound.
struct known {
  const char* name;
  double optimum;
};
constexpr known problems[] = {{"tiny2-2d-4x2", 2657.8997},
                              {"llama3-1b-1d-64", 132630.8345},
                              {"llama3-1b-1d-64-untied", 132630.8345},
                              {"llama3-1b-1d-64-memory", 126293.2287},
                              {"llama3-1b-1d-64-march", 164776.7667},
                              {"llama3-1b-2d-8x8", 114420.5611},
                              {"llama3-1b-2d-8x8-memory", 112936.0003},
                              {"llama3-8b-2d-8x8", 554382.9592},
                              {"dsv3-2l-2d-4x64", 18682.8515},
                              {"llama3-1b-4layer-3d-2x4x8", 20881.7479}};

}  // namespace

TEST_SUITE("real problems") {
  TEST_CASE("the default solver proves the optima that are known of them, to all the digits that are told") {
    for (const known& one : problems) {
      const std::string name = one.name;
      if (shardweave_test::is_sanitized && name != "tiny2-2d-4x2" && name != "llama3-1b-1d-64-memory") continue;
      const auto file = shared_data("placement/" + name + ".json.gz");
      if (!file) continue;
      CAPTURE(name);
      const auto problem = sw::compile(sw::read_placement(*file));
      const auto answer = sw::auto_solver{}.solve(problem);
      CHECK(answer.status == sw::solve_status::optimal);
      CHECK(std::abs(answer.objective - one.optimum) < 0.00006);
      CHECK(answer.lower_bound == doctest::Approx(answer.objective).epsilon(2e-9));
      const auto priced = sw::evaluate(*problem.description(), answer.choice);
      CHECK(priced.violations.empty());
      CHECK(priced.objective == doctest::Approx(answer.objective).epsilon(1e-12));
    }
  }
}

}  // namespace real_problems_tests

#include <shardweave/io/read_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>

#include <doctest/doctest.h>
#include <support/known_optima.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <cmath>
#include <string>

namespace sw = shardweave;

namespace real_problems_tests {

TEST_SUITE("real problems") {
  TEST_CASE("the default solver proves the optima that are known of them, to all the digits that are told") {
    for (const shardweave_test::known_optimum& one : shardweave_test::known_optima) {
      const std::string name = one.name;
      if (shardweave_test::is_small_scale && name != "tiny2-2d-4x2" && name != "llama3-1b-1d-64-memory") continue;
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

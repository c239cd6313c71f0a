#include "solve/small_problems.hpp"
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace solver_tests {
namespace {

namespace sw = shardweave;

/// Label 0 everywhere. The others lack one of the things that a solver has.
struct first_labels {
  static constexpr std::string_view name = "first_labels";
  static constexpr sw::solver_abilities abilities{.savings = true};
  std::size_t setting = 1;

  template <class Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem, const sw::solve_control& control) const {
    const std::vector<sw::strategy> labels(problem.compact().size(), 0);
    return sw::conclude(problem, std::span<const sw::strategy>(labels), -std::numeric_limits<double>::infinity(), false,
                        {.solver = std::string(name), .iterations = control.iterations + setting}, control);
  }
};
struct named_by_letters : first_labels {
  static constexpr const char* name = "letters";
};
struct for_fractions_only {
  static constexpr std::string_view name = "for_fractions_only";
  static constexpr sw::solver_abilities abilities{};
  sw::solution<double> solve(const sw::placement_problem<double>&, const sw::solve_control&) const;
};
struct named_by_a_number : first_labels {
  static constexpr int name = 3;
};
struct able_to_do_anything : first_labels {
  static constexpr bool abilities = true;
};
struct changes_itself {
  static constexpr std::string_view name = "changes_itself";
  static constexpr sw::solver_abilities abilities{};
  sw::solution<double> solve(const sw::placement_problem<double>&, const sw::solve_control&);
};
struct without_control {
  static constexpr std::string_view name = "without_control";
  static constexpr sw::solver_abilities abilities{};
  sw::solution<double> solve(const sw::placement_problem<double>&) const;
};
struct answers_with_labels {
  static constexpr std::string_view name = "answers_with_labels";
  static constexpr sw::solver_abilities abilities{};
  sw::assignment solve(const sw::placement_problem<double>&, const sw::solve_control&) const;
};
struct not_copied : first_labels {
  std::unique_ptr<int> own;
};
struct declared;

static_assert(sw::solver<first_labels, double> && sw::solver<first_labels, std::int64_t>);
static_assert(sw::solver<named_by_letters, double>);
static_assert(sw::solver<for_fractions_only, double> && !sw::solver<for_fractions_only, std::int64_t>);
static_assert(!sw::solver<first_labels, int> && !sw::solver<first_labels, std::string>);
static_assert(!sw::solver<named_by_a_number, double>);
static_assert(!sw::solver<able_to_do_anything, double>);
static_assert(!sw::solver<changes_itself, double>);
static_assert(!sw::solver<without_control, double>);
static_assert(!sw::solver<answers_with_labels, double>);
static_assert(!sw::solver<not_copied, double>);
static_assert(!sw::solver<int, double>);
static_assert(sw::detail::solves_if_defined<declared, double> && sw::detail::solves_if_defined<first_labels, double>);
static_assert(!sw::detail::solves_if_defined<changes_itself, double>);

static_assert(sw::detail::abilities_of<first_labels>.savings && !sw::detail::abilities_of<first_labels>.budgets);
static_assert(!sw::detail::abilities_of<able_to_do_anything>.savings && !sw::detail::abilities_of<int>.budgets);

}  // namespace

TEST_SUITE("solver") {
  TEST_CASE("a solver inside another one is asked with its settings, for the problem and under the control given") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const sw::placement_problem<double> problem(shardweave_test::draw_small<double>(seed));
      const auto found = sw::detail::solved_by(first_labels{.setting = 5}, problem, {.iterations = 37});
      CHECK(found.statistics.solver == "first_labels");
      CHECK(found.statistics.iterations == 42);
      const std::vector<sw::strategy> zero(problem.compact().size(), 0);
      CHECK(found.objective == *shardweave_test::naive_cost<double>(problem.compact(), zero));
    }
  }
}

}  // namespace solver_tests

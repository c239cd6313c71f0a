#include "small_problem.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/problem.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace sw = shardweave;

namespace problem_tests {
namespace {

using labels_t = std::vector<sw::strategy>;

/// Calls `f` with every labeling of a problem.
template <class Cost, class Call>
void for_each_labeling(const sw::placement_problem<Cost>& problem, const Call& f) {
  const sw::compact_problem<Cost>& p = problem.compact();
  labels_t labels(p.size());
  for (;;) {
    f(labels);
    std::size_t x = 0;
    while (x < p.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == p.size()) return;
  }
}

/// The problem as compiled, or nothing where no assignment is left.
template <class Cost>
std::optional<sw::placement_problem<Cost>> compiled(const sw::placement_description<Cost>& d) {
  try {
    return sw::compile(d);
  } catch (const sw::error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_SUITE("placement_problem") {
  TEST_CASE("labels and assignments lead to each other: every feasible assignment has labels, at its own objective") {
    std::size_t feasible = 0, without = 0, saved = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(150); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto problem = compiled(stated.description);
      std::set<sw::assignment> all;
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        all.insert(choice);
        REQUIRE(problem.has_value());
        const auto labels = problem->labels_of(choice);
        REQUIRE(labels.has_value());
        CHECK(problem->lift(*labels) == choice);
        const std::int64_t cost = *shardweave_test::price_of(stated, choice);
        const std::int64_t savings = shardweave_test::savings_by_flow(stated, choice);
        CHECK(problem->compact().keeps_rows(*labels));
        CHECK(problem->objective(*labels) == cost - savings);
        CHECK(problem->without_savings().objective(*labels) == cost);
        saved += savings > 0 ? 1 : 0;
      });
      feasible += all.size();
      if (!problem) continue;
      CHECK(problem->vertex_count() == stated.description.vertices.size());
      // what no feasible assignment takes has no labels, or labels that are forbidden or break a row
      sw::assignment choice(problem->vertex_count());
      for (;;) {
        const auto labels = problem->labels_of(choice);
        if (!labels) ++without;
        const bool keeps =
            labels && problem->compact().keeps_rows(*labels) && !sw::is_forbidden(problem->compact().cost(*labels));
        CHECK(keeps == all.contains(choice));
        std::size_t v = 0;
        while (v < choice.size() && ++choice[v] == stated.description.vertices[v].compute.size()) choice[v++] = 0;
        if (v == choice.size()) break;
      }
    }
    CHECK(feasible > shardweave_test::sized<std::size_t>(2000, 100));
    CHECK(without > shardweave_test::at_scale(2000));
    CHECK(saved > shardweave_test::sized<std::size_t>(1000, 60));
  }

  TEST_CASE("different labelings are different assignments, and labels stand for strategies in ascending order") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<double>(seed);
      const auto problem = compiled(stated.description);
      if (!problem) continue;
      for (std::size_t x = 0; x < problem->compact().size(); ++x)
        for (sw::strategy label = 1; label < problem->compact().label_count(x); ++label)
          CHECK(problem->strategy_of(x, label - 1) < problem->strategy_of(x, label));
      std::set<sw::assignment> seen;
      for_each_labeling(*problem, [&](const labels_t& labels) {
        const sw::assignment choice = problem->lift(labels);
        CHECK(seen.insert(choice).second);
        CHECK(problem->labels_of(choice) == labels);
        for (std::size_t v = 0; v < choice.size(); ++v) {
          const std::uint32_t x = problem->variable_of(v);
          CHECK(choice[v] == problem->strategy_of(x, labels[x]));
        }
      });
    }
  }

  TEST_CASE("assignments of a wrong length, with a strategy that is not there, or that part a tie have no labels") {
    auto d = small::pair_of_vertices();
    small::vertex<double>(d, "c", {7, 8});
    d.constraints.ties = {{.vertices = {0, 2}, .why = "layers"}};
    const auto problem = sw::compile(d);
    CHECK(problem.labels_of(labels_t{1, 2, 1}).has_value());
    CHECK_FALSE(problem.labels_of(labels_t{1, 2, 0}).has_value());
    CHECK_FALSE(problem.labels_of(labels_t{1, 3, 1}).has_value());
    CHECK_FALSE(problem.labels_of(labels_t{1, 2}).has_value());
    CHECK_FALSE(problem.labels_of(labels_t{1, 2, 1, 0}).has_value());
  }

  TEST_CASE("a problem that was made from a compact one has its variables for vertices, and no description") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{3, 1});
    builder.add_variable(std::vector<double>{2});
    const auto shared = std::make_shared<const sw::compact_problem<double>>(builder.build());
    const sw::placement_problem<double> problem(shared);
    CHECK(problem.shared_compact() == shared);
    CHECK(problem.description() == nullptr);
    CHECK(problem.savings() == nullptr);
    CHECK(problem.vertex_count() == 2);
    CHECK(problem.lift(labels_t{1, 0}) == sw::assignment{1, 0});
    CHECK(problem.labels_of(labels_t{1, 0}) == labels_t{1, 0});
    CHECK_FALSE(problem.labels_of(labels_t{0, 1}).has_value());
    CHECK(problem.objective(labels_t{1, 0}) == 3);
  }

  TEST_CASE("without savings it is what is compiled of a description that counts none, and shares its tables") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(60); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto problem = compiled(stated.description);
      if (!problem) continue;
      const auto plain = problem->without_savings();
      CHECK(plain.savings() == nullptr);
      CHECK(plain.shared_compact() == problem->shared_compact());
      CHECK(plain.description()->counted == sw::savings_form::off);
      auto off = stated.description;
      off.counted = sw::savings_form::off;
      const auto other = sw::compile(off);
      for_each_labeling(plain, [&](const labels_t& labels) {
        const sw::assignment choice = plain.lift(labels);
        const auto there = other.labels_of(choice);
        REQUIRE(there.has_value());
        CHECK(plain.objective(labels) == other.objective(*there));
      });
    }
  }
}

}  // namespace problem_tests

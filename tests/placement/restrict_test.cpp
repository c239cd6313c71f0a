#include "small_problem.hpp"
#include "support/random_problem.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/restrict.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;
using strings = std::vector<std::string>;

TEST_SUITE("restriction") {
  TEST_CASE("all variables fixed leave a constant, the labeling's cost, or nothing if it is not feasible") {
    std::size_t feasible = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      auto features = shardweave_test::problem_features::combination(static_cast<unsigned>(seed % 128));
      features.impossible = false;
      std::optional<sw::placement_problem<std::int64_t>> problem;
      try {
        problem = sw::compile(shardweave_test::draw_problem<std::int64_t>(seed, features).description);
      } catch (const sw::error&) {
        continue;  // nothing is feasible
      }
      const auto& p = problem->compact();
      sw::random_source random(seed);
      for (int i = 0; i < 8; ++i) {
        std::vector<sw::strategy> labels;
        sw::restriction<std::int64_t> fixed(p), kept(p);
        for (std::size_t x = 0; x < p.size(); ++x) {
          labels.push_back(static_cast<sw::strategy>(random.below(p.label_count(x))));
          fixed.fix(x, labels[x]);
          for (sw::strategy l = 0; l < p.label_count(x); ++l)
            if (l != labels[x]) kept.forbid(x, l);
        }
        const auto left = fixed.build();
        CHECK(left.has_value() == kept.build().has_value());
        const bool good = !sw::is_forbidden(p.cost(labels)) && p.keeps_rows(labels);
        CHECK(left.has_value() == good);
        if (!left) {
          ++refused;
          continue;
        }
        ++feasible;
        CHECK(left->problem.compact().size() == 0);
        CHECK(left->problem.compact().constant() == p.cost(labels));
        for (const sw::usage_row& row : left->problem.compact().rows()) {  // met to the last bit or not, but kept
          CHECK(row.low <= sw::budget_tolerance);
          CHECK(row.high >= -sw::budget_tolerance);
        }
        CHECK(left->lift({}) == labels);
      }
    }
    CHECK(feasible > 100);
    CHECK(refused > 100);
  }

  TEST_CASE("costs in double are shared with copies as long as somebody has them") {
    sw::compact_builder<std::int64_t> builder;
    const std::vector<std::int64_t> unary{0, 0};
    for (int x = 0; x < 2; ++x) builder.add_variable(unary);
    const std::vector<std::int64_t> entries{1, sw::forbidden<std::int64_t>, 3, 4};
    builder.add_edge(0, 1,
                     std::make_shared<const sw::cost_table<std::int64_t>>(
                         sw::cost_table<std::int64_t>::from_entries(2, 2, entries)));
    const auto p = builder.build(), copy = p;
    auto costs = p.costs_in_double();
    CHECK(copy.costs_in_double() == costs);
    REQUIRE(costs->size() == 1);
    constexpr double inf = std::numeric_limits<double>::infinity();  // rows are padded to four
    CHECK(costs->front() == std::vector<double>{1, inf, inf, inf, 3, 4, inf, inf});
    const std::weak_ptr<const std::vector<std::vector<double>>> held = costs;
    costs.reset();
    CHECK(held.expired());
    CHECK(p.costs_in_double()->front()[5] == 4);
  }

  TEST_CASE("what is ruled out stays so, whatever is kept later") {
    const auto problem = sw::compile(small::pair_of_vertices());
    const auto& p = problem.compact();
    const std::vector<sw::strategy> some{0, 1}, others{1, 2};
    const auto left = sw::restriction<double>(p).keep(1, some).keep(1, others).build();
    REQUIRE(left);
    CHECK(left->kept[1] == std::vector<sw::strategy>{1});
    CHECK(left->open == std::vector<std::uint32_t>{0});
    CHECK(left->lift(std::vector<sw::strategy>{1}) == std::vector<sw::strategy>{1, 1});
    CHECK_FALSE(sw::restriction<double>(p).keep(1, some).fix(1, 2).build());
  }

  TEST_CASE("a forbidden addition rules its label out, and finite ones add up") {
    const auto problem = sw::compile(small::pair_of_vertices());
    const auto& p = problem.compact();
    const auto left = sw::restriction<double>(p)
                          .add_unary(0, 0, sw::forbidden<double>)
                          .add_unary(1, 2, 100)
                          .add_unary(1, 2, 1000)
                          .build();
    REQUIRE(left);
    CHECK(left->kept[0] == std::vector<sw::strategy>{1});
    // b at 2: its own 5, with a at 1: 2 and 50
    CHECK(left->problem.compact().cost(std::vector<sw::strategy>{2}) == 5 + 1100 + 2 + 50);
  }

  TEST_CASE("rows lose what is decided, and go where nothing can break them") {
    auto d = small::pair_of_vertices();
    d.constraints.budgets.push_back({"b", 0, 8, {{0, {1, 4}, {}}, {1, {3, 5, 7}, {}}}});
    const auto problem = sw::compile(d);
    const auto& p = problem.compact();
    REQUIRE(p.rows().size() == 1);
    const auto tight = sw::restriction<double>(p).fix(0, 0).build();
    REQUIRE(tight);
    CHECK(tight->problem.compact().rows().empty());  // 1 + 7 fits
    const auto over = sw::restriction<double>(p).fix(0, 1).build();
    REQUIRE(over);
    REQUIRE(over->problem.compact().rows().size() == 1);
    CHECK(over->problem.compact().rows()[0].high == 4);
    CHECK(over->problem.compact().usage(std::vector<sw::strategy>{1}) == std::vector<double>{5});
    CHECK_FALSE(sw::restriction<double>(p).fix(0, 1).fix(1, 2).build());  // 4 + 7
  }
}

TEST_SUITE("compile") {
  TEST_CASE("tied vertices use a budget together, at the times at which each of them lives") {
    for (const double limit : {7.0, 8.0}) {
      CAPTURE(limit);
      sw::placement_description<double> d;
      for (const char* name : {"a", "b", "c"}) small::vertex<double>(d, name, {1, 2});
      d.constraints.ties.push_back({{0, 2}, "layers"});
      // a and c overlap at time 4 alone; b lives always
      d.constraints.budgets.push_back(
          {"memory",
           -std::numeric_limits<double>::infinity(),
           limit,
           {{0, {4, 1}, sw::live_interval{0, 5}}, {1, {0, 0}, {}}, {2, {4, 1}, sw::live_interval{4, 9}}}});
      const auto problem = sw::compile(d);
      const auto stated = sw::evaluate(d, sw::assignment{0, 0, 0});
      if (limit == 8) {
        CHECK(stated.is_feasible());
        CHECK(problem.compact().rows().empty());  // nothing exceeds 8
      } else {
        CHECK(stated.violations == strings{"budget 'memory' uses 8 at time 4, more than its limit 7"});
        // the compiled problem says the same, one way or the other
        const auto labels = problem.labels_of(sw::assignment{0, 0, 0});
        CHECK((!labels || !problem.compact().keeps_rows(*labels)));
        const auto other = problem.labels_of(sw::assignment{1, 0, 1});
        REQUIRE(other);
        CHECK(problem.compact().keeps_rows(*other));
      }
    }
  }

  TEST_CASE("a budget that tied vertices cannot keep together is refused by name, though each alone would fit") {
    sw::placement_description<double> d;
    for (const char* name : {"a", "b"}) small::vertex<double>(d, name, {1});
    d.constraints.budgets.push_back({"parameters", 0, 7, {{0, {4}, {}}, {1, {4}, {}}}});
    d.constraints.ties.push_back({{0, 1}, "layers"});
    small::check_refused([&] { return sw::compile(d); }, sw::error_category::constraint,
                         "budget 'parameters' needs at least 8, but its limit is 7");
  }
}

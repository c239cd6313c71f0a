#include "solve/long_intervals.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace local_polytope_tests {
namespace {

std::optional<sw::placement_problem<double>> compiled(std::uint64_t seed) {
  try {
    return sw::compile(shardweave_test::draw_problem<double>(seed).description);
  } catch (const sw::error&) {
    return std::nullopt;
  }
}

/// Calls f with every label per variable, odometer-wise.
template <class F>
void for_all_labels(const sw::compact_problem<double>& p, F f) {
  std::vector<sw::strategy> labels(p.size());
  for (;;) {
    f(labels);
    std::size_t x = 0;
    while (x < p.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == p.size()) return;
  }
}

bool keeps_model_rows(const sw::linear_model& m, const std::vector<double>& value) {
  std::vector<double> sum(m.rows.size());
  for (const auto& e : m.entries) sum[e.row] += e.value * value[e.column];
  for (std::size_t r = 0; r < sum.size(); ++r)
    if (sum[r] < m.rows[r].low - 1e-9 || sum[r] > m.rows[r].high + 1e-9) return false;
  for (std::size_t j = 0; j < value.size(); ++j)
    if (value[j] < m.columns[j].low - 1e-9 || value[j] > m.columns[j].high + 1e-9) return false;
  return true;
}

void check_all_points(const sw::compact_problem<double>& p, std::size_t& points, std::size_t& outside) {
  sw::presence present(p);
  REQUIRE(sw::detail::tighten(p, present));
  const sw::local_polytope<double> polytope(p, present, true);
  CHECK_NOTHROW(sw::validate(polytope.model()));
  for_all_labels(p, [&](const std::vector<sw::strategy>& labels) {
    const auto value = polytope.primal_of(labels);
    if (sw::is_forbidden(p.cost(labels))) {
      CHECK((value.empty() || value.size() == polytope.model().columns.size()));
      return;
    }
    REQUIRE(value.size() == polytope.model().columns.size());
    CHECK(polytope.unscaled(polytope.model().objective_of(value)) == doctest::Approx(p.cost(labels)).epsilon(1e-10));
    CHECK(keeps_model_rows(polytope.model(), value) == p.keeps_rows(labels));
    CHECK((value.empty() || polytope.labels_of(value) == labels));
    ++points;
    if (!p.keeps_rows(labels)) ++outside;
  });
}

}  // namespace

TEST_SUITE("local_polytope") {
  TEST_CASE("every labeling is a point of the program with its cost, inside exactly if it is feasible") {
    std::size_t points = 0, outside = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(250U, 60U); ++seed) {
      CAPTURE(seed);
      if (const auto problem = compiled(seed)) check_all_points(problem->compact(), points, outside);
    }
    CHECK(points > shardweave_test::sized(5000U, 1200U));
    CHECK(outside > shardweave_test::sized(500U, 120U));
  }
  TEST_CASE("the same holds where rows are chained") {
    std::size_t points = 0, outside = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(40); ++seed) {
      CAPTURE(seed);
      const auto p = shardweave_test::long_intervals(seed);
      const sw::local_polytope<double> polytope(p, sw::presence(p), false);
      std::size_t free_below = 0;
      for (const auto& c : polytope.model().columns)
        if (std::isinf(c.low)) ++free_below;
      CHECK(free_below > 30);  // the levels of usage
      check_all_points(p, points, outside);
    }
    CHECK(points - outside > shardweave_test::at_scale(100));
    CHECK(outside > shardweave_test::at_scale(5000));
  }
  TEST_CASE("pairs cost columns by class, not by strategy") {
    constexpr std::size_t k = 300;
    std::vector<double> entries(k * k);
    for (std::size_t a = 0; a < k; ++a)
      for (std::size_t b = 0; b < k; ++b)
        entries[a * k + b] = a % 3 == b % 4 ? 0 : static_cast<double>(1 + (a % 3) * (b % 4));
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>(k, 1.0));
    builder.add_variable(std::vector<double>(k, 2.0));
    builder.add_edge(
        0, 1, std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(k, k, entries)));
    const auto p = builder.build();
    const sw::local_polytope<double> polytope(p, sw::presence(p), false);
    CHECK(polytope.model().columns.size() == 2 * k + 3 * 4);
    CHECK(polytope.model().rows.size() == 2 + 3 + 4 - 1);
  }
  TEST_CASE("a table that is a sum of one cost per end has no columns") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{0, 1, 5});
    builder.add_variable(std::vector<double>{0, 3});
    builder.add_edge(0, 1,
                     std::make_shared<const sw::cost_table<double>>(
                         sw::cost_table<double>::from_entries(3, 2, std::vector<double>{1, 8, 2, 9, 4, 11})));
    const auto p = builder.build();
    const sw::local_polytope<double> polytope(p, sw::presence(p), false);
    CHECK(polytope.model().columns.size() == 5);
    CHECK(polytope.model().rows.size() == 2);
    CHECK(polytope.unscaled(polytope.model().objective_of(polytope.primal_of(std::vector<sw::strategy>{2, 1}))) ==
          doctest::Approx(5 + 3 + 11));
  }
  TEST_CASE("long segments are written by their ends") {
    constexpr std::uint32_t rows = 200;
    sw::compact_builder<double> builder;
    for (std::uint32_t x = 0; x < 20; ++x) builder.add_variable(std::vector<double>{3, 2, 1});
    for (std::uint32_t r = 0; r < rows; ++r) builder.add_row({-std::numeric_limits<double>::infinity(), 30, 0, r});
    for (std::uint32_t x = 0; x < 20; ++x) builder.add_segment(x, {x, rows - x, {1, 2, 3}});
    const auto p = builder.build();
    const sw::local_polytope<double> polytope(p, sw::presence(p), false);
    CHECK(polytope.model().entries.size() <= 20 * 3 + 20 * 3 * 2 + 2 * rows);
    CHECK(polytope.model().columns.size() == 20 * 3 + rows);
  }
  TEST_CASE("usage that rounding left over has no weight") {  // by which backends scale, and then answer anything
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{3, 2, 1});
    builder.add_row({-std::numeric_limits<double>::infinity(), 3, 0, 0});
    builder.add_segment(0, {0, 1, {4, 0.1 + 0.2 - 0.3, 1e-9}});
    const auto p = builder.build();
    const sw::local_polytope<double> polytope(p, sw::presence(p), false);
    std::vector<double> weights;
    for (const auto& e : polytope.model().entries)
      if (e.row == 1) weights.push_back(e.value);
    CHECK(weights == std::vector<double>{1, 1e-9 / 4});
  }
  TEST_CASE("costs are scaled to one size whatever their unit is") {
    for (const double unit : {1e-12, 1.0, 1e12}) {
      sw::compact_builder<double> builder;
      builder.add_variable(std::vector<double>{7 * unit, 2 * unit, 90 * unit});
      builder.add_constant(5 * unit);
      const auto p = builder.build();
      const sw::local_polytope<double> polytope(p, sw::presence(p), false);
      double most = 0;
      for (const auto& c : polytope.model().columns) most = std::max(most, c.objective);
      CHECK(most <= 0x1p20);
      CHECK(most > 0x1p19);
      CHECK(polytope.unscaled(polytope.model().offset) == doctest::Approx(7 * unit));
    }
  }
  TEST_CASE("a cost that is no number is refused") {
    sw::compact_builder<double> builder;
    builder.add_variable(std::vector<double>{1, std::nan("")});
    const auto p = builder.build();
    CHECK_THROWS_WITH_AS(sw::local_polytope<double>(p, sw::presence(p), false),
                         "variable 0 has cost nan at label 1, expected a finite number", sw::error);
  }
}

TEST_SUITE("dual_bound") {
  TEST_CASE("whatever the multipliers are, no feasible assignment costs less") {
    sw::random_source random(11);
    std::size_t tried = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      const auto problem = compiled(seed);
      if (!problem) continue;
      const auto& p = problem->compact();
      double best = std::numeric_limits<double>::infinity();
      for_all_labels(p, [&](const std::vector<sw::strategy>& labels) {
        if (p.keeps_rows(labels)) best = std::min(best, p.cost(labels));
      });
      if (std::isinf(best)) continue;
      for (int draw = 0; draw < 10; ++draw) {
        const double size = std::pow(10.0, static_cast<double>(random.below(7)) - 3);
        sw::dual_values dual;
        for (std::size_t k = sw::dual_offsets(p).back(); k-- > 0;)
          dual.of_class.push_back(size * (random.unit() - 0.5));
        for (std::size_t r = p.rows().size(); r-- > 0;) dual.of_row.push_back(size * (random.unit() - 0.5));
        const double bound = sw::dual_bound(p, dual);
        CAPTURE(seed);
        CHECK(bound <= best);
        nearest = std::min(nearest, best - bound);
        ++tried;
      }
    }
    CHECK(tried > 1000);
    CHECK(nearest < 0.01);
  }
  TEST_CASE("what is dropped under an upper bound is in no assignment that meets it") {
    std::size_t dropped = 0;
    for (std::uint64_t seed = 500; seed <= 900; ++seed) {
      const auto problem = compiled(seed);
      if (!problem) continue;
      const auto& p = problem->compact();
      double best = std::numeric_limits<double>::infinity();
      for_all_labels(p, [&](const std::vector<sw::strategy>& labels) {
        if (p.keeps_rows(labels)) best = std::min(best, p.cost(labels));
      });
      if (std::isinf(best)) continue;
      sw::presence present(p);
      dropped += sw::detail::reparametrization<double>(p, {}, present).drop_above(best + 1e-9, present);
      CAPTURE(seed);
      CHECK(sw::detail::tighten(p, present));
      const sw::local_polytope<double> polytope(p, present, true);
      for_all_labels(p, [&](const std::vector<sw::strategy>& labels) {
        if (!p.keeps_rows(labels) || p.cost(labels) > best) return;
        for (std::size_t x = 0; x < p.size(); ++x) CHECK(present.has_label(p.label_start(x) + labels[x]));
        CHECK(polytope.primal_of(labels).size() == polytope.model().columns.size());
      });
    }
    CHECK(dropped > 500);
  }
}

}  // namespace local_polytope_tests

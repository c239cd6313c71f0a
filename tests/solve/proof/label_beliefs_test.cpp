#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/proof/detail/label_beliefs.hpp>
#include <shardweave/solve/proof/detail/row_sums.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace label_beliefs_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::least_by_label;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-6;

/// Any multipliers, and any amounts in rows.
sw::dual_values any_multipliers(const sw::compact_problem<double>& p, sw::random_source& random) {
  sw::dual_values dual{std::vector<double>(sw::dual_offsets(p).back()), std::vector<double>(p.rows().size())};
  for (double& a : dual.of_class) a = 20 * random.unit() - 10;
  for (double& price : dual.of_row) price = random.chance(0.5) ? 0 : 2 * random.unit() - 1;
  return dual;
}
std::vector<sw::row_amounts> any_amounts(const sw::compact_problem<double>& p, sw::random_source& random) {
  std::vector<sw::row_amounts> all;
  for (std::uint32_t r = 0; r < p.rows().size(); ++r) {
    if (random.chance(0.3)) continue;
    sw::row_amounts& row = all.emplace_back(sw::row_amounts{.row = r});
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      if (random.chance(0.2)) continue;
      auto& amounts = row.members.emplace_back(sw::row_amounts::member{.variable = x}).amounts;
      for (std::size_t l = 0; l < p.label_count(x); ++l) amounts.push_back(30 * random.unit() - 15);
    }
  }
  return all;
}

/// Whole usages as they are, as halves, or as thirds, which no power of two divides.
sw::compact_problem<double> draw_with_usage(std::uint64_t seed, double factor) {
  const auto p = draw_small<double>(seed, {.variables = 5, .forbidden = 0.1, .rows = 2, .usage = 1});
  sw::compact_builder<double> builder;
  for (std::uint32_t x = 0; x < p.size(); ++x) builder.add_variable(std::vector(p.unary(x).begin(), p.unary(x).end()));
  for (const sw::compact_edge& e : p.edges()) builder.add_edge(e.first, e.second, p.tables()[e.table]);
  for (std::uint32_t x = 0; x < p.size(); ++x)
    for (sw::usage_segment s : p.segments(x)) {
      for (double& u : s.usage) u *= factor;
      builder.add_segment(x, std::move(s));
    }
  for (sw::usage_row row : p.rows()) {
    row.high *= factor;
    builder.add_row(row);
  }
  return builder.build();
}

/// All of a compiled problem.
sw::detail::variable_origin all_variables(const sw::compact_problem<double>& p) {
  sw::detail::variable_origin origin;
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    auto& labels = origin.emplace_back(x, std::vector<sw::strategy>(p.label_count(x))).second;
    std::iota(labels.begin(), labels.end(), sw::strategy{});
  }
  return origin;
}

}  // namespace

TEST_SUITE("detail::label_beliefs") {
  TEST_CASE("whatever multipliers and amounts in rows are, no labeling is below what they say of it") {
    std::size_t no_room = 0, raised = 0, impossible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      CAPTURE(seed);
      constexpr double factors[]{1, 0.5, 1.0 / 3, 1e9, 1e-7};
      const auto p = draw_with_usage(seed, factors[seed % 5]);
      sw::random_source random(seed * 2 + 1);
      const auto dual = any_multipliers(p, random);
      const auto rows = any_amounts(p, random);
      const std::vector<double> least = least_by_label(p);
      const double optimum = *std::ranges::min_element(least);
      const auto plain = sw::detail::beliefs_by(p, dual), found = sw::detail::beliefs_by(p, dual, rows);
      CHECK(found.bound <= optimum + rounding);
      REQUIRE(found.excess.size() == least.size());
      if (std::isinf(found.bound)) {
        ++impossible;
        continue;
      }
      for (std::size_t l = 0; l < least.size(); ++l) {
        CHECK(found.bound + found.excess[l] <= least[l] + rounding);
        no_room += found.excess[l] == infinite && plain.excess[l] < infinite ? 1U : 0U;
        raised += found.bound + found.excess[l] > plain.bound + plain.excess[l] + rounding ? 1U : 0U;
      }
      const auto none = sw::detail::beliefs_by(p, dual, {});
      CHECK(none.bound == plain.bound);
      CHECK(none.excess == plain.excess);
    }
    CHECK(no_room > at_scale(20));
    CHECK(raised > at_scale(50));
    CHECK(impossible == 0);  // the first labels keep all rows
  }
  TEST_CASE("with what an ascent put into rows they say what it proves, labels too, and so does a certificate") {
    std::size_t strengthened = 0, lumpy = 0, stated_too = 0, dropped = 0;
    for (std::uint64_t seed = 0; seed < at_scale(8000); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<double>(
          seed, {.forbidden = seed % 2 == 0, .fixed = false, .impossible = false, .max_assignments = 512});
      const auto& d = stated.description;
      if (d.constraints.budgets.empty()) continue;
      const auto best = shardweave_test::brute_force(stated);
      if (!best.objective) continue;
      const auto problem = sw::compile(d);
      const auto& p = problem.compact();
      sw::price_ascent<double> ascent(p);
      for (int step = 0; step < 60; ++step)
        if (!ascent.step(*best.objective)) break;
      const double without = ascent.bound();
      if (p.size() == 0 || !ascent.strengthen(std::size_t{1} << 20)) continue;
      ++strengthened;
      for (int step = 0; step < 60; ++step)
        if (!ascent.step(*best.objective)) break;
      const sw::dual_values dual = ascent.multipliers();
      const auto rows = ascent.amounts();
      REQUIRE(!rows.empty());
      const auto beliefs = sw::detail::beliefs_by(p, dual, rows);
      const double near = rounding * (1 + std::abs(*best.objective));
      CHECK(beliefs.bound <= *best.objective + near);
      CHECK(beliefs.bound >= ascent.bound() - 10 * near);
      lumpy += beliefs.bound > without + near ? 1U : 0U;
      const std::vector<double> least = least_by_label(p);
      for (std::size_t l = 0; l < least.size(); ++l) CHECK(beliefs.bound + beliefs.excess[l] <= least[l] + near);

      const sw::stated_form<double> form(d);
      sw::strategies_left left = form.all_left();
      form.propagate(left);
      std::size_t all_left = 0;
      for (const auto& of : left) all_left += static_cast<std::size_t>(std::ranges::count(of, 1));
      if (all_left != p.total_labels()) continue;  // compilation removed some
      ++stated_too;
      const sw::detail::stated_multipliers<double> in_stated(problem, form);
      const sw::detail::variable_origin origin = all_variables(p);
      sw::detail::kept_labels kept;
      for (const auto& [x, labels] : origin) kept.push_back(labels);
      sw::placement_certificate<double> c{.lower_bound = beliefs.bound};
      c.multipliers.push_back(in_stated(p, origin, kept, dual, nullptr, nullptr, rows));
      REQUIRE(c.multipliers[0].knapsacks.size() == rows.size());
      c.cases.push_back({.multipliers = 0});
      const auto proven = sw::proven_by(d, c);
      REQUIRE_MESSAGE(proven.accepted, proven.failure);
      CHECK(proven.bound <= *best.objective + near);
      CHECK(proven.bound >= beliefs.bound - near);
      // what is said of a label is what a checker drops its strategy for
      for (std::uint32_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          const double with = beliefs.bound + beliefs.excess[p.label_start(x) + l];
          if (with < beliefs.bound + 10 * near || p.label_count(x) == 1) continue;
          ++dropped;
          auto narrowed = c;
          narrowed.lower_bound = std::min(with, *best.objective + 1000) - near;
          narrowed.cases[0].cases = {1};
          std::vector<sw::strategy> others, own;
          const std::uint32_t v = in_stated.vertex(x);
          for (sw::strategy s = 0; s < d.vertices[v].compute.size(); ++s)
            (s == in_stated.stated(x, l) ? own : others).push_back(s);
          narrowed.cases.push_back({.vertex = v, .parts = {own, others}, .cases = {2, 3}});
          narrowed.cases.push_back({.multipliers = 0});  // nothing is left: whatever is claimed holds
          narrowed.cases.push_back({.multipliers = 0});
          const auto verdict = sw::check_certificate(d, narrowed);
          CHECK(verdict.failure.find("cases[2]") == std::string::npos);
        }
    }
    CHECK(strengthened > at_scale(100));
    CHECK(lumpy > at_scale(30));
    CHECK(stated_too > at_scale(50));
    CHECK(dropped > at_scale(300));
  }
  TEST_CASE("sums of a row are counted in cells of what usage has in common, and there is none without room") {
    sw::compact_builder<double> builder;
    for (int x = 0; x < 4; ++x) builder.add_variable(std::vector<double>{0, 0});
    for (std::uint32_t x = 0; x < 3; ++x) builder.add_segment(x, {0, 2, {0.25, 1}});
    builder.add_row({.high = 0.75 + 1.7});  // two of 0.75 beyond what all take
    builder.add_row({.high = 0.7, .time = 1});
    const auto p = builder.build();
    const sw::row_amounts of{.row = 0, .members = {{0, {5, 0}}, {1, {4, 1}}, {3, {2, 3}}}};
    const auto sums = sw::detail::row_sums_of(p, of);
    REQUIRE(sums);
    CHECK(sums->least == 0 + 1 + 2);
    CHECK(sums->more == std::vector<std::vector<double>>{{5, 0}, {3, 0}, {0, 1}});
    const sw::row_amounts all{.row = 0, .members = {{0, {5, 0}}, {1, {4, 0}}, {2, {3, 0}}}};
    CHECK(sw::detail::row_sums_of(p, all)->least == 3);
    CHECK(sw::detail::row_sums_of(p, all)->more == std::vector<std::vector<double>>{{2, 0}, {1, 0}, {0, 1}});
    CHECK(!sw::detail::row_sums_of(p, {.row = 1, .members = {{0, {0, 0}}}}));
  }
}

}  // namespace label_beliefs_tests

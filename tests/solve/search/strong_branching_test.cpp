#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/search/detail/strong_branching.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::table_of;

namespace strong_branching_tests {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr auto never = [] { return false; };

/// Cycles of two variables and a hub that all share, in each of which one of the three edges costs 2 whatever they do:
/// for each it is free in the relaxation, with every label as good as another.
sw::compact_problem<std::int64_t> with_a_hub(std::uint32_t cycles) {
  sw::compact_builder<std::int64_t> builder;
  const auto equal = table_of<std::int64_t>(2, 2, {0, 2, 2, 0}), other = table_of<std::int64_t>(2, 2, {2, 0, 0, 2});
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < 2 * cycles; ++i) ends.push_back(builder.add_variable(std::vector<std::int64_t>{0, 0}));
  builder.add_constant(100);
  const std::uint32_t hub = builder.add_variable(std::vector<std::int64_t>{0, 0});
  for (std::uint32_t i = 0; i < cycles; ++i) {
    builder.add_edge(ends[2 * i], ends[2 * i + 1], other);
    builder.add_edge(ends[2 * i], hub, equal);
    builder.add_edge(ends[2 * i + 1], hub, equal);
  }
  return builder.build();
}

double least_with(const sw::compact_problem<std::int64_t>& p, const std::vector<char>& allowed, std::size_t x,
                  const label_list& of_x) {
  double least = infinite;
  for_all_labelings<std::int64_t>(p, [&](const label_list& labels) {
    for (std::size_t y = 0; y < p.size(); ++y)
      if (allowed[p.label_start(y) + labels[y]] == 0) return;
    if (std::find(of_x.begin(), of_x.end(), labels[x]) == of_x.end() || !p.keeps_rows(labels)) return;
    least = std::min(least, static_cast<double>(p.cost(labels)));
  });
  return least;
}

}  // namespace

TEST_SUITE("strong_branching") {
  TEST_CASE("the variable that all cycles share is chosen, and bounds all of them at once") {
    const auto p = with_a_hub(5);
    sw::price_ascent<std::int64_t> ascent(p);
    for (int i = 0; i < 200 && ascent.step(infinite); ++i) {
    }
    CHECK(ascent.bound() < 101);  // each cycle costs 2
    const double bound = ascent.bound();
    const std::vector<double> least = ascent.label_bounds();
    const std::vector<char> all(p.total_labels(), 1);
    sw::detail::strong_branching branch(p.size());
    const auto chosen = branch.choose<std::int64_t>(p, sw::detail::origin_of(p), ascent, all, least, bound,
                                                    sw::detail::incumbent<std::int64_t>(), never);
    CHECK(chosen.variable == p.size() - 1);
    REQUIRE(chosen.parts.size() == 2);
    CHECK(chosen.bounds[0] == doctest::Approx(110));
    CHECK(chosen.bounds[1] == doctest::Approx(110));
  }
  TEST_CASE("parts have each label that is left once, and bounds hold for all labelings with them") {
    std::size_t split = 0, closed = 0, restricted = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(
          seed,
          {.variables = 6, .density = 0.9, .forbidden = seed % 3 == 0 ? 0.2 : 0.0, .rows = seed % 2 == 0 ? 2U : 0U});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::detail::incumbent<std::int64_t> best;
      if (seed % 4 != 0) best.set_cutoff(*optimum + static_cast<std::int64_t>(seed % 4));
      sw::random_source random(seed);
      std::vector<char> allowed(p.total_labels(), 1);
      for (std::size_t x = 0; x < p.size(); ++x)  // not the first, so that something is left
        for (std::size_t at = p.label_start(x) + 1; at < p.label_start(x) + p.label_count(x); ++at)
          if (seed % 5 == 0 && random.chance(0.2)) allowed[at] = 0;
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 5; ++i) ascent.step(best.upper());
      sw::detail::go_to_part(ascent, ascent.position(), std::span<const char>(allowed), ascent.bound(), best);
      for (int i = 0; i < 50 && ascent.step(best.upper()); ++i) {
      }
      const double bound = ascent.bound();
      const std::vector<double> least = ascent.label_bounds();
      if (best.closes(bound)) continue;
      sw::detail::strong_branching branch(p.size());
      const auto chosen =
          branch.choose<std::int64_t>(p, sw::detail::origin_of(p), ascent, allowed, least, bound, best, never);
      if (chosen.parts.empty()) continue;
      ++split;
      restricted += std::count(allowed.begin(), allowed.end(), 0) > 0 ? 1U : 0U;
      REQUIRE(chosen.parts.size() == chosen.bounds.size());
      label_list all;
      for (std::size_t i = 0; i < chosen.parts.size(); ++i) {
        all.insert(all.end(), chosen.parts[i].begin(), chosen.parts[i].end());
        const double most = least_with(p, allowed, chosen.variable, chosen.parts[i]);
        CHECK(chosen.bounds[i] >= bound);
        if (std::isinf(chosen.bounds[i])) ++closed;
        // a part without a bound of its own costs no less than the incumbent
        CHECK(std::min(chosen.bounds[i], best.upper()) <= most + 1e-6);
      }
      std::sort(all.begin(), all.end());
      label_list left;
      for (sw::strategy l = 0; l < p.label_count(chosen.variable); ++l)
        if (allowed[p.label_start(chosen.variable) + l] != 0) left.push_back(l);
      CHECK(all == left);
    }
    CHECK(split > 5);
    CHECK(closed > 0);
    CHECK(restricted > 0);
  }
  TEST_CASE("a large problem is split by trials where they gain much, by usage where not, and then trials wait") {
    const auto ask = [](sw::detail::strong_branching& branch, const sw::compact_problem<std::int64_t>& p) {
      sw::price_ascent<std::int64_t> ascent(p);
      for (int i = 0; i < 100 && ascent.step(infinite); ++i) {
      }
      const std::vector<double> least = ascent.label_bounds();
      const sw::detail::incumbent<std::int64_t> unknown;
      const auto by_usage = sw::detail::split_by_usage(p, std::span<const double>(), std::span<const double>(least),
                                                       sw::detail::near_bound<std::int64_t>(least, unknown));
      const std::size_t before = branch.steps();
      const auto chosen = branch.choose_or_split_by_usage<std::int64_t>(
          p, sw::detail::origin_of(p), ascent, std::span<const double>(), least, ascent.bound(), unknown, never);
      CHECK(chosen.bounds.empty() == (chosen.parts == by_usage.parts && chosen.variable == by_usage.variable));
      return std::pair(chosen.variable, branch.steps() > before);
    };
    const auto small = with_a_hub(5), large = with_a_hub(250);
    REQUIRE(large.total_labels() >= sw::detail::strong_branching::least_labels);
    sw::compact_builder<std::int64_t> builder;  // nothing is undecided but by ties
    for (int x = 0; x < 500; ++x) builder.add_variable(std::vector<std::int64_t>{0, 0});
    const auto loose = builder.build();
    sw::detail::strong_branching branch(large.size());
    CHECK(ask(branch, small) == std::pair<std::size_t, bool>(0, false));
    CHECK(ask(branch, large) == std::pair<std::size_t, bool>(large.size() - 1, true));
    for (const bool tries : {true, false, true, false, false, true, false}) CHECK(ask(branch, loose).second == tries);
    for (int waits = 0; waits < 3; ++waits) CHECK(!ask(branch, large).second);
    CHECK(ask(branch, large) == std::pair<std::size_t, bool>(large.size() - 1, true));
    CHECK(ask(branch, loose).second);  // and begins with one again
    CHECK(!ask(branch, large).second);
    CHECK(ask(branch, large).second);
  }
  TEST_CASE("there are no parts where the time is up") {
    const auto p = with_a_hub(3);
    sw::price_ascent<std::int64_t> ascent(p);
    ascent.step(infinite);
    const std::vector<double> least = ascent.label_bounds();
    const std::vector<char> all(p.total_labels(), 1);
    sw::detail::strong_branching branch(p.size());
    CHECK(branch
              .choose<std::int64_t>(p, sw::detail::origin_of(p), ascent, all, least, ascent.bound(),
                                    sw::detail::incumbent<std::int64_t>(), [] { return true; })
              .parts.empty());
  }
}
}  // namespace strong_branching_tests

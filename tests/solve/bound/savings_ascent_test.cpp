#include "solve/bound/priced_terms.hpp"
#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace savings_ascent_tests {
namespace {

namespace sw = shardweave;
using priced_terms::draw_terms;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Per label the least cost, savings counted, of a labeling that has it and keeps all rows.
std::vector<double> least_with_savings(const sw::compact_problem<double>& p, const sw::savings_terms<double>& terms) {
  std::vector<double> least(p.total_labels(), infinite);
  for_all_labelings<double>(p, [&](const label_list& labels) {
    const auto cost = naive_cost(p, labels);
    if (!cost || !naive_rows(p, labels)) return;
    const double objective = *cost - sw::savings_of(terms, std::span<const sw::strategy>(labels));
    for (std::size_t x = 0; x < p.size(); ++x) {
      double& at = least[p.label_start(x) + labels[x]];
      at = std::min(at, objective);
    }
  });
  return least;
}

}  // namespace

TEST_SUITE("savings_ascent") {
  TEST_CASE("bounds of the problem and of each label hold with savings, and rise above those of the first prices") {
    std::size_t raised = 0, met = 0, problems = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 4,
                                               .most_labels = 3,
                                               .density = 0.4,
                                               .forbidden = 0.2,
                                               .rows = static_cast<std::uint32_t>(seed % 2)});
      const auto terms = draw_terms(seed, p);
      const std::vector<double> least = least_with_savings(p, terms);
      const double optimum = *std::min_element(least.begin(), least.end());
      if (optimum == infinite) continue;
      ++problems;
      sw::savings_ascent<double> ascent(p, terms);
      ascent.step(optimum);
      const double at_first = ascent.bound();
      double last = at_first;
      for (int i = 0; i < 30 && ascent.step(optimum); ++i) {
        CHECK(ascent.bound() >= last);
        last = ascent.bound();
      }
      CHECK(ascent.bound() <= optimum + 1e-9);
      raised += ascent.bound() > at_first + 0.1 ? 1U : 0U;
      met += ascent.bound() > optimum - 1e-3 ? 1U : 0U;
      const std::vector<double> bounds = ascent.label_bounds();
      for (std::size_t l = 0; l < bounds.size(); ++l) CHECK(bounds[l] <= least[l] + 1e-9);
    }
    CHECK(raised > problems / 4);
    CHECK(met > problems / 4);
  }

  TEST_CASE("labelings have shares of one in all, cuts count once, and the best cuts of one start the next") {
    const auto p = draw_small<double>(3, {.variables = 4, .most_labels = 3});
    const auto terms = draw_terms(3, p);
    sw::savings_ascent<double> ascent(p, terms);
    CHECK(ascent.points() == 0);
    CHECK(ascent.value_of({}) == infinite);
    while (ascent.step(infinite)) {
    }
    REQUIRE(ascent.points() > 0);
    const std::vector<double> shares = ascent.shares();
    for (std::size_t x = 0; x < p.size(); ++x) {
      double sum = 0;
      for (std::size_t l = 0; l < p.label_count(x); ++l) sum += shares[p.label_start(x) + l];
      CHECK(sum == doctest::Approx(1));
    }
    for (std::size_t k = 0; k < ascent.points(); ++k)
      for (std::size_t x = 0; x < p.size(); ++x) CHECK(ascent.label(k, x) < p.label_count(x));
    const auto cuts = ascent.cuts();
    for (std::size_t i = 0; i < cuts.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) CHECK(cuts[i]->price != cuts[j]->price);
    sw::savings_ascent<double> again(p, terms, {}, cuts);
    again.start(ascent.best_chain());
    again.step(infinite);
    CHECK(again.bound() >= ascent.bound() - 1e-6);
  }

  TEST_CASE("no more than 24 cuts are handed on, however many it is given, and bounds that begin with these hold") {
    for (std::uint64_t seed = 0; seed < at_scale(40); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<double>(seed, {.variables = 5, .most_labels = 3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      sw::chain_prices<double> chain(terms);
      std::vector<sw::savings_ascent<double>::cut_pointer> given;
      while (given.size() < 40) {
        for (double& price : chain.values()) price = random.unit();
        chain.update();
        given.push_back(std::make_shared<const sw::savings_cut>(sw::savings_cut{chain.values(), chain.saved()}));
      }
      sw::savings_ascent<double> ascent(p, terms, {}, given);
      CHECK(ascent.cuts().size() == 24);
      const std::vector<double> least = least_with_savings(p, terms);
      const double optimum = *std::min_element(least.begin(), least.end());
      while (ascent.step(optimum)) {
      }
      CHECK(ascent.bound() <= optimum + 1e-9);
      const auto cuts = ascent.cuts();
      CHECK(cuts.size() == 24);
      for (std::size_t i = 0; i < cuts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK(cuts[i]->price != cuts[j]->price);
      sw::savings_ascent<double> again(p, terms, {}, cuts);
      again.step(optimum);
      CHECK(again.bound() <= optimum + 1e-9);
    }
  }

  TEST_CASE("prices of rows start within what limits allow, or, of another number, not at all") {
    const auto p = draw_small<double>(5, {.variables = 3, .rows = 2});
    const auto terms = draw_terms(5, p);
    sw::savings_ascent<double> ascent(p, terms);
    ascent.start_rows({2, -3});  // there are upper limits only
    ascent.step(infinite);
    CHECK(ascent.best_rows() == std::vector<double>{2, 0});
    sw::savings_ascent<double> other(p, terms);
    other.start_rows({2});
    other.step(infinite);
    CHECK(other.best_rows() == std::vector<double>{0, 0});
  }
}

}  // namespace savings_ascent_tests

#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/certificate.hpp>
#include <shardweave/solve/search/certify.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;

namespace certificate_tests {
namespace {

std::size_t messages_of(const auto& p) {
  std::size_t count = 0;
  for (const sw::compact_edge& e : p.edges()) count += p.table(e).column_classes();
  return count;
}

template <class Certificate = sw::certificate>
std::string refusal_of(const auto& p, const Certificate& c) {
  try {
    static_cast<void>(sw::check(p, c));
  } catch (const sw::error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("certificate") {
  TEST_CASE_TEMPLATE("any numbers prove a bound that no labeling is below", Cost, double, std::int64_t) {
    std::size_t feasible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 4,
                                             .density = 0.7,
                                             .forbidden = seed % 3 == 0 ? 0.3 : 0.0,
                                             .rows = static_cast<std::uint32_t>(seed % 4),
                                             .lower_limits = 0.4});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      ++feasible;
      sw::random_source random(seed);
      for (int trial = 0; trial < 6; ++trial) {
        sw::certificate c{.cost_bits = static_cast<int>(random.below(20)),
                          .price_bits = static_cast<int>(random.below(30))};
        const double unit = std::ldexp(1.0, c.cost_bits), price_unit = std::ldexp(1.0, c.price_bits);
        for (std::size_t i = 0; i < messages_of(p); ++i)
          c.messages.push_back(static_cast<std::int64_t>(unit * (60 * random.unit() - 30)));
        for (std::size_t r = 0; r < p.rows().size(); ++r)
          c.prices.push_back(static_cast<std::int64_t>(price_unit * (6 * random.unit() - 3)));
        CHECK(sw::check(p, c) <= *optimum);
      }
      CHECK(sw::check(p, sw::certificate{}) <= *optimum);
    }
    CHECK(feasible > at_scale(300));
  }
  TEST_CASE("fractions are rounded towards a lower bound") {
    sw::compact_builder<double> builder;
    builder.add_constant(0.1);
    builder.add_variable(std::vector<double>{0.3, 1.0 / 3});
    builder.add_row({.high = 0.75});
    builder.add_segment(0, {0, 1, {1.0, 0.7}});
    const auto p = builder.build();
    CHECK(sw::check(p, {.cost_bits = 0}) == 0);
    const double at_fine = sw::check(p, {.cost_bits = 50});
    CHECK(at_fine <= 0.4);
    CHECK(at_fine > 0.4 - 1e-12);
    // the first label does not fit, and a price makes that known
    const double priced = sw::check(p, {.cost_bits = 40, .price_bits = 20, .prices = {1 << 18}});
    CHECK(priced > at_fine);
    CHECK(priced <= 0.1 + 1.0 / 3);
  }
  TEST_CASE("trees are certified exactly, and whole costs up to the next integer") {
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 6, .density = 0, .forbidden = 0.25});
      const sw::certificate c = sw::certify(p);
      CHECK(sw::check(p, c) == *brute_optimum_of(p));
      CHECK(c.lower_bound == static_cast<double>(*brute_optimum_of(p)));
    }
  }
  TEST_CASE_TEMPLATE("what message passing reaches with prices is certified", Cost, double, std::int64_t) {
    double certified = 0, reached = 0, optima = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 5, .density = 0.6, .rows = 3});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      sw::price_ascent<Cost> ascent(p);
      for (int i = 0; i < 400 && ascent.step(std::numeric_limits<double>::infinity()); ++i) {
      }
      const sw::certificate c = sw::certificate_of(p, ascent.at_best(), ascent.prices());
      CHECK(c.lower_bound <= static_cast<double>(*optimum));
      CHECK(c.lower_bound >= ascent.bound() - 1e-4 * std::max(1.0, std::abs(ascent.bound())));
      CHECK(static_cast<double>(sw::check(p, c)) == c.lower_bound);
      certified += c.lower_bound;
      reached += ascent.bound();
      optima += static_cast<double>(*optimum);
    }
    CHECK(certified > reached - 1e-3 * std::abs(reached));
    CHECK(certified <= optima);
  }
  TEST_CASE("integers near the largest are summed exactly") {
    constexpr std::int64_t huge = std::int64_t{1} << 61;
    sw::compact_builder<std::int64_t> builder;
    builder.add_variable(std::vector<std::int64_t>{huge + 1, huge + 3});
    builder.add_variable(std::vector<std::int64_t>{huge + 5, huge + 7});
    const auto p = builder.build();
    CHECK(sw::check(p, sw::certificate{}) == 2 * huge + 6);
    CHECK(sw::check(p, {.cost_bits = 40}) == 2 * huge + 6);
    CHECK(sw::check(p, {.cost_bits = 80}) == std::numeric_limits<std::int64_t>::lowest());
  }
  TEST_CASE("a price against a limit that is not there proves nothing, and nothing wrong") {
    const auto p = draw_small<std::int64_t>(4, {.variables = 4, .rows = 2});
    sw::certificate c;
    c.prices = {-5, -7};
    CHECK(sw::check(p, c) == sw::check(p, sw::certificate{}));
  }
  TEST_CASE("a certificate of another problem is refused") {
    const auto p = draw_small<double>(3, {.variables = 4, .density = 1, .rows = 2});
    CHECK(refusal_of(p, {.prices = {1}}) == "certificate: has 1 prices, expected 2 or none");
    CHECK(refusal_of(p, {.messages = {1}}) ==
          "certificate: has 1 messages, expected " + std::to_string(messages_of(p)) + " or none");
    CHECK(refusal_of(p, {.cost_bits = -1}) == "certificate: has units of -1 bits, expected 0 to 100");
  }
}

TEST_SUITE("certificate_by_cases") {
  TEST_CASE("cases are proven one by one, and prove more than one certificate of the whole") {
    double by_cases = 0, whole = 0, optima = 0;
    std::size_t divided = 0;
    for (std::uint64_t seed = 0; seed < at_scale(16); ++seed) {
      const auto p = draw_small<std::int64_t>(
          seed,
          {.variables = 6, .density = 0.7, .forbidden = seed % 3 == 0 ? 0.2 : 0.0, .rows = seed % 4 == 3 ? 0U : 2U});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      INFO("seed ", seed);
      const sw::certificate_by_cases c = sw::certify_by_cases(p, *optimum, 100, 30);
      CHECK(c.lower_bound <= static_cast<double>(*optimum));
      CHECK(static_cast<double>(sw::check(p, c)) == c.lower_bound);
      divided += c.parts.size() > 1;
      by_cases += c.lower_bound;
      whole += sw::certify(p, {}, 100).lower_bound;
      optima += static_cast<double>(*optimum);
    }
    CHECK(divided > 0);
    CHECK(by_cases >= whole);
    CHECK(optima - by_cases <= 0.2 * (optima - whole));
  }
  TEST_CASE("a case bounds the labelings that have its labels, whatever the numbers are") {
    for (std::uint64_t seed = 0; seed < at_scale(50); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 4, .density = 0.7, .forbidden = 0.2, .rows = 2});
      sw::random_source random(seed);
      sw::certificate c{.cost_bits = 4, .price_bits = 4};
      for (std::size_t i = 0; i < messages_of(p); ++i)
        c.messages.push_back(static_cast<std::int64_t>(random.below(400)) - 200);
      for (std::size_t r = 0; r < p.rows().size(); ++r) c.prices.push_back(static_cast<std::int64_t>(random.below(40)));
      const auto x = static_cast<std::uint32_t>(random.below(p.size()));
      const auto label = static_cast<sw::strategy>(random.below(p.label_count(x)));
      const std::int64_t bound = sw::check(p, c, {{x, label}});
      shardweave_test::for_all_labelings<std::int64_t>(p, [&](const shardweave_test::label_list& labels) {
        if (labels[x] == label && p.keeps_rows(labels)) CHECK(bound <= p.cost(labels));
      });
      CHECK(bound >= sw::check(p, c));
    }
  }
  TEST_CASE("cases that leave labelings out are refused") {
    sw::compact_builder<std::int64_t> builder;
    for (int x = 0; x < 2; ++x) builder.add_variable(std::vector<std::int64_t>{1, 2});
    const auto p = builder.build();
    const auto of = [](const std::vector<sw::given_labels>& cases) {
      sw::certificate_by_cases c;
      for (const sw::given_labels& given : cases) c.parts.push_back({given, {}});
      return c;
    };
    CHECK(sw::check(p, of({{}})) == 2);
    CHECK(sw::check(p, of({{{1, 1}}, {{1, 0}, {0, 0}}, {{1, 0}, {0, 1}}})) == 2);
    CHECK(refusal_of(p, of({})) == "certificate: cases overlap, or there are none");
    CHECK(refusal_of(p, of({{}, {}})) == "certificate: cases overlap, or there are none");
    CHECK(refusal_of(p, of({{{1, 1}}})) == "certificate: no case has label 0 of variable 1");
    CHECK(refusal_of(p, of({{{1, 1}}, {{0, 0}}})) ==
          "certificate: cases beside one of variable 1 are not of its labels");
    CHECK(refusal_of(p, of({{{1, 2}}})) == "certificate: cases beside one of variable 1 are not of its labels");
    CHECK(refusal_of(p, of({{{2, 0}}})) == "certificate: has variable 2 of 2");
  }
  TEST_CASE("equal work gives equal bits") {
    const auto p = draw_small<double>(7, {.variables = 6, .density = 0.7, .rows = 3});
    const auto once = sw::certify_by_cases(p, 1e9, 60, 10), again = sw::certify_by_cases(p, 1e9, 60, 10);
    CHECK(once.lower_bound <= *brute_optimum_of(p));
    CHECK(once.parts.size() > 1);
    REQUIRE(once.parts.size() == again.parts.size());
    CHECK(once.lower_bound == again.lower_bound);
    for (std::size_t i = 0; i < once.parts.size(); ++i) {
      CHECK(once.parts[i].given == again.parts[i].given);
      CHECK(once.parts[i].proof.messages == again.parts[i].proof.messages);
      CHECK(once.parts[i].proof.prices == again.parts[i].proof.prices);
    }
  }
}

}  // namespace certificate_tests

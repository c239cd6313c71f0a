#include "step/stated_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace step_claim_tests {
namespace {

namespace sw = shardweave;
using stated_step::stated;

/// A channel, some of them after a head, or a path; nothing where it need not be a bound.
std::vector<sw::step_claim> random_claims(sw::random_source& random, const sw::step_work& work) {
  std::vector<sw::step_claim> claims;
  for (int i = 0; i < 30; ++i) {
    sw::step_claim claim;
    const auto walk = [&](std::vector<std::uint32_t>& path) {
      std::uint32_t at = claim.first = static_cast<std::uint32_t>(random.below(work.vertex_count()));
      for (std::uint32_t e = 0; e < work.edges.size(); ++e)  // edges run from low to high
        if (work.edges[e].from == at && random.below(3) > 0) path.push_back(e), at = work.edges[e].to;
    };
    if (random.below(4) == 0) {
      walk(claim.edges);
    } else {
      claim.channel = static_cast<std::uint32_t>(random.below(work.channels));
      claim.has_head = random.below(2) == 0;
      if (claim.has_head) walk(claim.head);
      for (std::uint32_t e = 0; e < work.edges.size(); ++e)
        if (random.below(2) == 0) claim.edges.push_back(e);
      for (std::uint32_t v = 0; claim.has_head && claim.channel == 0 && v < work.vertex_count(); ++v)
        if (random.below(2) == 0) claim.later.push_back(v);
    }
    try {
      sw::validate(claim, work);
      claims.push_back(claim);
    } catch (const sw::error&) {
    }
  }
  return claims;
}

}  // namespace

TEST_SUITE("step claim") {
  TEST_CASE("no plan of a placement ends before what a valid claim says of it") {
    sw::random_source random(13);
    std::size_t asked = 0, met = 0, heads = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(60); ++i) {
      const stated s(tiny_steps::random_model(random));
      const std::vector<sw::step_claim> claims = random_claims(random, s.work);
      for (const sw::step_claim& c : claims) heads += c.has_head ? 1U : 0U;
      std::size_t tried = 0;
      tiny_steps::for_each_assignment(s.model, [&](const std::vector<sw::strategy>& choice) {
        if (tried++ % 5 != 0) return;
        const auto best = static_cast<double>(tiny_steps::best_step_of(s.model, choice));
        for (const sw::step_claim& claim : claims) {
          const sw::work_prices prices = sw::prices_of(std::span(&claim, 1), std::vector<double>{1}, s.work);
          const double value = sw::value_of(claim, s.work, sw::work_of(s.work, choice, &prices));
          CHECK(value <= best + 1e-9);
          CHECK(value <= sw::value_of(claim, s.work, sw::work_of(s.work, choice)) + 1e-9);  // the cheapest way
          ++asked;
          met += best > 0 && value > best - 1e-9 ? 1U : 0U;
        }
      });
    }
    CHECK(asked > shardweave_test::at_scale(2000));
    CHECK(met > shardweave_test::at_scale(60));
    CHECK(heads > 0);
  }

  TEST_CASE("prices of a mixture are such that priced work less priced limits is the mixture of the values") {
    sw::random_source random(14);
    for (std::size_t i = 0; i < shardweave_test::at_scale(60); ++i) {
      sw::step_work work = stated(tiny_steps::random_model(random)).work;
      std::vector<sw::step_claim> claims = random_claims(random, work);
      if (work.channels > 2) {  // the last one holds, in place of working
        work.limits = {7};
        for (sw::step_claim& c : claims) {
          if (c.channel != sw::step_claim::path) c.channel = 0;
          if (c.channel == 0 && random.below(2) == 0)
            c.price = 0.5, c.held = static_cast<std::uint32_t>(work.machines());
        }
      }
      std::vector<double> weights;
      for (std::size_t r = 0; r < claims.size(); ++r) weights.push_back(static_cast<double>(random.below(5)) / 8);
      std::vector<sw::strategy> choice;
      for (std::uint32_t v = 0; v < work.vertex_count(); ++v)
        choice.push_back(static_cast<sw::strategy>(random.below(work.times[work.times_of[v]].size())));
      const sw::taken_work taken = sw::work_of(work, choice);
      const sw::work_prices prices = sw::prices_of(claims, weights, work);
      double mixed = 0, priced = -sw::price_of_limits(claims, weights, work);
      for (std::size_t r = 0; r < claims.size(); ++r) mixed += weights[r] * sw::value_of(claims[r], work, taken);
      for (std::size_t v = 0; v < taken.time.size(); ++v) priced += prices.time[v] * taken.time[v];
      for (std::size_t l = 0; l < taken.load.size(); ++l) priced += prices.load[l] * taken.load[l];
      for (std::size_t e = 0; e < taken.chain.size(); ++e) priced += prices.chain[e] * taken.chain[e];
      CHECK(priced == doctest::Approx(mixed));
    }
  }

  TEST_CASE("reached is a vertex itself, and whatever a path leads to") {
    sw::step_work work{.times_of = {0, 0, 0, 0, 0}};
    work.edges = {{.from = 3, .to = 1}, {.from = 1, .to = 4}, {.from = 0, .to = 4}, {.from = 1, .to = 2}};
    CHECK(sw::reached_from(work, 3) == std::vector<bool>{false, true, true, true, true});
    CHECK(sw::reached_from(work, 0) == std::vector<bool>{true, false, false, false, true});
    CHECK(sw::reached_from(work, 2) == std::vector<bool>{false, false, true, false, false});
  }

  TEST_CASE("claims that need not hold are refused, and say why") {
    sw::random_source random(3);
    const stated s(tiny_steps::random_model(random));
    const auto expect = [&](const sw::step_claim& claim, const char* words) {
      CHECK_THROWS_WITH_AS(sw::validate(claim, s.work), doctest::Contains(words), sw::error);
    };
    expect({.channel = 9}, "channel 9 does not exist");
    expect({.channel = 0, .first = 0, .edges = {99}}, "edge 99 does not exist");
    expect({.channel = 0, .first = 0, .edges = {0, 0}}, "of a share that the claim counts already");
    expect({.channel = sw::step_claim::path, .first = 77}, "vertex 77 does not exist");
    const std::uint32_t to = s.work.edges[0].to;
    expect({.channel = sw::step_claim::path, .first = to, .edges = {0}}, "where the path has come to");
    const char* neither = "a path has a head, or a price, expected neither";
    expect({.channel = sw::step_claim::path, .has_head = true}, neither);
    expect({.channel = sw::step_claim::path, .later = {to}}, neither);
    expect({.channel = sw::step_claim::path, .price = 1}, neither);
    expect({.channel = 0, .has_head = true, .head = {99}}, "edge 99 does not exist");
    expect({.channel = 0, .first = 77, .has_head = true}, "vertex 77 does not exist");
    expect({.channel = 0, .first = to, .has_head = true, .head = {0}}, "where the path has come to");
    expect({.channel = 0, .head = {0}}, "of a head that it has not");
    for (const double price : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      expect({.channel = 0, .price = price}, "expected a number that is not negative");
    expect({.channel = 0, .price = 1, .held = 0}, "channel 0 has no limit");
    const auto beyond = static_cast<std::uint32_t>(s.work.channels);
    expect({.channel = 0, .price = 1, .held = beyond}, "has no limit");
  }
}

}  // namespace step_claim_tests

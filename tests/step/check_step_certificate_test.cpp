#include "step/certificate_by_hand.hpp"
#include "step/stated_step.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/tiny_steps.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace check_step_certificate_tests {
namespace {

namespace sw = shardweave;
using namespace certificate_by_hand;
using stated_step::stated;

}  // namespace

TEST_SUITE("check_step_certificate") {
  TEST_CASE("claims at their weights prove the least sum of their work, and no more") {
    const by_hand p;
    struct proof {
      std::vector<sw::step_claim> claims;
      std::vector<std::int64_t> halves;
      double bound;
    };
    const proof proofs[] = {{{stream}, {2}, 3 + 2},
                            {{along}, {2}, 3 + 4 + 2},
                            {{stream}, {1}, 2.5},
                            {{stream, along}, {1, 1}, (5 + 9) / 2.0},
                            {{channel}, {2}, 0},                    // the edge may do without channel 1
                            {{stream, channel}, {1, 1}, 2.5 + 2}};  // or load it with 4: 10 on the stream is dearer
    for (const proof& one : proofs) {
      CAPTURE(one.bound);
      const auto verdict =
          sw::check_certificate(p.stated, p.work, p.certificate(one.claims, one.halves, one.bound - rounding));
      CHECK_MESSAGE(verdict.accepted, verdict.failure);
      CHECK(verdict.bound <= one.bound);
      CHECK(verdict.bound >= one.bound - rounding);
      CHECK_FALSE(sw::check_certificate(p.stated, p.work, p.certificate(one.claims, one.halves, one.bound + rounding))
                      .accepted);
    }
  }

  TEST_CASE("a price on what is held raises costs, and the limit at that price goes off the bound") {
    const by_hand p;
    sw::step_claim priced = stream;
    priced.price = 1;
    priced.held = 2;
    // at half a weight a strategy takes 1.5 and holds 7, or takes 2.5 and holds 1, at 0.5 each; 1 for the other vertex
    const double most = 2.5 + 0.5 + 1;
    const auto c = p.certificate({priced}, {1}, most - rounding);
    const auto verdict = sw::check_certificate(p.stated, p.work, c);
    CHECK_MESSAGE(verdict.accepted, verdict.failure);
    CHECK(verdict.bound <= most - 4 * 0.5);
    CHECK(verdict.bound >= sw::bound_of(c, p.work) - rounding);
    CHECK_FALSE(sw::check_certificate(p.stated, p.work, p.certificate({priced}, {1}, most + rounding)).accepted);
  }

  TEST_CASE("a certificate says nothing of work that does not fit the problem, and of weights that mean nothing") {
    sw::random_source random(3);
    const stated s(tiny_steps::random_model(random));
    sw::step_certificate c = sw::certify_step(s.bound(), s.problem, s.work);
    REQUIRE(!c.weights.empty());
    const auto expect = [&](const char* words, const auto& change) {
      sw::step_work other = s.work;
      change(other);
      const auto verdict = sw::check_certificate(*s.problem.description(), other, c);
      CHECK(!verdict.accepted);
      CHECK_MESSAGE(verdict.failure.find(words) != std::string::npos, verdict.failure);
    };
    const auto unchanged = [](sw::step_work&) {};
    expect("vertices, but the problem has", [](sw::step_work& w) { w.times_of.push_back(0); });
    expect("strategies of", [](sw::step_work& w) { w.times[w.times_of[0]].push_back(1); });
    expect("limits for", [](sw::step_work& w) { w.limits.assign(w.channels, 1); });
    expect("work of edge 0 is not of", [](sw::step_work& w) { w.edges[0].from = 1000; });
    expect("work of edge 0 is not of", [](sw::step_work& w) { w.edges[0].to = 1000; });
    expect("work of edge 0 is not of", [](sw::step_work& w) { w.edges[0].table = 1000; });
    expect("work of edge 0 is not of", [](sw::step_work& w) { w.tables[w.edges[0].table].loads.pop_back(); });
    for (const int bits : {-1, 41}) {
      c.weight_bits = bits;
      expect("bits, expected 0 to 40", unchanged);
    }
    c.weight_bits = 30;
    const std::vector<std::int64_t> weights = c.weights;
    c.weights.push_back(0);
    expect("weights for", unchanged);
    c.weights = weights;
    for (std::int64_t& w : c.weights) w *= 2;  // twice the weight for the same work
    expect("weights add up to more than 1", unchanged);
    c.weights[0] = -1;
    expect("weights[0] is below zero", unchanged);
  }

  TEST_CASE("a proof about the step does not rest on the savings of the problem") {
    sw::placement_description<double> d;
    d.vertices = {{.compute = {100, 100}}, {.compute = {100}}};
    d.counted = sw::savings_form::windows;
    const sw::step_work work{.channels = 1, .times_of = {0, 1}, .times = {{3, 5}, {2}}};
    sw::step_certificate c{.claims = {sw::step_claim{.channel = 0}}, .weights = {std::int64_t{1} << 30}};
    c.placement.counted = d.counted;
    c.placement.savings.push_back({});
    c.placement.multipliers.push_back({.savings = 0});
    c.placement.cases.push_back({.multipliers = 0});
    c.placement.lower_bound = 200;
    CHECK_FALSE(sw::check_certificate(d, work, c).accepted);  // the step may take 5
    sw::step_bounds found;
    found.bound = 5;
    found.claims = c.claims;
    found.weights = {1.0};
    const sw::step_certificate honest = sw::certify_step(found, sw::compile(d), work);
    CHECK(honest.placement.counted == sw::savings_form::off);
    const auto verdict = sw::check_certificate(d, work, honest);
    CHECK_MESSAGE(verdict.accepted, verdict.failure);
    CHECK(verdict.bound <= 5);
    CHECK(verdict.bound > 4.99);
  }
}

}  // namespace check_step_certificate_tests

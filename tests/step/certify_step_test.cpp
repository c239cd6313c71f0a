#include "step/stated_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/step_certificate.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

namespace certify_step_tests {
namespace {

namespace sw = shardweave;
using stated_step::stated;

}  // namespace

TEST_SUITE("certify step") {
  TEST_CASE("a certificate is checked without the search, and one that proves less is not believed") {
    sw::random_source random(3);
    std::size_t proven = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      const sw::step_bounds bounds = s.bound();
      sw::step_certificate c = sw::certify_step(bounds, s.problem, s.work);
      const auto& stated = *s.problem.description();
      const auto verdict = sw::check_certificate(stated, s.work, c);
      REQUIRE_MESSAGE(verdict.accepted, verdict.failure);
      const double checked = c.placement.lower_bound;
      CHECK(verdict.bound == checked);
      CHECK(checked <= bounds.bound + 1e-6 * std::abs(bounds.bound));
      proven += checked >= bounds.bound * (1 - 1e-4) ? 1U : 0U;
      if (c.weights.empty()) continue;
      auto wrong = c;
      wrong.placement.lower_bound = std::nextafter(checked, std::numeric_limits<double>::infinity());
      CHECK(!sw::check_certificate(stated, s.work, wrong).accepted);
      wrong = c;
      wrong.claims[0] = {.channel = 77};
      CHECK(sw::check_certificate(stated, s.work, wrong).failure.find("claims[0]: ") == 0);
    }
    CHECK(proven * 2 > shardweave_test::at_scale(20));
  }

  TEST_CASE("claims without weight are no part of the proof, and after a stop nothing is claimed that does not hold") {
    sw::random_source random(9);
    std::size_t after_stop = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const stated s(tiny_steps::random_model(random));
      sw::step_bounds bounds = s.bound();
      bounds.claims.push_back({.channel = 0});
      bounds.weights.push_back(0);
      std::stop_source stop;
      stop.request_stop();
      const auto whole = sw::certify_step(bounds, s.problem, s.work);
      std::vector<sw::step_certificate> proofs{whole};
      try {
        proofs.push_back(sw::certify_step(bounds, s.problem, s.work, {}, {.stop = stop.get_token()}));
        ++after_stop;
      } catch (const sw::error& e) {  // on a slow machine nothing is checked in the moment after a stop
        CHECK(e.category() == sw::error_category::stopped);
      }
      const auto best = static_cast<double>(tiny_steps::best_step(s.model));
      for (const sw::step_certificate& c : proofs) {
        CHECK(c.weights.size() == c.claims.size());
        const auto verdict = sw::check_certificate(*s.problem.description(), s.work, c);
        if (verdict.accepted) CHECK(verdict.bound <= best);
      }
      CHECK(sw::check_certificate(*s.problem.description(), s.work, whole).accepted);
      CHECK(proofs.back().placement.lower_bound <= whole.placement.lower_bound + 1e-6);
    }
    CHECK(after_stop > 0);
  }
}

}  // namespace certify_step_tests

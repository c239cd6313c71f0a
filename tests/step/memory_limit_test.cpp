#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/memory_limit.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace memory_limit_tests {
namespace {

/// What is held while the loss runs: its argument, as it takes it, and its result are there, whatever becomes of them.
sw::held_values held_while_loss_runs(const tiny_training::model& m) {
  sw::held_values all = m.held_at_loss();
  const std::uint32_t read = m.forward - 1;
  all.values.pop_back();  // of what the loss reads
  sw::held_form argument{m.loss(), {}}, result{m.loss(), {}};
  for (sw::strategy t = 0; t < m.times[m.loss()].size(); ++t) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (sw::strategy s = 0; s < m.times[read].size(); ++s)
      least = std::min(least, m.held[read][m.moves[read][s][t].size > 0 ? t : s]);
    argument.bytes.push_back(static_cast<double>(least));
    result.bytes.push_back(static_cast<double>(m.held[m.loss()][t]));
  }
  all.at_work = {std::move(argument), std::move(result)};
  return all;
}

/// A tiny step with what it holds, compiled under a limit.
struct stated {
  tiny_training::model model;
  sw::held_values held;
  sw::placement_problem<double> problem;
  sw::step_work work;

  stated(tiny_training::model m, double limit, bool sees_work = false)
      : model(std::move(m)),
        held(sees_work ? held_while_loss_runs(model) : model.held_at_loss()),
        problem(sw::compile(sw::with_policies(sw::describe(model.graph, model), held))),
        work(sw::with_policies(sw::describe_work(model.graph, model), held, limit, model.times.size())) {}

  [[nodiscard]] sw::step_bounds bound() const {
    return sw::step_bound(problem, work, sw::exhaustive{},
                          {.rounds = 60, .tolerance = 1e-6, .placement_gap = 0, .turn = held.moment});
  }
  /// With claims that wait, too.
  [[nodiscard]] sw::step_bounds sharper(const sw::step_bounds& known) const {
    return sw::step_bound(problem, work, sw::exhaustive{},
                          {.rounds = 60, .tolerance = 1e-6, .placement_gap = 0, .turn = held.moment, .waits = true},
                          known.placements, {}, &known);
  }
};

std::size_t graphs(std::size_t usual) {
  const char* told = std::getenv("SHARDWEAVE_TINY_STEPS");
  return told == nullptr ? shardweave_test::at_scale(usual) : static_cast<std::size_t>(std::atol(told));
}

}  // namespace

TEST_SUITE("memory limit") {
  TEST_CASE("no plan within the memory, whatever it places, makes again, merges and orders, ends before the bound") {
    sw::random_source random(31);
    const std::size_t count = graphs(8);
    std::size_t tried = 0, sharper = 0, made_again = 0, at_work = 0, waits = 0;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const auto free = tiny_training::best_within(m, std::int64_t{1} << 40);
      REQUIRE(free);
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const std::int64_t limit = peaks[random.below(peaks.size() / 8 + 1)];
      const auto best = tiny_training::best_within(m, limit);
      if (!best) continue;
      const stated s(m, static_cast<double>(limit));
      const sw::step_bounds bounds = s.bound();
      const sw::step_bounds blind = stated(m, 1e15).bound();
      const sw::step_bounds running = stated(m, static_cast<double>(limit), true).bound();
      CAPTURE(i);
      CAPTURE(limit);
      CHECK(bounds.bound <= static_cast<double>(*best) * (1 + 1e-9));
      CHECK(blind.bound <= static_cast<double>(*free) * (1 + 1e-9));
      CHECK(running.bound <= static_cast<double>(*best) * (1 + 1e-9));
      const sw::step_bounds waiting = s.sharper(bounds);
      CHECK(waiting.bound <= static_cast<double>(*best) * (1 + 1e-9));
      CHECK(waiting.bound >= bounds.bound);
      waits += waiting.bound > bounds.bound * (1 + 1e-4) ? 1U : 0U;
      CHECK(bounds.bound >= blind.bound * (1 - 1e-5) - 1e-6);
      ++tried;
      sum += bounds.bound / static_cast<double>(*best);
      sharper += bounds.bound > blind.bound * (1 + 1e-4) ? 1U : 0U;
      made_again += *best > *free ? 1U : 0U;
      at_work += running.bound > bounds.bound * (1 + 1e-4) ? 1U : 0U;
    }
    MESSAGE(tried << " tried; the limit costs time in " << made_again << ", the bound sees it in " << sharper
                  << ", better where it sees what the loss reads in " << at_work << " and where claims wait in "
                  << waits << "; bound over optimum " << sum / static_cast<double>(tried));
    CHECK(sum >= 0.6 * static_cast<double>(tried));
    if (count >= 100) CHECK(sharper * 20 > tried);
    if (count >= 100) CHECK(at_work > 0);
    if (count >= 100) CHECK(waits > 0);
  }

  TEST_CASE("a certificate of a bound under a limit is checked without the search; a laxer limit proves less") {
    sw::random_source random(33);
    std::size_t priced = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      double most = 0;
      for (std::uint32_t v = 0; v < m.forward; ++v) most += static_cast<double>(std::min(m.held[v][0], m.held[v][1]));
      const stated s(m, most / 3);
      const sw::step_bounds bounds = i % 2 == 0 ? s.bound() : s.sharper(s.bound());
      const sw::step_certificate c = sw::certify_step(bounds, s.problem, s.work);
      const auto verdict = sw::check_certificate(*s.problem.description(), s.work, c);
      REQUIRE_MESSAGE(verdict.accepted, verdict.failure);
      CHECK(verdict.bound <= bounds.bound + 1e-6 * std::abs(bounds.bound) + 1e-6);
      CHECK(verdict.bound >= bounds.bound - 1e-3 * std::abs(bounds.bound) - 1e-3);
      if (sw::bound_of(c, s.work) == c.placement.lower_bound) continue;
      ++priced;
      sw::step_work lax = s.work;
      lax.limits[0] *= 2;
      CHECK(sw::check_certificate(*s.problem.description(), lax, c).bound < verdict.bound);
      sw::step_certificate wrong = c;
      for (sw::step_claim& claim : wrong.claims)
        if (claim.price > 0) claim.held = 0;
      CHECK(sw::check_certificate(*s.problem.description(), s.work, wrong).failure.find("has no limit") !=
            std::string::npos);
    }
    if (shardweave_test::at_scale(20) == 20) CHECK(priced > 3);
  }

  TEST_CASE("claims with a head that need not hold are refused, and say why") {
    sw::random_source random(3);
    const stated s(tiny_training::random_model(random), 1e9);
    const auto expect = [&](const sw::step_claim& claim, const char* words) {
      CHECK_THROWS_WITH_AS(sw::validate(claim, s.work), doctest::Contains(words), sw::error);
    };
    const std::uint32_t last = 2 * s.model.forward;
    expect({.channel = 0, .first = last, .has_head = true, .later = {0}}, "does not come after vertex");
    expect({.channel = 0, .first = 0, .has_head = true, .later = {2, 1}}, "or is counted twice");
    expect({.channel = 0, .later = {1}}, "of a head that it has not");
    if (s.work.machines() > 1)
      expect({.channel = 1, .first = 0, .has_head = true, .later = {1}}, "on channel 1, expected the compute stream");
    expect({.channel = 0, .price = -1, .held = 9}, "a price of");
    expect({.channel = static_cast<std::uint32_t>(s.work.machines())}, "does not exist");
    std::uint32_t early = ~0U;  // work that need not come after the loss
    for (std::uint32_t e = 0; e < s.work.edges.size(); ++e)
      if (s.work.edges[e].to < s.model.loss() && early == ~0U) early = e;
    REQUIRE(early != ~0U);
    expect({.channel = 0, .first = s.model.loss(), .edges = {early}, .has_head = true}, "may be done before vertex");
  }

  TEST_CASE("what stands there once for several layers is held, and made again, as often as there are layers") {
    sw::random_source random(7);
    const tiny_training::model m = tiny_training::random_model(random);
    const sw::step_work plain = sw::describe_work(m.graph, m);
    sw::held_values held = m.held_at_loss();
    const sw::step_work once = sw::with_policies(plain, held, 1e9, m.times.size());
    for (sw::held_value& v : held.values) v.count = 3;
    const sw::step_work thrice = sw::with_policies(plain, held, 1e9, m.times.size());
    REQUIRE(once.edges.size() > plain.edges.size());
    REQUIRE(thrice.edges.size() == once.edges.size());
    double kept = 0, again = 0;
    for (std::size_t e = plain.edges.size(); e < once.edges.size(); ++e) {
      const sw::work_table &a = once.tables[once.edges[e].table], &b = thrice.tables[thrice.edges[e].table];
      for (std::size_t c = 0; c < once.channels; ++c) {
        REQUIRE(a.loads[c].size() == b.loads[c].size());
        for (std::size_t i = 0; i < a.loads[c].size(); ++i) {
          CHECK(b.loads[c][i] == 3 * a.loads[c][i]);
          (c == 0 ? again : kept) += a.loads[c][i];
        }
      }
    }
    CHECK(kept > 0);
    CHECK(again > 0);
  }

  TEST_CASE("what does not fit together is refused by name") {
    sw::random_source random(3);
    const tiny_training::model m = tiny_training::random_model(random);
    sw::held_values held = m.held_at_loss();
    held.values[1].forms[0].bytes.pop_back();
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_policies(sw::describe(m.graph, m), held)),
                         doctest::Contains("held value 'v1' tells 1 strategies of vertex 1, expected 2"), sw::error);
    held = m.held_at_loss();
    held.values[0].from = {1};
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_policies(sw::describe(m.graph, m), held)),
                         doctest::Contains("is made from value 1, expected one before it"), sw::error);
    held = held_while_loss_runs(m);
    held.at_work[0].bytes.pop_back();
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::with_policies(sw::describe(m.graph, m), held)),
                         doctest::Contains("tells 1 strategies of vertex "), sw::error);
  }
}

}  // namespace memory_limit_tests

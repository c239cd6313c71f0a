#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/proof/detail/proof_at_hand.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>
#include <shardweave/solve/proof/detail/stated_prices.hpp>

#include <doctest/doctest.h>
#include <support/random_certificate.hpp>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace certify_placement_tests {
namespace {

using shardweave_test::at_scale;

template <class Cost>
std::optional<sw::placement_problem<Cost>> compiled(const sw::placement_description<Cost>& d) {
  try {
    return sw::compile(std::make_shared<const sw::placement_description<Cost>>(d));
  } catch (const sw::error& e) {
    CHECK(e.category() == sw::error_category::constraint);
    return std::nullopt;
  }
}

}  // namespace

TEST_SUITE("certify_placement") {
  TEST_CASE_TEMPLATE("on random problems all optima are proven, and never more", Cost, double, std::int64_t) {
    std::size_t feasible = 0, proven = 0, impossible = 0, refuted = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<Cost>(seed, {.max_assignments = 512});
      const auto best = shardweave_test::brute_force(stated);
      const auto problem = compiled(stated.description);
      if (!problem) {
        CHECK(!best.objective);
        ++impossible;
        const auto c = sw::certify_infeasible(stated.description);
        refuted += c && sw::check_certificate(stated.description, *c).accepted ? 1U : 0U;
        continue;
      }
      const auto c = sw::certify_placement(*problem, best.objective.value_or(sw::forbidden<Cost>));
      const auto verdict = sw::check_certificate(stated.description, c);
      REQUIRE_MESSAGE(verdict.accepted, verdict.failure);
      if (!best.objective) {
        ++impossible;
        refuted += c.infeasible ? 1U : 0U;
        continue;
      }
      ++feasible;
      CHECK(!c.infeasible);
      const auto objective = static_cast<double>(*best.objective), bound = static_cast<double>(c.lower_bound);
      CHECK(bound <= objective + 1e-9 * (1 + std::abs(objective)));
      proven += sw::proves(bound, *best.objective) ? 1U : 0U;
    }
    CHECK(feasible > at_scale(120));
    CHECK(proven == feasible);
    CHECK(refuted == impossible);
  }
  TEST_CASE_TEMPLATE("dominated strategies and knapsacks take part in proofs, and nothing is lost by them", Cost,
                     double, std::int64_t) {
    std::size_t dominated = 0, knapsacks = 0;
    const auto prove = [&](std::uint64_t seed, bool is_known, bool has_programs) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<Cost>(seed, {.max_assignments = 4096});
      const auto best = shardweave_test::brute_force(stated);
      if (!best.objective) return;
      const auto c =
          sw::certify_placement(*compiled(stated.description), is_known ? *best.objective : sw::forbidden<Cost>,
                                {.work = has_programs ? 1U << 20 : 0U});
      CHECK(sw::check_certificate(stated.description, c).accepted);
      const auto objective = static_cast<double>(*best.objective), bound = static_cast<double>(c.lower_bound);
      CHECK(bound <= objective + 1e-9 * (1 + std::abs(objective)));
      CHECK(sw::proves(bound, *best.objective));
      dominated += static_cast<std::size_t>(
          std::ranges::count_if(c.reductions, [](const auto& one) { return !one.dominated.empty(); }));
      knapsacks += static_cast<std::size_t>(
          std::ranges::count_if(c.multipliers, [](const auto& one) { return !one.knapsacks.empty(); }));
    };
    for (std::uint64_t seed = 0; seed < at_scale(3000); ++seed) prove(seed, seed % 3 != 0, seed % 5 != 0);
    CHECK(dominated > at_scale(50));
    CHECK(knapsacks > at_scale(5));
    // subproblems without an assignment, whose multipliers grow without end where no cost is known
    for (const std::uint64_t seed : {11127U, 13344U, 20988U, 21360U, 29145U, 34770U, 36663U, 47193U, 50595U, 53172U})
      prove(seed, false, true);
    prove(140917, true, true);  // a table that is costs of its ends for the checker and none for the solver
  }
  TEST_CASE("subproblems of many strategies are split into each strategy of a vertex that many share") {
    // layers in which everything is connected, so that nothing can be eliminated, and what all layers share
    constexpr std::uint32_t layers = 64, of_layer = 5;
    sw::random_source random(3);
    sw::placement_description<std::int64_t> d;
    for (std::uint32_t v = 0; v <= layers * of_layer; ++v) {
      sw::described_vertex<std::int64_t> one{.name = std::to_string(v)};
      for (std::uint32_t s = 0; s < (v == 0 ? 4U : 17U); ++s)
        one.compute.push_back(static_cast<std::int64_t>(random.below(v == 0 ? 10 : 1000)));
      d.vertices.push_back(std::move(one));
    }
    const auto connect = [&](std::uint32_t a, std::uint32_t b) {
      std::vector<std::int64_t> costs;
      for (std::size_t s = 0; s < d.vertices[a].compute.size(); ++s)
        for (std::size_t t = 0; t < d.vertices[b].compute.size(); ++t)
          costs.push_back(static_cast<std::int64_t>(random.below(a == 0 ? 3000 : 1000)));
      d.edges.push_back({.from = a, .to = b, .communication = static_cast<std::uint32_t>(d.tables.size())});
      d.tables.push_back(
          std::make_shared<const sw::cost_table<std::int64_t>>(sw::cost_table<std::int64_t>::from_entries(
              d.vertices[a].compute.size(), d.vertices[b].compute.size(), costs)));
    };
    for (std::uint32_t first = 1; first < d.vertices.size(); first += of_layer) {
      for (std::uint32_t a = first; a < first + of_layer; ++a)
        for (std::uint32_t b = a + 1; b < first + of_layer; ++b) connect(a, b);
      connect(0, first);
      connect(0, first + 1);
    }
    const auto problem = compiled(d);
    const auto known = sw::local_search{.starts = 1}.solve(*problem);
    const auto whole = sw::certify_placement(*problem, known.objective, {.steps = 60, .nodes = 1, .work = 0});
    const auto parted = sw::certify_placement(*problem, known.objective, {.steps = 60, .nodes = 8, .work = 0});
    for (const auto& c : {whole, parted}) {
      const auto verdict = sw::check_certificate(d, c);
      REQUIRE_MESSAGE(verdict.accepted, verdict.failure);
      CHECK(c.lower_bound <= known.objective);
    }
    const auto is_of_shared = [](const sw::placement_case& one) { return one.vertex == 0 && one.parts.size() > 2; };
    CHECK(std::ranges::any_of(parted.cases, is_of_shared));
    CHECK(parted.lower_bound > whole.lower_bound);
  }
  TEST_CASE("where a double does not tell a sum from its limit the proof is one that holds, if of less") {
    std::size_t binding = 0, with_rest = 0;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      sw::placement_description<double> d;
      const auto vertices = static_cast<std::uint32_t>(3 + random.below(8));
      sw::budget memory{.name = "memory", .high = 0};
      const std::size_t second = random.below(vertices);  // takes its second least, the others their least
      std::int64_t limit = 0;
      for (std::uint32_t v = 0; v < vertices; ++v) {
        sw::described_vertex<double> one{.name = std::to_string(v)};
        std::vector<double> usage;
        for (int s = 0; s < 3; ++s) {
          one.compute.push_back(static_cast<double>(random.below(100)));
          usage.push_back(1e15 + static_cast<double>(random.below(1'000'000'000'000'000)));
        }
        std::vector<double> sorted = usage;
        std::ranges::sort(sorted);
        limit += static_cast<std::int64_t>(sorted[v == second ? 1 : 0]);
        d.vertices.push_back(std::move(one));
        memory.terms.push_back({v, std::move(usage), {}});
      }
      memory.high = static_cast<double>(limit);
      d.constraints.budgets.push_back(std::move(memory));
      const auto problem = compiled(d);
      if (!problem) continue;
      ++binding;
      const auto c = sw::certify_placement(*problem);
      const auto verdict = sw::check_certificate(d, c);
      CHECK_MESSAGE(verdict.accepted, verdict.failure);
      with_rest += c.ruled_out.empty() ? 1U : 0U;
    }
    CHECK(binding > 32);
    CHECK(with_rest > 0);  // otherwise no sum was at the edge
  }
  TEST_CASE_TEMPLATE("where budgets bind the optimum is proven, and what is wrong with such a proof is found", Cost,
                     double, std::int64_t) {
    std::size_t binding = 0, proven = 0, with_cases = 0, dropping = 0, wrong = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < at_scale(1200); ++seed) {
      CAPTURE(seed);
      const auto stated =
          shardweave_test::draw_problem<Cost>(seed, {.impossible = false, .max_vertices = 9, .max_assignments = 2048});
      if (stated.description.constraints.budgets.empty()) continue;
      const auto best = shardweave_test::brute_force(stated);
      auto free = stated;
      free.description.constraints.budgets.clear();
      if (!best.objective || !(*shardweave_test::brute_force(free).objective < *best.objective)) continue;
      const auto problem = compiled(stated.description);
      REQUIRE(problem);
      ++binding;
      const auto c = sw::certify_placement(*problem, *best.objective);
      const auto& d = stated.description;
      CHECK(sw::check_certificate(d, c).accepted);
      CHECK(static_cast<double>(c.lower_bound) <=
            static_cast<double>(*best.objective) + 1e-9 * (1 + std::abs(static_cast<double>(*best.objective))));
      if (!sw::proves(static_cast<double>(c.lower_bound), *best.objective)) continue;
      ++proven;
      with_cases += c.cases.size() > 1 ? 1U : 0U;
      dropping += shardweave_test::narrows(c) ? 1U : 0U;
      const auto expect_refusal = [&](const sw::placement_certificate<Cost>& spoiled) {
        ++wrong;
        refused += sw::check_certificate(d, spoiled).accepted ? 0U : 1U;
      };
      auto raised = c;
      raised.lower_bound = *best.objective + static_cast<Cost>(std::is_integral_v<Cost> ? 1 : 1e-6);
      expect_refusal(raised);
      for (std::uint64_t trial = 0; trial < 3; ++trial) {
        shardweave_test::spoil(raised, 3 * seed + trial);
        expect_refusal(raised);
      }
      for (std::size_t i = 0; i < c.cases.size(); ++i)
        for (std::size_t part = 0; part < c.cases[i].parts.size(); ++part) {
          auto less = c;
          less.cases[i].parts[part].clear();
          expect_refusal(less);
        }
    }
    CHECK(binding > at_scale(100));
    CHECK(proven == binding);
    CHECK(with_cases > at_scale(30));
    CHECK(dropping > at_scale(10));
    CHECK(wrong >= at_scale(500));
    CHECK(refused == wrong);
  }
  TEST_CASE("what a reduction moves from a table to the costs of an end is part of a message") {
    // one vertex is eliminated into two others, whose table the solver splits otherwise than the checker does
    const auto stated =
        shardweave_test::draw_problem<double>(582, {.impossible = false, .max_vertices = 9, .max_assignments = 2048});
    const auto best = shardweave_test::brute_force(stated);
    const auto problem = compiled(stated.description);
    REQUIRE(problem);
    const auto c = sw::certify_placement(*problem, *best.objective);
    CHECK(!c.reductions.empty());
    CHECK(sw::check_certificate(stated.description, c).accepted);
    CHECK(sw::proves(c.lower_bound, *best.objective));
  }
  TEST_CASE_TEMPLATE("where savings count optima are proven, and never more", Cost, double, std::int64_t) {
    std::size_t feasible = 0, saving = 0, proven = 0, refuted = 0, impossible = 0;
    for (std::uint64_t seed = 0; seed < at_scale(300); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<Cost>(seed);
      const auto& d = stated.description;
      const auto best = shardweave_test::brute_force_with_savings(stated);
      const auto problem = compiled(d);
      if (!problem) {
        CHECK(!best.objective);
        ++impossible;
        const auto c = sw::certify_infeasible(d);
        refuted += c && sw::check_certificate(d, *c).accepted ? 1U : 0U;
        continue;
      }
      const auto c = sw::certify_placement(*problem, best.objective.value_or(sw::forbidden<Cost>));
      const auto verdict = sw::check_certificate(d, c);
      REQUIRE_MESSAGE(verdict.accepted, verdict.failure);
      if (!best.objective) {
        ++impossible;
        refuted += c.infeasible ? 1U : 0U;
        continue;
      }
      ++feasible;
      saving += problem->savings() != nullptr ? 1U : 0U;
      CHECK(!c.infeasible);
      const auto objective = static_cast<double>(*best.objective), bound = static_cast<double>(c.lower_bound);
      CHECK(bound <= objective + 1e-9 * (1 + std::abs(objective)));
      proven += sw::proves(bound, *best.objective) ? 1U : 0U;
    }
    CHECK(saving > at_scale(80));
    CHECK(proven == feasible);
    CHECK(refuted == impossible);
  }
  TEST_CASE("prices of savings are stated to the nearest unit: one that lacks a rounding error of all is all") {
    std::size_t priced = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      const auto problem = compiled(shardweave_test::draw_savings_problem<double>(seed).description);
      if (!problem || problem->savings() == nullptr) continue;
      const sw::priced_savings<double> savings(*problem->description());
      const sw::detail::stated_prices in_positions(savings.layout(), savings.channels(), *problem);
      const std::size_t numbers = problem->savings()->channels * problem->savings()->slots();
      for (const double price : {1 - 1e-9, 0.25 + 1e-9, 0.25 - 1e-9, 1e-9}) {
        std::vector<double> chain(numbers, price);
        const sw::savings_prices stated = in_positions(chain);
        const std::int64_t one = std::int64_t{1} << stated.bits, near = price > 0.5 ? one : price < 0.1 ? 0 : one / 4;
        for (const auto& run : stated.runs) CHECK((run.price == near || run.price == 0 || run.price == one));
        for (const double p : chain) CHECK(p == std::ldexp(static_cast<double>(near), -stated.bits));
        priced += stated.runs.empty() ? 0U : 1U;
      }
    }
    CHECK(priced > 10);
  }
  TEST_CASE("the time may be up anywhere in a check of a proof with prices of savings: then it was not checked") {
    std::size_t with_cases = 0, ended = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      const auto problem = compiled(stated.description);
      if (!problem) continue;
      const auto c = sw::certify_placement(*problem);
      if (c.cases.size() < 2) continue;
      ++with_cases;
      const auto begin = std::chrono::steady_clock::now();
      CHECK(sw::proven_by<double>(stated.description, c).accepted);
      const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
      for (int i = 0; i < 40; ++i) {
        const auto verdict =
            sw::proven_by<double>(stated.description, c, nullptr, {.seconds = whole.count() * (i + 0.5) / 40});
        ended += verdict.accepted ? 0U : 1U;
        if (!verdict.accepted) CHECK(verdict.failure.find("was not checked before the stop") != std::string::npos);
      }
    }
    CHECK(with_cases > 5);
    CHECK(ended > 0);
  }
  TEST_CASE("equal calls give equal certificates, and a stop leaves one that holds") {
    const auto stated = shardweave_test::draw_problem<double>(11, {.budgets = false, .timed = false});
    const auto problem = compiled(stated.description);
    REQUIRE(problem);
    const auto one = sw::certify_placement(*problem), other = sw::certify_placement(*problem);
    CHECK(one.lower_bound == other.lower_bound);
    CHECK(one.cases.size() == other.cases.size());
    try {  // on a slow machine nothing is checked in time
      const auto early = sw::certify_placement(*problem, sw::forbidden<double>, {}, {.seconds = 0});
      CHECK(early.lower_bound <= one.lower_bound);
      CHECK(sw::check_certificate(stated.description, early).accepted);
    } catch (const sw::error& e) {
      CHECK(e.category() == sw::error_category::stopped);
    }
  }
  TEST_CASE("the time limit holds for the last check, too: what was checked before it is returned") {
    // a search of minutes, of whose cases none is ever bounded by much
    sw::random_source random(5);
    sw::placement_description<double> d;
    constexpr std::uint32_t vertices = 40;
    const auto draw = [&](std::size_t count) {
      std::vector<double> costs(count);
      for (double& c : costs) c = static_cast<double>(random.below(1000));
      return costs;
    };
    double optimum_at_most = 0, least = 0;  // at first no more than the least of all is known
    for (std::uint32_t v = 0; v < vertices; ++v) {
      d.vertices.push_back({.name = std::to_string(v), .compute = draw(4)});
      optimum_at_most += d.vertices.back().compute[0];
      least += *std::ranges::min_element(d.vertices.back().compute);
      for (std::uint32_t u = 0; u < v; ++u) {
        if (random.below(4) != 0) continue;
        const std::vector<double> costs = draw(16);
        optimum_at_most += costs[0];
        least += *std::ranges::min_element(costs);
        d.edges.push_back({.from = u, .to = v, .communication = static_cast<std::uint32_t>(d.tables.size())});
        d.tables.push_back(
            std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(4, 4, costs)));
      }
    }
    const auto problem = compiled(d);
    REQUIRE(problem);
    std::size_t better = 0, without = 0;
    for (double seconds = 1e-6; seconds < 4; seconds *= 4) {
      CAPTURE(seconds);
      const auto begin = std::clock();
      std::optional<sw::placement_certificate<double>> c;
      try {
        c = sw::certify_placement(*problem, optimum_at_most, {}, {.seconds = seconds});
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::stopped);
        ++without;
      }
      // the time of the processor, since others may have it by the clock
      CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < seconds + 1);
      if (!c) continue;
      CHECK(sw::check_certificate(d, *c).accepted);
      CHECK(c->lower_bound >= least - 1e-6);
      CHECK(c->lower_bound <= optimum_at_most);
      better += c->lower_bound > least ? 1U : 0U;
    }
    CHECK(better > 0);
    CHECK(without < 11);
    // whoever may be stopped, but is not, has cases
    const std::stop_source never;
    const auto whole = sw::certify_placement(*problem, optimum_at_most, {.nodes = 40}, {.stop = never.get_token()});
    CHECK(whole.cases.size() > 1);
    CHECK(sw::check_certificate(d, whole).accepted);
  }
  TEST_CASE("a stop does not wait for a check that takes longer than a moment: then there is no proof") {
    constexpr std::size_t strategies = 2000;
    std::vector<double> costs(strategies * strategies);
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = static_cast<double>(i * i % 1'000'003) + 0.1;
    sw::placement_description<double> d;
    for (const char* name : {"wide", "wider"})
      d.vertices.push_back({.name = name, .compute = std::vector<double>(strategies, 1)});
    d.edges.push_back({.from = 0, .to = 1, .communication = 0});
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(strategies, strategies, costs)));
    const auto problem = compiled(d);
    REQUIRE(problem);
    std::stop_source source;
    source.request_stop();
    CHECK_THROWS_WITH(
        static_cast<void>(sw::certify_placement(*problem, sw::forbidden<double>, {}, {.stop = source.get_token()})),
        "no proof of a bound on '' was checked in the time");
    const auto small = shardweave_test::draw_problem<double>(11, {.budgets = false, .timed = false});
    const auto c =
        sw::certify_placement(*compiled(small.description), sw::forbidden<double>, {}, {.stop = source.get_token()});
    CHECK(sw::check_certificate(small.description, c).accepted);
  }
  TEST_CASE("what a stop leaves is the last proof that is written in a moment, if there is one") {
    constexpr std::uint32_t strategies = 3000;  // amounts of a message
    std::vector<std::uint32_t> classes(strategies);
    for (std::uint32_t s = 0; s < strategies; ++s) classes[s] = s % 2;
    sw::placement_description<double> d;
    for (const char* name : {"a", "b"})
      d.vertices.push_back({.name = name, .compute = std::vector<double>(strategies, 1)});
    d.edges.push_back({.from = 0, .to = 1, .communication = 0});
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_classes(
        classes, classes, 2, 2, [](std::size_t i, std::size_t j) { return i == j ? 1.0 : 2.0; })));
    const auto problem = compiled(d);
    REQUIRE(problem);
    const sw::stated_form<double> form(d);
    const sw::detail::stated_multipliers<double> in_stated(*problem, form);
    for (const bool is_stopped : {false, true}) {
      std::stop_source source;
      const sw::solve_control control{.stop = source.get_token()};
      const sw::deadline limit(control);
      sw::last_moment moment(limit, 0);
      const sw::detail::incumbent<double> best;
      sw::detail::proof_record<double> record(problem->compact(), in_stated);
      sw::detail::proof_at_hand<double> proofs(d, nullptr, record, best, control, limit, moment);
      std::uint32_t open = 0;
      const auto case_with = [&](std::int64_t amount) {
        const std::vector<std::int64_t> amounts(strategies, amount);
        sw::placement_multipliers m;
        m.messages.add({0, 1, amounts});
        record.bounded(open, std::move(m));
        proofs.look();
        open = record.narrowed(open);
      };
      for (std::int64_t i = 0; i < 40; ++i) case_with(i);  // 120,000 amounts
      proofs.look();
      if (is_stopped) source.request_stop();
      const auto c = proofs.last();
      std::size_t amounts = 0;
      for (const auto& m : c.multipliers) amounts += m.messages.amounts().size();
      CHECK(sw::check_certificate(d, c).accepted);
      CHECK(amounts > 0);
      CHECK((amounts <= 25'000) == is_stopped);
    }
  }
  TEST_CASE(
      "an edge that is a sum of costs of its ends but for rounding has no message where eliminations have no table") {
    sw::placement_description<double> d;
    for (const char* name : {"a", "b"}) d.vertices.push_back({.name = name, .compute = {0, 0}});
    d.edges.push_back({.from = 0, .to = 1, .communication = 0});
    const double costs[] = {0.1 + 0.2, 0.1 + 0.7, 0.3 + 0.2, std::nextafter(0.3 + 0.7, 2)};
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_classes(
        {0, 1}, {0, 1}, 2, 2, [&](std::size_t i, std::size_t j) { return costs[2 * i + j]; })));
    const auto problem = compiled(d);
    REQUIRE(problem);
    REQUIRE(problem->compact().edges().size() == 1);
    sw::detail::exact_problem<double> left;  // a's and b's parts are their own costs there
    left.name = {0, 1};
    left.costs = {{0.1, 0.3}, {0.2, 0.7}};
    left.usages.resize(2);
    left.link();
    const sw::rounded_problem rounded(std::move(left));
    const std::vector<std::vector<sw::strategy>> both{{0, 1}, {0, 1}};
    const sw::detail::stated_multipliers<double, sw::rounded_problem> in_rounded(rounded, {0, 1}, both);
    const sw::dual_values dual{.of_class = {0.5, 0.5, 0.5, 0.5}, .of_row = {}};
    const auto m = in_rounded(problem->compact(), {{0, {0, 1}}, {1, {0, 1}}}, both, dual);
    CHECK(m.messages.empty());
    CHECK(m.prices.empty());
  }
  TEST_CASE("what cannot be certified is said") {
    const auto stated = shardweave_test::draw_problem<double>(3);
    const auto problem = compiled(stated.description);
    REQUIRE(problem);
    CHECK_THROWS_WITH(static_cast<void>(sw::certify_placement(sw::placement_problem<double>(problem->compact()))),
                      "a certificate is of a problem as it is stated, but this one has no description");
  }
}

}  // namespace certify_placement_tests

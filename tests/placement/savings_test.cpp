#include "placement/savings_chain.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/savings_layout.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace savings_tests {
namespace {

using shardweave_test::savings_chain;

const std::vector<sw::strategy> first_everywhere{0, 0, 0};

}  // namespace

TEST_SUITE("savings of a problem") {
  TEST_CASE("forms differ in what may hide an edge") {
    auto d = savings_chain();
    d.overlap = {{.edge = 1, .direction = sw::hiding::earlier}};
    const auto saved = [&](sw::savings_form form) {
      d.counted = form;
      const auto e = sw::evaluate(d, first_everywhere);
      CHECK(e.objective == 42 - e.savings);
      CHECK(e.parts.total() == 42);
      const auto p = sw::compile(d);
      CHECK(p.objective(*p.labels_of(first_everywhere)) == e.objective);
      return e.savings;
    };
    CHECK(saved(sw::savings_form::off) == 0);
    CHECK(saved(sw::savings_form::strict) == 7);      // a and b
    CHECK(saved(sw::savings_form::inclusive) == 12);  // and c
    CHECK(saved(sw::savings_form::windows) == 0);     // b waits for a, and moves with what it makes
    d.edges[0].to = 2;
    CHECK(saved(sw::savings_form::windows) == 3);  // now it waits for nothing
    d.edges[0].to = 1;
    d.overlap = {{.edge = 0, .direction = sw::hiding::later}};
    CHECK(saved(sw::savings_form::strict) == 5);
    CHECK(saved(sw::savings_form::inclusive) == 9);
    CHECK(saved(sw::savings_form::windows) == 0);  // b waits for it
    d.overlap = {{.edge = 0, .direction = sw::hiding::none, .first = 2, .last = 2}};
    CHECK(saved(sw::savings_form::strict) == 5);
    CHECK(saved(sw::savings_form::windows) == 5);
  }

  TEST_CASE("an edge of both directions is saved twice only if asked for") {
    auto d = savings_chain();
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(1, 1, std::vector<double>{4.0}));
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}, {.edge = 0, .direction = sw::hiding::later}};
    const auto hidden = [&](sw::savings_form form) {
      d.counted = form;
      return sw::evaluate(d, first_everywhere).hidden;
    };
    CHECK(hidden(sw::savings_form::off).empty());
    CHECK(hidden(sw::savings_form::inclusive) == std::vector<double>{4, 0});
    CHECK(hidden(sw::savings_form::inclusive_twice) == std::vector<double>{8, 0});
    CHECK(hidden(sw::savings_form::strict) == std::vector<double>{4, 0});
  }

  TEST_CASE("channels use the same computation once each") {
    auto d = savings_chain();
    d.counted = sw::savings_form::strict;
    d.overlap = {{.edge = 0, .direction = sw::hiding::none, .first = 2, .last = 2, .channel = 7},
                 {.edge = 1, .direction = sw::hiding::none, .first = 2, .last = 9, .channel = -3}};
    CHECK(sw::evaluate(d, first_everywhere).savings == 10);
    d.overlap[1].channel = 7;
    CHECK(sw::evaluate(d, first_everywhere).savings == 5);
  }

  TEST_CASE("windows may begin a few computations early at most, and every edge may have one") {
    sw::placement_description<double> d;  // gather 0 -> 4, activations 1 -> 2 -> 3 -> 4, and 1 -> 4
    for (const double c : {0.0, 3.0, 4.0, 5.0, 6.0}) d.vertices.push_back({.compute = {c}});
    d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(1, 1, std::vector<double>{100.0})));
    d.edges = {{.from = 0, .to = 4, .communication = 0},
               {.from = 1, .to = 2},
               {.from = 2, .to = 3},
               {.from = 3, .to = 4},
               {.from = 1, .to = 4, .communication = 0}};
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}};
    d.counted = sw::savings_form::windows;
    const std::vector<sw::strategy> choice(5);
    const auto saved = [&](sw::windows_form windows) {
      d.windows = windows;
      const auto problem = sw::compile(d);
      const double savings = sw::evaluate(d, choice).savings;
      CHECK(problem.objective(*problem.labels_of(choice)) == 218 - savings);
      return savings;
    };
    CHECK(saved({}) == 12);
    CHECK(saved({.prefetch = 5}) == 12);
    CHECK(saved({.prefetch = 2}) == 9);
    CHECK(saved({.prefetch = 1}) == 5);
    CHECK(saved({.prefetch = 0}) == 0);
    CHECK(saved({.every_edge = true}) == 12);  // the other edge has 9 of it to itself
    d.overlap.clear();
    CHECK(saved({}) == 0);
    CHECK(saved({.every_edge = true}) == 12);
    CHECK(saved({.prefetch = 1, .every_edge = true}) == 5);
    d.overlap = {{.edge = 4, .direction = sw::hiding::none, .first = 2, .last = 2}};  // and nowhere else
    CHECK(saved({.every_edge = true}) == 12);
    d.edges[0].communication = sw::no_table;
    d.tables.push_back(d.tables[0]);
    d.windows = {.every_edge = true};
    CHECK(sw::evaluate(d, choice).savings == 4);
  }

  TEST_CASE("files keep both directions of an edge, and tell what is hidden of which edge") {
    auto d = savings_chain();
    d.overlap = {{.edge = 1, .direction = sw::hiding::both}};
    const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_placement(out, d); });
    CHECK(text.find("\"earlier\"") != std::string::npos);
    CHECK(text.find("\"later\"") != std::string::npos);
    d.counted = sw::savings_form::strict;
    sw::solution<double> answer;
    answer.choice = first_everywhere;
    answer.objective = 23;
    std::string written = sw::json_string([&](sw::json_writer& out) { sw::write_solution(out, d, answer); });
    std::erase(written, ' ');
    CHECK(written.find("\"savings\":7") != std::string::npos);
    CHECK(written.find("\"form\":\"strict\"") != std::string::npos);
    CHECK(written.find("{\"edge\":1,\"saved\":7}") != std::string::npos);
  }

  TEST_CASE("forms have names") {
    CHECK(name_of(sw::savings_form::windows) == "windows");
    CHECK(name_of(sw::savings_form::inclusive_twice) == "inclusive-twice");
  }

  TEST_CASE("compiled, every feasible assignment has the objective that it has as stated") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(400); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      const auto& d = stated.description;
      std::optional<sw::placement_problem<double>> problem;
      try {
        problem = sw::compile(d);
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::constraint);
        continue;
      }
      auto uncounted = d;
      uncounted.counted = sw::savings_form::off;
      const auto plain = problem->without_savings();
      CHECK(plain.savings() == nullptr);
      CHECK(&plain.compact() == &problem->compact());
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        const auto priced = sw::evaluate(d, choice);
        const double expected =
            *shardweave_test::price_of(stated, choice) - shardweave_test::savings_by_flow(stated, choice);
        CHECK(std::abs(priced.objective - expected) <= 1e-9 * std::max(1.0, std::abs(expected)));
        const auto labels = problem->labels_of(choice);
        REQUIRE(labels.has_value());
        CHECK(std::abs(problem->objective(*labels) - expected) <= 1e-9 * std::max(1.0, std::abs(expected)));
        if (problem->savings() != nullptr) CHECK(priced.savings <= problem->savings()->most() + 1e-9);
        CHECK(sw::evaluate(plain, choice).objective == sw::evaluate(uncounted, choice).objective);
        CHECK(plain.objective(*labels) == problem->compact().cost(*labels));
      });
    }
  }

  TEST_CASE("in any order of the vertices, with any limits on windows, savings are a maximum flow") {
    std::size_t some = 0, relisted = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(800); ++seed) {
      CAPTURE(seed);
      auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed, 8);
      auto& d = stated.description;
      if (!std::ranges::all_of(d.edges, [](const auto& e) { return e.from < e.to; })) continue;
      d.counted = sw::savings_form::windows;
      sw::random_source random(seed);
      d.windows.every_edge = random.chance(0.5);
      if (random.chance(0.7)) d.windows.prefetch = random.below(5);
      const bool has_windows =
          std::ranges::any_of(d.overlap, [](const auto& h) { return h.direction == sw::hiding::none; });
      if (!has_windows) {
        stated = shardweave_test::relisted(std::move(stated), seed);
        ++relisted;
      }
      std::optional<sw::placement_problem<std::int64_t>> problem;
      try {
        problem = sw::compile(d);
      } catch (const sw::error& e) {
        CHECK(e.category() == sw::error_category::constraint);
        continue;
      }
      const auto sets = shardweave_test::position_sets(d);
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        const std::int64_t saved = shardweave_test::savings_by_flow(stated, sets, choice);
        const auto priced = sw::evaluate(d, choice);
        CHECK(priced.savings == saved);
        CHECK(problem->objective(*problem->labels_of(choice)) == priced.objective);
        std::int64_t parts = 0;
        for (const auto& part : sw::hidden_parts(d, choice)) {
          CHECK(
              std::ranges::any_of(sets, [&](const auto& s) { return s.edge == part.edge && s.allowed[part.behind]; }));
          parts += part.amount;
        }
        CHECK(parts == saved);
        some += saved > 0 ? 1U : 0U;
      });
    }
    CHECK(some > shardweave_test::sized<std::size_t>(400, 0));
    CHECK(relisted > shardweave_test::at_scale(100));
  }

  TEST_CASE("without savings the description counts none, and is not copied if it never did") {
    auto d = savings_chain();
    d.overlap = {{.edge = 1, .direction = sw::hiding::earlier}};
    d.counted = sw::savings_form::strict;
    const auto counting = sw::compile(d);
    const auto plain = counting.without_savings();
    CHECK(counting.savings() != nullptr);
    CHECK(counting.description()->counted == sw::savings_form::strict);
    CHECK(plain.description()->counted == sw::savings_form::off);
    CHECK(plain.description()->tables == counting.description()->tables);
    CHECK(plain.shared_description().get() == plain.description());
    CHECK(plain.without_savings().description() == plain.description());
    CHECK(plain.lift(std::vector<sw::strategy>{0, 0, 0}) == first_everywhere);
    CHECK(sw::placement_problem<double>(counting.compact()).without_savings().description() == nullptr);
  }

  TEST_CASE("the reference objectives of real problems are reproduced") {
    const std::vector<std::string> names{"tiny2-1d-8-overlap",
                                         "tiny2-1d-8-overlap-gradients",
                                         "llama3-1b-1d-64-overlap",
                                         "llama3-1b-1d-64-overlap-gradients",
                                         "llama3-1b-1d-64-overlap-tail",
                                         "llama3-1b-2layer-2d-8x8-overlap-gradients",
                                         "llama3-1b-2layer-2d-8x8-overlap-tail"};
    for (const std::string& name : shardweave_test::some_of(names)) {
      CAPTURE(name);
      const auto file = shared_data("placement/" + name + ".json.gz");
      if (!file) return;
      auto d = sw::read_placement(*file);
      d.counted = sw::savings_form::inclusive_twice;
      const auto e = sw::evaluate(d, d.reference->choice);
      CHECK(e.is_feasible());
      CHECK(std::abs(e.objective - d.reference->objective) <= 1e-6 * d.reference->objective);
      CHECK(std::abs(e.parts.total() - *d.reference->without_savings) <= 1e-6 * d.reference->objective);
      const auto p = sw::compile(d);
      CHECK(std::abs(p.objective(*p.labels_of(d.reference->choice)) - e.objective) <= 1e-9 * e.objective);
      double least = e.objective;  // the honest form is the least generous
      for (const auto form : {sw::savings_form::inclusive, sw::savings_form::strict, sw::savings_form::windows}) {
        d.counted = form;
        const double objective = sw::evaluate(d, d.reference->choice).objective;
        CHECK(objective >= least * (1 - 1e-12));
        least = objective;
      }
    }
  }
}

}  // namespace savings_tests

#include "spmd/small_chain.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/constraint_log.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace constraint_log_tests {
namespace {

using namespace small_chains;
using namespace shardweave;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("constraint_log") {
  TEST_CASE("records keep their numbers, and what is removed is gone") {
    constraint_log log;
    const auto a = log.add(inputs_placed{lying("S(0)")});
    const auto b = log.add(layers_tied{});
    CHECK(log.remove(a));
    CHECK_FALSE(log.remove(a));
    const auto c = log.add(gradients_paired{});
    CHECK(std::set{a, b, c}.size() == 3);
    CHECK(log.to_string() == "2 tie_layers\n3 pair_gradients\n");
    CHECK(constraint_log::parse(log.to_string()).to_string() == log.to_string());
    constraint_log again = constraint_log::parse("2 tie_layers\n\n7 pair_gradients");
    CHECK(again.add(layers_tied{}) == 8);
    CHECK(refusal_of([] { (void)constraint_log::parse("2 tie_layers\n2 pair_gradients\n"); }) ==
          "'2 pair_gradients' is no record, expected a number of at least 3 and a demand");
    CHECK(refusal_of([] {
            (void)constraint_log::parse("4294967295 tie_layers\n");
          }).starts_with("'4294967295 tie_layers' is no record, "));  // no record could follow
    CHECK(refusal_of([] { (void)constraint_log::parse("tie_layers"); }) ==
          "'tie_layers' is no record, expected a number of at least 1 and a demand");
    CHECK(refusal_of([] { (void)constraint_log::parse("4 do it"); }).starts_with("'do it' is no demand, expected "));
  }

  TEST_CASE("the usual demands are the usual constraints, under the words of their records") {
    const model_type model = model_of(chain(3), "4x2");
    constraint_log log;
    log.add(inputs_placed{lying("S(0)R")});
    log.add(results_placed{lying("S(0)R")});
    log.add(gradients_paired{});
    log.add(parameters_shared{});
    log.add(layers_tied{});
    const constraint_set mine = constraints_of(model, log);
    const constraint_set usual = training_constraints(model, {.inputs = lying("S(0)R"), .results = lying("S(0)R")});
    const auto equal = [](const auto& a, const auto& b, auto same) {
      CHECK(a.size() == b.size());
      for (const auto& x : b) CHECK(std::ranges::any_of(a, [&](const auto& y) { return same(x, y); }));
    };
    equal(mine.fixed, usual.fixed,
          [](const auto& a, const auto& b) { return a.vertex == b.vertex && a.allowed == b.allowed; });
    equal(mine.pairs, usual.pairs,
          [](const auto& a, const auto& b) { return a.a == b.a && a.b == b.b && a.allowed == b.allowed; });
    equal(mine.ties, usual.ties, [](const auto& a, const auto& b) { return a.vertices == b.vertices; });
    CHECK(mine.fixed.front().why == "#1 inputs S(0)R");
    CHECK(mine.fixed.back().why == "#4 parameter_share 0 ratio");
    CHECK(mine.pairs.front().why == "#3 pair_gradients");
    CHECK(mine.ties.front().why == "#5 tie_layers");
    CHECK(constraints_of(model, log, {5}).fixed.empty());
    CHECK(constraints_of(model, log, {5}).ties.size() == mine.ties.size());
  }

  TEST_CASE("a star stands for any text, and many of them take no longer") {
    const auto slowly = [](const auto& self, std::string_view name, std::string_view pattern) -> bool {
      if (pattern.empty()) return name.empty();
      if (pattern.front() != '*')
        return !name.empty() && name.front() == pattern.front() && self(self, name.substr(1), pattern.substr(1));
      return self(self, name, pattern.substr(1)) || (!name.empty() && self(self, name.substr(1), pattern));
    };
    random_source random(4);
    const auto text = [&](std::string_view letters) {
      std::string made;
      for (std::size_t i = random.below(8); i-- > 0;) made += letters[random.below(letters.size())];
      return made;
    };
    std::size_t fitting = 0;
    for (std::size_t i = 0; i < 20'000; ++i) {
      const std::string name = text("ab"), pattern = text("ab**");
      const bool does = slowly(slowly, name, pattern);
      CHECK_MESSAGE(detail::fits(name, pattern) == does, name << " " << pattern);
      fitting += does ? 1U : 0U;
    }
    CHECK(fitting > 1000);
    std::string stars;
    for (int i = 0; i < 30; ++i) stars += "*a";
    CHECK_FALSE(detail::fits(std::string(60, 'a'), stars + "b"));  // 10^17 ways to lay thirty stars
  }

  TEST_CASE("patterns name operations") {
    const model_type model = model_of(chain(3), "8");
    const auto count = [&](const char* pattern) {
      constraint_log log;
      log.add(operations_placed{pattern, lying("R")});
      return constraints_of(model, log).fixed.size();
    };
    CHECK(count("layers.1.w") == 1);
    CHECK(count("layers.*.w") == 3);
    CHECK(count("*.w") == 3);
    CHECK(count("l*s.*.w") == 3);
    CHECK(count("*") == model.operations().operations.size() - 1);  // all but the output, which has no result
    CHECK(refusal_of([&] { count("layers.9.w"); }) == "#1 placed layers.9.w R: no operation has such a name");
    CHECK(refusal_of([&] { count("ayers.1.w"); }) == "#1 placed ayers.1.w R: no operation has such a name");
    CHECK(refusal_of([&] { count("layers.1.w*x"); }) == "#1 placed layers.1.w*x R: no operation has such a name");
  }

  TEST_CASE("a demand for one mesh dimension leaves the others open") {
    const model_type model = model_of(chain(1), "4x2");
    constraint_log log;
    log.add(operations_placed_along{"layers.0.w", 1, dim_placement::shard(1)});
    const constraint_set all = constraints_of(model, log);
    REQUIRE(all.fixed.size() == 1);
    CHECK(all.fixed[0].allowed.size() == 3);
    for (const strategy s : all.fixed[0].allowed) CHECK(model.label(all.fixed[0].vertex, s).ends_with("S(1)"));
    log.add(operations_placed_along{"x", 2, dim_placement()});
    CHECK(refusal_of([&] { (void)constraints_of(model, log); }) ==
          "#2 placed_along x 2 R: there is no dimension 2 of mesh 4x2");
    log.remove(2);
    log.add(operations_placed_along{"x", 0, dim_placement::partial()});
    CHECK(refusal_of([&] {
            (void)constraints_of(model, log);
          }).starts_with("#3 placed_along x 0 P: operation 'x' cannot be placed P there, it offers RR, "));
  }

  TEST_CASE("a parameter placed outright does not count for the share, in whatever order that was said") {
    const model_type model = model_of(chain(2), "8");
    for (const bool share_first : {true, false}) {
      constraint_log log;
      if (share_first) log.add(parameters_shared{});
      const auto pin = log.add(operations_placed{"layers.0.w", lying("R")});
      if (!share_first) log.add(parameters_shared{});
      CHECK(placed(model, log, "layers.0.w") == "R");
      CHECK(placed(model, log, "layers.1.w") != "R");
      log.remove(pin);
      CHECK(placed(model, log, "layers.0.w") != "R");
    }
  }

  TEST_CASE("what is tied to it or is its gradient does not count either") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    log.add(layers_tied{});
    log.add(gradients_paired{});
    log.add(parameters_shared{});
    CHECK(placed(model, log, "layers.1.w") != "R");
    log.add(operations_placed{"layers.0.w", lying("R")});
    CHECK(placed(model, log, "layers.0.w") == "R");
    CHECK(placed(model, log, "layers.1.w") == "R");
  }

  TEST_CASE("a demand that is removed no longer holds in what is solved next") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    const auto share = log.add(parameters_shared{});
    log.add(inputs_placed{lying("S(0)")});
    log.add(gradients_paired{});
    CHECK(placed(model, log, "layers.0.w") != "R");
    log.remove(share);
    CHECK(placed(model, log, "layers.0.w") == "R");
    CHECK(constraints_of(model, log).budgets.empty());
  }

  TEST_CASE("bytes are counted over all parameters, placed or not") {
    const model_type model = model_of(chain(2), "8");  // two weights of 64 * 64 * 4 = 16384 bytes
    const auto layout = [&](std::int64_t most, const char* pinned) {
      constraint_log log;
      log.add(parameters_limited{bytes(most)});
      log.add(inputs_placed{lying("S(0)")});
      log.add(results_placed{lying("S(0)")});
      log.add(gradients_paired{});
      log.add(operations_placed{"layers.0.w", lying(pinned)});
      return placed(model, log, "layers.1.w");
    };
    CHECK(layout(2 * 16384, "R") == "R");
    CHECK(layout(2 * 16384 - 1, "R") != "R");
    CHECK(layout(16384 + 2048, "S(0)") == "R");
    CHECK(layout(16384 + 2047, "S(0)") != "R");
    constraint_log log;
    log.add(parameters_limited{bytes(16384 + 2047)});
    log.add(operations_placed{"layers.0.w", lying("R")});
    CHECK(constraints_of(model, log).budgets.front().name == "#1 parameter_bytes 18431");
  }

  TEST_CASE("a gradient that must be added up in the wide type is not moved before its cast") {
    const auto communication = [](bool forced) {
      const model_type model = model_of(chain(1), "8", {.reduce_after_cast = forced});
      const auto cast = number_of(model, "backward.layers.0.cast");
      const auto e = model.graph().in(cast).front();
      std::set<std::string> moved;
      for (strategy a = 0; a < model.strategy_count(e.source); ++a)
        for (strategy b = 0; b < model.strategy_count(cast); ++b) {
          const double cost = model.edge_parts(e, a, b).communication;
          if (cost > 0 && cost < 1e9) moved.insert(model.sent(e, a).to_string() + ">" + model.taken(e, b).to_string());
        }
      return moved;
    };
    CHECK(communication(false).contains("P>S(0)"));
    CHECK(communication(true).empty());
  }

  TEST_CASE("patterns that no line could state are refused") {
    constraint_log log;
    for (const char* pattern : {"", "a b", "a\nb", "\t"}) {
      CHECK_THROWS_AS(log.add(operations_placed{pattern, lying("R")}), shardweave::error);
      CHECK_THROWS_AS(log.add(operations_placed_along{pattern, 0, lying("R")[0]}), shardweave::error);
    }
    CHECK(log.records().empty());
    CHECK(log.add(operations_placed{"a*b", lying("R")}) == 1);
  }
}

}  // namespace constraint_log_tests

#include <shardweave/core/random.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/conflicting_demands.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/smallest_conflict.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace constraint_log_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;
using model_type = spmd_cost_model;

sharding lying(const char* text) { return sharding::parse(text); }

/// `layers` times y = relu(x w), with gradients of the weights; weights are kept in f32 and used in bf16.
computation chain(std::int64_t layers, std::int64_t width = 64) {
  graph_builder b("chain");
  auto x = b.input("x", {{256, width}, dtype::bf16});
  std::vector<graph_builder::value> weights, narrow, inputs;
  for (std::int64_t l = 0; l < layers; ++l) {
    b.layer(l);
    weights.push_back(b.parameter("layers." + std::to_string(l) + ".w", {{width, width}, dtype::f32}));
    narrow.push_back(b.cast(weights.back(), dtype::bf16));
    inputs.push_back(x);
    x = b.einsum("bk,kn->bn", {x, narrow.back()});
  }
  b.layer(-1).result(x);
  b.when(phase::backward);
  auto g = b.tangent("dy", x);
  for (std::int64_t l = layers; l-- > 0;) {
    const auto i = static_cast<std::size_t>(l);
    b.layer(l).gradient(weights[i], b.cast(b.einsum("bk,bn->kn", {inputs[i], g}), dtype::f32));
    if (l > 0) g = b.einsum("bn,kn->bk", {g, narrow[i]});
  }
  return insert_aliases(b.finish());
}

model_type model_of(computation graph, const char* mesh, spmd_options options = {}) {
  const device_profile h100 = find_device("h100");
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100), standard_rules(), options};
}

std::uint32_t number_of(const model_type& model, const std::string& name) {
  const auto& operations = model.operations().operations;
  const auto at = std::ranges::find(operations, name, &operation::name);
  REQUIRE(at != operations.end());
  return static_cast<std::uint32_t>(at - operations.begin());
}

/// Where an operation's result lies in the best placement.
std::string placed(const model_type& model, const constraint_log& log, const std::string& name) {
  const auto found = exhaustive{}.solve(compile(describe(model.graph(), model, constraints_of(model, log))));
  REQUIRE(found.status == solve_status::optimal);
  const std::uint32_t v = number_of(model, name);
  return model.strategies(v).strategies[found.choice[v]].outputs.front().to_string();
}

}  // namespace

TEST_SUITE("demand") {
  TEST_CASE("every demand has words that mean it again") {
    const std::vector<std::pair<demand, std::string>> all{
        {operations_placed{"layers.*.w", lying("S(0)R")}, "placed layers.*.w S(0)R"},
        {operations_placed_along{"x", 1, dim_placement::shard(2)}, "placed_along x 1 S(2)"},
        {inputs_placed{lying("S(0)P(avg)")}, "inputs S(0)P(avg)"},
        {results_placed{lying("RR")}, "results RR"},
        {gradients_paired{}, "pair_gradients"},
        {layers_tied{}, "tie_layers"},
        {parameters_shared{0.125, parameter_unit::ratio}, "parameter_share 0.125 ratio"},
        {parameters_shared{1, parameter_unit::size}, "parameter_share 1 size"},
        {parameters_limited{bytes(16'000'000'000)}, "parameter_bytes 16000000000"},
        {memory_limited{bytes(80'000'000'000), 12.5}, "memory_bytes 80000000000 state 12.5"}};
    for (const auto& [what, words] : all) {
      CHECK(to_string(what) == words);
      CHECK(parse_demand(words) == what);
    }
    CHECK(parse_demand("  inputs   R ") == demand(inputs_placed{lying("R")}));
  }

  TEST_CASE("other words are refused") {
    for (const std::string line :
         {"", "place x R", "placed x", "placed x R R", "placed_along x one R", "placed_along x 1 RR",
          "parameter_share 0.5 gigabytes", "parameter_share half ratio", "parameter_bytes 1e9", "memory_bytes 5",
          "memory_bytes 5 with 8", "memory_bytes 5 state many", "pair_gradients please", "tie_layers 3"})
      CHECK(refusal_of([&] { (void)parse_demand(line); }).starts_with("'" + line + "' is no demand, expected "));
    CHECK(refusal_of([] { (void)parse_demand("placed x"); }) ==
          "'placed x' is no demand, expected one like 'placed layers.*.wq S(0)R'");
    CHECK(refusal_of([] { (void)parse_demand("place x R"); }) ==
          "'place x R' is no demand, expected one that begins with one of placed, placed_along, inputs, results, "
          "pair_gradients, tie_layers, parameter_share, parameter_bytes, memory_bytes");
    for (const std::string_view example : detail::demand_examples) CHECK(to_string(parse_demand(example)) == example);
    CHECK(refusal_of([] { (void)parse_demand("inputs Q"); }).starts_with("'Q' is no sharding"));
  }
}

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
}

TEST_SUITE("smallest_conflict") {
  TEST_CASE("the set is one of least size among all subsets") {
    random_source random(3);
    for (std::size_t round = 0; round < shardweave_test::at_scale(200); ++round) {
      const std::size_t count = 3 + random.below(6);
      std::vector<std::size_t> conflicts;  // as bit sets: a set of demands holds if it contains none of these
      for (std::size_t k = random.below(5); k-- > 0;) conflicts.push_back(1 + random.below((1U << count) - 1));
      const auto holds = [&](std::size_t set) {
        return std::ranges::none_of(conflicts, [&](std::size_t c) { return (set & c) == c; });
      };
      std::size_t questions = 0;
      const auto found = smallest_conflict(count, [&](std::span<const std::size_t> chosen) {
        ++questions;
        std::size_t set = 0;
        for (const std::size_t i : chosen) set |= std::size_t{1} << i;
        CHECK(std::ranges::is_sorted(chosen));
        return holds(set);
      });
      std::size_t least = count + 1;
      for (std::size_t set = 0; set < (std::size_t{1} << count); ++set)
        if (!holds(set)) least = std::min(least, static_cast<std::size_t>(std::popcount(set)));
      std::size_t set = 0;
      for (const std::size_t i : found) set |= std::size_t{1} << i;
      CHECK(found.size() == (least > count ? 0 : least));
      CHECK(holds(set) == found.empty());
      CHECK(questions <= (std::size_t{1} << count) * count);
    }
  }

  TEST_CASE("one culprit among many is found in few questions") {
    std::size_t questions = 0;
    const auto found = smallest_conflict(40, [&](std::span<const std::size_t> chosen) {
      ++questions;
      return std::ranges::find(chosen, 17U) == chosen.end();
    });
    CHECK(found == std::vector<std::size_t>{17});
    CHECK(questions <= 44);
  }

  TEST_CASE("a contradiction without demands is an error") {
    CHECK(refusal_of([] { (void)smallest_conflict(2, [](std::span<const std::size_t>) { return false; }); }) ==
          "there is no assignment even without any of the 2 demands");
  }
}

TEST_SUITE("conflicting_demands") {
  TEST_CASE("of many demands, the fewest that contradict each other are told in the user's words") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    log.add(inputs_placed{lying("S(0)")});
    log.add(operations_placed{"layers.1.w", lying("S(1)")});
    log.add(gradients_paired{});
    log.add(results_placed{lying("S(0)")});
    CHECK(conflicting_demands(model, log, exhaustive{}).empty());
    log.add(operations_placed{"backward.layers.1.cast.result", lying("R")});
    log.add(parameters_limited{bytes(100'000)});
    log.add(layers_tied{});
    std::string told;
    for (const auto& r : conflicting_demands(model, log, exhaustive{})) told += to_string(r.what) + "; ";
    CHECK(told == "placed layers.1.w S(1); pair_gradients; placed backward.layers.1.cast.result R; ");
  }

  TEST_CASE("memory that is too small contradicts what is kept whole") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    log.add(inputs_placed{lying("S(0)")});
    log.add(layers_tied{});
    log.add(operations_placed{"layers.0.w", lying("R")});
    log.add(parameters_limited{bytes(17'000)});  // 16384 for one and 2048 for a part of the other would be more
    std::string told;
    for (const auto& r : conflicting_demands(model, log, exhaustive{})) told += std::to_string(r.id) + " ";
    CHECK(told == "3 4 ");
    log.remove(3);
    CHECK(conflicting_demands(model, log, exhaustive{}).empty());
    const auto limit = log.add(parameters_limited{bytes(4'000)});  // less than both cut in 8
    REQUIRE(conflicting_demands(model, log, exhaustive{}).size() == 1);
    CHECK(conflicting_demands(model, log, exhaustive{}).front().id == limit);
  }
}

}  // namespace constraint_log_tests

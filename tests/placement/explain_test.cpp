#include "stated_assignments.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/placement/explain.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace explain_tests {
namespace {

namespace sw = shardweave;
using stated_assignments::objective_of;
using stated_assignments::some_feasible;
using choice_span = std::span<const sw::strategy>;

}  // namespace

TEST_SUITE("explain") {
  TEST_CASE("explanations add up to the objective, and nothing hides where or more than it may") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      const auto sets = shardweave_test::position_sets(d);
      for (const sw::assignment& choice : some_feasible(stated)) {
        std::int64_t objective = 0, hidden = 0;
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> by_edge, by_vertex;  // edge and vertex
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          const auto told = sw::explain(d, choice_span(choice), v);
          CHECK(told.chosen == choice[v]);
          std::int64_t inputs = 0, of_inputs = 0;
          for (const auto& e : told.inputs) {
            CHECK(d.edges[e.edge].to == v);
            std::int64_t behind = 0;
            for (const auto& share : e.behind) {
              CHECK(share.amount > 0);
              CHECK(std::any_of(sets.begin(), sets.end(),
                                [&](const auto& s) { return s.edge == e.edge && s.allowed[share.behind]; }));
              behind += share.amount;
              by_edge[{e.edge, share.behind}] = share.amount;
            }
            CHECK(behind == e.hidden);
            CHECK(e.hidden <=
                  std::max<std::int64_t>(e.parts.communication, 0) *
                      std::count_if(sets.begin(), sets.end(), [&](const auto& s) { return s.edge == e.edge; }));
            of_inputs += e.hidden;
            inputs += e.parts.communication + e.parts.transition;
          }
          for (const auto& share : told.hides) by_vertex[{share.edge, v}] = share.amount;
          CHECK(told.price.total() == d.vertices[v].compute[choice[v]] + inputs - of_inputs);
          objective += told.price.total();
          hidden += of_inputs;
        }
        CHECK(objective == objective_of(stated, choice));
        CHECK(hidden == shardweave_test::savings_by_flow(stated, choice));
        CHECK(by_edge == by_vertex);
        std::set<std::int64_t> channels;
        for (const auto& s : sets) channels.insert(s.channel);
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          std::int64_t spent = 0;
          for (const auto& [at, amount] : by_edge) spent += at.second == v ? amount : 0;
          CHECK(spent <= std::max<std::int64_t>(d.vertices[v].compute[choice[v]], 0) *
                             static_cast<std::int64_t>(channels.size()));
        }
      }
    }
  }
}

TEST_SUITE("alternatives") {
  TEST_CASE("changes are those of the whole, by other means, and what breaks nothing is feasible") {
    std::size_t free = 0, broken = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      for (const sw::assignment& choice : some_feasible(stated))
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          const auto told = sw::alternatives(d, choice_span(choice), v);
          REQUIRE(told.strategies.size() == d.vertices[v].compute.size());
          CHECK(told.chosen == choice[v]);
          for (sw::strategy s = 0; s < told.strategies.size(); ++s) {
            const auto& other = told.strategies[s];
            sw::assignment moved = choice;
            moved[v] = s;
            for (const std::uint32_t w : told.along) moved[w] = s;
            const bool is_feasible = shardweave_test::price_of(stated, moved).has_value();
            CHECK(other.breaks.empty() == is_feasible);
            ++(is_feasible ? free : broken);
            if (is_feasible) CHECK(other.change == objective_of(stated, moved) - objective_of(stated, choice));
          }
        }
    }
    CHECK(free > shardweave_test::at_scale(500));
    CHECK(broken > shardweave_test::at_scale(500));
  }
}

}  // namespace explain_tests

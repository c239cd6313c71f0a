#include "stated_assignments.hpp"
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/explain.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace diff_tests {
namespace {

namespace sw = shardweave;
using stated_assignments::objective_of;
using stated_assignments::some_feasible;
using choice_span = std::span<const sw::strategy>;

}  // namespace

TEST_SUITE("diff") {
  TEST_CASE("what vertices pay more adds up to what the objective is more") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      const auto choices = some_feasible(stated);
      if (choices.empty()) continue;
      const auto& one = choices.front();
      const auto& other = choices.back();
      const auto told = sw::diff(d, choice_span(one), choice_span(other));
      CHECK(told.before.objective == objective_of(stated, one));
      CHECK(told.after.objective == objective_of(stated, other));
      std::int64_t change = 0;
      std::size_t next = 0;
      for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
        const auto before = sw::explain(d, choice_span(one), v).price,
                   after = sw::explain(d, choice_span(other), v).price;
        if (one[v] == other[v] && before == after) continue;
        REQUIRE(next < told.vertices.size());
        const auto& listed = told.vertices[next++];
        CHECK(listed.vertex == v);
        CHECK(listed.chosen == std::pair(one[v], other[v]));
        CHECK(listed.before == before);
        CHECK(listed.after == after);
        change += listed.after.total() - listed.before.total();
      }
      CHECK(next == told.vertices.size());
      CHECK(change == told.after.objective - told.before.objective);
    }
  }
}

}  // namespace diff_tests

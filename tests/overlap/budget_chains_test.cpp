#include "overlap/random_demands.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/budget_chains.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/segments.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/solve/backend/glpk.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace budget_chains_tests {
namespace {

namespace sw = shardweave;

/// The rows as their documentation says, for computation and amounts that are plain numbers.
double by_linear_program(const sw::budget_chains& rows, const std::vector<std::int64_t>& computation,
                         const std::vector<sw::hideable<std::int64_t>>& demands) {
  sw::linear_model model;
  std::vector<std::vector<std::uint32_t>> budgets(rows.chains.size());  // rows, by chain and segment
  const auto sums = rows.segments.sums(computation);
  std::vector<std::uint32_t> spent(rows.covering().size());
  for (std::size_t i = 0; i < spent.size(); ++i)
    spent[i] = model.add_row({.high = static_cast<double>(sums[i % rows.segments.size()])});
  for (std::size_t c = 0; c < rows.chains.size(); ++c) {
    const sw::budget_chain& chain = rows.chains[c];
    for (std::size_t k = chain.first; k <= chain.last; ++k) budgets[c].push_back(model.add_row({0, 0}));
    for (std::size_t k = chain.first; k <= chain.last; ++k) {
      const std::size_t i = k - chain.first;
      const std::uint32_t budget = model.add_column({}), share = model.add_column({});
      model.add_entry(budgets[c][i], budget, -1);
      if (chain.forward && k < chain.last) model.add_entry(budgets[c][i + 1], budget, 1);
      if (!chain.forward && k > chain.first) model.add_entry(budgets[c][i - 1], budget, 1);
      model.add_entry(budgets[c][i], share, 1);
      model.add_entry(spent[chain.channel * rows.segments.size() + k], share, 1);
    }
  }
  std::vector<std::uint32_t> amount;
  for (const auto& d : demands) amount.push_back(model.add_row({.high = static_cast<double>(d.amount)}));
  for (const sw::budget_claim& claim : rows.claims) {
    const std::uint32_t column = model.add_column({.objective = -1});
    model.add_entry(amount[claim.place], column, 1);
    model.add_entry(budgets[claim.chain][claim.segment - rows.chains[claim.chain].first], column, -1);
  }
  if (model.columns.empty()) return 0;
  sw::sort_entries(model);
  const auto outcome = sw::glpk{}.solve(model, {});
  REQUIRE(outcome.status == sw::backend_status::optimal);
  return -outcome.objective;
}

}  // namespace

TEST_SUITE("budget_chains") {
  TEST_CASE("the linear program of the rows is the sweep") {
    sw::random_source random(31);
    using overlap_test::kind;
    constexpr kind kinds[] = {kind::any, kind::chains, kind::chains_and_holes, kind::any_and_holes};
    for (std::size_t trial = 0; trial < shardweave_test::sized<std::size_t>(10'000, 300); ++trial) {
      const auto [computation, demands] = overlap_test::draw_demands(random, kinds[trial % 4], 8, 8, 1 + trial % 2);
      const sw::budget_chains rows = sw::budget_chains_of(demands, computation.size());
      REQUIRE(by_linear_program(rows, computation, demands) ==
              doctest::Approx(static_cast<double>(sw::hide(computation, demands).total)).epsilon(1e-9));
    }
  }

  TEST_CASE("on graphs, in every form and on every channel, rows, sweep and flow agree; no savings are negative") {
    sw::random_source random(37);
    std::size_t tried = 0, some = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(1'000); ++trial) {
      constexpr std::size_t n = 7;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
      for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = a + 1; b < n; ++b)
          if (random.chance(0.3)) ends.emplace_back(a, b);
      const sw::compressed_graph g(n, ends);
      std::vector<std::int64_t> computation(n), amounts(ends.size());
      for (auto& c : computation) c = random.chance(0.3) ? 0 : static_cast<std::int64_t>(random.below(12));
      for (auto& a : amounts) a = static_cast<std::int64_t>(random.below(16));
      std::vector<sw::hiding> direction;
      for (std::size_t e = 0; e < ends.size(); ++e) direction.push_back(static_cast<sw::hiding>(random.below(4)));
      std::vector<std::uint32_t> order(n);
      for (std::uint32_t v = 0; v < n; ++v) order[v] = v;
      const std::size_t channels = 1 + trial % 3;
      const auto agree = [&](const auto& form) {
        const auto places = sw::hiding_places(
            g, order, [&](std::uint32_t v) { return computation[v] > 0; },
            [&](const auto& e) { return direction[e.index]; }, form, [&](const auto& e) { return e.index % channels; });
        const auto demands = sw::demands_of(places, [&](std::size_t e) { return amounts[e]; });
        const auto saved = sw::hide(computation, demands);
        std::int64_t flow = 0;
        for (std::size_t c = 0; c < channels; ++c) flow += overlap_test::most_flow(computation, demands, c);
        REQUIRE(saved.total == flow);
        const auto rows = by_linear_program(sw::budget_chains_of(demands, n), computation, demands);
        REQUIRE(rows == doctest::Approx(static_cast<double>(flow)).epsilon(1e-9));
        for (std::size_t i = 0; i < places.size(); ++i)
          REQUIRE((saved.hidden[i] >= 0 && saved.hidden[i] <= amounts[places[i].edge]));
        ++tried;
        some += flow > 0 ? 1U : 0U;
      };
      agree(sw::windows_form{});
      agree(sw::windows_form{.prefetch = 3, .every_edge = true});
      agree(sw::strict_form{});
      agree(sw::inclusive_form{});
      agree(sw::inclusive_form{.twice = true});
    }
    CHECK(tried == shardweave_test::at_scale(1'000) * 5);
    CHECK(some > tried / 2);
  }

  TEST_CASE("prefix and suffix windows are the two chains of the original model") {
    std::vector<sw::hiding_place> places;
    for (std::size_t p = 1; p < 9; p += 2) {
      places.push_back({p, {0, p}});
      places.push_back({p, {p, 9}});
    }
    const auto rows = sw::budget_chains_of(places, 10);
    REQUIRE(rows.chains.size() == 2);
    CHECK(rows.chains[0].forward != rows.chains[1].forward);
    CHECK(rows.claims.size() == 8);
    CHECK(rows.segments.size() == 9);  // 0 | 1 | 2 | ... | 7 | 8 9, for windows touch at one position
    for (const auto& chains : rows.covering()) CHECK(chains.size() <= 2);
  }

  TEST_CASE("a position that is left out leaves two claims on one amount") {
    const std::vector<sw::hiding_place> places{{0, {0, 6, 3}}, {1, {0, 2}}, {2, {4, 6}}};
    const auto rows = sw::budget_chains_of(places, 7);
    CHECK(rows.chains.size() == 2);
    REQUIRE(rows.claims.size() == 4);
    CHECK((rows.claims[0].place == 0 && rows.claims[1].place == 0));
    CHECK(rows.claims[0].chain != rows.claims[1].chain);
    CHECK(rows.segments.size() == 3);
  }
}

}  // namespace budget_chains_tests

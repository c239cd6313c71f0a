#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/solver.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace planner_savings_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::random_problem;

/// A random problem as a host's own model, which says of each edge where it may hide.
struct host_costs {
  using cost_type = std::int64_t;
  using edge = sw::compressed_graph::edge_descriptor;
  const random_problem<std::int64_t>* stated;

  std::size_t strategy_count(std::uint32_t v) const { return stated->description.vertices[v].compute.size(); }
  std::int64_t vertex_cost(std::uint32_t v, sw::strategy s) const { return stated->description.vertices[v].compute[s]; }
  sw::edge_parts<std::int64_t> edge_parts(edge e, sw::strategy a, sw::strategy b) const {
    const auto cost = [&](std::uint32_t table) { return table == sw::no_table ? 0 : stated->dense[table](a, b); };
    const sw::described_edge& told = stated->description.edges[e.index];
    return {cost(told.communication), cost(told.transition)};
  }
  std::int64_t edge_cost(edge e, sw::strategy a, sw::strategy b) const {
    const auto parts = edge_parts(e, a, b);
    return sw::plus(parts.communication, parts.transition);
  }
  sw::hiding hides(edge e) const {
    sw::hiding direction = sw::hiding::none;
    for (const sw::hideable_edge& h : stated->description.overlap)
      if (h.edge == e.index) direction = direction | h.direction;
    return direction;
  }
};
static_assert(sw::overlap_cost_model<host_costs, sw::compressed_graph>);

/// The same model without what hides.
struct plain_costs {
  using cost_type = std::int64_t;
  host_costs all;

  std::size_t strategy_count(std::uint32_t v) const { return all.strategy_count(v); }
  std::int64_t vertex_cost(std::uint32_t v, sw::strategy s) const { return all.vertex_cost(v, s); }
  std::int64_t edge_cost(host_costs::edge e, sw::strategy a, sw::strategy b) const { return all.edge_cost(e, a, b); }
};

/// Says which of its functions answers.
struct two_ways {
  static constexpr std::string_view name = "two_ways";
  static constexpr sw::solver_abilities abilities{};

  template <sw::cost_value Cost>
  static sw::solution<Cost> said(const char* what) {
    sw::solution<Cost> answer;
    answer.statistics.note = what;
    return answer;
  }
  template <sw::cost_value Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>&, const sw::solve_control& = {}) const {
    return said<Cost>("solve");
  }
  template <sw::cost_value Cost>
  sw::solution<Cost> solve_costs(const sw::placement_problem<Cost>&, const sw::solve_control& = {}) const {
    return said<Cost>("solve_costs");
  }
};

sw::compressed_graph graph_of(const sw::placement_description<std::int64_t>& d) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const sw::described_edge& e : d.edges) ends.emplace_back(e.from, e.to);
  return sw::compressed_graph(d.vertices.size(), ends);
}

}  // namespace

TEST_SUITE("planner that counts savings") {
  TEST_CASE("a host's own model is planned with savings in one call, however its vertices are listed") {
    std::size_t saving = 0, better = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(1000); ++seed) {
      CAPTURE(seed);
      auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      auto& d = stated.description;
      if (!std::ranges::all_of(d.edges, [](const auto& e) { return e.from < e.to; })) continue;
      d.counted = sw::savings_form::windows;
      std::erase_if(d.overlap, [](const auto& h) { return h.direction == sw::hiding::none; });
      for (auto& h : d.overlap) h.channel = 0;
      sw::random_source random(seed);
      if (random.chance(0.5)) d.windows.prefetch = random.below(4);
      d.windows.every_edge = random.chance(0.4);
      stated = shardweave_test::relisted(std::move(stated), seed);
      const auto best = shardweave_test::brute_force_with_savings(stated);
      const auto g = graph_of(d);
      const sw::planner plain(g, host_costs{&stated}, d.constraints);
      const auto found = plain.counting(sw::savings_form::windows, d.windows).solve();
      REQUIRE(found.has_assignment() == best.objective.has_value());
      if (!best.objective) continue;
      CHECK(found.status == sw::solve_status::optimal);
      CHECK(found.objective == *best.objective);
      const auto without = plain.solve();  // which is what it was
      const auto brute = shardweave_test::brute_force(stated);
      CHECK(without.objective == *brute.objective);
      saving += found.objective < without.objective ? 1U : 0U;
      const auto counted = plain.counting(sw::savings_form::windows, d.windows).evaluate(without.choice);
      better += found.objective < counted.objective ? 1U : 0U;
    }
    CHECK(saving > shardweave_test::at_scale(20));
    CHECK(better >= shardweave_test::sized<std::size_t>(1, 0));
  }

  TEST_CASE("a solver is asked about costs alone where the model does not say what hides") {
    const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(1);
    const auto g = graph_of(stated.description);
    CHECK(sw::planner(g, host_costs{&stated}, two_ways{}).solve().statistics.note == "solve");
    CHECK(sw::planner(g, plain_costs{{&stated}}, two_ways{}).solve().statistics.note == "solve_costs");
    const sw::planner exact(g, plain_costs{{&stated}}, sw::exhaustive{});
    CHECK(exact.solve().objective == exact.with(sw::auto_solver{}).solve().objective);
  }

  TEST_CASE("policies share what is counted") {
    auto stated = shardweave_test::draw_savings_problem<std::int64_t>(1);
    auto& d = stated.description;
    d.overlap.clear();
    const auto g = graph_of(d);
    const sw::planner plain(g, host_costs{&stated});
    const auto counting = plain.counting(sw::savings_form::strict);
    CHECK(counting.problem().description()->counted == sw::savings_form::strict);
    CHECK(counting.with(sw::exhaustive{}).problem().description() == counting.problem().description());
    CHECK(plain.problem().description()->counted == sw::savings_form::off);
    const auto windows = counting.counting(sw::savings_form::windows, {.prefetch = 7});
    CHECK(windows.problem().description()->windows == sw::windows_form{.prefetch = 7});
  }
}

}  // namespace planner_savings_tests

#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/explain_step.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/work_table.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace explain_step_tests {
namespace {
using ns = sw::nanoseconds;

/// A small training step planned, with its bound.
struct planned {
  sw::spmd_cost_model model;
  sw::fastest_plan_result found;

  planned()
      : model(sw::llama_training_graph({.hidden_size = 1024,
                                        .num_hidden_layers = 2,
                                        .num_attention_heads = 8,
                                        .num_key_value_heads = 4,
                                        .intermediate_size = 4096,
                                        .vocab_size = 32'000},
                                       {.batch = 8, .sequence = 1024}),
              sw::device_mesh({2, 4}), sw::roofline{sw::find_device("h100")}, sw::alpha_beta(sw::find_device("h100"))),
        found(sw::fastest_plan(sw::pipeline(sw::auto_solver{}, sw::benefit<>{}), model, sw::training_constraints(model),
                               {.search = {.plans = 6}, .changes = 100})) {}

  [[nodiscard]] const sw::lowered_graph& lowered() const { return *found.plan.lowered; }
  [[nodiscard]] sw::priced_bound bound() const { return {found.work.get(), &found.bounds}; }
  [[nodiscard]] std::vector<sw::explained_task> explained(std::uint32_t v) const {
    const sw::priced_bound prices = bound();
    return sw::explain_step(lowered(), found.plan.tasks->order, found.plan.tasks->after, *found.plan.problem, v,
                            &prices);
  }
  /// What the least placement is worth at the bound's prices, of some work.
  [[nodiscard]] double least_worth(const sw::step_work& work) const {
    const auto problem = sw::compile(found.plan.problem);
    const sw::priced_steps priced(problem, work);
    const sw::placement_problem<double> at(priced.at(sw::prices_of(found.bounds.claims, found.bounds.weights, work)));
    const auto answer = sw::auto_solver{}.solve(at, {});
    REQUIRE(answer.status == sw::solve_status::optimal);
    return answer.objective;
  }
};

const planned& small_step() {
  static const planned p;  // takes longer than the tests of it
  return p;
}

/// The work where a vertex, or all that shares the way of an edge, takes so much more.
sw::step_work with_more(sw::step_work work, std::uint32_t vertex, double more) {
  work.times.push_back(work.times[work.times_of[vertex]]);
  for (double& time : work.times.back()) time += more;
  work.times_of[vertex] = static_cast<std::uint32_t>(work.times.size() - 1);
  return work;
}
sw::step_work with_more(sw::step_work work, std::uint32_t edge, std::size_t channel, double more) {
  const std::uint32_t share = work.edges[edge].share;
  for (sw::work_edge& e : work.edges) {
    if (e.share != share) continue;
    std::vector<std::uint32_t> rows(work.times[work.times_of[e.from]].size()),
        columns(work.times[work.times_of[e.to]].size());
    std::iota(rows.begin(), rows.end(), 0U);
    std::iota(columns.begin(), columns.end(), 0U);
    const sw::work_table old = work.tables[e.table];
    sw::work_table_builder builder(work.channels, "an edge");
    work.tables.push_back(builder.table(rows, columns, [&](std::uint32_t a, std::uint32_t b) {
      sw::edge_work taken{{}, old.chain(a, b) + more};
      for (std::size_t way = 0; way < old.ways(); ++way) {
        std::vector<double>& loads = way == 0 ? taken.loads : taken.otherwise.emplace_back();
        for (std::size_t c = 0; c < work.channels; ++c)
          loads.push_back(old.load(c, a, b, way) + (c == channel ? more : 0));
      }
      return taken;
    }));
    e.table = static_cast<std::uint32_t>(work.tables.size() - 1);
  }
  return work;
}

}  // namespace

TEST_SUITE("explain step") {
  TEST_CASE("what more time costs the plan and the bound is what they are with it") {
    const planned& p = small_step();
    REQUIRE(p.found.bounds.bound > 0);
    const sw::task_graph& g = p.lowered().tasks;
    const sw::schedule& order = p.found.plan.tasks->order;
    const ns step = p.found.plan.tasks->after.end_to_end;
    const double worth = p.least_worth(*p.found.work);
    std::vector<ns> usual;
    for (sw::task_index t = 0; t < g.size(); ++t) usual.push_back(g.duration(t));
    std::size_t costly = 0, free = 0, priced = 0, moved = 0;
    const auto vertices = static_cast<std::uint32_t>(p.model.graph().vertex_count());
    std::set<std::pair<bool, std::uint32_t>> seen;
    const auto most = shardweave_test::sized<std::size_t>(24, 6);
    for (std::uint32_t v = 0; v < vertices; v += shardweave_test::sized<std::uint32_t>(3, 29))
      for (const sw::explained_task& told : p.explained(v)) {
        CAPTURE(v);
        CAPTURE(told.task);
        REQUIRE(told.in_bound);
        if (told.together == 1)
          for (const std::int64_t more : {1'000, 400'000}) {
            std::vector<ns> longer = usual;
            longer[told.task] += ns(more);
            const ns end = sw::simulate(g.with_durations(longer), order).end_to_end;
            CHECK(end - step == told.cost_of(ns(more)));
            (end > step ? costly : free) += 1;
          }
        if (!seen.emplace(told.edge.has_value(), told.edge.value_or(v)).second || seen.size() > most) continue;
        const double more = 5'000;
        const std::size_t channel = g.is_collective(told.task) ? g.collective(told.task).group + 1 : 0;
        const sw::step_work other =
            told.edge ? with_more(*p.found.work, *told.edge, channel, more) : with_more(*p.found.work, v, more);
        CHECK(p.least_worth(other) - worth == doctest::Approx(more * *told.in_bound).epsilon(1e-6).scale(1));
        priced += *told.in_bound > 0 ? 1U : 0U;
        moved += told.edge ? 1U : 0U;
      }
    MESSAGE(costly << " cost the step, " << free << " do not; " << priced << " of " << seen.size()
                   << " count in the bound, " << moved << " move");
    CHECK(costly > 0);
    CHECK(free > 0);
    CHECK(priced > 0);
    CHECK(moved > 0);
  }

  TEST_CASE("every copy and collective is told of its consumer and of its producer, with what its edge takes") {
    const planned& p = small_step();
    const sw::lowered_graph& lowered = p.lowered();
    const sw::task_graph& g = lowered.tasks;
    const auto alone = sw::describe_work(p.model.graph(), sw::lowered_work(p.model).alone(),
                                         [&](std::uint32_t v) { return p.model.strategy_count(v); });
    const std::vector<sw::strategy>& choice = p.found.plan.placement.choice;
    std::vector<std::vector<double>> told_of(alone.edges.size(), std::vector<double>(alone.channels));
    std::set<sw::task_index> told_at_all;
    for (std::uint32_t v = 0; v < choice.size(); ++v)
      for (const sw::explained_task& told : p.explained(v)) {
        told_at_all.insert(told.task);
        if (!told.edge) {
          CHECK(lowered.origin[told.task].operation == v);
          continue;
        }
        const sw::described_edge& e = p.found.plan.problem->edges[*told.edge];
        if (e.to == v) {
          const std::size_t channel = g.is_collective(told.task) ? g.collective(told.task).group + 1 : 0;
          told_of[*told.edge][channel] += static_cast<double>(g.duration(told.task).count());
        } else if (e.from != v) {  // it shares the way
          CHECK(std::ranges::any_of(p.found.plan.problem->edges,
                                    [&](const auto& other) { return other.from == e.from && other.to == v; }));
        }
      }
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (lowered.origin[t].is_redistribution() && g.duration(t) > ns()) CHECK(told_at_all.contains(t));
    std::size_t ways = 0;
    for (std::uint32_t e = 0; e < told_of.size(); ++e) {
      if (std::ranges::all_of(told_of[e], [](double time) { return time == 0; })) continue;
      ++ways;
      CAPTURE(e);
      const sw::work_edge& edge = alone.edges[e];
      for (std::size_t c = 0; c < alone.channels; ++c)
        CHECK(told_of[e][c] <= alone.load(edge, c, choice[edge.from], choice[edge.to]));
    }
    CHECK(ways > 5);
  }

  TEST_CASE("strategies change at the prices what their claims change, and one that is not there is refused") {
    const planned& p = small_step();
    const sw::priced_bound bound = p.bound();
    const std::span<const sw::strategy> choice = p.found.plan.placement.choice;
    const auto worth = [&](std::span<const sw::strategy> of) {
      const sw::work_prices prices = sw::prices_of(bound.bounds->claims, bound.bounds->weights, *bound.work);
      const sw::taken_work taken = sw::work_of(*bound.work, of, &prices);
      double sum = 0;
      for (std::size_t r = 0; r < bound.bounds->claims.size(); ++r)
        sum += bound.bounds->weights[r] * sw::value_of(bound.bounds->claims[r], *bound.work, taken);
      return sum;
    };
    std::size_t differ = 0;
    for (const std::uint32_t v : {3U, 10U, 21U, 40U}) {
      const auto others = sw::alternatives(*p.found.plan.problem, choice, v);
      const std::vector<double> changes = sw::changes_at_prices(others, choice, bound);
      REQUIRE(changes.size() == others.strategies.size());
      CHECK(changes[choice[v]] == 0);
      for (sw::strategy s = 0; s < changes.size(); ++s) {
        std::vector<sw::strategy> moved(choice.begin(), choice.end());
        moved[v] = s;
        for (const std::uint32_t along : others.along) moved[along] = s;
        CHECK(changes[s] == doctest::Approx(worth(moved) - worth(choice)).epsilon(1e-6).scale(1));
        differ += std::abs(changes[s]) > 1 ? 1U : 0U;
      }
    }
    CHECK(differ > 0);
    CHECK_THROWS_WITH_AS(static_cast<void>(p.explained(static_cast<std::uint32_t>(choice.size()))),
                         doctest::Contains("is to be explained, but there are only "), sw::error);
  }
}

}  // namespace explain_step_tests

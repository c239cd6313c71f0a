#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipeline_tests {
namespace {

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using vertex = sw::vertex_t<graph>;
using edge = sw::edge_t<graph>;

/// Whole microseconds, so that sums of nanoseconds are exact.
struct own_costs {
  using cost_type = double;
  std::vector<std::vector<double>> work;  // by vertex and strategy
  std::vector<double> move;               // by producer, where the strategies differ
  std::size_t strategy_count(vertex v) const { return work[v].size(); }
  double vertex_cost(vertex v, sw::strategy s) const { return work[v][s]; }
  sw::edge_parts<double> edge_parts(edge e, sw::strategy a, sw::strategy b) const {
    return {a == b ? 0 : move[e.m_source], a == b ? 0.0 : 1.0};
  }
  double edge_cost(edge e, sw::strategy a, sw::strategy b) const {
    const auto parts = edge_parts(e, a, b);
    return parts.communication + parts.transition;
  }
  sw::hiding hides(edge e) const { return e.m_target % 3 != 0 ? sw::hiding::both : sw::hiding::none; }
};

/// A computation per vertex, and a collective with its wait for every edge that communicates.
struct own_lowering {
  static constexpr std::string_view name = "own";
  const graph* of;
  std::shared_ptr<int> calls = std::make_shared<int>(0);

  sw::lowered_graph operator()(const own_costs& model, std::span<const sw::strategy> chosen) const {
    ++*calls;
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "all", .size = 4});
    b.add_table({sw::collective::all_reduce,
                 0,
                 {sw::bytes(0), sw::bytes(1000)},
                 {sw::nanoseconds(500), sw::nanoseconds(100'500)}});
    sw::lowered_graph made;
    std::vector<std::vector<sw::task_index>> inputs(num_vertices(*of));
    for (std::uint32_t v = 0; v < num_vertices(*of); ++v) {
      const sw::task_index done = b.add_task({.name = "v" + std::to_string(v),
                                              .kind = sw::task_kind::compute,
                                              .duration = sw::from_microseconds(model.vertex_cost(v, chosen[v])),
                                              .inputs = inputs[v]});
      made.origin.push_back({.operation = v});
      made.task_of.push_back(done);
      for (auto [e, last] = out_edges(v, *of); e != last; ++e) {
        const auto to = static_cast<std::uint32_t>(target(*e, *of));
        const double us = model.edge_parts(*e, chosen[v], chosen[to]).communication;
        if (us == 0) {
          inputs[to].push_back(done);
          continue;
        }
        const auto size = sw::bytes(static_cast<std::int64_t>(us));
        sw::task_record launch{
            .name = "c", .kind = sw::task_kind::collective, .duration = sw::from_microseconds(us), .inputs = {done}};
        launch.collective = {.op = sw::collective::all_reduce,
                             .group = 0,
                             .bytes_in = size,
                             .bytes_out = size,
                             .dtype = "f32",
                             .reduce = "sum"};
        const sw::task_index sent = b.add_task(launch);
        inputs[to].push_back(
            b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {sent}, .completes = sent}));
        for (int i = 0; i < 2; ++i) made.origin.push_back({.operation = to, .argument = 0});
      }
    }
    made.tasks = std::move(b).build();
    return made;
  }
};
static_assert(sw::lowering_policy<own_lowering, own_costs> && !sw::lowering_policy<own_lowering, sw::spmd_cost_model>);
static_assert(!sw::lowering_policy<sw::spmd_lowering, own_costs>);
static_assert(sw::overlap_cost_model<own_costs, graph>);

struct own_problem {
  graph g;
  own_costs costs;
};

own_problem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  own_problem made{graph(3 + below(4)), {}};
  const std::size_t n = num_vertices(made.g);
  for (vertex v = 0; v < n; ++v) {
    made.costs.work.emplace_back();
    for (unsigned s = 0; s < 1 + below(3); ++s) made.costs.work.back().push_back(1 + below(40));
    made.costs.move.push_back(1 + below(30));
    for (vertex u = 0; u < v; ++u)
      if (below(3) != 0) add_edge(u, v, made.g);
  }
  return made;
}

/// The least sum over all assignments, by enumeration.
double least_cost(const own_problem& p) {
  const std::size_t n = num_vertices(p.g);
  std::vector<sw::strategy> chosen(n, 0);
  double least = std::numeric_limits<double>::infinity();
  for (;;) {
    double sum = 0;
    for (vertex v = 0; v < n; ++v) sum += p.costs.vertex_cost(v, chosen[v]);
    for (auto [e, last] = edges(p.g); e != last; ++e)
      sum += p.costs.edge_cost(*e, chosen[source(*e, p.g)], chosen[target(*e, p.g)]);
    least = std::min(least, sum);
    std::size_t i = 0;
    while (i < n && ++chosen[i] == p.costs.strategy_count(i)) chosen[i++] = 0;
    if (i == n) return least;
  }
}

/// Decides buckets and order at once, and counts how often it is asked.
struct counted_pass {
  static constexpr std::string_view name = "counted";
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  sw::schedule plan(const sw::task_graph& g, const sw::solve_control& control) const {
    ++*calls;
    return sw::two_steps<sw::greedy, sw::prefetch>{{.fsdp_only = false}, {}}.plan(g, control);
  }
};

template <class... Policies>
using deduced = decltype(sw::pipeline(std::declval<Policies>()...));
static_assert(std::same_as<deduced<sw::auto_solver>, sw::pipeline<>>);
static_assert(std::same_as<deduced<sw::auto_solver, sw::greedy>, sw::pipeline<>>);
static_assert(std::same_as<deduced<sw::auto_solver, sw::greedy, sw::prefetch>, sw::pipeline<>>);
static_assert(std::same_as<deduced<sw::auto_solver, sw::no_bucketing, sw::in_order, own_lowering>,
                           sw::pipeline<sw::auto_solver, sw::two_steps<sw::no_bucketing, sw::in_order>, own_lowering>>);
// a bucketing that is also an order decides both
static_assert(
    std::same_as<deduced<sw::auto_solver, sw::torch_default>, sw::pipeline<sw::auto_solver, sw::torch_default>>);
static_assert(std::same_as<deduced<sw::auto_solver, counted_pass, own_lowering>,
                           sw::pipeline<sw::auto_solver, counted_pass, own_lowering>>);

}  // namespace

TEST_SUITE("pipeline") {
  TEST_CASE("a host's own graph, costs and lowering go the whole way") {
    for (unsigned seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const own_problem p = random_problem(seed);
      const sw::pipeline way(sw::exhaustive{}, sw::greedy{.fsdp_only = false}, sw::prefetch{}, own_lowering{&p.g});
      const auto plan = way.run(p.g, p.costs, {}, {}, [](vertex v) { return "stage " + std::to_string(v); });
      REQUIRE(plan.placement.status == sw::solve_status::optimal);
      CHECK(plan.placement.objective == least_cost(p));
      CHECK(plan.problem->vertices[1].name == "stage 1");
      CHECK(*way.lowering.calls == 1);

      // tasks cost what was placed: transition is a price and no task
      REQUIRE(plan.lowered.has_value());
      CHECK(plan.lowered->compute_time() == sw::from_microseconds(plan.priced.parts.compute));
      CHECK(plan.lowered->communication_time() == sw::from_microseconds(plan.priced.parts.communication));

      // every stage as its free function has it
      REQUIRE(plan.tasks.has_value());
      const sw::task_graph& g = plan.lowered->tasks;
      const sw::bucketing_result buckets = sw::greedy{.fsdp_only = false}(g, {});
      CHECK(plan.tasks->buckets == buckets);
      const sw::schedule order = sw::prefetch{}(g, buckets);
      CHECK(plan.tasks->order == order);
      CHECK(plan.tasks->before.end_to_end == sw::simulate(g).end_to_end);
      CHECK(plan.tasks->after.end_to_end == sw::simulate(g, order).end_to_end);
      CHECK(plan.tasks->makespan_bound <= plan.tasks->after.end_to_end);
    }
  }

  TEST_CASE("what decides buckets and order at once is asked once") {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const own_problem p = random_problem(seed);
      const sw::pipeline whole(sw::exhaustive{}, counted_pass{}, own_lowering{&p.g});
      const sw::pipeline steps(sw::exhaustive{}, sw::greedy{.fsdp_only = false}, sw::prefetch{}, own_lowering{&p.g});
      const auto plan = whole.run(p.g, p.costs), same = steps.run(p.g, p.costs);
      CHECK(*whole.pass.calls == 1);
      CHECK(plan.tasks->order == same.tasks->order);
      CHECK(plan.tasks->buckets.buckets == same.tasks->buckets.buckets);
      CHECK(plan.tasks->after.end_to_end == same.tasks->after.end_to_end);
      const auto has = [](const std::vector<sw::stage_time>& stages, std::string_view stage) {
        return std::ranges::find(stages, stage, &sw::stage_time::stage) != stages.end();
      };
      CHECK(has(same.stages, "bucket"));
      CHECK_FALSE(has(plan.stages, "bucket"));
      CHECK((has(plan.stages, "schedule") && has(same.stages, "schedule")));
    }
  }

  TEST_CASE("with savings of a host's own model the plan that the simulator finds faster is kept") {
    int with = 0, without = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
      CAPTURE(seed);
      const own_problem p = random_problem(seed);
      sw::pipeline way(sw::exhaustive{}, sw::no_bucketing{}, sw::prefetch{}, own_lowering{&p.g});
      const auto plain = way.run(p.g, p.costs);
      way.counted = sw::savings_form::windows;
      way.compare = false;
      const auto counting = way.run(p.g, p.costs);
      way.compare = true;
      const auto kept = way.run(p.g, p.costs);
      CHECK(counting.problem->counted == sw::savings_form::windows);
      // of placements with equal savings the one without them comes first: it may not be the one of `counting`
      const bool counts = kept.problem->counted == sw::savings_form::windows;
      CHECK(kept.tasks->after.end_to_end <= plain.tasks->after.end_to_end);
      CHECK(kept.placement.objective == (counts ? counting : plain).placement.objective);
      if (!counts) CHECK(counting.tasks->after.end_to_end > plain.tasks->after.end_to_end);
      ++(counts ? with : without);
    }
    CHECK(with > 0);
    CHECK(without > 0);
  }

  TEST_CASE("nothing feasible: no tasks, and the stages until then") {
    const own_problem p = random_problem(3);
    own_problem closed = p;
    for (double& us : closed.costs.work[0]) us = 1;
    sw::constraint_set never;
    never.budgets.push_back(
        {.name = "none", .high = -1, .terms = {{0, std::vector<double>(closed.costs.work[0].size(), 1.0), {}}}});
    const sw::pipeline way(sw::exhaustive{}, sw::greedy{}, sw::prefetch{}, own_lowering{&closed.g});
    CHECK_THROWS_AS(way.run(closed.g, closed.costs, never), sw::error);
    CHECK(*way.lowering.calls == 0);
  }

  TEST_CASE("a computation on a mesh is stated with names, unit and what may hide") {
    const sw::device_profile h100 = sw::find_device("h100");
    const sw::llama_config config{.name = "tiny",
                                  .hidden_size = 256,
                                  .num_hidden_layers = 1,
                                  .num_attention_heads = 4,
                                  .num_key_value_heads = 4,
                                  .intermediate_size = 512,
                                  .vocab_size = 512};
    const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 8, .sequence = 128}),
                                    sw::device_mesh({4}), sw::roofline{h100}, sw::node_table<>(h100));
    const auto constraints = sw::training_constraints(model);
    const auto plan = sw::pipeline(sw::auto_solver{}).run(model, constraints);
    REQUIRE(plan.tasks.has_value());
    CHECK(plan.problem->name == "tiny");
    CHECK(plan.problem->unit == "us");
    const std::vector<sw::hideable_edge> hideable = sw::hideable_edges(model);
    CHECK_FALSE(hideable.empty());
    CHECK(std::ranges::equal(plan.problem->overlap, hideable, [](const auto& a, const auto& b) {
      return a.edge == b.edge && a.direction == b.direction;
    }));
    const auto bare = sw::describe(model.graph(), model, constraints);
    REQUIRE(bare.vertices.size() == plan.problem->vertices.size());
    for (std::size_t v = 0; v < bare.vertices.size(); ++v) {
      CHECK(plan.problem->vertices[v].name == model.operations().operations[v].name);
      CHECK(plan.problem->vertices[v].compute == bare.vertices[v].compute);
    }
    CHECK(sw::evaluate(bare, plan.placement.choice).objective == plan.placement.objective);
    CHECK(plan.lowered->tasks.size() == sw::lower(model, plan.placement.choice).tasks.size());
  }
}

}  // namespace pipeline_tests

#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/detail/held_sizes.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/memory_limit.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace held_values_of_tests {
namespace {

/// A small model, what it holds, and placements of many characters.
struct planned {
  sw::spmd_cost_model model;
  sw::constraint_set constraints;
  sw::held_values held;
  std::vector<sw::assignment> placements;

  explicit planned(std::int64_t layers, std::int64_t sequence = 4096)
      : model(sw::llama_training_graph({.hidden_size = 1024,
                                        .num_hidden_layers = layers,
                                        .num_attention_heads = 8,
                                        .num_key_value_heads = 4,
                                        .intermediate_size = 4096,
                                        .vocab_size = 32'000},
                                       {.batch = 16, .sequence = sequence}),
              sw::device_mesh({2, 4}), sw::roofline{sw::find_device("h100")}, sw::alpha_beta(sw::find_device("h100"))),
        constraints(sw::training_constraints(model)),
        held(sw::held_values_of(model, constraints, 8)) {}

  void place() {
    const auto problem = sw::compile(sw::describe(model, constraints));
    const sw::step_work least = sw::describe_work(model.graph(), sw::lowered_work(model).least());
    placements =
        sw::step_bound(problem, least, sw::auto_solver{}, {.rounds = shardweave_test::sized<std::size_t>(6, 2)})
            .placements;
    placements.push_back(sw::auto_solver{}.solve(problem).choice);
  }

  /// The least of what is made again + price * what is held, over what may become of the values under a placement.
  /// \param and_late  what is made late for the first time counts, too
  [[nodiscard]] double least_at(const sw::assignment& placed, double price, bool and_late = false) const {
    auto d = sw::describe(model, constraints);
    for (std::uint32_t v = 0; v < placed.size(); ++v) d.constraints.fixed.push_back({v, {placed[v]}, "placed"});
    const std::size_t n = d.vertices.size();
    const auto problem = sw::compile(sw::with_policies(std::move(d), held));
    const sw::step_work work =
        sw::with_policies(sw::describe_work(model.graph(), sw::lowered_work(model).least()), held, 1e12, n);
    sw::work_prices prices{std::vector<double>(work.vertex_count()),
                           std::vector<double>(work.edges.size() * work.channels),
                           std::vector<double>(work.edges.size())};
    for (std::size_t e = 0; e < work.edges.size(); ++e) {
      if (work.edges[e].to < n) continue;
      prices.load[e * work.channels] = 1;
      prices.load[e * work.channels + work.channels - 1] = price;
    }
    for (const sw::late_work& late : work.late) prices.load[late.edge * work.channels] = and_late ? 1 : 0;
    const auto answer =
        sw::auto_solver{}.solve(sw::placement_problem<double>(sw::priced_steps(problem, work).at(prices)));
    REQUIRE(answer.has_assignment());
    CHECK(answer.lower_bound >= answer.objective * (1 - 1e-6) - 1e-6);
    return answer.lower_bound;
  }
};

/// What a graph in its own order holds while a task of it runs.
double held_during(const sw::task_graph& g, sw::task_index running) {
  const sw::storage_uses uses(g);
  sw::memory_tracker tracker(uses, g.storages().size());
  for (sw::task_index t = 0; t < running; ++t) tracker.run(t);
  // inputs lie there from the beginning, wherever their tasks stand
  for (sw::task_index t = running; t < g.size(); ++t)
    if (g.kind(t) == sw::task_kind::input && g.name_of(t).starts_with("primals.")) tracker.run(t);
  return static_cast<double>((tracker.live() + tracker.demand(running)).count());
}

}  // namespace

TEST_SUITE("held_values_of") {
  TEST_CASE("no lowered graph, whatever it makes again, does and holds less than is told, at any price of memory") {
    const auto compare = [](planned p) {
      p.place();
      sw::random_source random(9);
      const sw::computation& operations = p.model.operations();
      std::size_t compared = 0;
      double told = 0, touched_in_all = 0;
      for (const sw::assignment& placed : shardweave_test::some_of(p.placements)) {
        const sw::lowered_graph lowered = sw::lower(p.model, placed);
        std::vector<std::uint32_t> block;
        for (const sw::task_origin& from : lowered.origin) {
          const std::int64_t layer = operations.operations[from.operation].layer;
          block.push_back(layer < 0 ? sw::no_index : static_cast<std::uint32_t>(layer));
        }
        std::vector<std::vector<char>> drops;
        for (const auto rule : {sw::recompute_rule::none, sw::recompute_rule::full, sw::recompute_rule::selective_op})
          drops.push_back(sw::dropped_by_rule(lowered.tasks, block, rule));
        const auto some = [&](sw::task_index) { return random.below(2) == 0; };
        for (int i = 0; i < 3; ++i) drops.push_back(sw::dropped_storages(lowered.tasks, block, some));
        for (std::uint32_t& b : block) b = b == sw::no_index ? b : 0;  // what one layer gives to another, too
        for (int i = 0; i < 3; ++i) drops.push_back(sw::dropped_storages(lowered.tasks, block, some));
        drops.push_back(sw::dropped_by_rule(lowered.tasks, block, sw::recompute_rule::full));
        struct made_again {
          double compute, holds, late;
        };
        const sw::step_work own = sw::describe_work(p.model.graph(), sw::lowered_work(p.model).least());
        std::vector<made_again> graphs;
        for (const std::vector<char>& dropped : drops) {
          const sw::recomputed_graph g = sw::with_recomputation(lowered.tasks, dropped);
          sw::task_index moment = 0;
          for (sw::task_index t = 0; t < g.tasks.size(); ++t)
            if (g.original[t] == lowered.task_of[p.held.moment] && !g.again[t]) moment = t;
          std::set<sw::task_index> later;  // by their numbers before
          for (sw::task_index t = moment; t < g.tasks.size(); ++t) later.insert(g.original[t]);
          double late = 0;
          for (const sw::held_value& v : p.held.values)
            for (const std::uint32_t u : v.late)
              if (later.contains(lowered.task_of[u])) late += own.time(u, placed[u]);
          graphs.push_back({static_cast<double>(g.compute.count()),
                            held_during(g.tasks, moment) + sw::bytes_of(p.held.beside, placed), late});
        }
        for (const double price : {1e-6, 3e-3, 3e-2, 10.0}) {  // ns per byte
          const double least = p.least_at(placed, price), with_late = p.least_at(placed, price, true);
          CHECK(least > 0);
          CHECK(with_late >= least * (1 - 1e-6));
          for (const auto& [compute, holds, late] : graphs) {
            CAPTURE(price);
            CAPTURE(holds);
            CHECK(least <= (compute + price * holds) * (1 + 1e-9));
            CHECK(with_late <= (compute + late + price * holds) * (1 + 1e-9));
            ++compared;
          }
        }
        // what is told is not far below what is held where nothing is made again
        const double all = p.least_at(placed, 1e-6) / 1e-6;
        const double holds =
            held_during(lowered.tasks, lowered.task_of[p.held.moment]) + sw::bytes_of(p.held.beside, placed);
        MESSAGE("told " << all << " of " << holds << " bytes");
        CHECK(all >= 0.3 * holds);
        // what runs then reads and gives so much of it
        const sw::task_index running = lowered.task_of[p.held.moment];
        const sw::storage_uses uses(lowered.tasks);
        std::set<std::uint32_t> touched;
        for (const std::uint32_t s : uses.used(running)) touched.insert(s);
        for (const std::uint32_t s : uses.listed(running)) touched.insert(s);
        double at_work = 0;
        for (const std::uint32_t s : touched) at_work += static_cast<double>(uses.size(s).count());
        CHECK(sw::bytes_of(p.held.at_work, placed) > 0);
        CHECK(sw::bytes_of(p.held.at_work, placed) <= at_work);
        told += sw::bytes_of(p.held.at_work, placed);
        touched_in_all += at_work;
      }
      CHECK(told >= 0.7 * touched_in_all);
      CHECK(compared >= 40);
    };
    compare(planned(2));
    compare(planned(2, 128));  // what runs holds more than what is read later
  }

  TEST_CASE("results of the moment that nothing reads are not told: where it is made again they take no memory") {
    // attention without a backward part, beside a value that is read behind it: nothing reads its second result
    sw::graph_builder b("attention and what it is added to");
    const auto w = b.parameter("w", {{32, 32}, sw::dtype::bf16});
    const auto x = b.einsum("bhsk,kn->bhsn", {b.input("x", {{2, 1, 64, 32}, sw::dtype::bf16}), w});
    const auto y = b.einsum("bhsk,kn->bhsn", {x, w});
    b.result(b.add(x, b.getitem(b.sdpa(y, y, y), 0)));
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(sw::insert_aliases(b.finish()), sw::device_mesh({2}), sw::roofline{device},
                                    sw::alpha_beta(device));
    const sw::held_values held = sw::held_values_of(model, {}, 0);
    const auto& moment = model.operations().operations[held.moment];
    REQUIRE(moment.op == "sdpa");
    REQUIRE(moment.outputs.size() > 1);
    std::vector<std::vector<double>> told;
    for (const sw::held_form& form : held.at_work)
      if (form.vertex == held.moment) told.push_back(form.bytes);
    REQUIRE(told.size() == 2);  // the first result, and the argument
    CHECK(told[0] == sw::detail::sizes_by_strategy(model, held.moment, 0));
  }

  TEST_CASE("a gradient that is repeated for every element takes the memory of what is repeated") {
    sw::graph_builder b("attention, and the mean of its rows");
    auto x = b.input("x", {{2, 1, 64, 32}, sw::dtype::bf16});
    x = b.einsum("bhsk,kn->bhsn", {x, b.parameter("w", {{32, 32}, sw::dtype::bf16})});
    b.result(b.mean(b.getitem(b.sdpa(x, x, x), 0), {-1}));
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(sw::joint_graph(std::move(b)), sw::device_mesh({2}), sw::roofline{device},
                                    sw::alpha_beta(device));
    const sw::held_values held = sw::held_values_of(model, {}, 0);
    REQUIRE(model.operations().operations[held.moment].op == "sdpa_backward");
    const auto cheapest = sw::auto_solver{}.solve(sw::compile(sw::describe(model))).choice;
    for (const sw::assignment& placed : {cheapest, sw::assignment(model.graph().vertex_count())}) {
      double told = sw::bytes_of(held.always, placed) + sw::bytes_of(held.at_work, placed);
      for (const sw::held_value& v : held.values) {
        if (!v.is_read || !v.late.empty()) continue;
        double least = sw::bytes_of({v.forms[0]}, placed);
        for (const sw::held_form& form : v.forms) least = std::min(least, sw::bytes_of({form}, placed));
        told += v.count * least;
      }
      const sw::lowered_graph lowered = sw::lower(model, placed);
      CHECK(told > 0);
      CHECK(told <= held_during(lowered.tasks, lowered.task_of[held.moment]));
    }
  }

  TEST_CASE("what a layer is given is held, or made again with what the layer before it made for nothing else") {
    const planned p(6);
    const sw::computation& operations = p.model.operations();
    // by value: how often what it stands for was made by a layer other than that of all that are made of it
    double given = 0;
    for (std::size_t i = 0; i < p.held.values.size(); ++i) {
      const sw::held_value& v = p.held.values[i];
      const std::int64_t own = operations.operations[v.maker].layer;
      bool is_used = false, is_of_own = false;
      for (const sw::held_value& w : p.held.values)
        if (std::ranges::find(w.from, i) != w.from.end()) {
          is_used = true;
          is_of_own = is_of_own || operations.operations[w.maker].layer == own;
          CHECK(w.count == v.count);
        }
      if (is_used && !is_of_own && !v.is_read) given += v.count;
    }
    // of each layer but the first what the one before gave, of the first the embedding, and the rest
    CHECK(given >= 6);
  }

  TEST_CASE("layers that are placed alike stand there once, and layers that are not each for itself") {
    const planned two(2), three(3), six(6);
    CHECK(six.held.values.size() == three.held.values.size());  // the first layer, the last one, those between them
    double values = 0, read = 0;
    for (const sw::held_value& v : six.held.values) {
      values += v.count;
      read += v.is_read ? v.count : 0;
    }
    double values_of_two = 0;
    for (const sw::held_value& v : two.held.values) values_of_two += v.count;
    CHECK(values > values_of_two + 2);
    CHECK(read >= 6 * 10);  // what a layer's backward part reads
    const sw::held_values untied =
        sw::held_values_of(six.model, sw::training_constraints(six.model, {.tie_layers = false}), 8);
    for (const sw::held_value& v : untied.values) CHECK(v.count == 1);
    CHECK(static_cast<double>(untied.values.size()) == values);
  }

  TEST_CASE("what need not run before the moment is told with the vertices of all layers like it") {
    const planned six(6);
    const auto& graph = six.model.graph();
    const auto reach = [&](bool forward) {
      std::set<std::uint32_t> seen{six.held.moment};
      for (std::vector<std::uint32_t> open{six.held.moment}; !open.empty();) {
        const std::uint32_t at = open.back();
        open.pop_back();
        const auto go = [&](std::uint32_t v) {
          if (seen.insert(v).second) open.push_back(v);
        };
        if (forward)
          for (const auto& e : graph.out(at)) go(e.target);
        else
          for (const auto& e : graph.in(at)) go(e.source);
      }
      return seen;
    };
    const std::set<std::uint32_t> before = reach(false), after = reach(true);
    std::set<std::uint32_t> told;
    for (const sw::held_value& v : six.held.values) {
      CHECK(!after.contains(v.maker));
      if (before.contains(v.maker)) CHECK(v.late.empty());
      if (v.late.empty()) continue;
      CHECK(static_cast<double>(v.late.size()) == v.count);
      CHECK(std::ranges::find(v.late, v.maker) != v.late.end());
      for (const std::uint32_t u : v.late) {
        CHECK(!before.contains(u));
        CHECK(!after.contains(u));
        CHECK(told.insert(u).second);
        CHECK(six.model.strategy_count(u) == six.model.strategy_count(v.maker));
      }
    }
    CHECK(told.size() >= 6 * 8);  // derivatives of a layer's activation
  }
}

}  // namespace held_values_of_tests

#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/tasks/task.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/small_llama.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace fitted_plan_tests {
namespace {

struct told_work {
  const tiny_training::model* m = nullptr;
  [[nodiscard]] const tiny_steps::model& least() const { return *m; }
  [[nodiscard]] const tiny_steps::model& alone() const { return *m; }
};
struct own_lowering {
  static constexpr std::string_view name = "own";
  [[nodiscard]] sw::lowered_graph operator()(const tiny_training::model& m,
                                             std::span<const sw::strategy> choice) const {
    return m.lower_all(choice).lowered;
  }
  [[nodiscard]] told_work work(const tiny_training::model& m, unsigned) const { return {&m}; }
};

sw::schedule in_memory(const sw::task_graph& g, sw::bytes room, const sw::solve_control& control) {
  sw::benefit policy;
  policy.memory = policy.order.memory = room;
  const sw::bucketing_result buckets = policy(g, control);
  return sw::exact{.memory = room}(g, buckets, control);
}

std::size_t graphs(std::size_t usual) {
  const char* told = std::getenv("SHARDWEAVE_TINY_STEPS");
  return told == nullptr ? shardweave_test::at_scale(usual) : static_cast<std::size_t>(std::atol(told));
}

}  // namespace

TEST_SUITE("fitted plan") {
  TEST_CASE("within a memory the plan, placed and made again together, is between the best of all and the bound") {
    sw::random_source random(47);
    const std::size_t count = graphs(8);
    std::size_t tried = 0, found_one = 0, equal = 0, complete = 0, makes_again = 0, near = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const std::int64_t limit = peaks[random.below(peaks.size() / 4 + 1)];
      const auto best = tiny_training::best_within(m, limit);
      if (!best) continue;
      ++tried;
      const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const auto found =
          sw::fastest_plan(way, m.graph, m, {},
                           {.memory = sw::bytes(limit), .held = [&] { return m.held_at_loss(); }, .within = in_memory});
      CAPTURE(i);
      CAPTURE(limit);
      REQUIRE(found.plan.tasks);
      CHECK(found.bounds.bound <= static_cast<double>(*best) * (1 + 1e-9));
      const sw::timeline& line = found.plan.tasks->after;
      if (line.peak.count() > limit) continue;  // none was found
      ++found_one;
      CHECK(line.end_to_end.count() >= *best);
      CHECK(found.plan.placement.choice.size() == m.times.size());
      CHECK(found.plan.lowered->origin.size() == found.plan.lowered->tasks.size());
      if (found.complete) CHECK(line.end_to_end.count() == *best);
      complete += found.complete ? 1U : 0U;
      equal += line.end_to_end.count() == *best ? 1U : 0U;
      near += static_cast<double>(line.end_to_end.count()) <= 1.1 * static_cast<double>(*best) ? 1U : 0U;
      if (found.fitted) {
        ++makes_again;
        REQUIRE(found.step_without_limit);
        std::int64_t again = 0;
        for (sw::task_index t = 0; t < found.plan.lowered->tasks.size(); ++t)
          if (found.plan.lowered->origin[t].again && !found.plan.lowered->tasks.is_collective(t))
            again += found.plan.lowered->tasks.duration(t).count();
        CHECK(again == found.fitted->time.count());
      }
    }
    MESSAGE(tried << " tried, of " << found_one << " a plan was found, " << equal << " are the best of all, "
                  << complete << " of a complete search, " << near << " within 10 %; " << makes_again
                  << " make values again");
    CHECK(found_one == tried);
    CHECK(equal == tried);
    CHECK(complete > 0);
    if (count >= 100) CHECK(makes_again > 0);
  }

  TEST_CASE("leave to copy values to the host never makes the plan slower, and its bound is below both") {
    sw::random_source random(53);
    const std::size_t count = graphs(12);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < count || (compared == 0 && i < 50); ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const std::int64_t limit = peaks[random.below(peaks.size() / 4 + 1)];
      const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const auto planned = [&](double host_bandwidth) {
        return sw::fastest_plan(way, m.graph, m, {},
                                {.memory = sw::bytes(limit),
                                 .held = [&] { return m.held_at_loss(); },
                                 .host_bandwidth = host_bandwidth,
                                 .within = in_memory});
      };
      const auto without = planned(0), with = planned(1e15);
      REQUIRE(without.plan.tasks);
      REQUIRE(with.plan.tasks);
      const sw::timeline &here = without.plan.tasks->after, &there = with.plan.tasks->after;
      if (here.peak.count() > limit) continue;  // none was found
      ++compared;
      CAPTURE(i);
      CHECK(there.peak.count() <= limit);
      CHECK(there.end_to_end <= here.end_to_end);
      CHECK(with.bounds.bound <= static_cast<double>(there.end_to_end.count()) * (1 + 1e-9));
      CHECK(with.plans >= without.plans);
    }
    CHECK(compared > 0);
  }

  TEST_CASE("where the plan of the least sum fits by itself, the fastest one does so, too") {
    sw::random_source random(
        shardweave_test::sized<std::uint64_t>(31, 27));  // 27: the second that would be larger is faster
    const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
    std::size_t larger = 0, faster = 0;
    for (std::size_t i = 0; i < 60 && !(shardweave_test::is_small_scale && faster > 0); ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const sw::training_plan sum = way.run(m.graph, m);
      const sw::bytes limit = sum.tasks->after.peak;
      if (sw::fastest_plan(way, m.graph, m).plan.tasks->after.peak <= limit) continue;
      ++larger;  // than the limit, if nobody asks for it
      const auto found = sw::fastest_plan(
          way, m.graph, m, {}, {.memory = limit, .held = [&] { return m.held_at_loss(); }, .within = in_memory});
      CAPTURE(i);
      REQUIRE(found.plan.tasks);
      CHECK(found.plan.tasks->after.peak <= limit);
      CHECK(found.plan.tasks->after.end_to_end <= sum.tasks->after.end_to_end);
      faster += found.plan.tasks->after.end_to_end < sum.tasks->after.end_to_end ? 1U : 0U;
    }
    MESSAGE(larger << " would be larger, " << faster << " are faster than the least sum");
    CHECK(larger > 0);
    CHECK(faster > 0);
  }

  TEST_CASE("what waits for want of room makes more again, and the quickest of all that was tried is the plan") {
    const auto device = sw::find_device("h100");
    const sw::llama_config config{.name = "six layers",
                                  .hidden_size = 1024,
                                  .num_hidden_layers = 6,
                                  .num_attention_heads = 8,
                                  .num_key_value_heads = 4,
                                  .intermediate_size = 2048,
                                  .vocab_size = 1024};
    const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 8, .sequence = 128}),
                                    sw::device_mesh({8}), sw::roofline{device}, sw::node_table<>(device));
    const auto placed = sw::trws{}.solve(sw::compile(sw::describe(model, sw::training_constraints(model, {}))));
    REQUIRE(placed.has_assignment());
    const sw::lowered_graph lowered = sw::lower(model, placed.choice);
    std::vector<std::uint32_t> block_of;
    for (const sw::operation& op : model.operations().operations)
      block_of.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const sw::bytes peak = sw::simulate(lowered.tasks).peak;
    std::size_t waits = 0, quicker = 0;
    for (std::int64_t part = 0; part <= 20; part += 2) {
      CAPTURE(part);
      const auto limit = sw::bytes(peak.count() * (100 - part) / 100);
      std::vector<sw::timeline> fit;
      const auto order = [&](const sw::task_graph& g) {  // launches early if it may hold as much
        sw::schedule made = sw::prefetch{}(g, {}, {});
        if (sw::simulate(g, made).peak > limit) made = sw::in_order{}(g, {});
        if (sw::timeline line = sw::simulate(g, made); line.peak <= limit) fit.push_back(std::move(line));
        return made;
      };
      const auto found = sw::fit_by_recomputation(lowered, block_of, limit, order, {.regathers = false});
      if (!found) continue;
      REQUIRE_FALSE(fit.empty());
      const auto ends = [](const sw::timeline& line) { return line.end_to_end; };
      CHECK(found->end == std::ranges::min(fit, {}, ends).end_to_end);
      const bool first_waits = fit[0].exposed.count() > fit[0].end_to_end.count() / 8;
      if (fit.size() > 1) CHECK(first_waits);  // nothing else is tried again
      waits += first_waits ? 1U : 0U;
      quicker += found->end < fit[0].end_to_end ? 1U : 0U;
    }
    MESSAGE(waits << " wait, " << quicker << " of them are quicker once more is made again");
    CHECK(waits > 0);
    CHECK(quicker > 0);
  }

  TEST_CASE("a limit of time that comes among the policies of a block leaves no plan, and throws nothing") {
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(shardweave_test::small_llama(), sw::device_mesh({2}), sw::roofline{device},
                                    sw::node_table<>(device));
    const auto placed = sw::trws{}.solve(sw::compile(sw::describe(model, sw::training_constraints(model, {}))));
    REQUIRE(placed.has_assignment());
    const sw::lowered_graph lowered = sw::lower(model, placed.choice);
    std::vector<std::uint32_t> block_of;
    for (const sw::operation& op : model.operations().operations)
      block_of.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const auto order = [](const sw::task_graph& g) { return sw::in_order{}(g, {}); };
    const auto fitted = [&](sw::bytes limit, const sw::solve_control& control) {
      return sw::fit_by_recomputation(lowered, block_of, limit, order, {}, control);
    };
    const sw::bytes peak = sw::simulate(lowered.tasks).peak;
    const auto whole = fitted(peak - sw::bytes(1), {});
    REQUIRE(whole);
    CHECK(whole->time > sw::nanoseconds(0));
    const auto blocks = sw::blocks_of_tasks(lowered, block_of);
    CHECK_THROWS_AS(sw::recomputation_choices(lowered.tasks, blocks, {}, {.seconds = 0}), sw::error);
    CHECK_FALSE(fitted(peak - sw::bytes(1), {.seconds = 0}));
  }

  TEST_CASE("layers that have no backward part, or no number, are in no block, and the others make values again") {
    sw::graph_builder b("nothing to learn in the first layer");
    auto x = b.input("x", {{64, 512, 256}, sw::dtype::bf16});
    for (const std::int64_t layer : {0, 1, 4}) {
      b.layer(layer).group("part");
      if (layer == 0) {
        x = b.softmax(x, -1);
        continue;
      }
      const auto up = b.parameter("up" + std::to_string(layer), {{256, 512}, sw::dtype::bf16});
      const auto down = b.parameter("down" + std::to_string(layer), {{512, 256}, sw::dtype::bf16});
      x = b.einsum("bsn,nk->bsk", {b.sigmoid(b.einsum("bsk,kn->bsn", {x, up})), down});
    }
    b.layer(-1).group("end");
    b.result(b.sum(x, {0, 1, 2}));
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(sw::joint_graph(std::move(b)), sw::device_mesh({2}), sw::roofline{device},
                                    sw::node_table<>(device));
    const std::vector<sw::strategy> choice(model.graph().vertex_count());
    const sw::lowered_graph lowered = sw::lower(model, choice);
    std::vector<std::uint32_t> block_of;
    for (const sw::operation& op : model.operations().operations)
      block_of.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const auto blocks = sw::blocks_of_tasks(lowered, block_of);
    REQUIRE(blocks.size() == lowered.tasks.size());
    std::size_t of_layers = 0;
    for (sw::task_index t = 0; t < blocks.size(); ++t) {
      const std::uint32_t given = block_of[lowered.origin[t].operation];
      CHECK(blocks[t] == (given == 1 ? 0U : given == 4 ? 1U : sw::no_index));
      of_layers += blocks[t] != sw::no_index ? 1 : 0;
    }
    CHECK(of_layers > 10);
    const auto order = [](const sw::task_graph& g) { return sw::in_order{}(g, {}); };
    const sw::bytes peak = sw::simulate(lowered.tasks).peak;
    const auto fitted = sw::fit_by_recomputation(lowered, block_of, peak - sw::bytes(1), order);
    REQUIRE(fitted);
    CHECK(fitted->time > sw::nanoseconds(0));
    CHECK(sw::simulate(fitted->lowered.tasks, fitted->order).peak < peak);
  }
}

}  // namespace fitted_plan_tests

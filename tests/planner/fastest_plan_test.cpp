#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace fastest_plan_tests {
namespace {

/// Tells what buckets leave of the work for both: prices of placements are then those of the bound.
struct told_work {
  const tiny_steps::model* m = nullptr;
  [[nodiscard]] const tiny_steps::model& least() const { return *m; }
  [[nodiscard]] const tiny_steps::model& alone() const { return *m; }
};
/// A host's own lowering, of a model that knows no tensors.
struct own_lowering {
  static constexpr std::string_view name = "own";
  [[nodiscard]] sw::lowered_graph operator()(const tiny_steps::model& m, std::span<const sw::strategy> choice) const {
    sw::lowered_graph made{m.lower(choice), {}, std::vector<sw::task_index>(m.times.size())};
    made.origin.resize(made.tasks.size());
    return made;
  }
  [[nodiscard]] told_work work(const tiny_steps::model& m, unsigned) const { return {&m}; }
};
/// The same, which tells nothing beforehand.
struct silent_lowering {
  static constexpr std::string_view name = "silent";
  [[nodiscard]] sw::lowered_graph operator()(const tiny_steps::model& m, std::span<const sw::strategy> choice) const {
    return own_lowering{}(m, choice);
  }
};
/// The same, which asks for a stop when it is called for the n-th time.
struct stopping_lowering : own_lowering {
  std::stop_source* source = nullptr;
  int* calls = nullptr;
  int at = 0;
  [[nodiscard]] sw::lowered_graph operator()(const tiny_steps::model& m, std::span<const sw::strategy> choice) const {
    if (++*calls == at) source->request_stop();
    return own_lowering::operator()(m, choice);
  }
};
/// Buckets as one group of calls each: nothing is packed.
struct coalescing {
  static constexpr std::string_view name = "coalescing";
  [[nodiscard]] sw::schedule plan(const sw::task_graph& g, const sw::solve_control& control = {}) const {
    sw::schedule made = sw::two_steps<sw::greedy, sw::prefetch>{}.plan(g, control);
    for (sw::bucket& b : made.buckets) b.coalesced = true;
    return made;
  }
};
static_assert(sw::foretelling_lowering<own_lowering, tiny_steps::model, sw::compressed_graph>);
static_assert(!sw::foretelling_lowering<silent_lowering, tiny_steps::model, sw::compressed_graph>);

}  // namespace

TEST_SUITE("fastest plan") {
  TEST_CASE(
      "of a host's own graph, prices and lowering: no slower than the least sum, between the bound and what can be") {
    sw::random_source random(23);
    std::size_t faster = 0, best_of_all = 0;
    const std::size_t count = shardweave_test::at_scale(60);
    for (std::size_t i = 0; i < count; ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const sw::training_plan sum = way.run(m.graph, m);
      const auto found = sw::fastest_plan(way, m.graph, m);
      CAPTURE(i);
      REQUIRE(found.plan.tasks);
      const auto step = found.plan.tasks->after.end_to_end;
      CHECK(found.step_of_least_sum == sum.tasks->after.end_to_end);
      CHECK(step <= found.step_of_least_sum);
      const auto best = tiny_steps::best_step(m);
      CHECK(step.count() >= best);
      CHECK(found.bounds.bound <= static_cast<double>(best));
      faster += step < found.step_of_least_sum ? 1U : 0U;
      // the plan of the least sum comes back, too, where another one is faster
      CHECK(found.least_sum.has_value() == (found.plan.placement.choice != sum.placement.choice));
      if (found.least_sum) {
        CHECK(found.least_sum->choice == sum.placement.choice);
        CHECK(sw::simulate(found.least_sum->lowered->tasks, found.least_sum->order).end_to_end ==
              found.step_of_least_sum);
      }
      best_of_all += step.count() == best ? 1U : 0U;
      // what comes back is one plan: tasks of its placement, an order that is valid, times that the simulator gives
      CHECK(found.plan.lowered->tasks.size() == m.lower(found.plan.placement.choice).size());
      sw::validate_schedule(found.plan.lowered->tasks, found.plan.tasks->order);
      CHECK(sw::simulate(found.plan.lowered->tasks, found.plan.tasks->order).end_to_end == step);
      double cost = 0;
      for (std::uint32_t v = 0; v < m.times.size(); ++v) cost += m.vertex_cost(v, found.plan.placement.choice[v]);
      CHECK(found.plan.priced.parts.compute == doctest::Approx(cost));
      std::set<std::string_view> stages;
      for (const sw::stage_time& s : found.plan.stages) CHECK(stages.insert(s.stage).second);  // each told once
      CHECK(stages.contains("search"));
    }
    MESSAGE("faster than the least sum " << faster << ", best of all " << best_of_all << " of " << count);
    CHECK(faster > 0);
    CHECK(best_of_all * 4 >= count * 3);
  }

  TEST_CASE("no bound is told of a plan whose buckets are not packed") {
    sw::random_source random(23);
    std::size_t without = 0, with = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(20, 6); ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      const auto found = sw::fastest_plan(sw::pipeline(sw::exhaustive{}, coalescing{}, own_lowering{}), m.graph, m);
      REQUIRE(found.plan.tasks);
      const bool is_packed = found.plan.tasks->order.buckets.empty();
      CHECK((found.bounds.bound > 0) == is_packed);
      (is_packed ? with : without) += 1;
    }
    CHECK(without > 0);
    CHECK(with > 0);
  }

  TEST_CASE("a stop at any moment leaves a whole plan, and no other is begun") {
    sw::random_source random(5);
    std::size_t stops = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(12, 4); ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      const sw::pipeline usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const sw::training_plan sum = usual.run(m.graph, m);
      for (const bool limited : {false, true}) {
        sw::fastest_plan_options how;
        if (limited) how.memory = sw::bytes(-1);  // no plan keeps to it
        for (int at = 1; at < 8; ++at) {
          std::stop_source source;
          int calls = 0;
          const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, stopping_lowering{{}, &source, &calls, at});
          const auto found = sw::fastest_plan(way, m.graph, m, {}, how, {.stop = source.get_token()});
          CAPTURE(i);
          CAPTURE(limited);
          CAPTURE(at);
          REQUIRE(found.plan.tasks);
          sw::validate_schedule(found.plan.lowered->tasks, found.plan.tasks->order);
          CHECK(found.plan.lowered->tasks.size() == m.lower(found.plan.placement.choice).size());
          if (!source.stop_requested()) continue;  // it was done before
          ++stops;
          CHECK(found.stopped);
          CHECK(calls == at);
          if (at == 1 || limited) CHECK(found.plan.placement.choice == sum.placement.choice);
          CHECK(found.plan.tasks->after.end_to_end <= sum.tasks->after.end_to_end);
        }
      }
    }
    CHECK(stops > 20);
  }

  TEST_CASE("where no plan keeps to the memory the pipeline's own comes back, which tells by how much") {
    sw::random_source random(2);
    const tiny_steps::model m = tiny_steps::random_model(random);
    const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
    const auto found = sw::fastest_plan(way, m.graph, m, {}, {.memory = sw::bytes(-1)});
    REQUIRE(found.plan.tasks);
    CHECK(found.plan.tasks->after.peak > sw::bytes(-1));
    CHECK(found.plan.placement.choice == way.run(m.graph, m).placement.choice);
    CHECK_FALSE(found.least_sum);
  }
}

}  // namespace fastest_plan_tests

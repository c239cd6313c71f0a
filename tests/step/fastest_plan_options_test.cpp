// What options of `fastest_plan` do to the plan of one placement (`pipeline_planner`); tests/planner has whole
// searches.
#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/fastest_plan_options.hpp>
#include <shardweave/step/pipeline_planner.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_training.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace fastest_plan_options_tests {
namespace {

using tiny_training::own_lowering;
using way = sw::pipeline<sw::exhaustive, sw::benefit<>, own_lowering>;
using planner = sw::pipeline_planner<way, tiny_training::model>;
const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});

/// Calls `look(model, choice)` for assignments of random models.
template <class Look>
void for_random_plans(std::uint64_t seed, std::size_t models, Look look) {
  sw::random_source random(seed);
  for (std::size_t i = 0; i < models; ++i) {
    CAPTURE(i);
    const tiny_training::model m = tiny_training::random_model(random);
    tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) { look(m, choice); });
  }
}
}  // namespace

TEST_SUITE("fastest_plan_options") {
  TEST_CASE("what lies beside a plan takes from its room, by the strategies that are chosen, and counts as held") {
    std::size_t unlike = 0;
    for_random_plans(2, 3, [&](const tiny_training::model& m, const std::vector<sw::strategy>& choice) {
      sw::fastest_plan_options options;
      options.memory = sw::gibibytes(1);
      const std::size_t last = m.times.size() - 1;
      for (const std::size_t v : {std::size_t{0}, last}) {
        std::vector<double> bytes;
        for (std::size_t s = 0; s < m.times[v].size(); ++s) bytes.push_back(100.25 * static_cast<double>(s + 1));
        options.beside.push_back({static_cast<std::uint32_t>(v), bytes});
      }
      const double beside = 100.25 * (choice[0] + 1.0) + 100.25 * (choice[last] + 1.0);
      planner one(usual, m, m.times.size(), options);
      one.limit([] { return nullptr; });
      const planner::plan made = one(choice, {});
      const auto peak = sw::simulate(made.lowered->tasks, made.order).peak;
      CHECK(made.room == sw::gibibytes(1) - sw::bytes(static_cast<std::int64_t>(std::ceil(beside))));
      CHECK(made.peak == static_cast<double>(peak.count()) + std::ceil(beside));
      unlike += choice[0] != choice[last] ? 1U : 0U;
    });
    CHECK(unlike > 0);
  }

  TEST_CASE("a schedule within so many bytes is asked for only where the pass's holds more, and taken if it fits") {
    std::size_t asked_for = 0, taken = 0;
    for_random_plans(3, shardweave_test::sized<std::size_t>(8, 3),
                     [&](const tiny_training::model& m, const std::vector<sw::strategy>& choice) {
                       const sw::lowered_graph lowered = own_lowering{}(m, choice);
                       const auto peak_of = [&](const sw::schedule& s) { return sw::simulate(lowered.tasks, s).peak; };
                       const sw::schedule given = sw::in_order{}(lowered.tasks, {});
                       const sw::schedule passed = usual.pass.plan(lowered.tasks, {});
                       for (const sw::bytes memory : {peak_of(given), peak_of(passed)}) {
                         sw::fastest_plan_options options;
                         options.memory = memory;
                         std::vector<sw::bytes> asked;
                         options.within = [&](const sw::task_graph& g, sw::bytes room, const sw::solve_control&) {
                           asked.push_back(room);
                           return sw::in_order{}(g, {});
                         };
                         planner one(usual, m, m.times.size(), options);
                         one.limit([] { return nullptr; });
                         const planner::plan made = one(choice, {});
                         const bool fits = peak_of(passed) <= memory;
                         CHECK(asked == (fits ? std::vector<sw::bytes>() : std::vector{memory}));
                         if (!fits && peak_of(given) <= memory) {
                           CHECK(made.order.order == given.order);
                           CHECK(std::isfinite(made.step));
                           ++taken;
                         }
                         asked_for += asked.size();
                       }
                     });
    CHECK(asked_for > 0);
    CHECK(taken > 0);
  }

  TEST_CASE("the search over orders keeps buckets unless it may change them") {
    std::size_t changed = 0, rebucketed = 0;
    for_random_plans(4, shardweave_test::sized<std::size_t>(4, 2),
                     [&](const tiny_training::model& m, const std::vector<sw::strategy>& choice) {
                       const auto improved = [&](const sw::fastest_plan_options& options) {
                         const planner one(usual, m, m.times.size(), options);
                         const planner::plan made = one(choice, {});
                         const planner::plan better = one.improved(made, 1, {});
                         CHECK(better.step <= made.step);
                         if (!options.rebucket) CHECK(better.order.buckets == made.order.buckets);
                         rebucketed += better.order.buckets != made.order.buckets ? 1U : 0U;
                         changed += better.order.order != made.order.order ? 1U : 0U;
                       };
                       improved({.changes = 100, .rebucket = false});
                       improved({.changes = 100});
                     });
    CHECK(changed > 0);
    CHECK((shardweave_test::is_small_scale || rebucketed > 0));
  }
}

}  // namespace fastest_plan_options_tests

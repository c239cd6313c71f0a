#include <shardweave/core/control.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/fastest_plan_options.hpp>
#include <shardweave/step/pipeline_planner.hpp>
#include <shardweave/step/step_search.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace pipeline_planner_tests {
namespace {

using tiny_training::own_lowering;
using way = sw::pipeline<sw::exhaustive, sw::benefit<>, own_lowering>;
using planner = sw::pipeline_planner<way, tiny_training::model>;
static_assert(sw::step_planner<planner>);

/// What a plan says of itself is what the simulator says.
void check(const planner::plan& made) {
  sw::validate_schedule(made.lowered->tasks, made.order);
  const sw::timeline line = sw::simulate(made.lowered->tasks, made.order);
  CHECK(made.peak == static_cast<double>(line.peak.count()));
  CHECK(made.communication == static_cast<double>(line.communication.count()));
  if (made.room && !std::isfinite(made.step)) return;
  CHECK(made.step == static_cast<double>(line.end_to_end.count()));
  if (made.room) CHECK(line.peak <= *made.room);
}

double in_order_peak(const planner::plan& made) {
  return static_cast<double>(sw::simulate(made.lowered->tasks, sw::in_order{}(made.lowered->tasks, {})).peak.count());
}

}  // namespace

TEST_SUITE("pipeline planner") {
  TEST_CASE("plans keep to the memory once they are told to, and those improved are no slower") {
    sw::random_source random(3);
    std::size_t as_they_are = 0, made_again = 0, none = 0, improved = 0, holds_more = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(60, 3); ++i) {
      CAPTURE(i);
      const tiny_training::model m = tiny_training::random_model(random);
      const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const sw::held_values held = m.held_at_loss();
      sw::fastest_plan_options options;
      options.memory = sw::bytes(peaks[random.below(peaks.size())]);
      options.fills = i % 2 == 0;
      planner free(usual, m, m.times.size(), options), limited(usual, m, m.times.size(), options);
      std::size_t asked = 0;
      limited.limit([&] { return ++asked, &held; });
      tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
        const planner::plan plain = free(choice, {});
        check(plain);
        CHECK_FALSE(plain.room);
        const bool fits = sw::simulate(plain.lowered->tasks, plain.order).peak <= *options.memory;
        const std::size_t before = asked;
        const planner::plan made = limited(choice, {});
        check(made);
        CHECK((asked > before) == !fits);  // what is held costs time to find out
        if (fits) CHECK(made.step == plain.step);
        as_they_are += fits ? 1U : 0U;
        made_again += made.fitted ? 1U : 0U;
        none += std::isfinite(made.step) ? 0U : 1U;
        if (!std::isfinite(made.step)) return;
        const planner::plan better = limited.improved(made, 2, {});
        check(better);
        CHECK(better.step <= made.step);
        improved += better.step < made.step ? 1U : 0U;
        const bool more = better.peak > std::max(made.peak, in_order_peak(made));
        if (!options.fills && !made.fitted) CHECK_FALSE(more);
        holds_more += options.fills && !made.fitted && more ? 1U : 0U;  // the room is there to be used
      });
    }
    MESSAGE(as_they_are << " fit as they are, " << made_again << " make values again, " << none << " do not fit, "
                        << improved << " are improved, " << holds_more << " hold more than before");
    CHECK(as_they_are > 0);
    CHECK(made_again > 0);
    CHECK(none > 0);
    CHECK(improved > 0);
    CHECK((shardweave_test::is_small_scale || holds_more > 0));
  }

  TEST_CASE("a plan that is known is not made again, and has the room of its placement") {
    sw::random_source random(4);
    const tiny_training::model m = tiny_training::random_model(random);
    const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
    sw::fastest_plan_options options;
    options.memory = sw::gibibytes(1);
    options.beside = {{0, std::vector<double>(m.times[0].size(), 1000.5)}};
    planner one(usual, m, m.times.size(), options);
    const std::vector<sw::strategy> choice(m.times.size());
    const planner::plan made = one(choice, {});
    one.limit([] { return nullptr; });
    one.knows(choice, made);
    const planner::plan again = one(choice, {});
    CHECK(again.lowered == made.lowered);
    CHECK(again.room == sw::gibibytes(1) - sw::bytes(1001));
    CHECK(again.peak == made.peak + 1001);
  }

  TEST_CASE("within a limit the plan that was known without one is not lowered anew, and the same comes of it") {
    sw::random_source random(5);
    std::size_t fitted = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(6, 3) || fitted == 0; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const sw::held_values held = m.held_at_loss();
      sw::fastest_plan_options options;
      options.memory = sw::bytes(peaks[peaks.size() / 4]);
      tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
        planner anew(usual, m, m.times.size(), options), known(usual, m, m.times.size(), options);
        const planner::plan plain = known(choice, {});
        known.knows(choice, plain);
        for (planner* one : {&anew, &known}) one->limit([&] { return &held; });
        const planner::plan first = anew(choice, {}), second = known(choice, {});
        CHECK(second.plain == plain.lowered);
        CHECK(first.step == second.step);
        CHECK(first.order.order == second.order.order);
        CHECK((first.fitted != nullptr) == (second.fitted != nullptr));
        fitted += second.fitted ? 1U : 0U;
      });
    }
    CHECK(fitted > 0);
  }

  TEST_CASE("the plan of the known placement comes first, whoever asks for which, and all gather again as it does") {
    sw::random_source random(7);
    std::size_t fitted = 0, gathered = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(20, 6) || fitted == 0; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const sw::held_values held = m.held_at_loss();
      sw::fastest_plan_options options;
      options.memory = sw::bytes(peaks[peaks.size() / 4]);
      std::vector<std::vector<sw::strategy>> choices;
      tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) { choices.push_back(choice); });
      planner in_order(usual, m, m.times.size(), options), at_once(usual, m, m.times.size(), options);
      const planner::plan plain = in_order(choices[0], {});
      for (planner* one : {&in_order, &at_once}) {
        one->knows(choices[0], plain);
        one->limit([&] { return &held; });
        CHECK_FALSE(one->first());
      }
      std::vector<planner::plan> expected, made(choices.size());
      for (const auto& choice : choices) expected.push_back(in_order(choice, {}));
      sw::for_each_number(choices.size(), 3, [&] {
        return [&](std::size_t k) { made[choices.size() - 1 - k] = at_once(choices[choices.size() - 1 - k], {}); };
      });
      REQUIRE(at_once.first());
      CHECK(at_once.first()->lowered == made[0].lowered);
      for (std::size_t k = 0; k < choices.size(); ++k) {
        CHECK(made[k].step == expected[k].step);
        CHECK(made[k].order.order == expected[k].order.order);
        if (made[0].fitted && made[k].fitted) CHECK(made[k].fitted->regathers == made[0].fitted->regathers);
        gathered += made[k].fitted && made[k].fitted->regathers ? 1U : 0U;
      }
      fitted += made[0].fitted ? 1U : 0U;
    }
    MESSAGE(fitted << " make values again, of others " << gathered << " gather parameters again");
  }

  TEST_CASE("what makes values again tells when it would end without the limit") {
    sw::random_source random(8);
    std::size_t known_plans = 0, others = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(20, 6) || others == 0 || known_plans == 0; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
      const sw::held_values held = m.held_at_loss();
      sw::fastest_plan_options options;
      options.memory = sw::bytes(peaks[peaks.size() / 4]);
      const planner free(usual, m, m.times.size(), options);
      planner limited(usual, m, m.times.size(), options);
      const std::vector<sw::strategy> start(m.times.size());
      limited.knows(start, free(start, {}));
      limited.limit([&] { return &held; });
      tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
        const planner::plan made = limited(choice, {});
        CHECK_FALSE(made.step_without_limit);
        if (!made.fitted) return;
        const double expected = free(choice, {}).step;
        CHECK(limited.step_without_limit(made, {}) == expected);
        const planner::plan better = limited.improved(made, 2, {});
        if (better.fitted) CHECK(better.step_without_limit == expected);
        CHECK_FALSE(limited.improved(made, 1, {}).step_without_limit);  // a glance does not look at it
        ++(choice == start ? known_plans : others);
      });
    }
  }

  TEST_CASE("after a stop nothing is made again") {
    sw::random_source random(6);
    std::stop_source stop;
    stop.request_stop();
    sw::solve_control stopped;
    stopped.stop = stop.get_token();
    for (std::size_t i = 0; i < 5; ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const way usual(sw::exhaustive{}, sw::benefit<>{}, own_lowering{});
      sw::fastest_plan_options options;
      options.memory = sw::bytes(1);
      planner one(usual, m, m.times.size(), options);
      bool is_asked = false;
      one.limit([&] { return is_asked = true, nullptr; });
      const planner::plan made = one(std::vector<sw::strategy>(m.times.size()), stopped);
      CHECK_FALSE(is_asked);
      CHECK_FALSE(made.fitted);
      CHECK_FALSE(std::isfinite(made.step));
      CHECK(made.lowered != nullptr);  // one plan is made whatever comes
    }
  }
}

}  // namespace pipeline_planner_tests

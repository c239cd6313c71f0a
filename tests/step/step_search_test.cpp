#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/step/step_search_options.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace step_search_tests {
namespace {

/// Work of launches alone.
struct lone_work {
  const tiny_steps::model& m;
  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return m.strategy_count(v); }
  [[nodiscard]] std::size_t channel_count() const { return m.channel_count(); }
  [[nodiscard]] double vertex_time(std::uint32_t v, sw::strategy s) const { return m.vertex_time(v, s); }
  [[nodiscard]] sw::edge_work edge_work(tiny_steps::model::edge e, sw::strategy a, sw::strategy b) const {
    const tiny_steps::move& way = m.moved(e, a, b);
    sw::edge_work work{std::vector<double>(channel_count()), 0};
    work.loads[0] = static_cast<double>(way.copy);
    work.loads[1 + way.group] += static_cast<double>(m.alone(way));
    work.chain = static_cast<double>(way.copy + m.alone(way));
    return work;
  }
  [[nodiscard]] std::uint64_t share_key(tiny_steps::model::edge) const { return 0; }
};

struct made_plan {
  double step = 0;
  std::vector<sw::strategy> choice;
};
/// The best buckets and order of each placement, by trying all.
struct best_planner {
  const tiny_steps::model& m;
  std::size_t* made = nullptr;
  [[nodiscard]] made_plan operator()(std::span<const sw::strategy> choice, const sw::solve_control&) const {
    if (made != nullptr) ++*made;
    return {static_cast<double>(tiny_steps::best_step_of(m, choice)), {choice.begin(), choice.end()}};
  }
  [[nodiscard]] made_plan improved(const made_plan& known, std::size_t, const sw::solve_control&) const {
    return known;
  }
};
static_assert(sw::step_planner<best_planner>);

struct weighed_plan {
  double step = 0;
  double peak = 0;
  double communication = 0;
};
/// Plans that end at once, however they are placed; what else they tell is drawn, and kept.
struct equal_planner {
  std::vector<weighed_plan>* made = nullptr;
  std::uint64_t seed = 0;
  double step = 0;
  [[nodiscard]] weighed_plan operator()(std::span<const sw::strategy>, const sw::solve_control&) const {
    sw::random_source random(seed + made->size());
    made->push_back({step, static_cast<double>(random.below(3)), static_cast<double>(random.below(5))});
    return made->back();
  }
  [[nodiscard]] weighed_plan improved(const weighed_plan& known, std::size_t, const sw::solve_control&) const {
    weighed_plan less = known;
    less.communication -= 10;
    return less;
  }
};
static_assert(sw::step_planner<equal_planner>);

struct stated {
  tiny_steps::model model;
  sw::placement_problem<double> problem;
  sw::step_work least, alone;

  explicit stated(tiny_steps::model m)
      : model(std::move(m)),
        problem(sw::compile(sw::describe(model.graph, model))),
        least(sw::describe_work(model.graph, model)),
        alone(sw::describe_work(model.graph, lone_work{model})) {}

  [[nodiscard]] auto search(const sw::step_search_options& options = {}, const sw::solve_control& control = {},
                            std::size_t* made = nullptr) const {
    const auto sum = sw::exhaustive{}.solve(problem);
    return sw::search_step(problem, least, alone, sw::exhaustive{}, best_planner{model, made}, sum.choice, options,
                           control);
  }
};

/// Layers one after another, each with a parameter: the layer asks for 20 of the channel before it, in time for the
/// parameter, or for 10 between itself and the layer before it.
struct layers {
  using cost_type = double;
  using edge = sw::compressed_graph::edge_descriptor;
  static constexpr double computation = 50, gather = 20, exchange = 10;

  std::uint32_t count;  ///< the first vertices are the layers
  sw::compressed_graph graph;

  explicit layers(std::uint32_t of) : count(of), graph(chain(of)) {}

  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return v < count ? 2 : 1; }
  [[nodiscard]] double vertex_cost(std::uint32_t v, sw::strategy) const { return v < count ? computation : 0; }
  [[nodiscard]] double edge_cost(edge e, sw::strategy, sw::strategy b) const {
    if (e.source >= count) return b == 1 ? gather : 0;
    return b == 0 ? exchange : 0;
  }
  [[nodiscard]] std::size_t channel_count() const { return 2; }
  [[nodiscard]] double vertex_time(std::uint32_t v, sw::strategy s) const { return vertex_cost(v, s); }
  [[nodiscard]] sw::edge_work edge_work(edge e, sw::strategy a, sw::strategy b) const {
    return {{0, edge_cost(e, a, b)}, edge_cost(e, a, b)};
  }

 private:
  static sw::compressed_graph chain(std::uint32_t of) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 0; v < of; ++v) {
      edges.emplace_back(of + v, v);
      if (v > 0) edges.emplace_back(v - 1, v);
    }
    return sw::compressed_graph(2 * of, edges);
  }
};

/// Gathers one after another from the start; exchanges when their layer is reached.
struct layer_planner {
  std::uint32_t count;
  [[nodiscard]] made_plan operator()(std::span<const sw::strategy> choice, const sw::solve_control&) const {
    double gathered = 0, end = 0;
    for (std::uint32_t v = 0; v < count; ++v) {
      if (choice[v] == 1) gathered += layers::gather;
      const double ready = end + (choice[v] == 0 && v > 0 ? layers::exchange : 0);
      end = (choice[v] == 1 ? std::max(ready, gathered) : ready) + layers::computation;
    }
    return {end, {choice.begin(), choice.end()}};
  }
  [[nodiscard]] made_plan improved(const made_plan& known, std::size_t, const sw::solve_control&) const {
    return known;
  }
};

/// By hand, for a suite at scale: so many graphs instead.
std::size_t graphs(std::size_t usual) {
  const char* told = std::getenv("SHARDWEAVE_TINY_STEPS");
  return told == nullptr ? shardweave_test::at_scale(usual) : static_cast<std::size_t>(std::atol(told));
}

}  // namespace

TEST_SUITE("step search") {
  TEST_CASE("on tiny graphs the answer is the best of all plans, and never below the bound") {
    sw::random_source random(19);
    const std::size_t count = graphs(80);
    std::size_t equal = 0, sum_is_best = 0, complete = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const stated s(tiny_steps::random_model(random));
      const auto best = static_cast<double>(tiny_steps::best_step(s.model));
      const auto found = s.search();
      CAPTURE(i);
      REQUIRE(found.plan);
      CHECK(found.plan->step == found.step);
      CHECK(found.plan->choice == found.choice);
      CHECK(found.step >= best);
      CHECK(found.step <= found.first_step);
      CHECK(found.bounds.bound <= best);
      CHECK(s.search({.around = 0}).complete == false);
      if (found.complete) CHECK(found.step == best);
      complete += found.complete ? 1U : 0U;
      equal += found.step == best ? 1U : 0U;
      sum_is_best += found.first_step == best ? 1U : 0U;
    }
    MESSAGE("best of all: " << equal << " of " << count << "; the least sum: " << sum_is_best
                            << "; complete: " << complete);
    CHECK(equal == count);
    CHECK(complete > count / 2);
    CHECK(sum_is_best < equal);
  }

  TEST_CASE(
      "what may be done whenever its channel is idle is chosen in place of less that stands between computations") {
    const layers model(300);
    const auto problem = sw::compile(sw::describe(model.graph, model));
    const sw::step_work work = sw::describe_work(model.graph, model);
    const sw::assignment sum = sw::elimination{}.solve(problem).choice;
    const auto found = sw::search_step(problem, work, work, sw::elimination{}, layer_planner{model.count}, sum,
                                       {.plans = 12, .bounds = false});
    CHECK(found.first_step == 300 * layers::computation + 299 * layers::exchange);
    // but in the hundredth at both ends, whose work counts as loose
    CHECK(found.step <= 300 * layers::computation + 6 * layers::exchange);
  }

  TEST_CASE("equal calls give equal answers, and no more plans are made than allowed") {
    sw::random_source random(4);
    for (std::size_t i = 0; i < shardweave_test::at_scale(10); ++i) {
      const stated s(tiny_steps::random_model(random));
      std::size_t first = 0, again = 0;
      const auto few = sw::step_search_options{.plans = 5, .around = 0};
      const auto a = s.search(few, {}, &first), b = s.search(few, {}, &again);
      CHECK(a.choice == b.choice);
      CHECK(a.step == b.step);
      CHECK(first == again);
      CHECK(first <= 5);
      CHECK(a.plans == first);
      CHECK(s.search().step <= a.step);
      const auto threads = s.search(few, {.threads = 3});
      CHECK(threads.choice == a.choice);
      CHECK(threads.step == a.step);
      CHECK(threads.plans == a.plans);
      CHECK(threads.bounds.bound == a.bounds.bound);
    }
  }

  TEST_CASE("of plans that end at once the one that holds least is kept, then the one that communicates least") {
    sw::random_source random(8);
    std::size_t later = 0, alike = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(40); ++i) {
      CAPTURE(i);
      const stated s(tiny_steps::random_model(random));
      const sw::assignment start = sw::exhaustive{}.solve(s.problem).choice;
      std::vector<weighed_plan> made;
      const equal_planner planner{&made, 100 * i, 1e9};
      const auto found =
          sw::search_step(s.problem, s.least, s.alone, sw::exhaustive{}, planner, start, {.improved = 1}, {});
      const auto rank = [](const weighed_plan& p) { return std::pair(p.peak, p.communication); };
      const auto least = std::ranges::min_element(made, {}, rank);
      REQUIRE(found.plan);
      CHECK(found.plan->peak == least->peak);
      CHECK(found.plan->communication < least->communication);  // improved, though not in its step
      CHECK(found.step == 1e9);
      later += least != made.begin() ? 1U : 0U;
      alike += std::ranges::count(made, least->peak, &weighed_plan::peak) > 1 ? 1U : 0U;
    }
    CHECK(later > 0);
    CHECK(alike > 0);
  }

  TEST_CASE("a stop leaves the plan of the start") {
    sw::random_source random(4);
    const stated s(tiny_steps::random_model(random));
    std::stop_source stop;
    stop.request_stop();
    const auto found = s.search({}, {.stop = stop.get_token()});
    CHECK(found.stopped);
    CHECK_FALSE(found.complete);
    CHECK(found.plans == 1);
    CHECK(found.step == found.first_step);
    CHECK(found.choice == sw::exhaustive{}.solve(s.problem).choice);
  }

  TEST_CASE("progress tells the step, which never grows, and the bound") {
    sw::random_source random(6);
    const stated s(tiny_steps::random_model(random));
    double last = std::numeric_limits<double>::infinity(), bound = -last;
    std::size_t told = 0;
    sw::solve_control control;
    control.progress = [&](const sw::progress_report& r) {
      if (r.stage != "step") return;
      ++told;
      CHECK(r.objective <= last);
      CHECK(r.lower_bound >= bound);
      last = r.objective;
      bound = r.lower_bound;
    };
    for (const unsigned threads : {1U, 2U}) {
      last = std::numeric_limits<double>::infinity();
      bound = -last;
      told = 0;
      control.threads = threads;
      const auto found = s.search({}, control);
      CHECK(told >= 2);
      CHECK(last == found.step);
      CHECK(bound == found.bounds.bound);
    }
  }

  TEST_CASE("a start that is no placement, and work of another graph, are refused") {
    sw::random_source random(6);
    const stated s(tiny_steps::random_model(random));
    std::vector<weighed_plan> made;
    const auto search = [&](const sw::assignment& start, const sw::step_work& work) {
      static_cast<void>(
          sw::search_step(s.problem, work, s.alone, sw::exhaustive{}, equal_planner{&made, 1, 1e9}, start, {}, {}));
    };
    const sw::assignment start = sw::exhaustive{}.solve(s.problem).choice;
    CHECK_NOTHROW(search(start, s.least));
    made.clear();
    sw::assignment shorter = start, longer = start, beyond = start;
    shorter.pop_back();
    longer.push_back(0);
    beyond.back() = 1000;
    for (const sw::assignment& other : {shorter, longer, beyond, sw::assignment{}})
      CHECK_THROWS_WITH_AS(search(other, s.least), doctest::Contains("is no placement of the problem"), sw::error);
    CHECK(made.empty());
    sw::step_work work = s.least;
    work.edges[0].to = 1000;
    CHECK_THROWS_AS(search(start, work), sw::error);
  }
}

}  // namespace step_search_tests

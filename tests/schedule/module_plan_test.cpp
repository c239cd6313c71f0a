#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/module_plan.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace module_plan_tests {
namespace {

/// Layers with two sharded weights each; a forward step, or a backward step that also scatters two gradients a layer.
struct layers {
  sw::task_graph g;
  std::vector<std::vector<sw::task_index>> modules = {}, gathers = {}, gather_waits = {}, scatters = {},
                                           scatter_waits = {};

  explicit layers(int count, bool backward = false, std::int64_t takes = 2500) {
    overlap_tasks p;
    std::vector<sw::task_index> weights, ends;
    for (int i = 0; i < 2 * count; ++i) weights.push_back(p.input("primals_" + std::to_string(i)));
    auto value = p.input("x");
    for (int i = 0; i < count; ++i) {
      for (auto* rows : {&gathers, &gather_waits, &scatters, &scatter_waits}) rows->emplace_back();
      const sw::task_index first = weights.back() + 2;
      for (int k = 0; k < 2; ++k) {
        const auto weight = weights[static_cast<std::size_t>(2 * (backward ? count - 1 - i : i) + k)];
        const auto [start, wait] = p.ag(p.other("cast", {weight}));
        gathers.back().push_back(start);
        gather_waits.back().push_back(wait);
        value = p.mm({value, wait}, takes);
        if (!backward) continue;
        const auto [out, done] = p.rs(p.mm({value, weights[0]}, 100));
        scatters.back().push_back(out);
        scatter_waits.back().push_back(done);
        ends.push_back(done);
      }
      modules.emplace_back();
      for (sw::task_index t = first; t <= std::max(value, ends.empty() ? 0 : ends.back()); ++t)
        if (modules.size() < 2 || t > modules[modules.size() - 2].back()) modules.back().push_back(t);
    }
    ends.push_back(value);
    p.output(ends);
    g = p.graph();
    for (const std::vector<sw::task_index>& m : modules) SHARDWEAVE_EXPECTS(!m.empty());
  }
};

std::vector<std::size_t> places(const sw::schedule& s) {
  std::vector<std::size_t> place(s.order.size());
  for (std::size_t i = 0; i < s.order.size(); ++i) place[s.order[i]] = i;
  return place;
}

}  // namespace

TEST_SUITE("module_plan") {
  TEST_CASE("the gathers of a module are one launch, during the module before") {
    const layers l(4);
    const sw::module_plan plan{l.modules};
    const sw::bucketing_result buckets = plan(l.g);
    REQUIRE(buckets.buckets.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(buckets.buckets[i].members == l.gathers[i]);
    const sw::schedule s = plan(l.g, buckets);
    CHECK_NOTHROW(sw::validate_schedule(l.g, s));
    CHECK(told(l.g, s) == "cast cast 2ag cast cast 2ag w mm mm cast cast 2ag w mm mm cast cast 2ag w mm mm w mm mm");
    CHECK(sw::simulate(l.g, s).exposed == sw::nanoseconds(1000));  // of the first
    // without buckets each launch goes ahead by itself
    const sw::schedule apart = plan(l.g, sw::bucketing_result{});
    const auto place = places(apart);
    for (std::size_t i = 0; i + 1 < 4; ++i)
      for (const auto w : l.gather_waits[i])
        for (const auto next : l.gathers[i + 1]) CHECK(place[next] < place[w]);
  }
  TEST_CASE("in a backward step scatters of a module are waited for once the next one's are launched") {
    const layers l(4, true);
    // as users write them: by module, not by the order of the step
    const sw::module_plan plan{{l.modules.rbegin(), l.modules.rend()}};
    const sw::bucketing_result buckets = plan(l.g);
    CHECK(buckets.buckets.size() == 8);
    const sw::schedule s = plan(l.g, buckets);
    CHECK_NOTHROW(sw::validate_schedule(l.g, s));
    CHECK(s.decisions.empty());
    const auto place = places(s);
    for (std::size_t i = 0; i + 1 < 4; ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        CHECK(place[l.gathers[i + 1][k]] < place[l.gather_waits[i][0]]);
        CHECK(place[l.scatters[i + 1][k]] < place[l.scatter_waits[i][0]]);
        CHECK(place[l.scatters[i + 1][k]] < place[l.scatter_waits[i][1]]);
      }
    CHECK(sw::simulate(l.g, s).end_to_end < sw::simulate(l.g, sw::in_order{}(l.g, {})).end_to_end);
    std::vector<sw::task_index> products, as_given;
    for (const auto t : s.order)
      if (l.g.kind(t) == sw::task_kind::compute) products.push_back(t);
    for (sw::task_index t = 0; t < l.g.size(); ++t)
      if (l.g.kind(t) == sw::task_kind::compute) as_given.push_back(t);
    CHECK(products == as_given);
  }
  TEST_CASE("reductions of a module are merged, those that lead to each other in pairs") {
    overlap_tasks p;
    const auto gather = p.ag(p.input());  // makes the group one of sharded parameters
    const auto s0 = p.ar(p.input()), s1 = p.ar(p.input()), r0 = p.ar(s0.wait), r1 = p.ar(s1.wait);
    const auto other = p.ar(p.input(), 1);
    p.output({gather.wait, r0.wait, r1.wait, other.wait});
    const sw::task_graph g = p.graph();
    std::vector<sw::task_index> all;
    for (sw::task_index t = 0; t < g.size(); ++t) all.push_back(t);
    const auto buckets = sw::module_plan{{all}}(g).buckets;
    REQUIRE(buckets.size() == 2);
    CHECK(buckets[0].members == std::vector<sw::task_index>{s0.start, s1.start});
    CHECK(buckets[1].members == std::vector<sw::task_index>{r0.start, r1.start});
    CHECK(sw::module_plan{}(g).buckets.empty());
  }
  TEST_CASE("what is gathered in two steps is gathered one module ahead, and no further") {
    overlap_tasks p;
    std::vector<sw::task_index> weights;
    for (int i = 0; i < 6; ++i) weights.push_back(p.input("primals_" + std::to_string(i)));
    auto value = p.input("x");
    std::vector<std::vector<sw::task_index>> modules;
    std::vector<sw::task_index> first, second, second_waits;
    for (const sw::task_index weight : weights) {
      const auto [half, half_wait] = p.ag(p.other("cast", {weight}));
      const auto [whole, wait] = p.ag(half_wait);
      value = p.mm({value, wait}, 2500);
      modules.emplace_back();
      for (sw::task_index t = half - 1; t <= value; ++t) modules.back().push_back(t);
      first.push_back(half);
      second.push_back(whole);
      second_waits.push_back(wait);
    }
    p.output({value});
    const sw::task_graph g = p.graph();
    const sw::module_plan plan{modules};
    const sw::schedule s = plan(g, plan(g));
    const std::vector<std::size_t> place = places(s);
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
      CHECK(place[second[i + 1]] < place[second_waits[i]]);  // while the module before waits, or computes
      if (i + 2 < weights.size()) CHECK(place[first[i + 2]] > place[second_waits[i]]);
    }
  }

  TEST_CASE("modules are named by paths, and a task that is in two is refused") {
    overlap_tasks p;
    const auto a = p.other("layers.1.norm", {p.input("layers.1")}), b = p.other("layers.10.norm", {a});
    p.output({b});
    const sw::task_graph g = p.graph();
    const std::vector<std::vector<std::string>> paths = {{"layers.1"}, {"layers.10", "head"}};
    const auto modules = sw::tasks_of_modules(g, paths);
    CHECK(modules == std::vector<std::vector<sw::task_index>>{{0, a}, {b}});
    CHECK_THROWS_WITH_AS(sw::module_plan({{{a}, {a, b}}})(g),
                         "task 1 (layers.1.norm) is in module 1 and in module 0, expected in one at most", sw::error);
    CHECK_THROWS_WITH_AS(sw::module_plan({{{9}}})(g), "module 0 names task 9, but there are only 4", sw::error);
  }
  TEST_CASE("schedules of random plans are valid and repeatable") {
    std::size_t buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(300); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 24, .groups = 1 + seed % 2, .communicates = 0.8});
      sw::random_source random(seed);
      sw::module_plan plan{std::vector<std::vector<sw::task_index>>(1 + random.below(4))};
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (const auto m = random.below(plan.modules.size() + 1); m < plan.modules.size()) plan.modules[m].push_back(t);
      const auto merged = plan(g);
      const sw::schedule s = plan(g, merged);
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      CHECK(s == plan(g, merged));
      buckets += merged.buckets.size();
    }
    CHECK(buckets > shardweave_test::at_scale(30));
  }
}

}  // namespace module_plan_tests

#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/split_phases.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace split_phases_tests {
namespace {

/// The graph with phases: backward is what is behind task `first`, and that itself.
sw::task_graph with_phases(const sw::task_graph& g, sw::task_index first) {
  std::vector<sw::task_tags> tags;
  for (sw::task_index t = 0; t < g.size(); ++t) {
    tags.push_back(g.tags(t));
    bool late = t == first;
    for (const auto& e : g.dependencies().in(t)) late = late || tags[e.source].when == sw::phase::backward;
    tags.back().when = late ? sw::phase::backward : sw::phase::forward;
  }
  return g.with_tags(tags);
}

}  // namespace

TEST_SUITE("split_phases") {
  TEST_CASE("the forward half returns what the backward half needs, and that begins with it") {
    overlap_tasks p;
    const auto weight = p.input("primals_1"), x = p.input("primals_2"), aside = p.input("primals_3");
    const auto gathered = p.ag(weight);
    const auto product = p.mm({x, gathered.wait});
    const auto open = p.launch("ar", product);  // awaited by the backward half alone
    const auto tangent = p.input("tangents_1");
    const auto wait = p.b.add_task({.name = "w",
                                    .op = "wait",
                                    .kind = sw::task_kind::wait,
                                    .inputs = {open},
                                    .completes = open,
                                    .when = sw::phase::backward});
    const auto gradient = p.mm({tangent, x, wait});
    const auto scattered = p.rs(gradient);
    p.output({product, scattered.wait});
    const sw::task_graph g = p.graph();
    const sw::split_graph s = sw::split_phases(g);
    const auto names = [](const sw::task_graph& half) {
      std::string all;
      for (sw::task_index t = 0; t < half.size(); ++t) all += (t == 0 ? "" : " ") + std::string(half.name_of(t));
      return all;
    };
    CHECK(names(s.forward.graph) == "primals_1 primals_2 primals_3 ag w mm ar output");
    CHECK(names(s.backward.graph) == "primals_2 saved.ar tangents_1 w mm rs w output");
    CHECK(s.forward.graph.name.ends_with(" forward"));
    CHECK(s.backward.graph.name.ends_with(" backward"));
    const auto inputs = [](const sw::task_graph& half) {
      const auto all = half.inputs(static_cast<sw::task_index>(half.size() - 1));
      return std::vector<sw::task_index>(all.begin(), all.end());
    };
    CHECK(inputs(s.forward.graph) == std::vector<sw::task_index>{5, 6});  // what was returned first, then what is saved
    CHECK(inputs(s.backward.graph) == std::vector<sw::task_index>{6});
    CHECK(s.backward.graph.kind(1) == sw::task_kind::input);
    CHECK(s.backward.graph.completes(3) == sw::no_index);  // the collective is none of this half's
    CHECK(s.backward.joint == std::vector<sw::task_index>{x, open, tangent, wait, gradient, scattered.start,
                                                          scattered.wait, static_cast<sw::task_index>(g.size() - 1)});
    CHECK(s.backward.task_of[aside] == sw::no_index);
    CHECK(s.forward.task_of[gathered.start] == 3);
    CHECK(s.forward.joint.back() == sw::no_index);
    CHECK(sw::inferred_tags(s.forward.graph)[3].role == sw::task_role::parameter);
  }
  TEST_CASE("halves of random graphs hold every task once and lose no dependency") {
    std::size_t saved = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph plain = random_tasks(seed, {.blocks = 3 + seed % 20});
      const sw::task_graph g = with_phases(plain, static_cast<sw::task_index>(seed % (plain.size() - 1)));
      const sw::split_graph s = sw::split_phases(g);
      for (sw::task_index t = 0; t + 1 < g.size(); ++t) {
        const sw::task_index early = s.forward.task_of[t], late = s.backward.task_of[t];
        const bool is_late = g.when(t) == sw::phase::backward;
        const sw::graph_half& home = is_late ? s.backward : s.forward;
        const sw::task_index here = is_late ? late : early;
        if (is_late) REQUIRE(early == sw::no_index);
        if (here == sw::no_index) {  // an input that the other half alone uses
          REQUIRE(g.kind(t) == sw::task_kind::input);
          REQUIRE(late != sw::no_index);
          continue;
        }
        REQUIRE(home.joint[here] == t);
        REQUIRE(home.graph.duration(here) == g.duration(t));
        REQUIRE(home.graph.kind(here) == g.kind(t));
        REQUIRE(home.graph.tags(here) == g.tags(t));
        // each need is there, or was met before
        std::set<sw::task_index> needs, expected;
        for (const auto& e : home.graph.dependencies().in(here)) needs.insert(home.joint[e.source]);
        for (const auto& e : g.dependencies().in(t)) expected.insert(e.source);
        for (const sw::task_index n : needs) REQUIRE(expected.count(n) == 1);
        for (const sw::task_index n : expected)
          if (needs.count(n) == 0) REQUIRE((is_late && g.when(n) == sw::phase::forward && g.completes(t) == n));
        if (is_late || late == sw::no_index || g.kind(t) == sw::task_kind::input) continue;
        ++saved;  // and the forward half gives it away
        REQUIRE(s.backward.graph.kind(late) == sw::task_kind::input);
        const auto given = s.forward.graph.inputs(static_cast<sw::task_index>(s.forward.graph.size() - 1));
        REQUIRE(std::find(given.begin(), given.end(), early) != given.end());
      }
      // with all that takes time on one side, the other takes none
      REQUIRE(sw::simulate(s.forward.graph).compute + sw::simulate(s.backward.graph).compute ==
              sw::simulate(g).compute);
    }
    CHECK(saved > shardweave_test::at_scale(100));
  }
}

}  // namespace split_phases_tests

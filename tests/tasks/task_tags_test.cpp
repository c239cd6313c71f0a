#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace task_tags_tests {
namespace {

using enum sw::task_role;

/// A step in a few tasks, as a compiler writes it or as we do: a weight is gathered for the product, its gradient
/// scattered and, where there is an optimizer, added to a moment that makes a new weight.
struct step {
  overlap_tasks p;
  sw::task_index weight, x, gathered, product, tangent, for_weight, for_input, reduced, scattered,
      moment = sw::no_index, updated = sw::no_index;
  explicit step(const std::string& name_of_tangent, bool returns_product = true, bool optimizes = false) {
    weight = p.input("primals_1");
    x = p.input("primals_2");
    gathered = p.ag(p.other("cast", {weight})).wait;
    product = p.mm({x, gathered});
    tangent = p.input(name_of_tangent);
    for_input = p.mm({tangent, gathered});
    reduced = p.ar(for_input).wait;  // of an activation: something other than gradients uses it
    p.other("print", {reduced});
    for_weight = p.mm({x, tangent});
    scattered = p.rs(for_weight).wait;
    std::vector<sw::task_index> results;
    if (!optimizes) {
      results = {p.view({scattered})};
    } else {
      moment = p.b.add_task({.name = "moment", .kind = sw::task_kind::input, .role = optimizer_state});
      updated = p.other("add", {scattered, moment});
      results = {updated};
    }
    if (returns_product) results.insert(results.begin(), product);
    p.output(results);
  }
};

/// The graph with another name for one task.
sw::task_graph renamed(const sw::task_graph& g, sw::task_index task, const std::string& name) {
  sw::task_graph_builder b;
  for (const auto& group : g.groups()) b.add_group(group);
  for (const auto& s : g.storages()) b.add_storage(s);
  for (sw::task_index t = 0; t < g.size(); ++t) {
    sw::task_record r = g.record(t);
    if (t == task) r.name = name;
    b.add_task(r);
  }
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("inferred_tags") {
  TEST_CASE("a joint graph tells its phases and roles, whoever wrote it") {
    for (const char* tangent : {"tangents_1", "tangent", "tangent.0"}) {
      CAPTURE(std::string(tangent));
      step s(tangent);
      const sw::task_graph g = s.p.graph();
      const auto tags = sw::inferred_tags(g);
      CHECK(tags[s.weight].role == parameter);
      CHECK(tags[s.weight].is_param);
      CHECK(tags[s.x].role == none);  // tokens, or a parameter that nothing gathers: nobody says
      CHECK(tags[s.tangent].role == gradient);
      CHECK(tags[s.gathered].role == parameter);
      CHECK(tags[s.product].role == activation);
      CHECK(tags[s.for_weight].role == gradient);
      CHECK(tags[s.scattered].role == gradient);
      CHECK(tags[s.for_input].role == activation);
      CHECK(tags[s.reduced].role == activation);
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const bool early = t < s.tangent;
        CHECK(tags[t].when == (early ? sw::phase::forward : sw::phase::backward));
        CHECK(tags[t].is_fsdp.has_value() == (g.is_collective(t) && g.collective(t).op != sw::collective::all_reduce));
      }
      CHECK(sw::derived_tags(g) == sw::fsdp_tags_by_structure(g));
      CHECK(sw::with_inferred_tags(g).tags(s.scattered) == tags[s.scattered]);
      CHECK(sw::inferred_tags(sw::with_inferred_tags(g)) == tags);
    }
  }
  TEST_CASE("a graph that returns gradients alone is backward from its first task on") {
    step s("tangents_1", false);
    const sw::task_graph g = s.p.graph();
    for (const sw::task_tags& t : sw::inferred_tags(g)) CHECK(t.when == sw::phase::backward);
    step without("saved_1", false);
    for (const sw::task_tags& t : sw::inferred_tags(without.p.graph())) CHECK(t.when == sw::phase::forward);
    overlap_tasks nothing;
    nothing.output({nothing.mm({nothing.input()})});
    for (const sw::task_tags& t : sw::inferred_tags(nothing.graph())) CHECK(t == sw::task_tags{});
  }
  TEST_CASE("what is behind the optimizer's state updates, and gradients end there") {
    for (const bool returns_product : {true, false}) {
      step s("tangents_1", returns_product, true);
      const auto tags = sw::inferred_tags(s.p.graph());
      CHECK(tags[s.moment].when == sw::phase::update);
      CHECK(tags[s.updated].when == sw::phase::update);
      CHECK(tags[s.updated].role == none);
      CHECK(tags[s.scattered].role == gradient);
      CHECK(tags[s.scattered].when == sw::phase::backward);
      CHECK(tags[s.product].when == (returns_product ? sw::phase::forward : sw::phase::backward));
    }
  }
  TEST_CASE("what a task states stays") {
    step s("other");
    s.p.b.add_task({.name = "more",
                    .inputs = {s.tangent},
                    .is_fsdp = std::nullopt,
                    .role = gradient,
                    .when = sw::phase::backward});
    const sw::task_graph g = s.p.graph();
    const auto tags = sw::inferred_tags(g);
    const auto last = static_cast<sw::task_index>(g.size() - 1);
    CHECK(tags[last].role == gradient);
    CHECK(tags[last].when == sw::phase::backward);
    CHECK(tags[s.tangent].when == sw::phase::forward);
  }
  TEST_CASE("on random graphs tags are those of the definitions, path by path") {
    std::size_t backward = 0, gradients = 0, parameters = 0, joint = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = renamed(random_tasks(seed, {.blocks = 3 + seed % 9}), 1, "tangents_1");
      const auto tags = sw::inferred_tags(g);
      std::function<bool(sw::task_index)> behind = [&](sw::task_index t) {
        for (const auto& e : g.dependencies().in(t))
          if (behind(e.source)) return true;
        return t == 1;
      };
      bool returns_early = false;
      for (const auto p : g.inputs(static_cast<sw::task_index>(g.size() - 1))) returns_early |= !behind(p);
      joint += returns_early;
      std::function<bool(sw::task_index)> from_parameters = [&](sw::task_index t) {
        if (g.kind(t) == sw::task_kind::input) return tags[t].is_param && t != 1;
        return !g.inputs(t).empty() && std::ranges::all_of(g.inputs(t), from_parameters);
      };
      std::function<bool(sw::task_index)> to_gradients = [&](sw::task_index t) {
        if (returns_early && !behind(t)) return false;
        bool all = !g.dependencies().out(t).empty();
        for (const auto& e : g.dependencies().out(t)) {
          if (g.kind(e.target) == sw::task_kind::output) return true;
          all = all && to_gradients(e.target);
        }
        return all;
      };
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const bool late = behind(t) || !returns_early;
        REQUIRE(tags[t].when == (late ? sw::phase::backward : sw::phase::forward));
        backward += late;
        if (g.kind(t) == sw::task_kind::input || g.kind(t) == sw::task_kind::output) continue;
        const auto expected = from_parameters(t) ? parameter : to_gradients(t) ? gradient : activation;
        REQUIRE(tags[t].role == expected);
        gradients += expected == gradient;
        parameters += expected == parameter;
      }
    }
    CHECK(backward > shardweave_test::at_scale(500));
    CHECK(gradients > shardweave_test::at_scale(100));
    CHECK(parameters > shardweave_test::at_scale(50));
    CHECK(joint > shardweave_test::at_scale(20));
  }
}

TEST_SUITE("derived_tags") {
  TEST_CASE("derived is what comes from parameters alone, through however many tasks") {
    overlap_tasks p;
    const auto parameter = [&] {
      return p.b.add_task({.name = "primals", .op = "input", .kind = sw::task_kind::input, .is_param = true});
    };
    const auto a = parameter(), b = parameter(), x = p.input();
    const auto chain = p.ag(p.other("cast", {p.view({a})})), both = p.ag(p.other("cat", {a, b}));
    const auto mixed = p.ag(p.other("add", {a, x})), behind = p.ag(p.view({mixed.wait}));
    p.output({chain.wait, both.wait, behind.wait});
    const auto tags = sw::derived_tags(p.graph());
    CHECK(tags[chain.start]);
    CHECK(tags[both.start]);
    CHECK_FALSE(tags[mixed.start]);
    CHECK_FALSE(tags[behind.start]);
  }
  TEST_CASE("and what becomes gradients alone in a backward graph") {
    for (const bool backward : {true, false}) {
      overlap_tasks p;
      const auto t = p.input(backward ? "tangents_1" : "saved_1");
      const auto scatter = p.rs(t), reduce = p.ar(p.other("mul", {t}));
      const auto shared = p.rs(p.other("neg", {t}));
      p.other("assert", {shared.wait});  // another use, which leads nowhere
      p.output({p.view({scatter.wait}), reduce.wait, p.view({shared.wait})});
      const auto tags = sw::derived_tags(p.graph());
      CHECK(tags[scatter.start] == backward);
      CHECK(tags[reduce.start] == backward);
      CHECK_FALSE(tags[shared.start]);
    }
  }
}

}  // namespace task_tags_tests

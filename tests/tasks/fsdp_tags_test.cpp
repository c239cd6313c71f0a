#include <shardweave/tasks/fsdp_tags.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace fsdp_tags_tests {
namespace {
/// The definitions once more, by walking every path.
bool one_input_above(const sw::task_graph& g, sw::task_index t) {
  std::set<sw::task_index> inputs, seen;
  std::function<void(sw::task_index)> up = [&](sw::task_index u) {
    if (!seen.insert(u).second) return;
    if (g.kind(u) == sw::task_kind::input) inputs.insert(u);
    for (const auto p : g.inputs(u)) up(p);
  };
  up(t);
  return inputs.size() == 1;
}
bool all_paths_lead_out_alone(const sw::task_graph& g, sw::task_index t) {
  bool used = false;
  for (const auto& e : g.dependencies().out(t)) {
    used = true;
    if (g.kind(e.target) == sw::task_kind::output) continue;
    const std::set<sw::task_index> inputs(g.inputs(e.target).begin(), g.inputs(e.target).end());
    if (inputs.size() != 1 || !all_paths_lead_out_alone(g, e.target)) return false;
  }
  return used;
}

sw::task_record task(sw::task_kind kind, std::vector<sw::task_index> inputs) {
  sw::task_record made;
  made.kind = kind;
  if (kind == sw::task_kind::wait) made.completes = inputs.front();
  made.inputs = std::move(inputs);
  return made;
}
sw::task_record input_of(sw::task_role role) {
  sw::task_record made = task(sw::task_kind::input, {});
  made.role = role;
  return made;
}
sw::task_record launch(sw::collective op, sw::task_index of) {
  sw::task_record made = task(sw::task_kind::collective, {of});
  made.collective = sw::collective_record{.op = op};
  return made;
}
sw::task_graph graph(const std::vector<sw::task_record>& tasks) {
  sw::task_graph_builder b;
  b.add_group({});
  for (const sw::task_record& t : tasks) b.add_task(t);
  return std::move(b).build();
}
std::vector<sw::task_index> tagged(const sw::task_graph& g,
                                   std::vector<bool> (*tagger)(const sw::task_graph&) = sw::fsdp_tags_by_structure) {
  const std::vector<bool> tags = tagger(g);
  std::vector<sw::task_index> found;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (tags[t]) found.push_back(t);
  return found;
}
}  // namespace

TEST_SUITE("fsdp_tags") {
  TEST_CASE("an all-gather below one parameter gathers it, below two, none or an input of another role it does not") {
    using enum sw::task_kind;
    const sw::task_graph g =
        graph({input_of(sw::task_role::parameter), input_of(sw::task_role::none), input_of(sw::task_role::data),
               task(other, {0}), launch(sw::collective::all_gather, 3), task(other, {0, 1}),
               launch(sw::collective::all_gather, 5), launch(sw::collective::all_gather, 2), task(other, {}),
               launch(sw::collective::all_gather, 8), launch(sw::collective::all_reduce, 0), task(other, {1, 1}),
               launch(sw::collective::all_gather, 11)});
    CHECK(tagged(g) == std::vector<sw::task_index>{4, 12});
    CHECK(sw::only_parameter_above(g)[4] == 0);
    CHECK(sw::only_parameter_above(g)[12] == 1);
    CHECK(sw::only_parameter_above(g)[6] == sw::no_index);
    CHECK(sw::only_parameter_above(g)[7] == sw::no_index);
  }

  TEST_CASE("a reduce-scatter whose result goes straight to the output reduces a gradient") {
    using enum sw::task_kind;
    const auto scatter = [](sw::task_index of) { return launch(sw::collective::reduce_scatter, of); };
    std::vector<sw::task_record> tasks{input_of(sw::task_role::none),
                                       scatter(0),
                                       task(wait, {1}),
                                       task(other, {2}),
                                       scatter(0),
                                       task(wait, {4}),
                                       task(other, {5, 0}),  // an addition
                                       scatter(0),
                                       task(wait, {7}),  // returned and used
                                       task(other, {8, 3}),
                                       scatter(0),
                                       task(wait, {10}),  // used by nobody
                                       scatter(0),
                                       task(wait, {12}),  // returned twice
                                       task(view, {13}),
                                       task(output, {3, 6, 8, 13, 14})};
    // task 9 uses the first gradient, too: then it does not go straight any more
    CHECK(tagged(graph(tasks)) == std::vector<sw::task_index>{12});
    tasks[9].inputs = {8, 0};
    CHECK(tagged(graph(tasks)) == std::vector<sw::task_index>{1, 12});
  }

  TEST_CASE("one user that leads elsewhere is enough, be it the first or the last") {
    using enum sw::task_kind;
    for (const bool first : {true, false}) {
      const sw::task_graph g = graph({input_of(sw::task_role::none), launch(sw::collective::reduce_scatter, 0),
                                      task(wait, {1}), first ? task(other, {2, 0}) : task(view, {2}),
                                      first ? task(view, {2}) : task(other, {2, 0}), task(output, {3, 4})});
      CHECK(tagged(g).empty());
    }
  }
  TEST_CASE("roles of collectives come before structure, and tags that are stated before roles") {
    using enum sw::task_kind;
    std::vector<sw::task_record> tasks{
        input_of(sw::task_role::none), launch(sw::collective::all_gather, 0),     task(wait, {1}),
        task(other, {2, 0}),           launch(sw::collective::reduce_scatter, 3), task(wait, {4}),
        task(other, {5, 3}),           launch(sw::collective::all_gather, 6)};
    CHECK(tagged(graph(tasks), sw::fsdp_tags) == std::vector<sw::task_index>{1, 7});
    tasks[4].role = sw::task_role::gradient;
    tasks[7].role = sw::task_role::parameter;
    CHECK(tagged(graph(tasks), sw::fsdp_tags) == std::vector<sw::task_index>{4, 7});
    tasks[4].role = sw::task_role::activation;
    CHECK(tagged(graph(tasks), sw::fsdp_tags) == std::vector<sw::task_index>{7});
    tasks[1].is_fsdp = true;
    CHECK(tagged(graph(tasks), sw::fsdp_tags) == std::vector<sw::task_index>{1});
  }
  TEST_CASE("the structural tags are those of the definitions") {
    std::size_t gathers = 0, scatters = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(300U, 60U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 2 + seed % 8});
      const auto tags = sw::fsdp_tags_by_structure(g);
      for (sw::task_index c = 0; c < g.size(); ++c) {
        bool expected = false;
        if (g.is_collective(c) && g.collective(c).op == sw::collective::all_gather)
          gathers += expected = one_input_above(g, c);
        if (g.is_collective(c) && g.collective(c).op == sw::collective::reduce_scatter) {
          for (sw::task_index w = 0; w < g.size(); ++w)
            if (g.completes(w) == c && all_paths_lead_out_alone(g, w)) expected = true;
          scatters += expected;
        }
        CHECK(tags[c] == expected);
      }
    }
    CHECK(gathers > shardweave_test::sized(20U, 4U));
    CHECK(scatters > shardweave_test::sized(20U, 4U));
  }
  TEST_CASE("stated tags come before structure, and structure serves where none is stated") {
    for (const bool stated : {false, true}) {
      sw::task_graph_builder b;
      b.add_group({});
      const auto p = b.add_task({.name = "p", .kind = sw::task_kind::input});
      b.add_task({.name = "c",
                  .kind = sw::task_kind::collective,
                  .inputs = {p},
                  .collective = sw::collective_record{sw::collective::all_gather, 0, {}, {}, "bf16", "none"},
                  .is_fsdp = stated ? std::optional<bool>(false) : std::nullopt});
      const auto tags = sw::fsdp_tags(std::move(b).build());
      CHECK(tags[1] == !stated);
    }
  }
}

}  // namespace fsdp_tags_tests

#include <shardweave/bucketing/fsdp_tags.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <functional>
#include <set>

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
}  // namespace

TEST_SUITE("fsdp_tags") {
  TEST_CASE("the structural tags are those of the definitions") {
    std::size_t gathers = 0, scatters = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(300U, 60U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 2 + seed % 8});
      const auto tags = sw::fsdp_tags_by_structure(g);
      for (sw::task_index c = 0; c < g.size(); ++c) {
        bool expected = false;
        if (g.is_collective(c) && g.collective(c).op == "all_gather") gathers += expected = one_input_above(g, c);
        if (g.is_collective(c) && g.collective(c).op == "reduce_scatter") {
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
                  .collective = sw::collective_record{"all_gather", 0, {}, {}, "bf16", "none"},
                  .is_fsdp = stated ? std::optional<bool>(false) : std::nullopt});
      const auto tags = sw::fsdp_tags(std::move(b).build());
      CHECK(tags[1] == !stated);
    }
  }
}

}  // namespace fsdp_tags_tests

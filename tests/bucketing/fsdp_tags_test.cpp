#include <shardweave/bucketing/fsdp_tags.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <functional>
#include <set>
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
}  // namespace

TEST_SUITE("fsdp_tags") {
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

TEST_SUITE("regather_tags") {
  using enum sw::regather;
  TEST_CASE("the way of a parameter is gathered again, or its end kept") {
    overlap_tasks p;
    const auto plain = p.ag(p.input());  // gather, wait
    p.mm({plain.wait});
    const auto cast = p.other("cast", {p.input()}), behind = p.launch("ag", cast), behind_wait = p.wait(behind);
    const auto slice = p.view({behind_wait});  // cast, gather, wait, slice
    p.mm({slice});
    const auto a = p.input(), b = p.input(), product = p.mm({a, b});
    const auto value = p.ag(product);  // of a product of two
    p.output({value.wait});
    const sw::task_graph g = p.graph();
    std::vector<sw::regather> expected(g.size(), none);
    const auto again = sw::regather_tags(g, true), kept = sw::regather_tags(g, false);
    for (const auto t : {plain.start, plain.wait, cast, behind, behind_wait, slice}) expected[t] = recompute;
    CHECK(again == expected);
    std::fill(expected.begin(), expected.end(), none);
    for (const auto t : {plain.wait, behind_wait}) expected[t] = save;  // a slice is a view of what is kept
    CHECK(kept == expected);
    overlap_tasks empty;
    empty.output({empty.mm({empty.input()})});
    CHECK(sw::regather_tags(empty.graph(), true) == std::vector<sw::regather>(3, none));
  }
}

}  // namespace fsdp_tags_tests

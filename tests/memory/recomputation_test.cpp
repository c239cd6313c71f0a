#include "memory/random_training.hpp"
#include "support/scale.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::refusal_of;

namespace recomputation_tests {
namespace {

using namespace random_training_graphs;

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("a graph that makes values again does the same work, and keeps nothing that is dropped") {
    sw::random_source random(17);
    std::size_t repeated = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random);
      const sw::task_graph& g = made.graph;
      std::vector<char> dropped(g.storages().size());
      for (char& d : dropped) d = static_cast<char>(random.below(2));
      const sw::recomputed_graph r = sw::with_recomputation(g, dropped);
      std::vector<task_index> first;  // the given tasks, in their order
      std::set<task_index> again;
      for (task_index t = 0; t < r.tasks.size(); ++t) {
        const task_index of = r.original[t];
        if (!r.again[t]) first.push_back(of);
        if (r.again[t]) CHECK(again.insert(of).second);  // once
        const bool is_late = g.when(of) == sw::phase::backward || r.again[t];
        REQUIRE(r.tasks.inputs(t).size() == g.inputs(of).size());
        for (std::size_t a = 0; a < g.inputs(of).size(); ++a) {
          const task_index from = r.tasks.inputs(t)[a];
          CHECK(from < t);
          CHECK(r.original[from] == g.inputs(of)[a]);
          if (!is_late || r.again[from]) continue;
          // read where it is: an input, a late one, or one that is kept
          for (std::size_t o = 0; o < g.output_count(r.original[from]); ++o)
            if (g.kind(r.original[from]) != sw::task_kind::input && g.when(r.original[from]) == sw::phase::forward)
              CHECK(dropped[g.output_storage(r.original[from], o)] == 0);
        }
        CHECK(r.tasks.duration(t) == g.duration(of));
        if (g.completes(of) != no_index) CHECK(r.original[r.tasks.completes(t)] == g.completes(of));
        if (r.again[t]) {
          CHECK(r.tasks.name_of(t) == std::string(g.name_of(of)) + ".again");
          CHECK(r.tasks.when(t) == sw::phase::backward);
          bool is_read = g.kind(of) == sw::task_kind::collective;
          for (task_index u = t + 1; u < r.tasks.size(); ++u)
            is_read |= std::ranges::find(r.tasks.inputs(u), t) != r.tasks.inputs(u).end();
          CHECK(is_read);
        }
      }
      CHECK(std::is_sorted(first.begin(), first.end()));
      for (task_index t = 0; t < g.size(); ++t)  // what is not done in its place is done later
        CHECK((std::ranges::binary_search(first, t) || again.contains(t)));
      repeated += again.size();
    }
    CHECK(repeated > shardweave_test::at_scale(1000));
  }

  TEST_CASE("what a task gives beside what is dropped is not kept twice") {
    sw::random_source random(29);
    std::size_t split = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random, true);
      const auto full = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::full);
      const auto none = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::none);
      const bytes limit =
          full.chosen.peak + (none.chosen.peak - full.chosen.peak) / static_cast<std::int64_t>(1 + random.below(4));
      const auto plan = sw::recomputation_choices(made.graph, made.block).within(limit);
      if (!plan.graph) continue;
      CHECK(peak_of(plan.graph->tasks) <= plan.chosen.peak);
      for (task_index t = 0; t < plan.graph->tasks.size(); ++t) {
        if (!plan.graph->again[t] || plan.graph->tasks.output_count(t) != 2) continue;
        std::size_t without = 0;
        for (std::size_t o = 0; o < 2; ++o) without += plan.graph->tasks.output_storage(t, o) == no_index ? 1U : 0U;
        CHECK(without < 2);
        split += without;
      }
    }
    CHECK(split > shardweave_test::at_scale(1000) / 20);
  }

  TEST_CASE("of a value that was gathered the shard is kept and gathered again") {
    sw::random_source random(53);
    std::size_t gathered = 0, of_kept = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random, false, true);
      const sw::task_graph& g = made.graph;
      const auto full = sw::recompute_by_rule(g, made.block, sw::recompute_rule::full);
      const auto none = sw::recompute_by_rule(g, made.block, sw::recompute_rule::none);
      const bytes limit = full.chosen.peak + (none.chosen.peak - full.chosen.peak) / 2;
      const auto plan = sw::recomputation_choices(g, made.block).within(limit);
      if (!plan.graph) continue;
      const sw::task_graph& planned = plan.graph->tasks;
      CHECK(peak_of(planned) <= plan.chosen.peak);
      CHECK(plan.chosen.peak <= limit);
      for (task_index t = 0; t < planned.size(); ++t) {
        if (!plan.graph->again[t] || planned.kind(t) != sw::task_kind::collective) continue;
        ++gathered;
        const task_index shard = planned.inputs(t)[0];
        CHECK(shard < t);
        CHECK(plan.graph->original[shard] == g.inputs(plan.graph->original[t])[0]);
        of_kept += plan.graph->again[shard] ? 0U : 1U;
        // what it gives is new, its wait comes before all readers, and the first whole value is gone by then
        const std::uint32_t whole = planned.output_storage(t, 0);
        CHECK(whole != g.output_storage(plan.graph->original[t], 0));
        for (task_index u = t + 1; u < planned.size(); ++u)
          for (const task_index p : planned.inputs(u))
            CHECK((p == t ? planned.completes(u) == t
                          : planned.output_count(p) == 0 || planned.kind(p) == sw::task_kind::input ||
                                planned.output_storage(p, 0) != g.output_storage(plan.graph->original[t], 0)));
      }
    }
    CHECK(gathered > shardweave_test::at_scale(1000) / 10);
    CHECK(of_kept > shardweave_test::at_scale(1000) / 20);
  }

  TEST_CASE("what waits in the host's memory is copied there and back once, and is not on the device meanwhile") {
    sw::random_source random(41);
    std::size_t copied = 0, read_again = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random, random.below(2) == 0);
      const sw::task_graph& g = made.graph;
      std::vector<char> dropped(g.storages().size()), away = sw::copyable_storages(g);
      for (std::size_t s = 0; s < away.size(); ++s) {
        dropped[s] = static_cast<char>(random.below(4) == 0);
        if (dropped[s] != 0 || random.below(2) == 0) away[s] = 0;
      }
      const sw::recomputed_graph r = sw::with_recomputation(g, dropped, {away, 1e9});
      const auto gives_away = [&](task_index of) {
        for (std::size_t o = 0; o < g.output_count(of); ++o)
          if (const std::uint32_t s = g.output_storage(of, o);
              s != no_index && away[s] != 0 && g.when(of) == sw::phase::forward)
            return true;
        return false;
      };
      std::set<std::string> names;
      for (task_index t = 0; t < r.tasks.size(); ++t) {
        const task_index of = r.original[t];
        for (const task_index from : r.tasks.inputs(t)) CHECK(from < t);
        if (r.copies[t]) {
          CHECK(gives_away(of));
          CHECK(names.insert(std::string(r.tasks.name_of(t))).second);
          const auto size = g.storages()[g.output_storage(of, 0)].size;
          if (r.tasks.is_collective(t)) CHECK(r.tasks.duration(t).count() == size.count());  // at a byte per ns
          continue;
        }
        CHECK(r.tasks.duration(t) == g.duration(of));
        const bool is_late = g.when(of) == sw::phase::backward || r.again[t];
        if (!is_late) continue;
        REQUIRE(r.tasks.inputs(t).size() == g.inputs(of).size());
        for (std::size_t a = 0; a < g.inputs(of).size(); ++a) {
          const task_index from = r.tasks.inputs(t)[a];
          CHECK(r.original[from] == g.inputs(of)[a]);
          if (!gives_away(r.original[from])) continue;
          ++read_again;  // a copy that came back, or a view of one
          const bool is_view = g.kind(r.original[from]) == sw::task_kind::view;
          CHECK((is_view ? r.again[from] : r.copies[from] && r.tasks.kind(from) == sw::task_kind::wait));
        }
      }
      std::size_t to_host = 0;
      for (std::size_t s = 0; s < away.size(); ++s) to_host += away[s] != 0 ? 1U : 0U;
      const auto count = [&](const std::string& end) {
        return std::ranges::count_if(names, [&](const std::string& name) { return name.ends_with(end); });
      };
      CHECK(count(".to_host") == static_cast<std::ptrdiff_t>(to_host));
      CHECK(count(".to_host.wait") == count(".to_host"));
      CHECK(count(".from_host.wait") == count(".from_host"));
      copied += to_host;

      // live between the parts: all but what is away
      const auto live_after_forward = [](const sw::task_graph& graph) {
        const sw::storage_uses uses(graph);
        sw::memory_tracker tracker(uses, graph.storages().size());
        for (task_index t = 0; t < graph.size() && graph.when(t) == sw::phase::forward; ++t) tracker.run(t);
        return tracker.live();
      };
      const sw::recomputed_graph kept = sw::with_recomputation(g, dropped);
      std::vector<char> read_late(g.storages().size());
      for (task_index t = 0; t < kept.tasks.size(); ++t)
        if (kept.tasks.when(t) == sw::phase::backward)
          for (const task_index from : kept.tasks.inputs(t))
            for (std::size_t o = 0; o < kept.tasks.output_count(from); ++o)
              if (const std::uint32_t s = kept.tasks.output_storage(from, o); s < read_late.size()) read_late[s] = 1;
      bytes gone;
      for (std::size_t s = 0; s < away.size(); ++s)
        if (away[s] != 0 && read_late[s] != 0) gone += g.storages()[s].size;
      CHECK(live_after_forward(r.tasks) <= live_after_forward(kept.tasks) - gone);
      CHECK(peak_of(r.tasks) <= peak_of(kept.tasks));
    }
    CHECK(copied > shardweave_test::at_scale(1000));
    CHECK(read_again > shardweave_test::at_scale(1000));
  }

  TEST_CASE("graphs that have no such blocks are refused by what is wrong with them") {
    sw::random_source random(1);
    const training made = random_training(random);
    CHECK(refusal_of([&] { static_cast<void>(sw::with_recomputation(made.graph, {})); }) ==
          "recomputation: 0 storages are kept or dropped, the graph has " +
              std::to_string(made.graph.storages().size()));
    const std::vector<char> nothing(made.graph.storages().size());
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {{1}, 1e9}));
          }) == "recomputation: 1 storages wait in the host's memory or do not, the graph has " +
                    std::to_string(nothing.size()));
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {nothing, 0}));
          }) == "recomputation: copies of 0 bytes per second, expected a positive number");
    std::vector<char> parameter = nothing;
    parameter[0] = 1;
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {parameter, 1e9}));
          }) ==
          "recomputation: storage 0 cannot wait in the host's memory, expected one that a forward task makes alone "
          "(copyable_storages tells which)");
    sw::task_graph_builder b;
    b.add_task({.name = "untold", .op = "op", .kind = sw::task_kind::other});
    const sw::task_graph untold = std::move(b).build();
    CHECK(refusal_of([&] { static_cast<void>(sw::with_recomputation(untold, {})); }) ==
          "recomputation: task 0 (untold) does not state its phase (inferred_tags tells it)");
  }
}

}  // namespace recomputation_tests

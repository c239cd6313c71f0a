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

using sw::bytes;
using sw::no_index;
using sw::task_index;

struct training {
  sw::task_graph graph;
  std::vector<std::uint32_t> block;
};

bytes peak_of(const sw::task_graph& g) {
  const sw::storage_uses uses(g);
  sw::memory_tracker tracker(uses, g.storages().size());
  for (task_index t = 0; t < g.size(); ++t) tracker.run(t);
  return tracker.peak();
}

/// Layers of random operations, each with a parameter that is gathered; backward tasks read what the forward ones read
/// and made, views stand in both parts, the last block is followed by a loss.
/// \param pairs  some operations give two tensors, each taken by a view
/// \param gathers  some values are gathered of what each device made
training random_training(sw::random_source& random, bool pairs = false, bool gathers = false) {
  sw::task_graph_builder b;
  b.name = "random";
  const auto group = b.add_group({.id = 0, .name = "dp", .size = 4});
  std::vector<std::uint32_t> block, gave;
  const auto storage = [&] { return b.add_storage(bytes(static_cast<std::int64_t>(1 + random.below(20)) << 20)); };
  const auto add = [&](const std::string& name, sw::task_kind kind, sw::phase when, sw::task_role role,
                       std::vector<task_index> inputs, std::uint32_t in_block, std::uint32_t gives,
                       std::uint32_t gives_too = no_index) {
    sw::task_record r{.name = name, .op = "op", .kind = kind, .inputs = std::move(inputs), .role = role, .when = when};
    if (kind == sw::task_kind::other) r.duration = sw::nanoseconds(static_cast<std::int64_t>(random.below(1000)));
    if (kind == sw::task_kind::collective) {
      r.duration = sw::nanoseconds(500);
      r.collective = sw::collective_record{sw::collective::all_gather, group, bytes(64), bytes(256), "bf16"};
    }
    if (kind == sw::task_kind::wait) r.completes = r.inputs[0];
    if (gives != no_index) r.outputs = {{.size = bytes(1), .storage = gives}};
    if (gives_too != no_index) r.outputs.push_back({.size = bytes(1), .storage = gives_too});
    block.push_back(in_block);
    gave.push_back(gives);
    return b.add_task(r);
  };
  using k = sw::task_kind;
  using p = sw::phase;
  using role = sw::task_role;
  const std::size_t layers = 1 + random.below(4);
  std::vector<task_index> shard;
  for (std::size_t l = 0; l < layers; ++l)
    shard.push_back(
        add("primals.w" + std::to_string(l), k::input, p::forward, role::parameter, {}, no_index, storage()));
  task_index x = add("data", k::input, p::forward, role::data, {}, no_index, storage());
  x = add("embed", k::other, p::forward, role::activation, {x}, no_index, storage());
  std::vector<std::vector<task_index>> made(layers);
  std::vector<task_index> weight;
  for (std::uint32_t l = 0; l < layers; ++l) {
    const std::string in = "layers." + std::to_string(l) + ".";
    const task_index gather = add(in + "gather", k::collective, p::forward, role::parameter, {shard[l]}, l, storage());
    weight.push_back(add(in + "wait", k::wait, p::forward, role::parameter, {gather}, l, storage()));
    made[l] = {x};
    for (std::size_t i = 2 + random.below(5); i-- > 0;) {
      std::vector<task_index> inputs{made[l][random.below(made[l].size())], made[l].back()};
      if (random.below(2) == 0) inputs.push_back(weight[l]);
      if (random.below(4) == 0) {  // a view of what was made last
        const std::uint32_t last = made[l].back() == x ? no_index : gave[made[l].back()];
        if (last != no_index) {
          made[l].push_back(add(in + "view", k::view, p::forward, role::activation, {made[l].back()}, l, last));
          continue;
        }
      }
      if (pairs && random.below(2) == 0) {
        const std::uint32_t one = storage(), two = storage();
        const task_index both =
            add(in + "pair" + std::to_string(i), k::other, p::forward, role::activation, inputs, l, one, two);
        for (const std::uint32_t taken : {one, two})
          made[l].push_back(add(in + "take", k::view, p::forward, role::activation, {both}, l, taken));
        continue;
      }
      made[l].push_back(
          add(in + "f" + std::to_string(i), k::other, p::forward, role::activation, inputs, l, storage()));
      if (gathers && random.below(2) == 0) {
        const std::uint32_t whole = storage();
        const task_index launch =
            add(in + "whole", k::collective, p::forward, role::activation, {made[l].back()}, l, whole);
        made[l].push_back(add(in + "wait", k::wait, p::forward, role::activation, {launch}, l, whole));
      }
    }
    x = made[l].back();
  }
  task_index gradient = add("loss", k::other, p::forward, role::activation, {x}, no_index, storage());
  for (std::uint32_t l = static_cast<std::uint32_t>(layers); l-- > 0;) {
    const std::string in = "backward.layers." + std::to_string(l) + ".";
    for (std::size_t i = 1 + random.below(5); i-- > 0;) {
      std::vector<task_index> inputs{gradient};
      for (std::size_t reads = random.below(3); reads-- > 0;) inputs.push_back(made[l][random.below(made[l].size())]);
      if (random.below(2) == 0) inputs.push_back(weight[l]);
      gradient = add(in + "b" + std::to_string(i), k::other, p::backward, role::gradient, inputs, l, storage());
    }
  }
  add("output", k::output, p::backward, role::none, {gradient}, no_index, no_index);
  return {std::move(b).build(), block};
}

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

  TEST_CASE(
      "the peak that a choice promises is kept, exactly where nothing is dropped, and its time is what is repeated") {
    sw::random_source random(4);
    std::size_t chosen = 0, tight = 0, exact = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random);
      const bool regather = random.below(2) == 0;
      const sw::activation_options options{.least = sw::mebibytes(static_cast<std::int64_t>(random.below(6))),
                                           .regather = regather};
      const bytes before = peak_of(made.graph);
      const auto none = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::none, options);
      REQUIRE(none.graph.has_value());
      if (!regather) CHECK(peak_of(none.graph->tasks) == before);
      CHECK(peak_of(none.graph->tasks) <= none.chosen.peak);
      const auto full = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::full, options);
      REQUIRE(full.graph.has_value());
      CHECK(peak_of(full.graph->tasks) <= full.chosen.peak);
      CHECK(full.chosen.kept <= none.chosen.kept);
      const bytes limit =
          full.chosen.peak + (none.chosen.peak - full.chosen.peak) / static_cast<std::int64_t>(1 + random.below(4));
      const auto plan = sw::recomputation_choices(made.graph, made.block, options).within(limit);
      if (!plan.graph) {
        CHECK(plan.chosen.shortage->least > limit);
        CHECK(full.chosen.peak > limit);
        CHECK(none.chosen.peak > limit);
        continue;
      }
      ++chosen;
      tight += plan.chosen.time.count() > 0 ? 1U : 0U;
      CHECK(plan.chosen.peak <= limit);
      CHECK(peak_of(plan.graph->tasks) <= plan.chosen.peak);
      CHECK(plan.chosen.is_proven());
      if (full.chosen.peak <= limit) CHECK(plan.chosen.time <= full.chosen.time);
      // what is repeated of the blocks' own values; views take no time, gathers are not counted
      CHECK(plan.graph->compute <= plan.chosen.time);
      exact += plan.graph->compute == plan.chosen.time ? 1U : 0U;
    }
    CHECK(chosen > shardweave_test::at_scale(1000) / 2);
    CHECK(exact > chosen / 2);
    CHECK(tight > shardweave_test::at_scale(1000) / 10);
  }

  TEST_CASE("of every so many blocks a rule takes the last, and a plan by it makes values of these alone again") {
    sw::random_source random(71);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(200); ++i) {
      CAPTURE(i);
      const training made = random_training(random);
      const std::uint32_t every = 1 + static_cast<std::uint32_t>(random.below(3));
      const std::vector<char> dropped = sw::dropped_by_rule(made.graph, made.block, sw::recompute_rule::full, every);
      const auto plan = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::full, {}, every);
      for (task_index t = 0; t < made.graph.size(); ++t)
        for (std::size_t o = 0; o < made.graph.output_count(t); ++o)
          if (const std::uint32_t s = made.graph.output_storage(t, o); s != no_index && dropped[s] != 0) {
            CHECK(made.block[t] % every == every - 1);
            ++taken;
          }
      for (task_index t = 0; t < plan.graph->tasks.size(); ++t)
        if (plan.graph->again[t]) CHECK(made.block[plan.graph->original[t]] % every == every - 1);
    }
    CHECK(taken > 0);
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

  TEST_CASE("where values may wait in the host's memory the promised peak is kept, and no more time is lost") {
    sw::random_source random(43);
    std::size_t chosen = 0, lent = 0, quicker = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      CAPTURE(i);
      const training made = random_training(random);
      const sw::activation_options here{.least = sw::mebibytes(static_cast<std::int64_t>(random.below(6)))};
      sw::activation_options there = here;
      there.host_bandwidth = 2e13;
      const auto none = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::none, here);
      const auto full = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::full, here);
      const bytes limit =
          full.chosen.peak + (none.chosen.peak - full.chosen.peak) / static_cast<std::int64_t>(1 + random.below(4));
      const auto without = sw::recomputation_choices(made.graph, made.block, here).within(limit);
      const auto with = sw::recomputation_choices(made.graph, made.block, there).within(limit);
      if (!with.graph) {
        CHECK_FALSE(without.graph.has_value());
        continue;
      }
      ++chosen;
      CHECK(with.chosen.peak <= limit);
      CHECK(peak_of(with.graph->tasks) <= with.chosen.peak);
      bytes moved;
      for (task_index t = 0; t < with.graph->tasks.size(); ++t)
        if (with.graph->copies[t] && std::string(with.graph->tasks.name_of(t)).ends_with(".to_host"))
          moved += with.graph->tasks.collective(t).bytes_in;
      CHECK(moved == with.chosen.offloaded);
      lent += moved > bytes(0) ? 1U : 0U;
      if (!without.graph) continue;
      CHECK(with.chosen.time <= without.chosen.time);  // nothing is known of the device's memory: copies take no time
      quicker += with.chosen.time < without.chosen.time ? 1U : 0U;
    }
    CHECK(chosen > shardweave_test::at_scale(1000) / 2);
    CHECK(lent > shardweave_test::at_scale(1000) / 20);
    CHECK(quicker > shardweave_test::at_scale(1000) / 20);
  }

  TEST_CASE("rules of frameworks keep what their sources say") {
    // two layers as torchtitan's: wq wk wv attention wo add norm w1 w3 mul w2, and reduce-scatters after wo and w2
    sw::task_graph_builder b;
    const auto tp = b.add_group({.id = 0, .name = "tp", .size = 2});
    std::vector<std::uint32_t> block;
    std::vector<std::string> of_storage;
    const auto add = [&](const std::string& name, const std::string& op, std::vector<task_index> inputs,
                         std::uint32_t in_block, sw::phase when = sw::phase::forward) {
      sw::task_record r{
          .name = name, .op = op, .kind = sw::task_kind::other, .inputs = std::move(inputs), .when = when};
      if (op == "einsum" || op == "sdpa") r.kind = sw::task_kind::compute;
      if (op == "input") r.kind = sw::task_kind::input;
      if (op == "reduce_scatter") {
        r.kind = sw::task_kind::collective;
        r.collective = sw::collective_record{sw::collective::reduce_scatter, tp, bytes(8), bytes(4), "bf16", "sum"};
      }
      if (op == "wait") {
        r.kind = sw::task_kind::wait;
        r.completes = r.inputs[0];
      }
      r.outputs = {{.size = bytes(1), .storage = b.add_storage(bytes(1))}};
      of_storage.push_back(name);
      block.push_back(in_block);
      return b.add_task(r);
    };
    auto x = add("x", "input", {}, no_index);
    std::vector<task_index> made;
    for (std::uint32_t l = 0; l < 2; ++l) {
      const std::string at = std::to_string(l) + ".";
      const auto made_by = [&](const std::string& name, const std::string& op, std::vector<task_index> inputs) {
        made.push_back(add(at + name, op, std::move(inputs), l));
        return made.back();
      };
      const auto n = made_by("n", "norm", {x});
      const auto q = made_by("wq", "einsum", {n}), k = made_by("wk", "einsum", {n}), v = made_by("wv", "einsum", {n});
      const auto o = made_by("o", "sdpa", {q, k, v});
      const auto rs = made_by("rs", "reduce_scatter", {made_by("wo", "einsum", {o})});
      const auto h = made_by("h", "add", {x, made_by("got", "wait", {rs})});
      const auto u = made_by("w1", "einsum", {h}), g = made_by("w3", "einsum", {h});
      const auto z = made_by("mul", "mul", {u, g});
      const auto y = made_by("w2", "einsum", {z});
      x = made_by("out", "add", {h, y});
    }
    const auto loss = add("loss", "loss", {x}, no_index);
    for (const std::uint32_t l : {1U, 0U}) {
      std::vector<task_index> reads(made.begin() + l * 14, made.begin() + (l + 1) * 14);
      reads.push_back(loss);
      (void)add("back." + std::to_string(l), "back", reads, l, sw::phase::backward);
    }
    const sw::task_graph g = std::move(b).build();
    const auto kept = [&](sw::recompute_rule rule, std::uint32_t every = 1) {
      std::set<std::string> names;
      const std::vector<char> dropped = sw::dropped_by_rule(g, block, rule, every);
      for (std::size_t s = 0; s < dropped.size(); ++s)
        if (dropped[s] == 0 && (of_storage[s].starts_with("0.") || of_storage[s].starts_with("1.")))
          names.insert(of_storage[s]);
      return names;
    };
    using enum sw::recompute_rule;
    const std::set<std::string> everything = kept(none);
    CHECK(everything.size() == 2 * 14);
    CHECK(kept(full) == std::set<std::string>{"0.out", "1.out"});  // what goes into the next block, and into the loss
    CHECK(kept(selective_op) == std::set<std::string>{"0.wq", "0.wv", "0.o", "0.rs", "0.got", "0.w1", "0.w2", "0.out",
                                                      "1.wq", "1.wv", "1.o", "1.rs", "1.got", "1.w1", "1.w2", "1.out"});
    std::set<std::string> but_attention = everything;
    but_attention.erase("0.o");
    but_attention.erase("1.o");
    CHECK(kept(attention) == but_attention);
    const std::set<std::string> first = kept(full, 2);  // the rule takes the last of two
    CHECK(first.contains("0.wq"));
    CHECK_FALSE(first.contains("1.wq"));
    CHECK(first.size() == 1 + 14);
    const auto again = sw::with_recomputation(g, sw::dropped_by_rule(g, block, selective_op));
    std::set<std::string> repeated;
    for (task_index t = 0; t < again.tasks.size(); ++t)
      if (again.again[t]) repeated.insert(std::string(again.tasks.name_of(t)));
    CHECK(repeated.contains("0.wk.again"));
    CHECK(repeated.contains("0.w3.again"));
    CHECK_FALSE(repeated.contains("0.w1.again"));
    CHECK_FALSE(repeated.contains("0.rs.again"));
  }

  TEST_CASE("graphs that have no such blocks are refused by what is wrong with them") {
    sw::random_source random(1);
    const training made = random_training(random);
    CHECK(refusal_of([&] { static_cast<void>(sw::with_recomputation(made.graph, {})); }) ==
          "recomputation: 0 storages are kept or dropped, the graph has " +
              std::to_string(made.graph.storages().size()));
    CHECK(refusal_of([&] { static_cast<void>(sw::activation_blocks_of(made.graph, {})); }) ==
          "blocks: 0 tasks have a block, the graph has " + std::to_string(made.graph.size()));
    const std::vector<char> nothing(made.graph.storages().size());
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {{1}, 1e9}));
          }) == "recomputation: 1 storages wait in the host's memory or do not, the graph has " +
                    std::to_string(nothing.size()));
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {nothing, 0}));
          }) == "recomputation: copies of 0 bytes per second, expected a positive number");
    for (const auto rule : {sw::recompute_rule::none, sw::recompute_rule::full}) {
      CHECK(refusal_of([&] { static_cast<void>(sw::dropped_by_rule(made.graph, made.block, rule, 0)); }) ==
            "a rule applies to one of every 0 blocks, expected at least 1");
      CHECK(refusal_of([&] { static_cast<void>(sw::recompute_by_rule(made.graph, made.block, rule, {}, 0)); }) ==
            "a rule applies to one of every 0 blocks, expected at least 1");
    }
    std::vector<char> parameter = nothing;
    parameter[0] = 1;
    CHECK(refusal_of([&] {
            static_cast<void>(sw::with_recomputation(made.graph, nothing, {parameter, 1e9}));
          }) ==
          "recomputation: storage 0 cannot wait in the host's memory, expected one that a forward task makes alone "
          "(copyable_storages tells which)");
    std::vector<std::uint32_t> gap = made.block;
    for (std::uint32_t& b : gap)
      if (b != no_index) ++b;
    CHECK(refusal_of([&] { static_cast<void>(sw::activation_blocks_of(made.graph, gap)); }) ==
          "blocks: there is no forward part of block 0");
    sw::task_graph_builder b;
    b.add_task({.name = "untold", .op = "op", .kind = sw::task_kind::other});
    const sw::task_graph untold = std::move(b).build();
    CHECK(refusal_of([&] { static_cast<void>(sw::with_recomputation(untold, {})); }) ==
          "recomputation: task 0 (untold) does not state its phase (inferred_tags tells it)");
  }
}

}  // namespace recomputation_tests

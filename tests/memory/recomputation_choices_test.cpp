#include "memory/random_training.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace recomputation_choices_tests {
namespace {

namespace sw = shardweave;
using namespace random_training_graphs;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("memory") {
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

  TEST_CASE("the promised peak is kept where a block's forward part begins before that of the one before it ends") {
    sw::random_source random(2017691);  // the soak's step that found such a block
    std::size_t chosen = 0, exact = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(2000); ++i) {
      CAPTURE(i);
      const training made = random_training(random, random.below(2) == 0, random.below(2) == 0, true);
      sw::activation_options options{.least = sw::mebibytes(static_cast<std::int64_t>(random.below(6))),
                                     .regather = random.below(2) == 0};
      if (random.below(2) == 0) options.host_bandwidth = 2e13;
      const auto full = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::full, options);
      const auto none = sw::recompute_by_rule(made.graph, made.block, sw::recompute_rule::none, options);
      for (const sw::recomputation_plan* rule : {&none, &full}) CHECK(peak_of(rule->graph->tasks) <= rule->chosen.peak);
      const sw::recomputation_choices choices(made.graph, made.block, options);
      for (std::int64_t part = 0; part < 4; ++part) {
        const auto plan = choices.within(full.chosen.peak + (none.chosen.peak - full.chosen.peak) * part / 4);
        if (!plan.graph) continue;
        ++chosen;
        CHECK(peak_of(plan.graph->tasks) <= plan.chosen.peak);
        exact += peak_of(plan.graph->tasks) == plan.chosen.peak ? 1U : 0U;
      }
    }
    CHECK(chosen > shardweave_test::at_scale(4000));
    CHECK(exact > chosen / 8);
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

  TEST_CASE("only storages of a block's own are dropped, of the tasks that are to be made again") {
    sw::random_source random(91);
    std::size_t some = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(200); ++i) {
      const training made = random_training(random);
      const sw::task_graph& g = made.graph;
      std::set<task_index> asked;
      const std::vector<char> dropped = sw::dropped_storages(g, made.block, [&](task_index t) {
        asked.insert(t);
        return t % 2 == 0;
      });
      for (const task_index t : asked) {
        CHECK(made.block[t] != no_index);
        CHECK(g.when(t) == sw::phase::forward);
        CHECK(g.kind(t) != sw::task_kind::view);
      }
      for (task_index t = 0; t < g.size(); ++t)
        for (const task_index from : g.inputs(t))
          for (std::size_t o = 0; o < g.output_count(from); ++o)
            if (const std::uint32_t s = g.output_storage(from, o); s != no_index && dropped[s] != 0) {
              CHECK(made.block[t] == made.block[from]);  // nothing outside of the block reads it
              ++some;
            }
    }
    CHECK(some > 0);
  }

  TEST_CASE("a rule for one of every 0 blocks is refused") {
    sw::random_source random(1);
    const training made = random_training(random);
    for (const auto rule : {sw::recompute_rule::none, sw::recompute_rule::full}) {
      CHECK(refusal_of([&] { static_cast<void>(sw::dropped_by_rule(made.graph, made.block, rule, 0)); }) ==
            "a rule applies to one of every 0 blocks, expected at least 1");
      CHECK(refusal_of([&] { static_cast<void>(sw::recompute_by_rule(made.graph, made.block, rule, {}, 0)); }) ==
            "a rule applies to one of every 0 blocks, expected at least 1");
    }
  }
}

}  // namespace recomputation_choices_tests

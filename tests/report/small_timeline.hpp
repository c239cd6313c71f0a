#pragma once

#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <string>
#include <utility>

/// A graph, a schedule and its timeline, small enough to follow by hand.
struct small_timeline {
  shardweave::task_graph graph;
  shardweave::schedule schedule;
  shardweave::timeline line;
};

/// Two gathers that a bucket joins, a reduction on another channel, two products. Times in ns:
///
///     compute  | pack 0-20 | mm_1 20-1020 | stall 1020-2020 | unpack 2020-2060 | mm_2 2060-3060 | stall 3060-3360
///     dp       |      bucket 20-2020
///     tp       |                                                          reduce 2060-3360
inline small_timeline two_products(const std::string& name = "two products") {
  namespace sw = shardweave;
  sw::task_graph_builder b;
  b.name = name;
  b.device.dram_bytes_per_ns = 10;
  const auto dp = b.add_group({.id = 7, .name = "513", .size = 4, .dim = "dp"});
  const auto tp = b.add_group({.id = 8, .name = "tp", .size = 2, .dim = "tp"});
  b.add_table(sw::duration_table(sw::collective::all_gather, dp, {sw::bytes(50), sw::bytes(100)},
                                 {sw::nanoseconds(1500), sw::nanoseconds(2000)}));
  const auto fresh = [&](std::int64_t size) {
    return sw::output_record{sw::bytes(size), b.add_storage(sw::bytes(size)), "bf16", {size / 2}};
  };
  const auto input =
      b.add_task({.name = "primals_1", .op = "input", .kind = sw::task_kind::input, .outputs = {fresh(100)}});
  const auto gather = [&](const char* task) {
    return b.add_task({.name = task,
                       .op = "gather.op",
                       .kind = sw::task_kind::collective,
                       .duration = sw::nanoseconds(1500),
                       .inputs = {input},
                       .collective = sw::collective_record{sw::collective::all_gather, dp, sw::bytes(50),
                                                           sw::bytes(100), "bf16", "none"},
                       .outputs = {fresh(100)}});
  };
  const auto wait_for = [&](const char* task, sw::task_index c) {
    return b.add_task({.name = task,
                       .op = "wait",
                       .kind = sw::task_kind::wait,
                       .inputs = {c},
                       .completes = c,
                       .outputs = {fresh(100)}});
  };
  const auto product = [&](const char* task, sw::task_index from) {
    return b.add_task({.name = task,
                       .op = "mm",
                       .kind = sw::task_kind::compute,
                       .duration = sw::nanoseconds(1000),
                       .inputs = {from},
                       .outputs = {fresh(60)}});
  };
  const auto g1 = gather("gather_1");
  const auto g2 = gather("gather_2");
  const auto mm1 = product("mm_1", input);
  const auto w1 = wait_for("wait_1", g1);
  const auto reduce = b.add_task(
      {.name = "reduce",
       .op = "reduce.op",
       .kind = sw::task_kind::collective,
       .duration = sw::nanoseconds(1300),
       .inputs = {mm1},
       .collective = sw::collective_record{sw::collective::all_reduce, tp, sw::bytes(60), sw::bytes(60), "bf16", "sum"},
       .outputs = {fresh(60)}});
  const auto w2 = wait_for("wait_2", g2);
  const auto mm2 = product("mm_2", w1);
  const auto w3 = wait_for("wait_3", reduce);
  b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {w2, mm2, w3}});
  small_timeline all{std::move(b).build(), {}, {}};
  for (sw::task_index t = 0; t < all.graph.size(); ++t) all.schedule.order.push_back(t);
  all.schedule.buckets.push_back(sw::make_bucket(all.graph, {g1, g2}));
  all.line = sw::simulate(all.graph, all.schedule, {.memory_samples = true});
  return all;
}

/// Nothing at all.
inline small_timeline no_tasks() {
  small_timeline all{shardweave::task_graph_builder{}.build(), {}, {}};
  all.line = shardweave::simulate(all.graph, all.schedule, {.memory_samples = true});
  return all;
}

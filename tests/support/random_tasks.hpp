#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// What to draw at random.
struct random_tasks_options {
  std::size_t blocks = 12;  ///< each a few tasks
  std::size_t groups = 2;
  double communicates = 0.6;  ///< share of blocks with a collective and its wait
  double chained_wait = 0.1;  ///< share of waits that another wait follows
  std::int64_t longest = 50;  ///< ns
};

/// A task graph of a few operations, collectives with their waits, views and an output, in topological order.
/// \param random  draws: has `below` and `chance`, as `random_source` has
template <class Source>
shardweave::task_graph tasks_drawn_by(Source& random, const random_tasks_options& options, const std::string& name) {
  namespace sw = shardweave;
  sw::task_graph_builder b;
  b.name = name;
  b.device.dram_bytes_per_ns = 3;
  constexpr sw::collective ops[] = {sw::collective::all_gather, sw::collective::reduce_scatter,
                                    sw::collective::all_reduce};
  for (std::uint32_t g = 0; g < options.groups; ++g) {
    b.add_group({.id = static_cast<std::int64_t>(g), .name = "g" + std::to_string(g), .size = 4});
    for (const sw::collective op : ops)
      b.add_table(sw::duration_table(op, g, {sw::bytes(4), sw::bytes(10), sw::bytes(31)},
                                     {sw::nanoseconds(9), sw::nanoseconds(11), sw::nanoseconds(25)}));
  }
  std::vector<sw::task_index> values;  // what later tasks may use
  const auto size = [&] { return sw::bytes(static_cast<std::int64_t>(random.below(20))); };
  const auto fresh = [&](const char* dtype = "f32") {
    const sw::bytes n = size();
    const auto where = random.chance(0.1) ? sw::storage_device::cpu : sw::storage_device::gpu;
    return sw::output_record{n, b.add_storage(n, where), dtype, {}};
  };
  for (int i = 0; i < 3; ++i)
    values.push_back(b.add_task({.name = (i == 0 ? "primals_" : "saved_") + std::to_string(i),
                                 .op = "input",
                                 .kind = sw::task_kind::input,
                                 .outputs = {fresh()}}));
  const auto any = [&] { return values[random.below(values.size())]; };
  for (std::size_t i = 0; i < options.blocks; ++i) {
    if (random.chance(options.communicates)) {
      const sw::collective op = random.chance(0.1) ? sw::collective::all_to_all : ops[random.below(3)];
      sw::task_record c{.name = "c" + std::to_string(i),
                        .op = std::string(sw::name_of(op)),
                        .kind = sw::task_kind::collective,
                        .duration = sw::nanoseconds(
                            static_cast<std::int64_t>(random.below(static_cast<std::size_t>(options.longest)))),
                        .inputs = {any()},
                        .outputs = {fresh()}};
      c.collective =
          sw::collective_record{op,    static_cast<std::uint32_t>(random.below(options.groups)), size(), size(),
                                "f32", op == sw::collective::all_gather ? "none" : "sum"};
      c.is_fsdp = random.chance(0.7);
      const sw::task_index launched = b.add_task(c);
      // other work may stand between a launch and its wait
      const sw::task_index between =
          b.add_task({.name = "m" + std::to_string(i),
                      .op = "mm",
                      .kind = sw::task_kind::compute,
                      .duration = sw::nanoseconds(static_cast<std::int64_t>(random.below(30))),
                      .inputs = {any(), any()},
                      .outputs = {fresh()}});
      sw::task_index wait = b.add_task({.name = "w" + std::to_string(i),
                                        .op = "wait",
                                        .kind = sw::task_kind::wait,
                                        .inputs = {launched},
                                        .completes = launched,
                                        .outputs = {fresh()}});
      if (random.chance(options.chained_wait))
        wait = b.add_task({.name = "ww" + std::to_string(i),
                           .op = "wait",
                           .kind = sw::task_kind::wait,
                           .inputs = {wait},
                           .completes = launched,
                           .outputs = {fresh()}});
      values.push_back(between);
      values.push_back(wait);
    } else {
      const sw::task_index from = any();
      sw::task_record t{.name = "t" + std::to_string(i),
                        .op = "add",
                        .kind = random.chance(0.5) ? sw::task_kind::compute : sw::task_kind::other,
                        .duration = sw::nanoseconds(static_cast<std::int64_t>(random.below(40))),
                        .inputs = {from, any()},
                        .outputs = {fresh()}};
      if (random.chance(0.1)) t.after = {any()};
      values.push_back(b.add_task(t));
    }
  }
  std::vector<sw::task_index> results;
  for (int i = 0; i < 4; ++i) results.push_back(any());
  b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = results});
  return std::move(b).build();
}

/// The same with equal seeds.
inline shardweave::task_graph random_tasks(std::uint64_t seed, const random_tasks_options& options = {}) {
  shardweave::random_source random(seed);
  return tasks_drawn_by(random, options, "random " + std::to_string(seed));
}

/// A random valid order of a task graph in which each bucket is launched at once.
inline std::vector<shardweave::task_index> random_order(const shardweave::task_graph& g,
                                                        const std::vector<shardweave::bucket>& buckets,
                                                        shardweave::random_source& random) {
  namespace sw = shardweave;
  std::vector<std::size_t> owner(g.size(), buckets.size());
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (const sw::task_index t : buckets[b].members) owner[t] = b;
  std::vector<std::size_t> waiting;  // for how many dependencies, once for each edge
  for (sw::task_index t = 0; t < g.size(); ++t) waiting.push_back(g.dependencies().in(t).size());
  std::vector<sw::task_index> order, left(g.size()), choices;  // a bucket stands for itself by its first member
  std::iota(left.begin(), left.end(), sw::task_index{0});
  const auto is_ready = [&](sw::task_index t) { return waiting[t] == 0; };
  while (order.size() < g.size()) {
    choices.clear();
    for (const sw::task_index t : left) {
      if (owner[t] == buckets.size()) {
        if (is_ready(t)) choices.push_back(t);
      } else if (const auto& all = buckets[owner[t]].members; all.front() == t) {
        if (std::all_of(all.begin(), all.end(), is_ready)) choices.push_back(t);
      }
    }
    if (choices.empty()) return {};  // the buckets close a cycle
    const sw::task_index chosen = choices[random.below(choices.size())];
    const auto launch = [&](sw::task_index t) {
      order.push_back(t);
      for (const auto& e : g.dependencies().out(t)) --waiting[e.target];
    };
    if (owner[chosen] == buckets.size())
      launch(chosen);
    else
      std::ranges::for_each(buckets[owner[chosen]].members, launch);
    std::erase(left, chosen);
  }
  return order;
}

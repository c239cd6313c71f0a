#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Small training graphs with blocks.
namespace random_training_graphs {

namespace sw = shardweave;
using sw::bytes;
using sw::no_index;
using sw::task_index;

struct training {
  sw::task_graph graph;
  std::vector<std::uint32_t> block;
};

inline bytes peak_of(const sw::task_graph& g) {
  const sw::storage_uses uses(g);
  sw::memory_tracker tracker(uses, g.storages().size());
  for (task_index t = 0; t < g.size(); ++t) tracker.run(t);
  return tracker.peak();
}

/// Layers of random operations, each with a parameter that is gathered; backward tasks read what the forward ones read
/// and made, views stand in both parts, the last block is followed by a loss.
/// \param pairs  some operations give two tensors, each taken by a view
/// \param gathers  some values are gathered of what each device made
/// \param early  some parameters are gathered while the layer before them still runs
inline training random_training(sw::random_source& random, bool pairs = false, bool gathers = false,
                                bool early = false) {
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
  const auto gather_next = [&] {
    const auto l = static_cast<std::uint32_t>(weight.size());
    const std::string in = "layers." + std::to_string(l) + ".";
    const task_index gather = add(in + "gather", k::collective, p::forward, role::parameter, {shard[l]}, l, storage());
    weight.push_back(add(in + "wait", k::wait, p::forward, role::parameter, {gather}, l, storage()));
  };
  for (std::uint32_t l = 0; l < layers; ++l) {
    const std::string in = "layers." + std::to_string(l) + ".";
    if (weight.size() == l) gather_next();
    made[l] = {x};
    for (std::size_t i = 2 + random.below(5); i-- > 0;) {
      if (early && weight.size() == l + 1 && l + 1 < layers && random.below(3) == 0) gather_next();
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

}  // namespace random_training_graphs

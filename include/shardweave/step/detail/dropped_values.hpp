#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/step/stated_step.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// What of a stated step's values its framework does not keep for the backward part.

namespace shardweave::inline v0::detail {

template <class Visit>
void each_storage(const task_graph& g, task_index t, Visit visit) {
  for (std::size_t i = 0; i < g.output_count(t); ++i)
    if (const std::uint32_t storage = g.output_storage(t, i); storage != no_index) visit(storage);
}

/// A compiler does not keep results of element-wise work that are read by element-wise work of the backward part and
/// can be made from values that are kept anyway: the kernel that reads them recomputes them. Results of reductions
/// are kept.
/// Source: the min-cut partitioner of PyTorch's AOTAutograd, whose cuts in a transformer's layer are of this kind.
inline void drop_elementwise(std::vector<char>& dropped, const framework_profile& framework,
                             const lowered_graph& lowered, const computation& operations) {
  const task_graph& g = lowered.tasks;
  const auto is_late = [&](task_index t) { return g.when(t) && *g.when(t) != phase::forward; };
  const auto fuses = [&](task_index t) {
    const std::vector<std::string>& apart = framework.eager_parts;
    const std::string& group = operations.operations[lowered.origin[t].operation].group;
    return g.kind(t) == task_kind::other && g.op(t) != "quantize" && !lowered.origin[t].is_redistribution() &&
           std::find(apart.begin(), apart.end(), group) == apart.end();
  };
  const std::size_t count = g.storages().size();
  std::vector<char> is_read_late(count), is_fixed(count), is_there(count);
  std::vector<task_index> maker(count, no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    each_storage(g, t, [&](std::uint32_t storage) {
      if (maker[storage] == no_index) maker[storage] = t;
      if (g.kind(t) == task_kind::input || g.role(t) == task_role::parameter) is_there[storage] = 1;
    });
    if (!is_late(t)) continue;
    for (const task_index p : g.inputs(t))
      each_storage(g, p, [&](std::uint32_t storage) {
        is_read_late[storage] = 1;
        if (!fuses(t) && g.kind(t) != task_kind::view) is_fixed[storage] = 1;
      });
  }
  // in the order of their makers: whether it can be made from kept values, without further ones being kept
  std::vector<char> is_made_of_kept(count);
  for (task_index t = 0; t < g.size() && !is_late(t); ++t)
    each_storage(g, t, [&](std::uint32_t storage) {
      if (maker[storage] != t || is_there[storage] != 0) return;
      bool can = fuses(t);
      bytes largest{};
      for (const task_index p : g.inputs(t))
        each_storage(g, p, [&](std::uint32_t from) {
          largest = std::max(largest, g.storages()[from].size);
          can = can && (is_there[from] != 0 || is_made_of_kept[from] != 0);
        });
      can = can && g.storages()[storage].size * 4 > largest;
      if (can && is_fixed[storage] == 0) {
        is_made_of_kept[storage] = 1;
        dropped[storage] = 1;
      } else if (is_read_late[storage] != 0 && dropped[storage] == 0) {
        is_there[storage] = 1;
      }
    });
}

/// By storage: whether it is recomputed, by the rule, or as made of sharded parameters alone.
[[nodiscard]] inline std::vector<char> dropped_values(const stated_step& stated, const lowered_graph& lowered,
                                                      const computation& operations,
                                                      const std::vector<std::uint32_t>& layer_of) {
  const task_graph& g = lowered.tasks;
  std::vector<char> result =
      stated.kept_products
          ? dropped_storages(g, layer_of,
                             [&](task_index t) {
                               if ((layer_of[t] + 1) % stated.recompute_every != 0) return false;
                               const std::string& group = operations.operations[lowered.origin[t].operation].group;
                               const std::vector<std::string>& kept = *stated.kept_products;
                               return g.op(t) != "einsum" || std::find(kept.begin(), kept.end(), group) == kept.end();
                             })
          : dropped_by_rule(g, layer_of, stated.recompute, stated.recompute_every);
  if (stated.framework.compiles) drop_elementwise(result, stated.framework, lowered, operations);
  if (stated.layout.stage != zero_stage::parameters || stated.layout.sharers() == 1 || !stated.gathers_again)
    return result;
  // some frameworks keep the last layer, and what is outside of layers, gathered
  std::uint32_t last = 0;
  for (const std::uint32_t layer : layer_of) last = std::max(last, layer == no_index ? 0 : layer);
  const auto stays = [&](task_index t) {
    return stated.framework.keeps_last_gathered && (layer_of[t] == no_index || layer_of[t] == last);
  };
  std::vector<char> is_given(g.storages().size());
  for (task_index t = 0; t < g.size(); ++t)
    if (g.kind(t) == task_kind::input) each_storage(g, t, [&](std::uint32_t storage) { is_given[storage] = 1; });
  for (task_index t = 0; t < g.size(); ++t)
    if (g.when(t) == phase::forward && g.role(t) == task_role::parameter && !stays(t))
      each_storage(g, t, [&](std::uint32_t storage) { result[storage] = is_given[storage] == 0 ? 1 : 0; });
  return result;
}

}  // namespace shardweave::inline v0::detail

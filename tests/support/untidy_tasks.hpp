#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <support/random_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

/// A task that names others by their new numbers.
inline shardweave::task_record renumbered(shardweave::task_record r,
                                          const std::vector<shardweave::task_index>& number) {
  for (auto* list : {&r.inputs, &r.after})
    for (shardweave::task_index& p : *list) p = number[p];
  if (r.completes) r.completes = number[*r.completes];
  return r;
}

/// The same tasks, listed in any order.
/// \param number  by task: its number in the new graph
inline shardweave::task_graph renumbered(const shardweave::task_graph& g,
                                         const std::vector<shardweave::task_index>& number) {
  namespace sw = shardweave;
  std::vector<sw::task_record> records(g.size());
  for (sw::task_index t = 0; t < g.size(); ++t) {
    sw::task_record r = renumbered(g.record(t), number);
    records[number[t]] = std::move(r);
  }
  sw::task_graph_builder b = sw::task_graph_builder::like(g);
  for (const sw::task_record& r : records) b.add_task(r);
  return std::move(b).build();
}

/// A graph of what no writer would write, but whoever edits graphs may: collectives have several waits, which need
/// other tasks, too; tasks come after others that they do not use; gradients come in; the list is in no order.
inline shardweave::task_graph untidy_tasks(std::uint64_t seed, const random_tasks_options& options = {}) {
  namespace sw = shardweave;
  const sw::task_graph tidy = random_tasks(seed, options);
  sw::random_source random(seed + 1'000'000);
  sw::task_graph_builder b = sw::task_graph_builder::like(tidy);
  std::vector<sw::task_index> number(tidy.size());
  for (sw::task_index t = 0; t < tidy.size(); ++t) {
    sw::task_record r = renumbered(tidy.record(t), number);
    if (r.kind == sw::task_kind::input && random.chance(0.3)) r.name = "tangents_" + r.name;
    if (r.kind != sw::task_kind::input && t > 0 && random.chance(0.1)) r.after.push_back(number[random.below(t)]);
    if (r.kind == sw::task_kind::wait) {
      for (double again = 0.2; random.chance(again); again /= 2) {
        sw::task_record other = r;
        other.outputs.clear();
        if (random.chance(0.5)) other.inputs.push_back(number[random.below(t)]);
        b.add_task(other);
      }
      if (random.chance(0.1)) r.inputs.push_back(number[random.below(t)]);
    }
    number[t] = b.add_task(r);
  }
  const sw::task_graph listed = std::move(b).build();
  std::vector<sw::task_index> place(listed.size());
  std::iota(place.begin(), place.end(), sw::task_index{0});
  if (random.chance(0.7))
    for (std::size_t i = place.size(); i > 1; --i) std::swap(place[i - 1], place[random.below(i)]);
  return renumbered(listed, place);
}

/// Of two tasks, whether one has to be done before the other begins.
inline std::vector<std::vector<bool>> ways_in(const shardweave::task_graph& g) {
  std::vector<std::vector<bool>> ways(g.size(), std::vector<bool>(g.size()));
  const auto order = shardweave::stable_topological_order(g.dependencies());
  for (std::size_t i = order.size(); i-- > 0;) {
    ways[order[i]][order[i]] = true;
    for (const auto& e : g.dependencies().out(order[i]))
      for (std::size_t t = 0; t < g.size(); ++t)
        if (ways[e.target][t]) ways[order[i]][t] = true;
  }
  return ways;
}

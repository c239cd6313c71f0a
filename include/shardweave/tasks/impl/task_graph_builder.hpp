#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <map>
#include <utility>

/// \file
/// How task graphs are made, and wrong ones refused.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE task_graph_builder task_graph_builder::like(const task_graph& g) {
  task_graph_builder b;
  b.name = g.name;
  b.description = g.description;
  b.device = g.device();
  b.memory_baseline = g.memory_baseline();
  for (const process_group& p : g.groups()) b.add_group(p);
  for (const storage& s : g.storages()) b.add_storage(s);
  for (const duration_table& t : g.tables()) b.add_table(t);
  return b;
}

SHARDWEAVE_INLINE task_index task_graph_builder::add_task(const task_record& t) {
  const auto index = static_cast<task_index>(graph_.kind_.size());
  graph_.name_.push_back(texts_(t.name));
  graph_.op_.push_back(texts_(t.op));
  graph_.kind_.push_back(t.kind);
  graph_.duration_.push_back(t.duration);
  append(graph_.inputs_, graph_.input_start_, t.inputs);
  append(graph_.after_, graph_.after_start_, t.after);
  graph_.completes_.push_back(t.completes.value_or(no_index));
  graph_.fsdp_.emplace_back();
  graph_.param_.emplace_back();
  graph_.role_.emplace_back();
  graph_.when_.emplace_back();
  graph_.state(index, {t.role, t.when, t.is_fsdp, t.is_param});
  graph_.collective_.push_back(t.collective ? static_cast<std::uint32_t>(graph_.collectives_.size()) : no_index);
  if (t.collective) {
    const collective_record& c = *t.collective;
    graph_.collectives_.push_back({c.op, c.group, texts_(c.dtype), texts_(c.reduce), c.bytes_in, c.bytes_out});
  }
  for (const output_record& o : t.outputs) {
    graph_.outputs_.push_back({o.size, o.storage, texts_(o.dtype), static_cast<std::uint32_t>(graph_.shapes_.size()),
                               static_cast<std::uint32_t>(o.shape.size())});
    graph_.shapes_.insert(graph_.shapes_.end(), o.shape.begin(), o.shape.end());
  }
  graph_.output_start_.push_back(static_cast<std::uint32_t>(graph_.outputs_.size()));
  return index;
}

SHARDWEAVE_INLINE task_graph task_graph_builder::build() && {
  graph_.name = std::move(name);
  graph_.description = std::move(description);
  graph_.device_ = std::move(device);
  graph_.fused_ = std::move(fused_durations);
  graph_.texts_.reserve(texts_.size());
  for (std::uint32_t i = 0; i < texts_.size(); ++i) graph_.texts_.push_back(texts_[i]);
  check_tables();
  for (task_index t = 0; t < graph_.size(); ++t) check_task(t);
  check_sums();
  link();
  check_acyclic();
  graph_.baseline_ = memory_baseline ? *memory_baseline : bytes_of_inputs();
  if (graph_.baseline_ < bytes(0))
    wrong("memory baseline is " + std::to_string(graph_.baseline_.count()) + " bytes, expected none below 0");
  return std::move(graph_);
}

SHARDWEAVE_INLINE void task_graph_builder::check_tables() const {
  const task_graph& g = graph_;
  for (std::size_t s = 0; s < g.storages_.size(); ++s)
    if (g.storages_[s].size < bytes(0))
      wrong("storage " + std::to_string(s) + " has " + std::to_string(g.storages_[s].size.count()) +
            " bytes, expected none below 0");
  for (const duration_table& t : g.tables_) {
    if (t.time().empty())
      wrong("duration table of " + std::string(name_of(t.op())) + " has no times, expected one at least");
    if (t.group() >= g.groups_.size())
      wrong("duration table of " + std::string(name_of(t.op())) + " names group " + std::to_string(t.group()) +
            ", but there are only " + std::to_string(g.groups_.size()));
  }
  if (!g.fused_.empty() && g.fused_.size() != g.size())
    wrong("there are " + std::to_string(g.fused_.size()) + " fused durations, expected one for each of " +
          std::to_string(g.size()) + " tasks");
  if (g.device_.dram_bytes_per_ns < 0) wrong("the device's memory bandwidth is negative");
}

SHARDWEAVE_INLINE void task_graph_builder::check_sums() const {
  constexpr std::int64_t most = task_graph::most_sum;
  const task_graph& g = graph_;
  std::int64_t outputs = 0, moved = 0, stored = 0;
  const auto add = [](std::int64_t& sum, std::int64_t count, const char* what, const auto& last, const char* unit) {
    if (count > most - sum)
      wrong(std::string(what) + " up to " + last() + " add up to more than " + std::to_string(most) + unit +
            ", what sums are kept below");
    sum += count;
  };
  g.check_durations(g.duration_);
  if (!g.fused_.empty()) g.check_durations(g.fused_, true);
  for (task_index t = 0; t < g.size(); ++t) {
    const auto task = [&] { return g.label(t); };
    for (std::size_t i = 0; i < g.output_count(t); ++i)
      add(outputs, g.output(t, i).size.count(), "the outputs of tasks", task, " bytes");
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    for (const bytes size : {c.bytes_in, c.bytes_out}) add(moved, size.count(), "the collectives", task, " bytes");
  }
  for (std::size_t s = 0; s < g.storages_.size(); ++s)
    add(
        stored, g.storages_[s].size.count(), "the sizes of storages", [&] { return "storage " + std::to_string(s); },
        " bytes");
  const double speed = g.device_.dram_bytes_per_ns;
  if (speed > 0 && 2.0 * static_cast<double>(std::max(moved, outputs)) / speed > static_cast<double>(most))
    wrong("to copy what collectives and outputs hold takes more than " + std::to_string(most) +
          " ns at the device's memory bandwidth, what sums are kept below");
  check_prices(most);
  if (memory_baseline)
    add(
        stored, memory_baseline->count(), "the sizes of storages", [] { return std::string("the memory baseline"); },
        " bytes");
}

SHARDWEAVE_INLINE void task_graph_builder::check_prices(std::int64_t most) const {
  const task_graph& g = graph_;
  using wide = detail::wide_integer;
  std::map<std::pair<collective, std::uint32_t>, std::pair<wide, wide>> launched;  // how many, and their bytes
  for (const auto& c : g.collectives_) {
    auto& [count, size] = launched[{c.op, c.group}];
    ++count;
    size += c.bytes_in.count();
  }
  wide priced = 0;
  for (const duration_table& table : g.tables_) {
    const auto [count, size] = launched[{table.op(), table.group()}];
    // each launch takes no longer than the longest time of a point and what the last slope adds for its bytes
    priced += count * std::ranges::max(table.time()).count();
    if (const std::size_t n = table.time().size(); n > 1) {
      const wide rise = (table.time()[n - 1] - table.time()[n - 2]).count();
      priced += std::max<wide>(rise, 0) * size / (table.bytes_in()[n - 1] - table.bytes_in()[n - 2]).count();
    }
    if (priced > most)
      wrong("what merged collectives take by the duration tables up to that of " + std::string(name_of(table.op())) +
            " on group " + std::to_string(table.group()) + " adds up to more than " + std::to_string(most) +
            " ns, what sums are kept below");
  }
}

SHARDWEAVE_INLINE void task_graph_builder::check_index(task_index t, std::size_t index, std::size_t count,
                                                       const char* what) const {
  if (index >= count)
    wrong(graph_.label(t) + " names " + what + " " + std::to_string(index) + ", but there are only " +
          std::to_string(count));
}

SHARDWEAVE_INLINE void task_graph_builder::check_task(task_index t) const {
  const task_graph& g = graph_;
  for (const task_index p : g.inputs(t)) check_index(t, p, g.size(), "input task");
  for (const task_index p : g.after(t)) check_index(t, p, g.size(), "earlier task");
  for (std::size_t i = 0; i < g.output_count(t); ++i) {
    if (g.output_storage(t, i) != no_index) check_index(t, g.output_storage(t, i), g.storages_.size(), "storage");
    if (g.output(t, i).size < bytes(0))
      wrong(g.label(t) + " has an output of " + std::to_string(g.output(t, i).size.count()) +
            " bytes, expected none below 0");
  }
  if (g.is_collective(t) != (g.collective_[t] != no_index))
    wrong(g.label(t) + (g.is_collective(t)
                            ? " is a collective, but nothing says what it communicates"
                            : " has a collective's description, but its kind is " + std::string(to_string(g.kind(t)))));
  if (g.is_collective(t)) {
    const collective_info c = g.collective(t);
    check_index(t, c.group, g.groups_.size(), "group");
    if (c.bytes_in < bytes(0) || c.bytes_out < bytes(0))
      wrong(g.label(t) + " communicates " + std::to_string(std::min(c.bytes_in, c.bytes_out).count()) +
            " bytes, expected none below 0");
  }
  if (const task_index c = g.completes(t); c != no_index) {
    if (g.kind(t) != task_kind::wait)
      wrong(g.label(t) + " completes a collective, but its kind is " + std::string(to_string(g.kind(t))) +
            ", expected wait");
    check_index(t, c, g.size(), "collective");
    if (!g.is_collective(c))
      wrong(g.label(t) + " waits for " + g.label(c) + ", which is of kind " + std::string(to_string(g.kind(c))) +
            ", expected collective");
  }
}

SHARDWEAVE_INLINE void task_graph_builder::link() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  ends.reserve(graph_.inputs_.size() + graph_.after_.size());
  std::vector<task_index> last_user(graph_.size(), no_index);
  const auto add = [&](task_index from, task_index to) {
    if (last_user[from] == to) return;
    last_user[from] = to;
    ends.emplace_back(from, to);
  };
  for (task_index t = 0; t < graph_.size(); ++t) {
    for (const task_index p : graph_.inputs(t)) add(p, t);
    if (graph_.completes(t) != no_index) add(graph_.completes(t), t);
    for (const task_index p : graph_.after(t)) add(p, t);
  }
  graph_.dependencies_ = compressed_graph(graph_.size(), ends);
}

SHARDWEAVE_INLINE void task_graph_builder::check_acyclic() const {
  for (const auto& e : graph_.dependencies_.all_edges()) {
    if (e.source < e.target) continue;
    if (const task_index t = on_cycle(); t != no_index) wrong(graph_.label(t) + " depends on itself through a cycle");
    return;
  }
}

SHARDWEAVE_INLINE task_index task_graph_builder::on_cycle() const {
  const compressed_graph& d = graph_.dependencies_;
  std::vector<std::size_t> waiting(d.vertex_count());
  std::vector<task_index> ready;
  std::size_t placed = 0;
  for (task_index t = 0; t < d.vertex_count(); ++t)
    if ((waiting[t] = d.in(t).size()) == 0) ready.push_back(t);
  while (!ready.empty()) {
    const task_index t = ready.back();
    ready.pop_back();
    ++placed;
    for (const auto& e : d.out(t))
      if (--waiting[e.target] == 0) ready.push_back(e.target);
  }
  if (placed == d.vertex_count()) return no_index;
  task_index t = 0;
  while (waiting[t] == 0) ++t;
  std::vector<bool> seen(d.vertex_count());
  while (!seen[t]) {  // each stuck task has a stuck producer: walking back must come round
    seen[t] = true;
    for (const auto& e : d.in(t))
      if (waiting[e.source] != 0) {
        t = e.source;
        break;
      }
  }
  return t;
}

SHARDWEAVE_INLINE bytes task_graph_builder::bytes_of_inputs() const {
  bytes sum;
  std::vector<bool> counted(graph_.storages_.size());
  for (task_index t = 0; t < graph_.size(); ++t) {
    if (graph_.kind(t) != task_kind::input) continue;
    for (std::size_t i = 0; i < graph_.output_count(t); ++i) {
      const std::uint32_t s = graph_.output_storage(t, i);
      if (s == no_index || counted[s]) continue;
      counted[s] = true;
      if (graph_.storages_[s].device == storage_device::gpu) sum += graph_.storages_[s].size;
    }
  }
  return sum;
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The task graph: what a device does in one step, in its original order, in flat arrays.

namespace shardweave::inline v0 {

class task_graph_builder;

/// What a collective task communicates. The views live as long as the graph.
struct collective_info {
  shardweave::collective op;
  std::uint32_t group;  ///< position in `task_graph::groups()`, and the number of its channel
  bytes bytes_in;       ///< this rank's
  bytes bytes_out;      ///< this rank's
  std::string_view dtype;
  std::string_view reduce;
};

/// One tensor that a task gives.
struct output_info {
  bytes size;
  std::uint32_t storage;  ///< `no_index` = holds no memory
  std::string_view dtype;
  std::span<const std::int64_t> shape;
};

/// A task graph that does not change; made by `task_graph_builder` (a header of its own),
/// which refuses wrong ones. Task indices
/// are the original order, which need not be topological (files promise that it is).
/// Memory: some 100 bytes per task, 40 per dependency, each distinct text once.
class task_graph {
 public:
  task_graph() = default;

  std::string name = {};
  std::string description = {};

  [[nodiscard]] std::size_t size() const { return kind_.size(); }

  // For each: \pre t < size()
  [[nodiscard]] std::string_view name_of(task_index t) const { return texts_[name_[t]]; }
  [[nodiscard]] std::string_view op(task_index t) const { return texts_[op_[t]]; }
  [[nodiscard]] task_kind kind(task_index t) const { return kind_[t]; }
  [[nodiscard]] nanoseconds duration(task_index t) const { return duration_[t]; }
  /// Producers in argument order, repeats kept.
  [[nodiscard]] std::span<const task_index> inputs(task_index t) const { return row(inputs_, input_start_, t); }
  /// Further tasks that must come before.
  [[nodiscard]] std::span<const task_index> after(task_index t) const { return row(after_, after_start_, t); }
  /// Of a wait: the collective that it completes; else, and for a wait on another graph's collective, `no_index`.
  [[nodiscard]] task_index completes(task_index t) const { return completes_[t]; }
  [[nodiscard]] std::optional<bool> is_fsdp(task_index t) const {
    return fsdp_[t] < 0 ? std::nullopt : std::optional<bool>(fsdp_[t] != 0);
  }
  [[nodiscard]] bool is_param(task_index t) const { return param_[t] != 0; }
  [[nodiscard]] task_role role(task_index t) const { return role_[t]; }
  /// The phase, where it is stated.
  [[nodiscard]] std::optional<phase> when(task_index t) const {
    return when_[t] < 0 ? std::nullopt : std::optional(static_cast<phase>(when_[t]));
  }
  [[nodiscard]] task_tags tags(task_index t) const { return {role(t), when(t), is_fsdp(t), is_param(t)}; }
  [[nodiscard]] bool is_collective(task_index t) const { return kind_[t] == task_kind::collective; }

  /// \pre is_collective(t)
  [[nodiscard]] collective_info collective(task_index t) const {
    const flat_collective& c = collectives_[collective_[t]];
    return {c.op, c.group, c.bytes_in, c.bytes_out, texts_[c.dtype], texts_[c.reduce]};
  }
  [[nodiscard]] std::size_t output_count(task_index t) const { return output_start_[t + 1] - output_start_[t]; }
  /// \pre i < output_count(t)
  [[nodiscard]] output_info output(task_index t, std::size_t i) const {
    const flat_output& o = outputs_[output_start_[t] + i];
    return {o.size, o.storage, texts_[o.dtype], std::span(shapes_).subspan(o.shape_start, o.rank)};
  }
  /// The storage of output `i` of a task alone, for loops that need nothing else.
  [[nodiscard]] std::uint32_t output_storage(task_index t, std::size_t i) const {
    return outputs_[output_start_[t] + i].storage;
  }
  /// The task as a caller would state it.
  [[nodiscard]] task_record record(task_index t) const;

  [[nodiscard]] std::span<const process_group> groups() const { return groups_; }
  [[nodiscard]] std::span<const storage> storages() const { return storages_; }
  [[nodiscard]] std::span<const duration_table> tables() const { return tables_; }
  [[nodiscard]] const device_figures& device() const { return device_; }
  /// Bytes alive at the start: as stated, else those of all inputs.
  [[nodiscard]] bytes memory_baseline() const { return baseline_; }
  /// Durations with fused element-wise operations; empty if unknown.
  [[nodiscard]] std::span<const nanoseconds> fused_durations() const { return fused_; }
  /// The same graph with other durations, for example the fused ones.
  /// \pre durations.size() == size()
  /// \throws error (input) naming the task whose duration is negative, or with which they add up to more than 2^60
  [[nodiscard]] task_graph with_durations(std::span<const nanoseconds> durations) const {
    SHARDWEAVE_EXPECTS(durations.size() == size());
    check_durations(durations);
    task_graph other = *this;
    other.duration_.assign(durations.begin(), durations.end());
    return other;
  }

  /// The same graph whose tasks state other tags.
  /// \pre tags.size() == size()
  [[nodiscard]] task_graph with_tags(std::span<const task_tags> tags) const {
    SHARDWEAVE_EXPECTS(tags.size() == size());
    task_graph other = *this;
    for (task_index t = 0; t < size(); ++t) other.state(t, tags[t]);
    return other;
  }

  /// The same graph where collectives of an operation move elements of another dtype.
  [[nodiscard]] task_graph with_dtype_of(shardweave::collective op, std::string_view dtype) const {
    task_graph other = *this;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    other.texts_.emplace_back(dtype);
    for (flat_collective& c : other.collectives_)
      if (c.op == op) c.dtype = number;
    return other;
  }

  /// All that must come before what: an edge for each distinct producer, collective completed, and `after`.
  [[nodiscard]] const compressed_graph& dependencies() const { return dependencies_; }
  /// The table for an operation on a group; null if there is none.
  [[nodiscard]] const duration_table* table(shardweave::collective op, std::uint32_t group) const {
    for (const duration_table& t : tables_)
      if (t.group() == group && t.op() == op) return &t;
    return nullptr;
  }
  /// How messages name a task: index and name.
  [[nodiscard]] std::string label(task_index t) const {
    return "task " + std::to_string(t) + " (" + std::string(name_of(t)) + ")";
  }

 private:
  friend class task_graph_builder;
  struct flat_collective {
    shardweave::collective op;
    std::uint32_t group, dtype, reduce;
    bytes bytes_in, bytes_out;
  };
  struct flat_output {
    bytes size;
    std::uint32_t storage, dtype, shape_start, rank;
  };
  static std::span<const task_index> row(const std::vector<task_index>& data, const std::vector<std::uint32_t>& start,
                                         task_index t) {
    return std::span(data).subspan(start[t], start[t + 1] - start[t]);
  }

  /// Sums are kept below: far enough from where 64 bits end for what buckets add.
  static constexpr std::int64_t most_sum = std::int64_t{1} << 60;

  void check_durations(std::span<const nanoseconds> durations, bool are_fused = false) const;

  void state(task_index t, const task_tags& tags) {
    role_[t] = tags.role;
    when_[t] = static_cast<std::int8_t>(tags.when ? static_cast<int>(*tags.when) : -1);
    fsdp_[t] = static_cast<std::int8_t>(tags.is_fsdp ? *tags.is_fsdp : -1);
    param_[t] = static_cast<std::int8_t>(tags.is_param);
  }

  std::vector<std::string> texts_;
  std::vector<std::uint32_t> name_, op_, collective_;
  std::vector<task_kind> kind_;
  std::vector<nanoseconds> duration_, fused_;
  std::vector<std::uint32_t> input_start_ = {0}, after_start_ = {0}, output_start_ = {0};
  std::vector<task_index> inputs_, after_, completes_;
  std::vector<std::int8_t> fsdp_, param_, when_;  ///< -1 = not stated
  std::vector<task_role> role_;
  std::vector<flat_collective> collectives_;
  std::vector<flat_output> outputs_;
  std::vector<std::int64_t> shapes_;
  std::vector<process_group> groups_;
  std::vector<storage> storages_;
  std::vector<duration_table> tables_;
  device_figures device_;
  bytes baseline_;
  compressed_graph dependencies_;
};

inline void task_graph::check_durations(std::span<const nanoseconds> durations, bool are_fused) const {
  std::int64_t sum = 0;
  for (task_index t = 0; t < size(); ++t) {
    const std::int64_t count = durations[t].count();
    if (count < 0)
      refuse(error_category::input, label(t) + " lasts " + std::to_string(count) + " ns" +
                                        (are_fused ? " when fused" : "") + ", expected none below 0");
    if (count > most_sum - sum)
      refuse(error_category::input, std::string(are_fused ? "the fused durations" : "the durations") +
                                        " of tasks up to " + label(t) + " add up to more than " +
                                        std::to_string(most_sum) + " ns, what sums are kept below");
    sum += count;
  }
}

inline task_record task_graph::record(task_index t) const {
  task_record r;
  r.name = name_of(t);
  r.op = op(t);
  r.kind = kind(t);
  r.duration = duration(t);
  r.inputs.assign(inputs(t).begin(), inputs(t).end());
  r.after.assign(after(t).begin(), after(t).end());
  if (is_collective(t)) {
    const collective_info c = collective(t);
    r.collective =
        collective_record{c.op, c.group, c.bytes_in, c.bytes_out, std::string(c.dtype), std::string(c.reduce)};
  }
  if (completes(t) != no_index) r.completes = completes(t);
  for (std::size_t i = 0; i < output_count(t); ++i) {
    const output_info o = output(t, i);
    r.outputs.push_back({o.size, o.storage, std::string(o.dtype), {o.shape.begin(), o.shape.end()}});
  }
  r.is_fsdp = is_fsdp(t);
  r.is_param = is_param(t);
  r.role = role(t);
  r.when = when(t);
  return r;
}

}  // namespace shardweave::inline v0

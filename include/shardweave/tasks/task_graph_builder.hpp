#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Makes task graphs, and refuses wrong ones.

namespace shardweave::inline v0 {

/// Takes groups, storages, tables and tasks in any mixture and gives the graph. Tasks may name tasks,
/// groups and storages that come later; all is checked in `build`.
///
/// ```
/// task_graph_builder b;
/// b.name = "two layers";
/// const auto dp = b.add_group({.id = 0, .name = "dp", .size = 8});
/// const auto x = b.add_task({.name = "x", .op = "input", .kind = task_kind::input});
/// ...
/// const task_graph g = std::move(b).build();
/// ```
class task_graph_builder {
 public:
  std::string name = {};
  std::string description = {};
  device_figures device = {};
  std::optional<bytes> memory_baseline = std::nullopt;  ///< absent = the storages of the inputs
  std::vector<nanoseconds> fused_durations = {};        ///< empty, or one per task

  /// With all of a graph but its tasks and what goes with each of them.
  [[nodiscard]] static task_graph_builder like(const task_graph& g);

  /// Each returns the number by which tasks refer to what was added.
  std::uint32_t add_group(process_group group) {
    graph_.groups_.push_back(std::move(group));
    return static_cast<std::uint32_t>(graph_.groups_.size() - 1);
  }
  std::uint32_t add_storage(storage s) {
    graph_.storages_.push_back(s);
    return static_cast<std::uint32_t>(graph_.storages_.size() - 1);
  }
  std::uint32_t add_storage(bytes size, storage_device where = storage_device::gpu) {
    return add_storage(storage{size, where});
  }
  void add_table(duration_table table) { graph_.tables_.push_back(std::move(table)); }

  task_index add_task(const task_record& t);
  [[nodiscard]] std::size_t task_count() const { return graph_.kind_.size(); }

  /// \throws error naming the task and the index that does not exist, the wait whose `for` is no collective,
  ///         the collective without a description, the negative duration or size, the task with which durations or
  ///         sizes add up to more than 2^60, the duration table by which merged collectives might, or a task on a cycle
  /// Complexity: O(V + E)
  [[nodiscard]] task_graph build() &&;

 private:
  [[noreturn]] static void wrong(const std::string& what) { refuse(error_category::input, what); }

  template <class T>
  static void append(std::vector<T>& data, std::vector<std::uint32_t>& start, const std::vector<T>& more) {
    data.insert(data.end(), more.begin(), more.end());
    start.push_back(static_cast<std::uint32_t>(data.size()));
  }

  void check_tables() const;

  void check_sums() const;

  void check_prices(std::int64_t most) const;

  void check_index(task_index t, std::size_t index, std::size_t count, const char* what) const;

  void check_task(task_index t) const;

  void link();

  /// Files are in topological order: then one pass over the edges is enough.
  void check_acyclic() const;

  /// A task on a cycle; `no_index` if there is none.
  [[nodiscard]] task_index on_cycle() const;

  [[nodiscard]] bytes bytes_of_inputs() const;

  task_graph graph_;
  interner<std::string> texts_;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/task_graph_builder.hpp>
#endif

#pragma once

#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <utility>

/// The graph on four ranks, on three kinds of groups: pairs of neighbours, pairs two apart, everyone.
inline shardweave::task_graph on_groups(const shardweave::task_graph& g) {
  namespace sw = shardweave;
  sw::task_graph_builder b;
  b.name = g.name;
  b.device = g.device();
  b.add_group({.id = 0, .name = "tp", .size = 2, .stride = 1});
  b.add_group({.id = 1, .name = "dp", .size = 2, .ranks = {0, 2}});
  b.add_group({.id = 2, .name = "world", .size = 4});
  for (const sw::storage& s : g.storages()) b.add_storage(s);
  for (const sw::duration_table& table : g.tables()) b.add_table(table);
  for (sw::task_index t = 0; t < g.size(); ++t) {
    sw::task_record record = g.record(t);
    const char* dtypes[] = {"f32", "bf16", "i8", "f64", "i64"};
    if (record.collective) {
      record.collective->bytes_in *= 1 + 531 * (t % 3);  // some beyond what MPI sends at once
      record.collective->dtype =
          dtypes[g.collective(t).group + (g.collective(t).op == sw::collective::all_reduce ? 2U : 0U)];
      if (record.collective->reduce != "none" && g.collective(t).group == 1) record.collective->reduce = "max";
    }
    b.add_task(record);
  }
  return std::move(b).build();
}

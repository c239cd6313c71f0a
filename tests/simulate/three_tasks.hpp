#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstdint>
#include <utility>

/// A step of three tasks, one of them a collective, and the order as stated.
namespace small_steps {

namespace sw = shardweave;
using ns = sw::nanoseconds;

using ns = sw::nanoseconds;

/// Two computations, and a collective beside the second.
inline sw::task_graph three_tasks(std::int64_t first, std::int64_t second, std::int64_t collective) {
  sw::task_graph_builder b;
  b.add_group({});
  const auto work = [&](std::int64_t d) {
    b.add_task({.name = "mm", .op = "mm", .kind = sw::task_kind::compute, .duration = ns(d)});
  };
  work(first);
  b.add_task(
      {.name = "ag",
       .op = "all_gather",
       .kind = sw::task_kind::collective,
       .duration = ns(collective),
       .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(8), sw::bytes(16), "f32", "none"}});
  work(second);
  return std::move(b).build();
}

inline sw::schedule in_order_of(const sw::task_graph& g) {
  sw::schedule s;
  for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
  return s;
}

}  // namespace small_steps

#pragma once

#include <shardweave/tasks/task_graph_builder.hpp>

#include <support/refusal.hpp>

#include <string>
#include <utility>

/// A graph of a few tasks, and why a builder refuses.
namespace small_graphs {

namespace sw = shardweave;

/// input -> all_gather -> wait -> mm(wait, wait) -> output
inline sw::task_graph_builder small() {
  sw::task_graph_builder b;
  b.name = "small";
  b.add_group({.id = 7, .name = "dp", .size = 8, .stride = 1, .dim = "dp"});
  const auto s0 = b.add_storage(sw::bytes(10)), s1 = b.add_storage(sw::bytes(80)), s2 = b.add_storage(sw::bytes(80));
  const auto host = b.add_storage(sw::bytes(5), sw::storage_device::cpu);
  b.add_task({.name = "primals_1",
              .op = "input",
              .kind = sw::task_kind::input,
              .outputs = {{sw::bytes(10), s0, "bf16", {5}}, {sw::bytes(5), host, "i8", {5}}},
              .is_param = true});
  b.add_task(
      {.name = "gather",
       .op = "ag",
       .kind = sw::task_kind::collective,
       .duration = sw::nanoseconds(100),
       .inputs = {0},
       .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(10), sw::bytes(80), "bf16", "none"},
       .outputs = {{sw::bytes(80), s1, "bf16", {8, 5}}},
       .is_fsdp = true});
  b.add_task({.name = "wait",
              .op = "wait",
              .kind = sw::task_kind::wait,
              .inputs = {1},
              .completes = 1,
              .outputs = {{sw::bytes(80), s2, "bf16", {8, 5}}}});
  b.add_task({.name = "mm",
              .op = "mm",
              .kind = sw::task_kind::compute,
              .duration = sw::nanoseconds(7),
              .inputs = {2, 2},
              .after = {0}});
  b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {3}});
  return b;
}

inline std::string message(sw::task_graph_builder b) {
  return shardweave_test::refusal_of([&] { return std::move(b).build(); }, sw::error_category::input);
}

}  // namespace small_graphs

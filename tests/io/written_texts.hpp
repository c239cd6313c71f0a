#pragma once

#include "support/small_tasks.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What is written, and small things to write.
namespace written_texts {

namespace sw = shardweave;

inline constexpr double endless = std::numeric_limits<double>::infinity();

template <class Write>
std::string text_by(Write write) {
  return sw::json_string([&](sw::json_writer& out) { write(out); });
}

inline sw::task_graph two_tasks() {
  sw::task_graph_builder b;
  b.name = "two";
  b.description = "a \"graph\"";
  const auto dp =
      b.add_group({.id = 7, .name = "dp", .size = 4, .stride = 2, .ranks = {0, 2, 4, 6}, .dim = "d", .role = "r"});
  const auto s = b.add_storage({.size = sw::bytes(8), .device = sw::storage_device::cpu});
  sw::task_record first = small_tasks::work("first", 5);
  first.outputs = {{.size = sw::bytes(8), .storage = s, .dtype = "bf16", .shape = {2, 2}}};
  first.is_param = true;
  b.add_task(first);
  sw::task_record second = small_tasks::gather("second", 9'000'000'000'000, {0, 0}, 8, dp);
  second.is_fsdp = false;
  b.add_task(second);
  b.memory_baseline = sw::bytes(3);
  b.fused_durations = {sw::nanoseconds(1), sw::nanoseconds(2)};
  b.add_table(sw::duration_table(sw::collective::all_gather, dp, {sw::bytes(1), sw::bytes(9)},
                                 {sw::nanoseconds(2), sw::nanoseconds(4)}));
  b.device.name = "H";
  b.device.flop_efficiency = 0.5;
  b.device.gpus_per_node = 8;
  return std::move(b).build();
}

inline sw::placement_description<double> two_vertices() {
  sw::placement_description<double> d;
  d.name = "p";
  d.text = "d";
  d.unit = "us";
  d.vertices.resize(2);
  d.vertices[0] = {.name = "x",
                   .op = "mm",
                   .phase = "forward",
                   .labels = {"R", "S(0)"},
                   .compute = {0.5, endless},
                   .memory = {8, 4}};
  d.vertices[1].name = "y";
  d.vertices[1].compute = {1, 2};
  d.tables = {std::make_shared<const sw::cost_table<double>>(
      sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, 1, endless, 0.1}))};
  d.edges = {{.from = 0, .to = 1, .slot = 1, .communication = 0}, {.from = 0, .to = 1, .transition = 0}};
  d.constraints.ties = {{{0, 1}, "tie"}};
  d.constraints.fixed = {{.vertex = 1, .allowed = {0, 1}, .why = "output"}};
  d.constraints.pairs = {{.a = 0, .b = 1, .allowed = {{0, 0}, {1, 1}}}};
  d.constraints.budgets = {{.name = "memory",
                            .low = -endless,
                            .high = 9,
                            .terms = {{0, {1, 0.5}, sw::live_interval{2, 6}}, {1, {3, 4}, {}}}}};
  d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}, {.edge = 1, .first = 0, .last = 1, .channel = 2}};
  return d;
}

}  // namespace written_texts

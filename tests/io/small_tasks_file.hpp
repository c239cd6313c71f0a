#pragma once

#include "io/refused.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/io/write_tasks.hpp>

#include <string>

/// A task graph and a schedule of it as files have them, read and written.
namespace small_tasks_files {

namespace sw = shardweave;

inline const std::string small =
    R"({"format": "shardweave.tasks", "version": 1, "name": "small", "unit": {"time": "ns", "size": "byte"},
"tasks": [
 {"name": "primals_1", "op": "input", "kind": "input", "duration": 0, "inputs": [], "outputs": [{"bytes": 8, "storage": 0, "dtype": "bf16", "shape": [2, 2]}], "param": true},
 {"name": "ag0", "op": "ag", "kind": "collective", "duration": 10, "inputs": [0], "is_fsdp": true, "outputs": [{"bytes": 16, "storage": 1}],
  "collective": {"op": "all_gather", "group": 521, "bytes_in": 8, "bytes_out": 16, "dtype": "bf16", "reduce": "none"}},
 {"name": "ag1", "op": "ag", "kind": "collective", "duration": 12, "inputs": [0], "is_fsdp": true,
  "collective": {"op": "all_gather", "group": 521, "bytes_in": 8, "bytes_out": 16, "dtype": "bf16", "reduce": "none"}},
 {"name": "mm", "op": "mm", "kind": "compute", "duration": 7, "inputs": [0, 0]},
 {"name": "w0", "op": "wait", "kind": "wait", "duration": 0, "inputs": [1], "for": 1, "after": [3]},
 {"name": "w1", "op": "wait", "kind": "wait", "duration": 0, "inputs": [2], "for": 2},
 {"name": "out", "op": "output", "kind": "output", "duration": 0, "inputs": [4, 5]}],
"groups": [{"id": 0, "name": "dp", "size": 8}, {"id": 521, "name": "ep", "size": 4, "stride": 2, "ranks": [0, 2, 4, 6], "dim": "ep", "role": "experts"}],
"storages": [{"bytes": 8, "device": "gpu"}, {"bytes": 16, "device": "cpu"}],
"memory": {"baseline": 8},
"models": {"collectives": [{"op": "all_gather", "group": 521, "source": "hand", "bytes_in": [1, 100], "time": [10, 208]}],
 "device": {"name": "H", "dram_bytes_per_ns": 3350, "bf16_tflops_dense": 989.5, "flop_efficiency": 0.75, "gpus_per_node": 8}},
"alternatives": {"duration_fused": [0, 10, 12, 6, 0, 0, 0]}})";

inline sw::task_graph read(const std::string& text, bool strict = true) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_task_graph(input, {.strict = strict});
}

inline std::string message(const std::string& text) {
  return refused([&] { return read(text); });
}

inline std::string written(const sw::task_graph& g) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
}

inline std::string written(const sw::task_graph& g, const sw::schedule& s) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
}

inline sw::schedule read_back(const std::string& text, const sw::task_graph& g) {
  auto input = sw::text_input::of_memory("S", text);
  return sw::read_schedule(input, g, {.strict = true});
}

inline sw::schedule small_schedule() {
  sw::schedule s;
  s.order = {0, 1, 2, 3, 5, 4, 6};
  s.buckets = {{.members = {1, 2}, .channel = 1, .bytes_in = sw::bytes(16), .bytes_out = sw::bytes(32)}};
  s.after = {{3, 5}};
  s.hides = {{.collective = 1, .behind = {3}, .hidden = sw::nanoseconds(7), .exposed = sw::nanoseconds(3)}};
  s.decisions = {{.reason = sw::decision_reason::byte_cap, .subject = 1, .other = 2, .found = 16, .limit = 15},
                 {.reason = sw::decision_reason::alone, .subject = 2}};
  s.statistics = {{"moves", 3}, {"a \"name\"", 0.25}};
  s.within_memory = false;
  return s;
}

}  // namespace small_tasks_files

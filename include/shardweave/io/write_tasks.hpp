#pragma once

#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>

/// \file
/// Writes task graphs in the library's own format, `shardweave.tasks` version 1.

namespace shardweave::inline v0 {
namespace detail {

template <class Quantities>
void write_counts(json_writer& out, const Quantities& quantities) {
  out.begin_list();
  for (const auto& q : quantities) out.value(q.count());
  out.end_list();
}

inline void write_groups(json_writer& out, const task_graph& g) {
  out.line().key("groups").begin_list();
  for (const process_group& group : g.groups()) {
    out.line().begin_object().member("id", group.id).member("name", group.name).member("size", group.size);
    if (group.stride) out.member("stride", *group.stride);
    if (!group.ranks.empty()) out.list("ranks", group.ranks);
    out.text_if_any("dim", group.dim).text_if_any("role", group.role).end_object();
  }
  out.end_list();
}

inline void write_task(json_writer& out, const task_graph& g, task_index t) {
  out.line().begin_object().member("name", g.name_of(t)).member("op", g.op(t)).member("kind", to_string(g.kind(t)));
  out.member("duration", g.duration(t).count()).list("inputs", g.inputs(t));
  if (!g.after(t).empty()) out.list("after", g.after(t));
  if (g.is_collective(t)) {
    const collective_info c = g.collective(t);
    out.key("collective").begin_object().member("op", name_of(c.op)).member("group", g.groups()[c.group].id);
    out.member("bytes_in", c.bytes_in.count()).member("bytes_out", c.bytes_out.count());
    out.member("dtype", c.dtype).member("reduce", c.reduce).end_object();
  }
  if (g.completes(t) != no_index) out.member("for", g.completes(t));
  if (g.output_count(t) > 0) {
    out.key("outputs").begin_list();
    for (std::size_t i = 0; i < g.output_count(t); ++i) {
      const output_info o = g.output(t, i);
      out.begin_object().member("bytes", o.size.count());
      if (o.storage != no_index) out.member("storage", o.storage);
      out.text_if_any("dtype", o.dtype).list("shape", o.shape).end_object();
    }
    out.end_list();
  }
  if (const std::optional<bool> fsdp = g.is_fsdp(t)) out.member("is_fsdp", *fsdp);
  if (g.is_param(t)) out.member("param", true);
  if (g.role(t) != task_role::none) out.member("role", to_string(g.role(t)));
  if (g.when(t)) out.member("phase", name_of(*g.when(t)));
  out.end_object();
}

inline void write_models(json_writer& out, const task_graph& g) {
  out.line().key("models").begin_object().key("collectives").begin_list();
  for (const duration_table& table : g.tables()) {
    out.line().begin_object().member("op", name_of(table.op())).member("group", g.groups()[table.group()].id);
    write_counts(out.key("bytes_in"), table.bytes_in());
    write_counts(out.key("time"), table.time());
    out.end_object();
  }
  const device_figures& d = g.device();
  out.end_list().line().key("device").begin_object().member("name", d.name);
  out.member("dram_bytes_per_ns", d.dram_bytes_per_ns).member("bf16_tflops_dense", d.bf16_tflops);
  out.member("flop_efficiency", d.flop_efficiency).member("gpus_per_node", d.gpus_per_node).end_object().end_object();
}

}  // namespace detail

/// Writes a task graph so that reading gives it back.
/// Complexity: O(V + E)
inline void write_task_graph(json_writer& out, const task_graph& g) {
  out.begin_object().member("format", "shardweave.tasks").member("version", 1);
  out.line().member("name", g.name).member("description", g.description);
  out.line().key("unit").begin_object().member("time", "ns").member("size", "byte").end_object();
  detail::write_groups(out, g);
  out.line().key("tasks").begin_list();
  for (task_index t = 0; t < g.size(); ++t) detail::write_task(out, g, t);
  out.end_list().line().key("storages").begin_list();
  for (const storage& s : g.storages())
    out.begin_object()
        .member("bytes", s.size.count())
        .member("device", s.device == storage_device::gpu ? "gpu" : "cpu")
        .end_object();
  out.end_list();
  out.line().key("memory").begin_object().member("baseline", g.memory_baseline().count()).end_object();
  detail::write_models(out, g);
  if (!g.fused_durations().empty()) {
    out.line().key("alternatives").begin_object();
    detail::write_counts(out.key("duration_fused"), g.fused_durations());
    out.end_object();
  }
  out.end_object().line();
}

/// The same to a file, compressed if its name ends in ".gz".
/// \throws error (system)
inline void write_task_graph(const std::filesystem::path& path, const task_graph& g) {
  write_json_file(path, [&](json_writer& out) { write_task_graph(out, g); });
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// A number that tells whether two task graphs are the same, on every platform.

namespace shardweave::inline v0 {

namespace detail {
/// Source: G. Fowler, L. C. Noll, K.-P. Vo, the FNV hash, form 1a with 64 bits.
class content_hasher {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  void add(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(bits >> shift));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};
}  // namespace detail

/// A hash of what the graph computes and of all that a schedule of it depends on: tasks with names, durations,
/// dependencies, tags, collectives and outputs with their types and shapes; groups, storages, duration tables,
/// bandwidth and baseline. Free texts (description, roles of groups) do not count. Complexity: O(V + E)
[[nodiscard]] inline std::uint64_t content_hash(const task_graph& g) {
  detail::content_hasher h;
  h.add(static_cast<std::int64_t>(g.size()));
  for (task_index t = 0; t < g.size(); ++t) {
    h.add(g.name_of(t));
    h.add(g.op(t));
    h.add(static_cast<std::int64_t>(g.kind(t)));
    h.add(g.duration(t).count());
    h.add(static_cast<std::int64_t>(g.inputs(t).size()));
    for (const task_index p : g.inputs(t)) h.add(std::int64_t{p});
    h.add(static_cast<std::int64_t>(g.after(t).size()));
    for (const task_index p : g.after(t)) h.add(std::int64_t{p});
    h.add(std::int64_t{g.completes(t)});
    h.add(std::int64_t{g.is_fsdp(t) ? *g.is_fsdp(t) : -1});
    h.add(std::int64_t{g.is_param(t)});
    if (g.role(t) != task_role::none) h.add(to_string(g.role(t)));
    if (g.when(t)) h.add(name_of(*g.when(t)));
    if (g.is_collective(t)) {
      const collective_info c = g.collective(t);
      h.add(name_of(c.op));
      h.add(std::int64_t{c.group});
      h.add(c.bytes_in.count());
      h.add(c.bytes_out.count());
      h.add(c.dtype);
      h.add(c.reduce);
    }
    h.add(static_cast<std::int64_t>(g.output_count(t)));
    for (std::size_t i = 0; i < g.output_count(t); ++i) {
      const output_info o = g.output(t, i);
      h.add(std::int64_t{o.storage});
      h.add(o.size.count());
      h.add(o.dtype);
      h.add(static_cast<std::int64_t>(o.shape.size()));
      for (const std::int64_t extent : o.shape) h.add(extent);
    }
  }
  h.add(static_cast<std::int64_t>(g.groups().size()));
  for (const process_group& p : g.groups()) {
    h.add(p.id);
    h.add(p.size);
  }
  h.add(static_cast<std::int64_t>(g.storages().size()));
  for (const storage& s : g.storages()) {
    h.add(s.size.count());
    h.add(static_cast<std::int64_t>(s.device));
  }
  h.add(static_cast<std::int64_t>(g.tables().size()));
  for (const duration_table& t : g.tables()) {
    h.add(name_of(t.op()));
    h.add(std::int64_t{t.group()});
    h.add(static_cast<std::int64_t>(t.time().size()));
    for (const bytes b : t.bytes_in()) h.add(b.count());
    for (const nanoseconds d : t.time()) h.add(d.count());
  }
  h.add(std::bit_cast<std::int64_t>(g.device().dram_bytes_per_ns));
  h.add(g.memory_baseline().count());
  return h.value();
}

/// The hash as files write it: 16 hexadecimal digits.
[[nodiscard]] inline std::string content_hash_text(const task_graph& g) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  const std::uint64_t hash = content_hash(g);
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[(hash >> shift) & 15];
  return text;
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// \file
/// Which collectives look alike enough to be launched as one.

namespace shardweave {
inline namespace v0 {

/// A number for each collective: equal numbers for equal operation, group, dtype and reduction, in the order
/// in which they first come; `no_index` for what cannot be merged and for other tasks.
/// Complexity: O(V)
[[nodiscard]] inline std::vector<std::uint32_t> bucket_keys(const task_graph& g) {
  struct key {
    std::string_view dtype, reduce;
    std::uint32_t group;
    collective op;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    std::size_t operator()(const key& k) const {
      const std::hash<std::string_view> text;
      return hash_combine(hash_combine(hash_combine(text(k.dtype), text(k.reduce)), k.group),
                          static_cast<std::size_t>(k.op));
    }
  };
  interner<key, key_hash> known;
  std::vector<std::uint32_t> keys(g.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t)) continue;
    const collective_info c = g.collective(t);
    if (is_mergeable(c.op)) keys[t] = known({c.dtype, c.reduce, c.group, c.op});
  }
  return keys;
}

/// The same graph with gathers that move bytes, whatever they hold: gathers of one group are alike then, of several
/// dtypes too. A bucket of these packs bytes, and its parts are read as what they are. It is a graph of its own: what
/// is decided on it is valid for it, and not for the graph that tells dtypes apart.
[[nodiscard]] inline task_graph with_gathers_of_bytes(const task_graph& g) {
  return g.with_dtype_of(collective::all_gather, "u8");
}

}  // namespace v0
}  // namespace shardweave

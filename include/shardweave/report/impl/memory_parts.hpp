#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/report/memory_parts.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_tags.hpp>

/// \file
/// The walk of an order, once for each part of the memory.

namespace shardweave::inline v0 {

namespace detail {
/// The part of every storage on the accelerator.
[[nodiscard]] inline std::vector<memory_part> parts_of_storages(const task_graph& g, const storage_uses& uses,
                                                                std::span<const char> again) {
  const std::vector<task_tags> tags = inferred_tags(g);
  const auto is_backward = [&](task_index t) { return tags[t].when && *tags[t].when != phase::forward; };
  std::vector<bool> read_later(g.storages().size());
  for (task_index t = 0; t < g.size(); ++t)
    if (is_backward(t))
      for (const std::uint32_t s : uses.used(t)) read_later[s] = true;
  std::vector<bool> known(g.storages().size());
  std::vector<memory_part> part(g.storages().size(), memory_part::other);
  const auto part_of = [&](task_index t, std::uint32_t s) {
    const bool is_input = g.kind(t) == task_kind::input;
    if (!again.empty() && again[t] != 0) return memory_part::replayed;
    switch (tags[t].role) {
      case task_role::parameter:
        return is_input ? memory_part::parameters : memory_part::gathered;
      case task_role::gradient:
        return memory_part::gradients;
      case task_role::optimizer_state:
        return memory_part::optimizer_state;
      case task_role::data:
        return memory_part::data;
      case task_role::activation:
        if (is_input) return memory_part::data;
        return !is_backward(t) && read_later[s] ? memory_part::kept : memory_part::passing;
      case task_role::none:
        break;
    }
    return is_input ? memory_part::data : memory_part::other;
  };
  for (task_index t = 0; t < g.size(); ++t)
    for (const std::uint32_t s : uses.listed(t)) {
      if (!known[s]) part[s] = part_of(t, s);
      known[s] = true;
    }
  return part;
}

/// Walks the order as the simulator does, without clocks: `ran(position)` after each of its tasks.
template <class Ran>
void walk_memory(const task_graph& g, const schedule& s, const storage_uses& uses, std::span<const bucket> buckets,
                 std::span<const std::uint32_t> owner, Ran ran) {
  memory_tracker memory(uses, g.storages().size());
  std::vector<std::size_t> waiting;
  for (const bucket& b : buckets) waiting.push_back(b.members.size());
  std::vector<bool> unpacked(buckets.size());
  for (std::size_t at = 0; at < s.order.size(); ++at) {
    const task_index t = s.order[at];
    if (g.is_collective(t) && owner[t] != no_index) {
      if (--waiting[owner[t]] == 0) memory.launch(buckets[owner[t]]);
    } else {
      const task_index c = g.kind(t) == task_kind::wait ? g.completes(t) : no_index;
      if (c != no_index && owner[c] != no_index && !unpacked[owner[c]]) {
        unpacked[owner[c]] = true;
        memory.unpack(buckets[owner[c]]);
      }
      memory.run(t);
    }
    ran(at, memory.live());
  }
}
}  // namespace detail

SHARDWEAVE_INLINE memory_by_part memory_parts(const task_graph& g, const schedule& s, std::span<const char> again) {
  SHARDWEAVE_EXPECTS(again.empty() || again.size() == g.size());
  const storage_uses uses(g);
  const std::vector<memory_part> part = detail::parts_of_storages(g, uses, again);
  const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
  std::vector<bucket> bare = s.buckets;  // without the sizes of their buffers
  for (bucket& b : bare) b.bytes_in = b.bytes_out = bytes();
  memory_by_part result;
  result.held.resize(s.order.size());
  constexpr auto of_buffers = static_cast<std::size_t>(memory_part::buffers);
  for (std::size_t p = 0; p < memory_part_count; ++p) {
    if (p == of_buffers) continue;
    const storage_uses own = uses.only([&](std::uint32_t x) { return static_cast<std::size_t>(part[x]) == p; });
    detail::walk_memory(g, s, own, bare, owner, [&](std::size_t at, bytes live) { result.held[at][p] = live; });
  }
  // a baseline that is stated need not be the sum of the inputs
  const bytes stated = uses.baseline() - uses.size_of_initial();
  detail::walk_memory(g, s, uses, s.buckets, owner, [&](std::size_t at, bytes live) {
    auto& held = result.held[at];
    held[static_cast<std::size_t>(memory_part::other)] += stated;
    for (const bytes of_part : held) live -= of_part;
    held[of_buffers] = live;  // what is left
  });
  bool on_host = false;
  for (const storage& x : g.storages()) on_host = on_host || (x.device == storage_device::cpu && x.size > bytes());
  if (on_host) {
    result.on_host.resize(s.order.size());
    const storage_uses there(g, storage_device::cpu);
    detail::walk_memory(g, s, there, bare, owner, [&](std::size_t at, bytes live) { result.on_host[at] = live; });
  }
  return result;
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

/// \file
/// Data about a graph that exposure-driven scheduling computes in advance.

namespace shardweave::inline v0::detail {

/// Properties of the graph that do not change during scheduling.
struct overlap_facts {
  static constexpr std::uint32_t never = no_index;  // needed by no computation

  overlap_facts(const task_graph& g, const launch_units& units, std::span<const std::uint32_t> by)
      : order(by.begin(), by.end()),
        rank(units.size()),
        need(units.size(), never),
        compute_before(units.size()),
        feeds_scatter(units.size()),
        first_wait(units.size(), no_index),
        start_of(units.size(), no_index),
        channel(units.size(), no_index),
        key(units.size(), no_index),
        latency_key(units.size(), no_index),
        size(units.size()),
        latency(units.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::vector<std::uint32_t> index(units.size(), never);
    for (const std::uint32_t u : order) {
      if (g.kind(units.first(u)) == task_kind::compute) index[u] = compute_count++;
      for (const auto& e : units.graph().in(u)) {
        const std::uint32_t p = e.source;
        compute_before[u] = std::max({compute_before[u], compute_before[p], index[p] == never ? 0 : index[p] + 1});
      }
      if ((start_of[u] = units.awaited(u)) != no_index && first_wait[start_of[u]] == no_index)
        first_wait[start_of[u]] = u;
    }
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::uint32_t u = order[i];
      need[u] = index[u];
      feeds_scatter[u] = units.is_collective(u) && g.collective(units.first(u)).op == collective::reduce_scatter;
      for (const auto& e : units.graph().out(u)) {
        if (index[u] == never) need[u] = std::min(need[u], need[e.target]);
        feeds_scatter[u] = feeds_scatter[u] || feeds_scatter[e.target];
      }
    }
    std::vector<std::tuple<collective, std::uint32_t, std::string_view, std::string_view>> keys, latency_keys;
    const auto number = [](auto& known, const auto& k) {
      const auto at = std::find(known.begin(), known.end(), k);
      if (at == known.end()) known.push_back(k);
      return static_cast<std::uint32_t>(std::find(known.begin(), known.end(), k) - known.begin());
    };
    for (const std::uint32_t u : order) {
      if (first_wait[u] == no_index) continue;
      const collective_info c = g.collective(units.first(u));
      channel[u] = c.group;
      const bool merges = is_mergeable(c.op);
      key[u] =
          merges ? number(keys, std::tuple(c.op, c.group, c.dtype, c.reduce))
                 : number(keys, std::tuple(collective::other, std::uint32_t{}, std::string_view(), std::string_view()));
      if (merges)
        latency_key[u] = number(latency_keys, std::tuple(c.op == collective::all_gather ? c.op : collective::other,
                                                         c.group, c.dtype, c.reduce));
      for (const task_index t : units.tasks(u)) size[u] += g.collective(t).bytes_in + g.collective(t).bytes_out;
      if (c.op == collective::all_reduce) size[u] = size[u] / 2;
      if (const duration_table* table = g.table(c.op, c.group)) latency[u] = (*table)(bytes(0));
    }
    least_size.assign(keys.size(), bytes(std::numeric_limits<std::int64_t>::max()));
    for (const std::uint32_t u : order)
      if (key[u] != no_index) least_size[key[u]] = std::min(least_size[key[u]], size[u]);
    key_count = keys.size();
    latency_key_count = latency_keys.size();
  }

  /// Whether it is a collective that something waits for.
  [[nodiscard]] bool is_start(std::uint32_t u) const { return first_wait[u] != no_index; }
  [[nodiscard]] bool is_wait(std::uint32_t u) const { return start_of[u] != no_index; }

  std::vector<std::uint32_t> order, rank;
  std::vector<std::uint32_t> need;            // number of the first computation that needs a unit
  std::vector<std::uint32_t> compute_before;  // number of computations up to the last one that a unit depends on
  std::vector<bool> feeds_scatter;
  std::vector<std::uint32_t> first_wait, start_of;
  std::vector<std::uint32_t> channel;  // of launches
  std::vector<std::uint32_t> key, latency_key;
  std::vector<bytes> size;
  std::vector<bytes> least_size;  // by key
  std::vector<nanoseconds> latency;
  std::uint32_t compute_count = 0;
  std::size_t key_count = 0, latency_key_count = 0;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <boost/property_map/property_map.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Any Boost graph as a task graph: what its tasks are is told by property maps.

namespace shardweave::inline v0 {

/// Collectives with equal keys on one channel may be launched as one.
struct bucket_key {
  collective op = collective::other;
  std::string dtype = {};
  std::string reduce = "none";
};

/// What one rank sends into and gets out of a collective.
struct transfer_size {
  bytes in = {};
  bytes out = {};
};

/// A piece of memory by a number of the caller's; equal numbers are one piece.
struct stored_piece {
  std::uint64_t id = 0;
  bytes size = {};
};

/// "No such map."
struct untold {};

/// Further property maps of tasks, each of which may be missing:
/// `task_notes().with_names(get(&task::name, g)).with_roles(get(&task::role, g))`.
///  - names: texts, for messages and reports; missing: the positions of the tasks;
///  - roles: `task_role`;  phases: `phase`, or an optional one;
///  - group sizes: integers, of collectives the number of ranks of their group.
template <class Names = untold, class Roles = untold, class Phases = untold, class GroupSizes = untold>
struct task_notes {
  Names names = {};
  Roles roles = {};
  Phases phases = {};
  GroupSizes group_sizes = {};

  template <class Map>
  [[nodiscard]] task_notes<Map, Roles, Phases, GroupSizes> with_names(Map map) const {
    return {std::move(map), roles, phases, group_sizes};
  }
  template <class Map>
  [[nodiscard]] task_notes<Names, Map, Phases, GroupSizes> with_roles(Map map) const {
    return {names, std::move(map), phases, group_sizes};
  }
  template <class Map>
  [[nodiscard]] task_notes<Names, Roles, Map, GroupSizes> with_phases(Map map) const {
    return {names, roles, std::move(map), group_sizes};
  }
  template <class Map>
  [[nodiscard]] task_notes<Names, Roles, Phases, Map> with_group_sizes(Map map) const {
    return {names, roles, phases, std::move(map)};
  }
};

/// The property maps of a task graph over any graph. Of tasks that are no collectives only kind, duration
/// and storages are read.
///  - kind: `task_kind`;  duration: `nanoseconds`;
///  - channel: an integer from 0 to 2^20 - 1, the number of the process group;
///  - key: `bucket_key`;  size: `transfer_size`;
///  - storages: a range of `stored_piece`, those that a task allocates or is a view of;
///  - notes: `task_notes`, further maps, if there are any.
template <class Kind, class Duration, class Channel, class Key, class Size, class Storages, class Notes = task_notes<>>
struct task_maps {
  task_maps(Kind kind_map, Duration duration_map, Channel channel_map, Key key_map, Size size_map,
            Storages storages_map, Notes notes_maps = {})
      : kind(std::move(kind_map)),
        duration(std::move(duration_map)),
        channel(std::move(channel_map)),
        key(std::move(key_map)),
        size(std::move(size_map)),
        storages(std::move(storages_map)),
        notes(std::move(notes_maps)) {}
  Kind kind;
  Duration duration;
  Channel channel;
  Key key;
  Size size;
  Storages storages;
  Notes notes;
};

/// For tasks of which no memory is known.
using no_storages = boost::static_property_map<std::vector<stored_piece>>;

namespace detail {
/// A map of the values, or none.
template <class Map, class G, class Value>
concept note_of =
    std::same_as<Map, untold> || (readable_map<Map, vertex_t<G>> && std::convertible_to<map_value_t<Map>, Value>);
template <class Map, class G>
concept size_note = std::same_as<Map, untold> || (readable_map<Map, vertex_t<G>> && std::integral<map_value_t<Map>>);

/// Groups are made for all numbers up to the largest channel: far more than a job has.
inline constexpr std::int64_t most_channels = 1 << 20;

/// \param who  names the channel, in messages
template <std::integral Number>
[[nodiscard]] std::uint32_t checked_channel(Number channel, const std::string& who) {
  const auto number = static_cast<std::int64_t>(channel);
  if (number < 0 || number >= most_channels)
    refuse(error_category::input,
           who + " names channel " + std::to_string(+channel) + ", expected 0 to " + std::to_string(most_channels - 1));
  return static_cast<std::uint32_t>(number);
}
}  // namespace detail

/// `M` holds what is needed to read a graph as a task graph.
template <class M, class G>
concept task_maps_of =
    planning_graph<G> && readable_map<decltype(M::kind), vertex_t<G>> &&
    readable_map<decltype(M::duration), vertex_t<G>> && readable_map<decltype(M::channel), vertex_t<G>> &&
    readable_map<decltype(M::key), vertex_t<G>> && readable_map<decltype(M::size), vertex_t<G>> &&
    readable_map<decltype(M::storages), vertex_t<G>> && std::same_as<map_value_t<decltype(M::kind)>, task_kind> &&
    std::same_as<map_value_t<decltype(M::duration)>, nanoseconds> && std::integral<map_value_t<decltype(M::channel)>> &&
    std::same_as<map_value_t<decltype(M::key)>, bucket_key> &&
    std::same_as<map_value_t<decltype(M::size)>, transfer_size> &&
    std::ranges::input_range<map_value_t<decltype(M::storages)>> &&
    detail::note_of<decltype(M::notes.names), G, std::string> &&
    detail::note_of<decltype(M::notes.roles), G, task_role> &&
    detail::note_of<decltype(M::notes.phases), G, std::optional<phase>> &&
    detail::size_note<decltype(M::notes.group_sizes), G>;

namespace detail {
/// `make_task_graph` of what it takes.
template <planning_graph G, task_maps_of<G> Maps>
[[nodiscard]] task_graph tasks_of_maps(const G& g, const Maps& maps, std::vector<duration_table> tables,
                                       device_figures device) {
  const vertex_numbering<G> numbering(g);
  const compressed_graph flat = compress(g, numbering);
  task_graph_builder b;
  b.device = std::move(device);
  std::unordered_map<std::uint64_t, std::uint32_t> pieces;
  std::size_t group_count = 0;
  std::vector<std::int64_t> ranks;  // of the groups, 0 = unknown
  for (const duration_table& table : tables)
    group_count = std::max<std::size_t>(
        group_count, checked_channel(table.group(), "the duration table of " + std::string(name_of(table.op()))) + 1);
  for (std::size_t i = 0; i < numbering.size(); ++i) {
    const vertex_t<G> v = numbering[i];
    task_record t;
    if constexpr (std::same_as<decltype(maps.notes.names), untold>)
      t.name = std::to_string(i);
    else
      t.name = std::string(get(maps.notes.names, v));
    if constexpr (!std::same_as<decltype(maps.notes.roles), untold>) t.role = get(maps.notes.roles, v);
    if constexpr (!std::same_as<decltype(maps.notes.phases), untold>) t.when = get(maps.notes.phases, v);
    t.kind = get(maps.kind, v);
    t.op = to_string(t.kind);
    t.duration = get(maps.duration, v);
    for (const auto& e : flat.in(static_cast<std::uint32_t>(i))) t.inputs.push_back(e.source);
    if (t.kind == task_kind::collective) {
      const bucket_key key = get(maps.key, v);
      const transfer_size size = get(maps.size, v);
      const std::uint32_t channel =
          checked_channel(get(maps.channel, v), "task " + std::to_string(i) + " (" + t.name + ")");
      t.op = name_of(key.op);
      t.collective = collective_record{key.op, channel, size.in, size.out, key.dtype, key.reduce};
      group_count = std::max<std::size_t>(group_count, std::size_t{channel} + 1);
      if constexpr (!std::same_as<decltype(maps.notes.group_sizes), untold>) {
        if (ranks.size() <= channel) ranks.resize(std::size_t{channel} + 1);
        const auto stated = static_cast<std::int64_t>(get(maps.notes.group_sizes, v));
        if (ranks[channel] != 0 && stated != ranks[channel])
          refuse(error_category::input, "task " + std::to_string(i) + " (" + t.name + ") states that group " +
                                            std::to_string(channel) + " has " + std::to_string(stated) +
                                            " ranks, expected " + std::to_string(ranks[channel]) +
                                            " as a collective before it");
        ranks[channel] = stated;
      }
    }
    if (t.kind == task_kind::wait)
      for (const task_index p : t.inputs)
        if (!t.completes && get(maps.kind, numbering[p]) == task_kind::collective) t.completes = p;
    for (const stored_piece& piece : get(maps.storages, v)) {
      const auto [at, fresh] = pieces.try_emplace(piece.id, static_cast<std::uint32_t>(pieces.size()));
      if (fresh) b.add_storage(piece.size);
      t.outputs.push_back({.size = piece.size, .storage = at->second});
    }
    b.add_task(t);
  }
  for (std::size_t i = 0; i < group_count; ++i)
    b.add_group(
        {.id = static_cast<std::int64_t>(i), .name = std::to_string(i), .size = i < ranks.size() ? ranks[i] : 0});
  for (duration_table& table : tables) b.add_table(std::move(table));
  return std::move(b).build();
}
}  // namespace detail

/// The task graph of a graph and its maps: task i is the i-th of `vertices(g)`, inputs are in the order of
/// `edges(g)`. A wait completes the first collective among its inputs. Groups are made for the channels.
/// Without a map of names tasks are called 0, 1, 2, ...
/// \param tables  prices merged collectives; bucketing merges nothing that it cannot price
/// \throws error of `task_graph_builder::build`, or naming a collective whose channel has no such number, or that
///         states another size of its group than one before it
/// Complexity: O(V + E)
template <class G, class Maps>
[[nodiscard]] task_graph make_task_graph(const G& g, const Maps& maps, std::vector<duration_table> tables = {},
                                         device_figures device = {}) {
  static_assert(task_maps_of<Maps, G> || !detail::is_graph<G>(),
                "The maps of a task graph must be task_maps of the graph's vertices: kinds (task_kind), durations "
                "(nanoseconds), channels (whole numbers), keys (bucket_key), sizes (transfer_size), storages (ranges "
                "of stored_piece) and notes (shardweave::task_maps_of).");
  if constexpr (task_maps_of<Maps, G>) return detail::tasks_of_maps(g, maps, std::move(tables), std::move(device));
}

}  // namespace shardweave::inline v0

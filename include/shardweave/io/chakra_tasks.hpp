#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/ready_order.hpp>
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/detail/chakra_nodes.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// From a Chakra execution trace to a task graph.

namespace shardweave::inline v0 {

/// What tasks take that state no duration: traces that simulators make state operations and bytes instead.
struct chakra_prices {
  roofline compute = {};        ///< of `num_ops` operations that move `tensor_size` bytes
  any_collectives collectives;  ///< of collectives, alone and, whatever they state, merged
};

/// What a trace does not say of itself.
struct chakra_options {
  std::string name = {};   ///< of the graph
  std::int64_t ranks = 0;  ///< in groups of which the trace does not say who is in them; 0 = unknown
  std::optional<chakra_prices> prices = std::nullopt;  ///< absent: a duration that is not stated is 0 for computation,
                                                       ///< and refused for communication
};

namespace detail {

/// One conversion.
class chakra_converter {
 public:
  chakra_converter(const chakra_trace& trace, const chakra_options& options) : trace_(trace), options_(options) {}

  task_graph convert() {
    number_nodes();
    for (const chakra_node& n : trace_.nodes)
      if (n.type == chakra_type::metadata) take_groups(n);
    const std::vector<std::uint32_t> order = in_order();
    task_of_.resize(trace_.nodes.size(), no_index);
    wait_of_.resize(trace_.nodes.size(), no_index);
    for (const std::uint32_t v : order) add(v);
    for (const std::uint32_t v : order)
      if (is_communication(trace_.nodes[v])) (void)waited(v);
    return finish();
  }

 private:
  static bool is_communication(const chakra_node& n) {
    return n.type == chakra_type::collective || n.type == chakra_type::send || n.type == chakra_type::receive ||
           n.type == chakra_type::memory_load || n.type == chakra_type::memory_store;
  }

  [[noreturn]] static void wrong(const chakra_node& n, const std::string& what) {
    refuse(error_category::input, chakra_label(n) + " " + what);
  }

  void number_nodes() {
    if (trace_.nodes.empty()) refuse(error_category::input, "has no nodes, expected at least one");
    if (trace_.nodes.size() >= no_index / 4)
      refuse(error_category::input, "has " + std::to_string(trace_.nodes.size()) + " nodes, expected fewer than 2^30");
    for (std::uint32_t v = 0; v < trace_.nodes.size(); ++v)
      if (!place_.try_emplace(trace_.nodes[v].id, v).second)
        wrong(trace_.nodes[v], "has the id of another node, " +
                                   chakra_label(trace_.nodes[place_.at(trace_.nodes[v].id)]) + ", expected its own");
  }

  [[nodiscard]] std::uint32_t place_of(const chakra_node& n, std::uint64_t id) const {
    const auto at = place_.find(id);
    if (at == place_.end()) wrong(n, "depends on node " + std::to_string(id) + ", expected one that is there");
    return at->second;
  }

  /// As the trace lists them as far as dependencies allow.
  [[nodiscard]] std::vector<std::uint32_t> in_order() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 0; v < trace_.nodes.size(); ++v)
      for (const auto* deps : {&trace_.nodes[v].data_deps, &trace_.nodes[v].ctrl_deps})
        for (const std::uint64_t id : *deps) edges.emplace_back(place_of(trace_.nodes[v], id), v);
    std::vector<std::uint32_t> waiting;
    const compressed_graph g(trace_.nodes.size(), edges);
    std::vector<std::uint32_t> order = ready_order(g, waiting);
    if (order.size() == trace_.nodes.size()) return order;
    // every node that was never ready has a need that was never ready: walking back closes a cycle
    std::uint32_t v = 0;
    while (waiting[v] == 0) ++v;
    for (std::size_t steps = 0; steps <= trace_.nodes.size(); ++steps)
      v = std::find_if(g.in(v).begin(), g.in(v).end(), [&](const auto& e) { return waiting[e.source] != 0; })->source;
    wrong(trace_.nodes[v], "depends on itself by way of its dependencies, expected no cycle");
  }

  /// `[{"pg_name": "0", "ranks": [0, 1], "group_size": 2}, ...]`, which PyTorch writes into the inputs of one node, as
  /// Python prints a list of one text.
  void take_groups(const chakra_node& n) {
    const std::size_t begin = n.input_values.find("[{"), end = n.input_values.rfind("}]");
    if (n.name.find("process_group") == std::string::npos || begin == std::string::npos || end == std::string::npos)
      return;
    process_group group;
    std::string name;
    json_shape shape = json_list(
        json_object({json_required("pg_name", json_text(name)), json_optional("ranks", json_numbers(group.ranks)),
                     json_optional("group_size", json_number(group.size))}),
        [&] {
          if (!group.ranks.empty()) group.size = static_cast<std::int64_t>(group.ranks.size());
          if (group.size < 0) return "group_size is " + std::to_string(group.size) + ", expected how many ranks it has";
          stated_[name] = std::exchange(group, {});
          return std::string();
        });
    const std::string text = n.input_values.substr(begin, end + 2 - begin);
    text_input input = text_input::of_memory(chakra_label(n) + " states process groups", text);
    read_json(input, shape);
  }

  /// The channel of that name, made when it is first asked for: a group of which this is known.
  std::uint32_t channel(const std::string& name, process_group known) {
    const auto [at, is_new] = group_number_.try_emplace(name, static_cast<std::uint32_t>(groups_.size()));
    if (!is_new) return at->second;
    known.id = static_cast<std::int64_t>(groups_.size());
    known.name = name;
    groups_.push_back(std::move(known));
    return at->second;
  }
  /// That of a process group.
  std::uint32_t channel_of_group(const std::string& name) {
    const auto known = stated_.find(name);
    process_group group = known != stated_.end() ? known->second : process_group{};
    if (group.size == 0) group.size = options_.ranks;
    return channel(name.empty() ? "all ranks" : name, std::move(group));
  }

  /// What the task says of its communication. A collective goes over its group; what goes to or comes from one other
  /// rank has a channel of its own each way, so have loads and stores.
  collective_record communication(const chakra_node& n) {
    collective_record c;
    c.bytes_in = c.bytes_out =
        bytes(n.type == chakra_type::memory_load || n.type == chakra_type::memory_store ? n.tensor_size : n.comm_size);
    const auto one_way = [&](const char* way, std::optional<std::int64_t> rank) {
      const std::string peer = rank ? " rank " + std::to_string(*rank) : std::string(" another rank");
      return channel((n.group.empty() ? "" : n.group + ": ") + way + peer, {.size = 2});
    };
    switch (n.type) {
      case chakra_type::memory_load:
        c.group = channel("memory loads", {.size = 1});
        return c;
      case chakra_type::memory_store:
        c.group = channel("memory stores", {.size = 1});
        return c;
      case chakra_type::send:
        c.group = one_way("to", n.destination);
        return c;
      case chakra_type::receive:
        c.group = one_way("from", n.source);
        return c;
      default:
        break;
    }
    c.group = channel_of_group(n.group);
    const std::string_view name = chakra_collective_names[static_cast<std::size_t>(n.comm_type)];
    if (name == "ALL_REDUCE") c.op = collective::all_reduce;
    if (name == "ALL_GATHER") c.op = collective::all_gather;
    if (name == "ALL_TO_ALL") c.op = collective::all_to_all;
    if (name == "REDUCE_SCATTER" || name == "REDUCE_SCATTER_BLOCK") c.op = collective::reduce_scatter;
    if (c.op == collective::all_reduce || c.op == collective::reduce_scatter) c.reduce = "sum";
    const std::int64_t ranks = groups_[c.group].size;
    if (ranks > 0 && c.op == collective::reduce_scatter) c.bytes_out = bytes((n.comm_size + ranks - 1) / ranks);
    if (ranks > 0 && c.op == collective::all_gather) {
      if (n.comm_size > (std::int64_t{1} << 60) / ranks)
        wrong(n, "gathers " + std::to_string(n.comm_size) + " bytes from each of " + std::to_string(ranks) +
                     " ranks, expected at most 2^60 in all");
      c.bytes_out = bytes(n.comm_size * ranks);
    }
    return c;
  }

  static std::string operation(const chakra_node& n) {
    switch (n.type) {
      case chakra_type::collective: {
        std::string name(chakra_collective_names[static_cast<std::size_t>(n.comm_type)]);
        for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        return name;
      }
      case chakra_type::send:
        return "send";
      case chakra_type::receive:
        return "receive";
      case chakra_type::memory_load:
        return "memory_load";
      case chakra_type::memory_store:
        return "memory_store";
      case chakra_type::metadata:
        return "metadata";
      default:
        return n.op.empty() ? std::string(n.on_host ? "host" : "compute") : n.op;
    }
  }

  /// The task after which the stream has all that a collective gives.
  task_index waited(std::uint32_t v) {
    if (wait_of_[v] != no_index) return wait_of_[v];
    const task_record& launched = tasks_[task_of_[v]];
    task_record wait{.name = "wait for " + launched.name, .op = "wait", .kind = task_kind::wait};
    wait.inputs = {task_of_[v]};
    wait.completes = task_of_[v];
    wait.outputs = launched.outputs;
    tasks_.push_back(std::move(wait));
    return wait_of_[v] = static_cast<task_index>(tasks_.size() - 1);
  }

  /// What must be there before the task starts. Two collectives of one channel follow each other without the stream.
  std::vector<task_index> needs(const chakra_node& n, const std::vector<std::uint64_t>& deps, std::uint32_t own) {
    std::vector<task_index> result;
    for (const std::uint64_t id : deps) {
      const std::uint32_t p = place_of(n, id);
      const bool follows =
          own != no_index && is_communication(trace_.nodes[p]) && tasks_[task_of_[p]].collective->group == own;
      result.push_back(!follows && is_communication(trace_.nodes[p]) ? waited(p) : task_of_[p]);
    }
    return result;
  }

  void add(std::uint32_t v) {
    const chakra_node& n = trace_.nodes[v];
    task_record t{.name = n.name, .op = operation(n), .duration = nanoseconds(n.duration_us * 1000)};
    std::uint32_t own = no_index;  // its channel
    bytes held(n.tensor_size);
    if (is_communication(n)) {
      t.kind = task_kind::collective;
      t.collective = communication(n);
      own = t.collective->group;
      held = t.collective->bytes_out;
      if (n.type == chakra_type::send || n.type == chakra_type::memory_store) held = bytes(0);
      if (n.duration_us == 0 && t.collective->op == collective::other) t.duration = way(n, *t.collective);
    } else if (n.type == chakra_type::compute && !n.on_host) {
      t.kind = task_kind::compute;
      if (n.duration_us == 0 && options_.prices && n.ops + n.tensor_size > 0)
        t.duration = from_microseconds(options_.prices->compute.compute_time(
            {.flops = static_cast<double>(n.ops), .moved = bytes(n.tensor_size)}));
    } else {  // of the host: it runs ahead of the device
      t.duration = nanoseconds(0);
      held = bytes(0);
    }
    t.inputs = needs(n, n.data_deps, own);
    t.after = needs(n, n.ctrl_deps, own);
    if (held > bytes(0)) t.outputs.push_back({held, static_cast<std::uint32_t>(storages_.size())});
    if (held > bytes(0)) storages_.push_back({held});
    tasks_.push_back(std::move(t));
    task_of_[v] = static_cast<task_index>(tasks_.size() - 1);
  }

  /// How long bytes take to or from one other rank where the trace does not say: over the link of a node if both ranks
  /// are known to be in it, else over a device's share of the network.
  [[nodiscard]] nanoseconds way(const chakra_node& n, const collective_record& c) const {
    const bool is_known = n.type == chakra_type::send || n.type == chakra_type::receive;
    if (c.bytes_in == bytes(0)) return nanoseconds(0);
    if (!options_.prices || !is_known)
      wrong(n,
            "states no duration" + std::string(is_known ? ", expected one where no device is named whose links price it"
                                                        : ", expected one: no model prices what it does"));
    const device_profile& device = options_.prices->compute.device;
    const bool inside = n.source && n.destination && device.devices_per_node > 0 &&
                        *n.source / device.devices_per_node == *n.destination / device.devices_per_node;
    const double speed = inside ? device.link_bandwidth : device.network_bandwidth;
    if (!(speed > 0)) wrong(n, "states no duration, and the device no speed of its links");
    return nanoseconds(static_cast<std::int64_t>(std::nearbyint(static_cast<double>(c.bytes_in.count()) / speed)));
  }

  /// How a group lies on nodes of so many devices each.
  [[nodiscard]] group_shape shape_of(const process_group& group, std::int64_t per_node) const {
    const std::string who = "group '" + group.name + "' of " + std::to_string(group.size) + " ranks";
    group_shape shape{.ranks_per_node = std::min(group.size, per_node), .nodes = 1};
    if (!group.ranks.empty()) {
      std::map<std::int64_t, std::int64_t> on_node;
      for (const std::int64_t r : group.ranks) ++on_node[r / per_node];
      const auto least = std::ranges::min_element(on_node, {}, [](const auto& node) { return node.second; });
      shape = {.ranks_per_node = least->second, .nodes = static_cast<std::int64_t>(on_node.size())};
    } else if (group.size > per_node) {
      shape.nodes = group.size / per_node;
    }
    if (shape.ranks() != group.size)
      refuse(error_category::input, who + " lies on nodes of " + std::to_string(per_node) +
                                        " devices with more ranks on one than on another, expected as many on each");
    return shape;
  }

  /// Durations of collectives that state none, and tables by which merged ones are priced.
  void price(std::vector<duration_table>& tables) {
    for (std::uint32_t v = 0; v < trace_.nodes.size(); ++v) {
      const task_record& t = tasks_[task_of_[v]];
      if (!t.collective || t.collective->op == collective::other) continue;
      if (trace_.nodes[v].duration_us != 0 || t.collective->bytes_in == bytes(0)) continue;
      if (!options_.prices)
        wrong(trace_.nodes[v], "states no duration, expected one where no device is named whose collectives price it");
      const process_group& group = groups_[t.collective->group];
      if (group.size == 0)
        wrong(trace_.nodes[v], "states no duration and the trace not who is in group '" + group.name +
                                   "', expected one of both, or the number of ranks");
    }
    if (!options_.prices) return;
    const std::int64_t per_node = options_.prices->compute.device.devices_per_node;
    std::vector<group_shape> shapes;
    std::vector<task_record> priced;  // those of groups whose size is known
    for (const process_group& g : groups_)
      shapes.push_back(g.size > 0 && per_node > 0 ? shape_of(g, per_node) : group_shape{});
    for (const task_record& t : tasks_)
      if (t.collective && t.collective->op != collective::other && groups_[t.collective->group].size > 1)
        priced.push_back(t);
    tables = collective_tables(priced, options_.prices->collectives, shapes);
    for (const chakra_node& n : trace_.nodes) {
      task_record& t = tasks_[task_of_[place_.at(n.id)]];
      if (!t.collective || n.duration_us != 0) continue;
      for (const duration_table& table : tables)
        if (table.op() == t.collective->op && table.group() == t.collective->group && t.collective->bytes_in > bytes(0))
          t.duration = table(t.collective->bytes_in);
    }
  }

  task_graph finish() {
    std::vector<duration_table> tables;
    price(tables);
    task_graph_builder b;
    b.name = options_.name;
    b.description = "a Chakra execution trace" + (trace_.schema.empty() ? "" : ", schema " + trace_.schema);
    if (options_.prices) {
      const roofline& r = options_.prices->compute;
      b.device.name = r.device.name;
      b.device.dram_bytes_per_ns = r.device.memory_bandwidth * r.memory_efficiency / 1e9;
      b.device.gpus_per_node = r.device.devices_per_node;
    }
    for (process_group& g : groups_) b.add_group(std::move(g));
    for (const storage& s : storages_) b.add_storage(s);
    for (const task_record& t : tasks_) b.add_task(t);
    for (duration_table& t : tables) b.add_table(std::move(t));
    return std::move(b).build();
  }

  const chakra_trace& trace_;
  const chakra_options& options_;
  std::map<std::uint64_t, std::uint32_t> place_;  ///< of a node, by its id
  std::map<std::string, process_group> stated_;   ///< by the name that nodes use
  std::map<std::string, std::uint32_t> group_number_;
  std::vector<process_group> groups_;
  std::vector<storage> storages_;
  std::vector<task_record> tasks_;
  std::vector<task_index> task_of_, wait_of_;  ///< by the place of the node
};

}  // namespace detail

/// The trace as a task graph, in the order in which it lists its nodes as far as their dependencies allow.
/// - Computation of the device is on the compute stream. What the host does and metadata keep their place and take no
///   time: the host runs ahead of the device.
/// - Collectives are on the channel of their process group, sends, receives, loads and stores each on one of their own.
///   A wait stands before the first node that depends on one, or at the end; what follows on the same channel needs
///   none.
/// - Durations are those stated; where there is none, operations and bytes are priced by `prices`, and so are buckets.
///   `comm_size` is what this rank puts in.
/// - A node holds `tensor_size` bytes for its dependents, a collective what it gives; nothing else is known of memory.
/// \throws error (input) naming the node: an id that two have, a dependency that is not there, a cycle, communication
///         that states no duration where nothing prices it
/// Complexity: O((V + E) log V)
[[nodiscard]] inline task_graph task_graph_of(const chakra_trace& trace, const chakra_options& options = {}) {
  return detail::chakra_converter(trace, options).convert();
}

}  // namespace shardweave::inline v0

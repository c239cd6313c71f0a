#include "machine.hpp"
#include "placement.hpp"
#include "problem.hpp"
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/memory/recompute_block.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/launch_signature.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>
#include <shardweave/version.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What Python sees of the library: machines, task graphs, schedules. Times are integer nanoseconds, sizes integer
/// bytes.

namespace nb = nanobind;
namespace sw = shardweave;

namespace {

/// Collects tasks one by one, in their original order, and makes the graph.
class graph_builder {
 public:
  graph_builder(std::string name, const machine& on) : on_(&on) {
    builder_.name = std::move(name);
    builder_.device.name = on.name();
    builder_.device.dram_bytes_per_ns = on.bandwidth() / 1e9;
  }

  std::uint32_t group(std::string name, std::vector<std::int64_t> ranks) {
    shapes_.push_back(on_->shape_of(ranks));
    sw::process_group made;
    made.id = static_cast<std::int64_t>(shapes_.size() - 1);
    made.name = std::move(name);
    made.size = static_cast<std::int64_t>(ranks.size());
    made.ranks = std::move(ranks);
    return builder_.add_group(std::move(made));
  }
  std::uint32_t storage(std::int64_t size) { return builder_.add_storage(sw::bytes(size)); }

  /// \param outputs  size and storage of each tensor
  std::uint32_t task(std::string name, std::string op, const std::string& kind, std::int64_t duration,
                     std::vector<sw::task_index> inputs, std::vector<sw::task_index> after, std::int64_t completes,
                     const std::vector<std::pair<std::int64_t, std::uint32_t>>& outputs, const std::string& role,
                     const std::string& phase) {
    sw::task_record t = record(std::move(name), std::move(op), duration, std::move(inputs), std::move(after), outputs);
    t.kind = named<sw::task_kind>(kind, "kind of task", sw::task_kind_from);
    t.role = named<sw::task_role>(role, "role", sw::task_role_from);
    t.when = phase_of(phase);
    if (completes >= 0) t.completes = static_cast<sw::task_index>(completes);
    return builder_.add_task(t);
  }
  /// A collective takes what the machine's model says.
  std::uint32_t collective(std::string name, std::string op, const std::string& kind, std::uint32_t group,
                           std::int64_t bytes_in, std::int64_t bytes_out, std::string dtype, std::string reduce,
                           std::optional<std::int64_t> duration, std::vector<sw::task_index> inputs,
                           std::vector<sw::task_index> after,
                           const std::vector<std::pair<std::int64_t, std::uint32_t>>& outputs, const std::string& role,
                           const std::string& phase) {
    const auto what = named<sw::collective>(kind, "collective", sw::collective_from);
    if (group >= shapes_.size())
      sw::refuse(sw::error_category::input, "collective " + name + " is of group " + std::to_string(group) +
                                                ", but there are only " + std::to_string(shapes_.size()));
    std::int64_t takes = 0;
    if (duration) {
      takes = *duration;
    } else if (what != sw::collective::other) {
      const sw::bytes largest = sw::largest_buffer(what, sw::bytes(bytes_in), shapes_[group]);
      takes = sw::from_microseconds(on_->model().estimate(what, largest, shapes_[group]).time_us).count();
    }
    sw::task_record t = record(std::move(name), std::move(op), takes, std::move(inputs), std::move(after), outputs);
    t.kind = sw::task_kind::collective;
    t.role = named<sw::task_role>(role, "role", sw::task_role_from);
    t.when = phase_of(phase);
    t.collective = sw::collective_record{
        what, group, sw::bytes(bytes_in), sw::bytes(bytes_out), std::move(dtype), std::move(reduce)};
    collectives_.push_back(t);
    return builder_.add_task(t);
  }
  [[nodiscard]] sw::task_graph build() {
    for (sw::duration_table& table : sw::collective_tables(collectives_, on_->model(), shapes_))
      builder_.add_table(std::move(table));
    return std::move(builder_).build();
  }

 private:
  static sw::task_record record(std::string name, std::string op, std::int64_t duration,
                                std::vector<sw::task_index> inputs, std::vector<sw::task_index> after,
                                const std::vector<std::pair<std::int64_t, std::uint32_t>>& outputs) {
    sw::task_record t;
    t.name = std::move(name);
    t.op = std::move(op);
    t.duration = sw::nanoseconds(duration);
    t.inputs = std::move(inputs);
    t.after = std::move(after);
    for (const auto& [size, storage] : outputs) {
      sw::output_record made;
      made.size = sw::bytes(size);
      made.storage = storage;
      t.outputs.push_back(std::move(made));
    }
    return t;
  }

  /// No name: no phase is told.
  static std::optional<sw::phase> phase_of(const std::string& name) {
    if (name.empty()) return std::nullopt;
    return named<sw::phase>(name, "phase", sw::phase_from);
  }

  const machine* on_;
  sw::task_graph_builder builder_;
  std::vector<sw::group_shape> shapes_;
  std::vector<sw::task_record> collectives_;
};

/// Buckets and order by a pass. \param memory  budget for the peak, absent = that of the original order
sw::schedule planned(const sw::task_graph& g, const std::string& pass, std::optional<std::int64_t> memory, bool buckets,
                     std::uint64_t seed, std::optional<double> seconds) {
  sw::solve_control control;
  control.seed = seed;
  if (seconds) control.seconds = *seconds;
  const sw::bytes budget = memory ? sw::bytes(*memory) : sw::simulate(g).peak;
  if (pass == "prefetch" || (!buckets && pass == "best_known")) {
    if (pass == "prefetch" && buckets)
      return sw::benefit<>{.order = {.memory = budget}, .memory = budget}.plan(g, control);
    return sw::prefetch{.memory = budget}(g, {}, control);
  }
  // more changes than the library tries by itself: graphs of compilers have more collectives, and changes are cheap
  if (pass == "best_known") return sw::best_known{.memory = budget, .changes = 8000}.plan(g, control);
  if (pass == "in_order") return sw::in_order{}(g, {}, control);
  sw::refuse(sw::error_category::input, "no pass is called '" + pass + "'; known are prefetch, best_known, in_order");
}

/// A number of a task that a caller gave. \throws nb::index_error beyond the last
sw::task_index known(const sw::task_graph& g, sw::task_index t) {
  if (t >= g.size())
    throw nb::index_error(("there is no task " + std::to_string(t) + ", only " + std::to_string(g.size())).c_str());
  return t;
}

/// A schedule that a caller made: its order and the members of its buckets.
sw::schedule stated(const sw::task_graph& g, std::vector<sw::task_index> order,
                    const std::vector<std::vector<sw::task_index>>& buckets) {
  sw::schedule s;
  s.order = std::move(order);
  for (const auto& members : buckets) {
    for (const sw::task_index t : members)
      if (t >= g.size() || !g.is_collective(t))
        sw::refuse(sw::error_category::input, "a bucket lists task " + std::to_string(t) + ", which is no collective");
    if (!members.empty()) s.buckets.push_back(sw::make_bucket(g, members));
  }
  sw::validate_schedule(g, s);
  return s;
}

sw::schedule coalesced(sw::schedule s) {
  for (sw::bucket& b : s.buckets) b.coalesced = true;
  return s;
}

std::vector<std::vector<sw::task_index>> members_of(const sw::schedule& s) {
  std::vector<std::vector<sw::task_index>> all;
  for (const sw::bucket& b : s.buckets) all.push_back(b.members);
  return all;
}

nb::dict figures(const sw::timeline& line);

/// What a training graph keeps for its backward part and what it makes again, within a limit on memory.
/// \param block_of  by task: the number of its block, -1 = in none
/// \param least     bytes of the smallest storage that may be dropped
nb::dict recomputed(const sw::task_graph& g, const std::vector<std::int64_t>& block_of, std::int64_t limit,
                    std::int64_t least) {
  std::vector<std::uint32_t> blocks;
  for (const std::int64_t b : block_of) blocks.push_back(b < 0 ? sw::no_index : static_cast<std::uint32_t>(b));
  const sw::activation_options options{.least = sw::bytes(least)};
  const sw::recomputation_plan plan = sw::recomputation_choices(g, blocks, options).within(sw::bytes(limit));
  nb::dict told;
  if (plan.chosen.shortage) {
    const sw::memory_shortage& missing = *plan.chosen.shortage;
    nb::dict shortage;
    shortage["block"] = missing.block;
    shortage["least"] = missing.least.count();
    told["shortage"] = shortage;
    return told;
  }
  const sw::activation_blocks found = sw::activation_blocks_of(g, blocks, options);
  std::vector<std::vector<std::uint32_t>> kept(found.blocks.size()), dropped(found.blocks.size());
  for (std::size_t b = 0; b < found.blocks.size(); ++b)
    for (std::size_t v = 0; v < found.storages[b].size(); ++v)
      (plan.policies[b].values[v] == sw::retention::keep ? kept : dropped)[b].push_back(found.storages[b][v]);
  told["kept"] = kept;
  told["dropped"] = dropped;
  told["kept_bytes"] = plan.chosen.kept.count();
  told["time"] = plan.chosen.time.count();
  told["lower_bound"] = plan.chosen.lower_bound.count();
  told["peak"] = plan.chosen.peak.count();
  told["after"] = figures(sw::simulate(plan.graph->tasks));
  return told;
}

nb::dict figures(const sw::timeline& line) {
  nb::dict d;
  d["end_to_end"] = line.end_to_end.count();
  d["compute"] = line.compute.count();
  d["packing"] = line.packing.count();
  d["communication"] = line.communication.count();
  d["exposed"] = line.exposed.count();
  d["hidden"] = line.hidden.count();
  d["tail"] = line.tail.count();
  d["collectives"] = line.collectives;
  d["hidden_count"] = line.hidden_count;
  d["peak"] = line.peak.count();
  return d;
}

}  // namespace

NB_MODULE(_planner, m) {
  nb::set_leak_warnings(false);  // caches of a program may hold machines until it ends
  const auto part = [](int number) { return std::to_string(number); };
  m.attr("__version__") =
      part(SHARDWEAVE_VERSION_MAJOR) + "." + part(SHARDWEAVE_VERSION_MINOR) + "." + part(SHARDWEAVE_VERSION_PATCH);
  m.doc() = "Task graphs, schedules and machines of shardweave. Times are integer nanoseconds, sizes integer bytes.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const sw::error& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });

  nb::class_<machine>(m, "Machine",
                      "A device that the library knows (a100, h100, h200, b200, gb200), and what its kernels and "
                      "collectives take.\n\n`collectives` is \"nccl\" (NCCL's own model) or \"fitted\"; "
                      "`devices_per_node` 0 is the device's own. An unknown name is a ValueError that lists the known.")
      .def(nb::init<const std::string&, const std::string&, std::int64_t>(), nb::arg("device"),
           nb::arg("collectives") = "nccl", nb::arg("devices_per_node") = 0)
      .def_prop_ro("name", &machine::name, "Name of the device.")
      .def_prop_ro("collectives", &machine::collectives, "Which model prices collectives.")
      .def_prop_ro("devices_per_node", &machine::devices_per_node, "Consecutive ranks that share a node.")
      .def("__repr__",
           [](const machine& on) {
             return "Machine('" + on.name() + "', collectives='" + on.collectives() +
                    "', devices_per_node=" + std::to_string(on.devices_per_node()) + ")";
           })
      .def("moving", &machine::moving, nb::arg("bytes"), "Nanoseconds of a kernel that reads and writes so much.")
      .def("streaming", &machine::streaming, nb::arg("bytes"), "The same within a kernel that is launched anyway.")
      .def("computing", &machine::computing, nb::arg("kind"), nb::arg("flops"), nb::arg("bytes"),
           nb::arg("element_bytes"),
           "Nanoseconds of a kernel of kind \"product\", \"attention\" or \"attention_backward\".")
      .def("communicating", &machine::communicating, nb::arg("kind"), nb::arg("bytes_in"), nb::arg("ranks"),
           "Nanoseconds of a collective (\"all_gather\", ...) to which each of these ranks gives so many bytes.");

  nb::class_<sw::schedule>(m, "Schedule", "An order of all tasks, and which collectives are launched as one.")
      .def_prop_ro(
          "order", [](const sw::schedule& s) { return s.order; }, "Numbers of all tasks.")
      .def_prop_ro("buckets", &members_of, "By bucket: the collectives that it launches as one.")
      .def_prop_ro(
          "within_memory", [](const sw::schedule& s) { return s.within_memory; },
          "Whether the peak keeps to the budget that was given.")
      .def_prop_ro(
          "statistics",
          [](const sw::schedule& s) {
            nb::dict d;
            for (const sw::statistic& x : s.statistics) d[x.name.c_str()] = x.value;
            return d;
          },
          "What the pass counted, by name.")
      .def("coalesced", &coalesced,
           "The same with buckets as groups of calls on their members' own buffers, not packed.");

  nb::class_<sw::task_graph>(m, "TaskGraph",
                             "What a step does, in its original order: computations, collectives, waits, memory. Tasks "
                             "are numbers from 0. `export_graph` and `GraphBuilder` make one; it never changes.")
      .def("__len__", &sw::task_graph::size)
      .def_prop_ro("content_hash", &sw::content_hash_text, "Equal for equal graphs, on every machine.")
      .def(
          "kind",
          [](const sw::task_graph& g, sw::task_index t) { return std::string(sw::to_string(g.kind(known(g, t)))); },
          nb::arg("task"), "input, compute, collective, wait, view, other or output.")
      .def(
          "name", [](const sw::task_graph& g, sw::task_index t) { return std::string(g.name_of(known(g, t))); },
          nb::arg("task"), "Name of the node that a task stands for.")
      .def(
          "duration", [](const sw::task_graph& g, sw::task_index t) { return g.duration(known(g, t)).count(); },
          nb::arg("task"), "Nanoseconds that a task takes by itself.")
      .def(
          "needs",
          [](const sw::task_graph& g, sw::task_index t) {
            std::vector<sw::task_index> all;
            for (const auto& e : g.dependencies().in(known(g, t))) all.push_back(e.source);
            return all;
          },
          nb::arg("task"), "The tasks that must come before.")
      .def(
          "plan", &planned, nb::arg("scheduling") = "best_known", nb::arg("memory") = nb::none(),
          nb::arg("buckets") = true, nb::arg("seed") = 1, nb::arg("seconds") = nb::none(),
          nb::call_guard<nb::gil_scoped_release>(),
          "A schedule by \"best_known\", \"prefetch\" (faster) or \"in_order\".\n\n`memory` is the budget of the "
          "peak in bytes (default: that of the original order). Equal arguments give equal schedules, unless `seconds` "
          "limits the search.")
      .def("schedule", &stated, nb::arg("order"), nb::arg("buckets") = std::vector<std::vector<sw::task_index>>{},
           "A schedule of the caller's own. A ValueError says what makes it invalid.")
      .def(
          "simulate",
          [](const sw::task_graph& g, const sw::schedule* s) {
            return figures(s ? sw::simulate(g, *s) : sw::simulate(g));
          },
          nb::arg("schedule") = nb::none(),
          "What a schedule, or the original order, takes. In nanoseconds: end_to_end, compute, packing, communication, "
          "exposed and hidden (parts of communication), tail (after the last computation); in bytes: peak; counts: "
          "collectives (launches), hidden_count.")
      .def(
          "bound", [](const sw::task_graph& g) { return sw::bound_of_all_bucketings(g).value().count(); },
          "No order with packed buckets, or none, ends before so many nanoseconds.")
      .def("signature", &sw::launch_signature, nb::arg("schedule"),
           "By group: a hash of what is launched on it, in order. Ranks with equal ones launch alike.")
      .def(
          "storage_bytes",
          [](const sw::task_graph& g) {
            std::vector<std::int64_t> all;
            for (const sw::storage& x : g.storages()) all.push_back(x.size.count());
            return all;
          },
          "Sizes of all storages.")
      .def("recomputed", &recomputed, nb::arg("block_of"), nb::arg("limit"), nb::arg("least"),
           "What a training graph keeps for its backward part and makes again within a limit of bytes; `BlockMemory` "
           "asks this. `block_of` has a number for each task, -1 for none.");

  nb::class_<graph_builder>(m, "GraphBuilder", "Makes a task graph, one task after the other in their original order.")
      .def(nb::init<std::string, const machine&>(), nb::arg("name"), nb::arg("machine"), nb::keep_alive<1, 3>())
      .def("group", &graph_builder::group, nb::arg("name"), nb::arg("ranks"),
           "The number of a new group of ranks, which is a channel of its own.")
      .def("storage", &graph_builder::storage, nb::arg("bytes"), "The number of a new piece of memory.")
      .def("task", &graph_builder::task, nb::arg("name"), nb::arg("op"), nb::arg("kind"), nb::arg("duration"),
           nb::arg("inputs"), nb::arg("after"), nb::arg("completes"), nb::arg("outputs"), nb::arg("role"),
           nb::arg("phase") = "",
           "The number of a new task of a kind (`TaskGraph.kind`). `inputs` and `after` are tasks before it, "
           "`completes` "
           "the collective that a wait waits for (-1: none), `outputs` size and storage of what it gives.")
      .def("collective", &graph_builder::collective, nb::arg("name"), nb::arg("op"), nb::arg("kind"), nb::arg("group"),
           nb::arg("bytes_in"), nb::arg("bytes_out"), nb::arg("dtype"), nb::arg("reduce"), nb::arg("duration").none(),
           nb::arg("inputs"), nb::arg("after"), nb::arg("outputs"), nb::arg("role"), nb::arg("phase") = "",
           "The number of a new collective; without a duration the machine's model gives it.")
      .def("build", &graph_builder::build,
           "The graph; a ValueError says what is wrong with it. The builder is empty then.");

  bind_placement(m);
  bind_problem(m);
}

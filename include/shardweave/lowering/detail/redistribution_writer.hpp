#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_step.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Writes tasks, storages, and the steps of redistributions.

namespace shardweave::inline v0::detail {

/// A value on one device: the task that made it, its sharding and its storage.
struct piece {
  task_index task = no_index;
  sharding where = {};
  std::uint32_t storage = no_index;
};

class redistribution_writer {
 public:
  redistribution_writer(redistributor& redistribution, const lowering_options& options)
      : redistribution_(redistribution), options_(options) {}

  task_index add_task(task_record task, task_origin origin) {
    tasks_.push_back(std::move(task));
    origin_.push_back(origin);
    return static_cast<task_index>(tasks_.size() - 1);
  }
  [[nodiscard]] std::uint32_t new_storage(bytes size) { return builder_.add_storage(size); }
  /// Adds a tensor to the results of a task, in a storage of its own or in `shared`.
  piece add_output(task_record& task, const tensor& value, const sharding& where, std::uint32_t shared = no_index) {
    const device_mesh& mesh = redistribution_.mesh();
    output_record out;
    out.dtype = name_of(value.type);
    out.shape = local_shape(value.shape, where, mesh);
    if (!where.is_none()) {  // otherwise it is not on the device and takes no memory
      out.size = local_size(value, where, mesh);
      out.storage = shared != no_index ? shared : new_storage(out.size);
    }
    task.outputs.push_back(out);
    return {no_index, where, out.storage};
  }

  /// Redistributes a value step by step; steps that were written for another consumer are shared.
  /// \param when  the phase that needs the value
  /// \pre both shardings are of the tensor, and they differ
  /// \throws error (input) if there is no redistribution between them
  [[nodiscard]] piece redistribute(const operation& user, const tensor& value, piece at, const sharding& to, phase when,
                                   task_origin origin) {
    const redistribution plan = redistribution_.plan(value, at.where, to);
    if (!(std::isfinite(plan.cost_us)))
      refuse(error_category::input, "operation '" + user.name + "', argument " + std::to_string(origin.argument) +
                                        ": no way leads from " + at.where.to_string() + " to " + to.to_string());
    const bool apart = !options_.share_across_phases && when == phase::backward;
    for (const redistribution_step& step : plan.steps) {
      const sharding next = at.where.with(step.mesh_dim, step.to);
      const auto [known, fresh] = done_.try_emplace({at.task, at.storage, next.key(), apart});
      if (fresh) known->second = take(user, value, at, step, next, when, origin);
      at = known->second;
    }
    return at;
  }

  [[nodiscard]] lowered_graph finish(const std::string& name, std::vector<task_index> task_of) && {
    const device_mesh& mesh = redistribution_.mesh();
    const compute_profile& compute = redistribution_.compute();
    builder_.name = name;
    builder_.device.name = compute.device.name;
    builder_.device.dram_bytes_per_ns = compute.device.memory_bandwidth * compute.memory.peak / 1e9;
    builder_.device.bf16_tflops = compute.device.rate(arithmetic::f16) / 1e12;
    builder_.device.flop_efficiency = compute.product[static_cast<std::size_t>(arithmetic::f16)].peak;
    builder_.device.gpus_per_node = compute.device.devices_per_node;
    std::vector<group_shape> shapes;
    std::int64_t stride = mesh.size();
    for (std::size_t d = 0; d < mesh.rank(); ++d) {
      stride /= mesh.extent(d);
      process_group group{.id = static_cast<std::int64_t>(d), .name = mesh.name(d), .size = mesh.extent(d)};
      group.stride = stride;
      for (std::int64_t r = 0; r < mesh.extent(d); ++r) group.ranks.push_back(r * stride);
      group.dim = mesh.name(d);
      builder_.add_group(std::move(group));
      shapes.push_back(shape_of(d));
    }
    for (duration_table& table : collective_tables(tasks_, redistribution_.collectives(), shapes, options_))
      builder_.add_table(std::move(table));
    for (const task_record& task : tasks_) builder_.add_task(task);
    return {with_inferred_tags(std::move(builder_).build()), std::move(origin_), std::move(task_of)};
  }

 private:
  [[nodiscard]] group_shape shape_of(std::size_t d) const {
    return redistribution_.mesh().group_along(d, redistribution_.compute().device.devices_per_node);
  }

  /// Writes one step: a slice, or [pack] collective, wait [unpack].
  piece take(const operation& user, const tensor& value, const piece& at, const redistribution_step& step,
             const sharding& next, phase when, task_origin origin) {
    const device_mesh& mesh = redistribution_.mesh();
    const std::string name = user.name + (origin.again ? ".again." : ".") + std::to_string(origin.argument) + ".";
    const lowered_step parts = lowered(step, redistribution_);
    if (!parts.is_collective) {
      task_record slice{.name = name + "slice", .op = "slice", .kind = task_kind::view, .inputs = {at.task}};
      return add(std::move(slice), value, next, at.storage, when, origin);
    }
    piece now = at;
    if (parts.packs) now = copy(name + "pack", parts.pack, value, now, when, origin);

    const std::string_view op = name_of(*step.op);
    const std::string dim = "." + mesh.name(step.mesh_dim);
    task_record launch{.name = name + std::string(op) + dim,
                       .op = std::string(op),
                       .kind = task_kind::collective,
                       .duration = parts.launch,
                       .inputs = {now.task}};
    launch.collective = collective_record{.op = *step.op,
                                          .group = static_cast<std::uint32_t>(step.mesh_dim),
                                          .bytes_in = step.before,
                                          .bytes_out = *step.op == collective::all_gather ? parts.largest : step.after,
                                          .dtype = std::string(name_of(value.type)),
                                          .reduce = reduction_of(step)};
    now = add(std::move(launch), value, next, no_index, when, origin);

    task_record wait{.name = name + "wait" + dim, .op = "wait", .kind = task_kind::wait, .inputs = {now.task}};
    wait.completes = now.task;
    now = add(std::move(wait), value, next, options_.wait_shares_storage ? now.storage : no_index, when, origin);
    if (parts.unpacks) now = copy(name + "unpack", parts.unpack, value, now, when, origin);
    return now;
  }

  [[nodiscard]] static std::string reduction_of(const redistribution_step& step) {
    if (!step.from.is_partial()) return "none";
    return std::string(name_of(step.from.kind() == partial_kind::mask ? partial_kind::sum : step.from.kind()));
  }

  piece copy(std::string name, nanoseconds time, const tensor& value, const piece& from, phase when,
             task_origin origin) {
    task_record task{
        .name = std::move(name), .op = "copy", .kind = task_kind::other, .duration = time, .inputs = {from.task}};
    return add(std::move(task), value, from.where, no_index, when, origin);
  }
  piece add(task_record task, const tensor& value, const sharding& where, std::uint32_t shared, phase when,
            task_origin origin) {
    task.when = when;
    piece made = add_output(task, value, where, shared);
    made.task = add_task(std::move(task), origin);
    return made;
  }

  redistributor& redistribution_;
  lowering_options options_;
  task_graph_builder builder_;
  std::vector<task_record> tasks_;
  std::vector<task_origin> origin_;
  /// Steps that were written: from a task and storage, to a sharding, and whether for the backward phase alone.
  std::map<std::tuple<task_index, std::uint32_t, std::uint64_t, bool>, piece> done_;
};

}  // namespace shardweave::inline v0::detail

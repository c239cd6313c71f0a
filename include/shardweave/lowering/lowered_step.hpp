#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>

/// \file
/// The tasks of one step of a redistribution: copies on the compute stream, with a collective between them.

namespace shardweave::inline v0 {

/// The times of a step's tasks, which add up to `redistribution_step::cost_us`. A slice takes no time and has no
/// collective.
struct lowered_step {
  nanoseconds pack{};    ///< copies before the collective
  nanoseconds launch{};  ///< the collective, launched alone
  nanoseconds unpack{};  ///< the copy after it
  bytes largest{};       ///< the larger of a rank's buffers
  bool is_collective = false;
  bool packs = false, unpacks = false;  ///< whether there are such copies, even too short to count
};

/// Whether a step has a collective; not so a slice, or a group of one rank.
[[nodiscard]] inline bool is_collective(const redistribution_step& step, const device_mesh& mesh) {
  return step.op && mesh.extent(step.mesh_dim) > 1;
}

/// Splits the cost of a step. Only a gather of pieces along a dimension other than the first needs a copy afterwards,
/// to put them in place; all other copies come before the collective. Lowering and its bounds (`lowered_work`) both use
/// these times.
[[nodiscard]] inline lowered_step lowered(const redistribution_step& step, const redistributor& by) {
  lowered_step made;
  const device_mesh& mesh = by.mesh();
  if (!is_collective(step, mesh)) return made;
  made.is_collective = true;
  const group_shape group = mesh.group_along(step.mesh_dim, by.compute().device.devices_per_node);
  made.largest = largest_buffer(*step.op, step.before, group);
  const double time = by.collectives().estimate(*step.op, made.largest, group).time_us;
  const bool arrives_apart = step.from.is_sharded() && step.from.dim() != 0;
  const double unpack = arrives_apart ? by.compute().memory_time(made.largest * 2) : 0;
  const double pack = step.cost_us - time - unpack;
  made.packs = pack > 1e-6 * step.cost_us;
  made.unpacks = unpack > 0;
  if (made.packs) made.pack = from_microseconds(pack);
  made.launch = from_microseconds(time);
  made.unpack = from_microseconds(unpack);
  return made;
}

}  // namespace shardweave::inline v0

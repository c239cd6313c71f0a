#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>

/// \file
/// What one step of a redistribution becomes: copies on the compute stream, a collective between them.

namespace shardweave::inline v0 {

/// The tasks of a step, `redistribution_step::cost_us` in parts. A slice takes nothing and has no collective.
struct lowered_step {
  nanoseconds pack{};    ///< of the copies before the collective
  nanoseconds launch{};  ///< of the collective, launched alone
  nanoseconds unpack{};  ///< of the copy after it
  bytes largest{};       ///< the larger of a rank's buffers
  bool is_collective = false;
  bool packs = false, unpacks = false;  ///< whether there are such copies, be they too short to count
};

/// Whether a step has a collective: a slice has none, nor has one among a single rank.
[[nodiscard]] inline bool is_collective(const redistribution_step& step, const device_mesh& mesh) {
  return step.op && mesh.extent(step.mesh_dim) > 1;
}

/// Pieces that arrive along a dimension other than the first have to be put in place afterwards; all other copies come
/// before. Both lowering and what bounds it (`lowered_work`) take their prices from here.
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

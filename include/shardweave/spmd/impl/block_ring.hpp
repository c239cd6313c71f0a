#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <algorithm>
#include <string>

/// \file
/// What rings of blocks take.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::optional<block_ring> ring_of(const operation_view& local, const mesh_strategy& placed,
                                                    const ring_arguments& round, double block_us,
                                                    const device_mesh& mesh, const compute_profile& compute) {
  std::optional<block_ring> made;
  const sharding& where = placed.inputs[round.first];
  for (std::size_t d = 0; d < where.size(); ++d) {
    if (where[d] != dim_placement::shard(round.dim) || mesh.extent(d) == 1) continue;
    if (made)
      refuse(error_category::input, "operation '" + local.op.name + "': its argument " + std::to_string(round.first) +
                                        " would go round two mesh dimensions, expected one");
    made = block_ring{.mesh_dim = d, .blocks = mesh.extent(d), .block_us = block_us};
  }
  if (!made) return made;
  const auto in_f32 = [](const tensor& t) { return bytes(t.element_count() * element_size(dtype::f32)); };
  for (std::size_t a = round.first; a < round.first + round.count; ++a) made->part += local.inputs[a].size();
  bytes own, given;  // results that stay, and those that go round, as the operation gives them
  for (std::size_t k = 0; k < local.outputs.size(); ++k) {
    if (placed.outputs[k].is_none() || !placed.outputs[k][made->mesh_dim].is_sharded()) continue;
    const bool goes = k >= round.first_sum && k < round.first_sum + round.sums;
    (goes ? made->sums : made->stays) += in_f32(local.outputs[k]);
    (goes ? given : own) += local.outputs[k].size();
  }
  made->merge_us = compute.memory_time(own + made->stays * 2);
  if (made->sums > bytes(0)) {
    made->add_us = compute.memory_time(made->sums * 3);
    made->finish_us = compute.memory_time(made->sums + given);
  }
  return made;
}

SHARDWEAVE_INLINE double unhidden_us(const block_ring& ring, double part_us, double sums_us) {
  double clock = 0, channel = 0, part_there = 0, sums_there = 0;
  const auto send = [&](double time, double& there) { there = channel = std::max(channel, clock) + time; };
  for (std::int64_t k = 0; k < ring.blocks; ++k) {
    clock = std::max(clock, part_there);
    if (k + 1 < ring.blocks) send(part_us, part_there);
    clock += ring.block_us + (k > 0 ? ring.merge_us : 0);
    if (ring.sums == bytes(0)) continue;
    if (k > 0) clock = std::max(clock, sums_there) + ring.add_us;
    send(sums_us, sums_there);
  }
  if (ring.sums > bytes(0)) clock = std::max(clock, sums_there) + ring.finish_us;
  return std::max(0.0, clock - ring.blocks_us() - ring.sums_us());
}

}  // namespace shardweave::inline v0

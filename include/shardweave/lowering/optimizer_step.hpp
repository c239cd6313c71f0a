#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>

#include <cstdint>
#include <span>

/// \file
/// Work after the backward part: gradient norm, clipping, AdamW, and gathers of the updated parameters.

namespace shardweave::inline v0 {

/// AdamW with parameters, gradients and both moments in f32: it reads 16 bytes for each parameter and writes 12.
/// Source: `torch.optim.AdamW(fused=True)`; norm and scaling as `torch.nn.utils.clip_grad_norm_`.
struct optimizer_options {
  double update_bytes = 28;   ///< bytes moved for each parameter that a device updates
  double gradient_bytes = 4;  ///< bytes of a gradient element
  /// Whether the norm of all gradients is computed, which waits for all of them, and a pass scales them.
  bool clips = true;
  /// Bytes gathered after the update for each parameter that a device computes with: 0 where parameters stay sharded, 2
  /// for ZeRO-1 in bf16.
  double gathered_bytes = 0;
  /// Bytes moved for each gradient element of each micro-batch after the first: two are read and their sum is written;
  /// 0 where the product that makes a gradient accumulates it.
  double accumulate_bytes = 12;
  /// Whether gradients are accumulated before they are reduced: then for all parameters that a device computes with,
  /// not only for those that it updates.
  bool adds_whole = false;
  double state_bytes = 8;  ///< bytes for each parameter that a device updates, besides the parameter
};

/// Times of the parts of an optimizer step. The norm is a barrier: nothing of it overlaps the backward part, and the
/// next forward part waits for the update.
struct optimizer_work {
  nanoseconds norm;
  nanoseconds reduction;  ///< all-reduce of the norm, over all devices that shard parameters
  nanoseconds clipping;
  nanoseconds update;
  nanoseconds gathering;
  nanoseconds accumulation;  ///< of the gradients of one further micro-batch; not part of `all`
  /// Time after the last micro-batch.
  [[nodiscard]] nanoseconds all() const { return norm + reduction + clipping + update + gathering; }
};

/// The time of gathering so many elements.
/// \param shared  the group over which they are sharded
[[nodiscard]] inline nanoseconds gathering_time(double elements, group_shape shared, const any_collectives& collectives,
                                                double element_bytes) {
  const bytes all(static_cast<std::int64_t>(elements * element_bytes));
  return from_microseconds(collectives.estimate(collective::all_gather, all, shared).time_us);
}

/// The times of an optimizer step.
/// \param updated   number of parameters that this device updates
/// \param computed  number of parameters that it computes with, which include those
/// \param shared    groups over which gradients are sharded and the norm is reduced; updated parameters are gathered
///                  over the first one
[[nodiscard]] inline optimizer_work work_of_optimizer(double updated, double computed,
                                                      std::span<const group_shape> shared,
                                                      const compute_profile& compute,
                                                      const any_collectives& collectives,
                                                      const optimizer_options& options = {}) {
  const auto moved = [&](double parameters, double per_parameter) {
    if (!(per_parameter > 0)) return nanoseconds();
    return from_microseconds(compute.memory_time(bytes(static_cast<std::int64_t>(parameters * per_parameter))));
  };
  const auto moving = [&](double per_parameter) { return moved(updated, per_parameter); };
  optimizer_work work;
  if (options.clips) {
    work.norm = moving(options.gradient_bytes);
    for (const group_shape& group : shared)
      work.reduction += from_microseconds(collectives.estimate(collective::all_reduce, bytes(4), group).time_us);
    work.clipping = moving(2 * options.gradient_bytes);
  }
  work.update = moving(options.update_bytes);
  work.accumulation = moved(options.adds_whole ? computed : updated, options.accumulate_bytes);
  if (options.gathered_bytes > 0 && !shared.empty())
    work.gathering = gathering_time(computed, shared.front(), collectives, options.gathered_bytes);
  return work;
}

/// The same over one group.
[[nodiscard]] inline optimizer_work work_of_optimizer(double updated, double computed, group_shape shared,
                                                      const compute_profile& compute,
                                                      const any_collectives& collectives,
                                                      const optimizer_options& options = {}) {
  return work_of_optimizer(updated, computed, std::span(&shared, 1), compute, collectives, options);
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>

#include <cstdint>
#include <span>

/// \file
/// What follows the backward part: gradient norm, clipping, AdamW, and the gathers of parameters that it updated.

namespace shardweave::inline v0 {

/// AdamW with parameters, gradients and both moments in f32: it reads 16 bytes for each parameter and writes 12.
/// Source: `torch.optim.AdamW(fused=True)`; norm and scaling as `torch.nn.utils.clip_grad_norm_`.
struct optimizer_options {
  double update_bytes = 28;   ///< moved for each parameter that a device updates
  double gradient_bytes = 4;  ///< of one gradient element
  bool clips = true;          ///< the norm of all gradients, which waits for all of them, and a pass that scales them
  /// Gathered after the step, of each parameter that a device computes with: 0 where parameters stay shared out, 2 for
  /// ZeRO-1 in bf16.
  double gathered_bytes = 0;
  /// Moved for each gradient element of a further micro-batch: two are read, their sum is written; 0 where the product
  /// that gives a gradient adds it.
  double accumulate_bytes = 12;
  /// Gradients are added up before they are reduced: those of all parameters that a device computes with, not of those
  /// alone that it updates.
  bool adds_whole = false;
  double state_bytes = 8;  ///< kept for each parameter that a device updates, beside the parameter itself
};

/// How long each part takes. The norm is a barrier: nothing of this runs beside the backward part, and the next forward
/// part waits for the update.
struct optimizer_work {
  nanoseconds norm;
  nanoseconds reduction;  ///< of the norm, over all devices that share the parameters out
  nanoseconds clipping;
  nanoseconds update;
  nanoseconds gathering;
  nanoseconds accumulation;  ///< of the gradients of one further micro-batch; not among `all`
  /// After the last micro-batch.
  [[nodiscard]] nanoseconds all() const { return norm + reduction + clipping + update + gathering; }
};

/// What gathering so many elements takes.
/// \param shared  the devices that share them out
[[nodiscard]] inline nanoseconds gathering_time(double elements, group_shape shared, const any_collectives& collectives,
                                                double element_bytes) {
  const bytes all(static_cast<std::int64_t>(elements * element_bytes));
  return from_microseconds(collectives.estimate(collective::all_gather, all, shared).time_us);
}

/// \param updated   parameters that this device updates
/// \param computed  parameters that it computes with, of which it updates a part
/// \param shared    groups of devices that share the gradients out, over each of which the norm is reduced; the first
///                  one gathers
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

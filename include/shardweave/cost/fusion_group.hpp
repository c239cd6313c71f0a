#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/roofline.hpp>

#include <cstdint>
#include <unordered_map>
#include <utility>

/// \file
/// The work of operations that a compiler runs as one kernel.

namespace shardweave::inline v0 {

/// Collects the reads and writes of operations that are fused, in the order in which they run: what one writes and only
/// they read never leaves the chip, and what several of them read is read once. Tensors are known by any number.
///
/// Source of the rule: fusion regions of PyTorch Inductor's overlap scheduling (outside inputs plus outside outputs
/// over the bandwidth).
class fusion_group {
 public:
  fusion_group& reads(std::uint64_t tensor, bytes size) {
    if (leaves_.try_emplace(tensor, false).second) moved_ += size;
    return *this;
  }

  /// \param used_outside  whether anything beyond the group reads the tensor
  fusion_group& writes(std::uint64_t tensor, bytes size, bool used_outside) {
    bool& leaves = leaves_.try_emplace(tensor, false).first->second;
    if (used_outside && !std::exchange(leaves, true)) moved_ += size;
    return *this;
  }

  /// The operations also do so many floating point operations, which add up.
  fusion_group& computes(double flops, arithmetic kind = arithmetic::f32) {
    flops_ += flops;
    kind_ = kind;
    return *this;
  }

  /// What the kernel does: all operations, and only the traffic that crosses the group's border. Element-wise
  /// arithmetic is far below the roofline's ridge and does not count as such unless told by `computes`.
  [[nodiscard]] device_work work() const { return {flops_, moved_, kind_}; }

 private:
  std::unordered_map<std::uint64_t, bool> leaves_;  ///< of tensors seen: whether its way out was counted
  bytes moved_{};
  double flops_ = 0;
  arithmetic kind_ = arithmetic::f32;
};

}  // namespace shardweave::inline v0

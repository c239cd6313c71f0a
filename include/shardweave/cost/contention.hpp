#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

/// \file
/// What computation and communication do to each other when they run at the same time.

namespace shardweave::inline v0 {

/// A kernel as contention sees it.
struct running_kernel {
  std::int64_t blocks = 0;          ///< thread blocks; 0 = not known
  double blocks_per_processor = 1;  ///< how many run on one multiprocessor at a time
  double memory_share = 0;          ///< of the time that memory is busy when the kernel runs alone: 1 if memory-bound
};

/// A collective as contention sees it.
struct running_collective {
  double channels = 0;        ///< multiprocessors that it occupies (`collective_estimate::channels`); 0 = copy engines
  double wire_bandwidth = 0;  ///< GB/s (10^9) that a device sends
};

/// What computation and a collective that run at the same time do to each other: three independent terms, each of which
/// can be switched off.
///  - processors: the collective occupies c = `channels` multiprocessors of M = `processors`. A kernel of b thread
///    blocks, of which o run on one multiprocessor at a time, then takes ceil(b / (o (M - c))) waves in place of
///    ceil(b / (o M)); one of which b is not known is stretched by M / (M - c);
///  - memory: every byte on the wire costs `memory_per_wire` bytes of device memory traffic. If that is a share t of
///    the memory bandwidth (0.95 at most), the part `memory_share` of the kernel's time is stretched by 1 / (1 - t);
///  - base: `compute_factor`, for measured slowdowns that no term explains; 1 by default.
///
/// Published for comparison: computation 18.9 % slower on average and 40 % at most under training collectives (arXiv
/// 2507.03114); matrix products 30 to 40 % slower under NCCL on H100 (PyTorch pull request 179937); a product of 132
/// blocks under a 24-channel all-gather falls from 80 to 47 % of peak, a factor of 1.7 (NVIDIA forum, thread 337991),
/// where whole waves say 2.
struct contention {
  double processors = 132;         ///< multiprocessors of the device
  double memory_bandwidth = 3350;  ///< GB/s (10^9)
  double memory_per_wire = 2.5;    ///< receive, reduce, forward: 2 to 3
  bool counts_processors = true;
  bool counts_memory = true;
  double compute_factor = 1;       ///< further slowdown of computation while a collective runs
  double collective_factor = 1.1;  ///< slowdown of a collective while computation runs; no published figure is known

  /// How many times longer the kernel takes while the collective runs; at least 1.
  [[nodiscard]] double slowdown(const running_kernel& kernel, const running_collective& c) const {
    double factor = std::max(compute_factor, 1.0);
    const double left = std::max(processors - c.channels, 1.0);
    if (counts_processors && c.channels > 0) {
      const double room = std::max(kernel.blocks_per_processor, 1e-9);
      const double blocks = static_cast<double>(kernel.blocks);
      factor *= kernel.blocks > 0 ? std::ceil(blocks / (room * left)) / std::ceil(blocks / (room * processors))
                                  : processors / left;
    }
    if (counts_memory && kernel.memory_share > 0 && memory_bandwidth > 0) {
      const double taken = std::min(memory_per_wire * c.wire_bandwidth / memory_bandwidth, 0.95);
      // only the part of the kernel in which memory is the limit gets longer
      factor *= 1 + std::min(kernel.memory_share, 1.0) * (1 / (1 - taken) - 1);
    }
    return factor;
  }

  /// How many times longer a collective takes while computation runs; at least 1.
  [[nodiscard]] double collective_slowdown() const { return std::max(collective_factor, 1.0); }
};

}  // namespace shardweave::inline v0

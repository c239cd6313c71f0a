#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/nccl_handles.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

/// \file
/// Computation on a device stood in for by what needs no compiler for the device, such as copies inside its memory.

namespace shardweave::inline v0 {

/// What stands in for computation on a device.
struct nccl_stand_in {
  std::function<std::int64_t(nanoseconds duration)> pieces = {};  ///< commands that stand in for a duration
  std::function<void(cudaStream_t stream, nanoseconds duration)> enqueue = {};  ///< puts them on a stream
};

/// Copies of a known speed. A duration becomes a number of bytes when it is asked for, so that work that shares the
/// device's memory with communication takes longer, as work that memory limits would.
class nccl_copy_work {
 public:
  /// Measures how fast the current device copies: the fastest of several runs.
  /// \param largest  of one copy; twice as much memory is held
  /// \pre largest is at least 2 bytes
  explicit nccl_copy_work(cudaStream_t stream, bytes largest = mebibytes(128))
      : largest_(largest),
        from_(make_device_memory(static_cast<std::size_t>(largest.count()))),
        to_(make_device_memory(static_cast<std::size_t>(largest.count()))) {
    constexpr int runs = 5;
    check_cuda(cudaMemsetAsync(from_.data(), 0, from_.size(), stream), "cudaMemsetAsync");
    const double least = detail::fastest_of(stream, 64, runs, [&] { copy(stream, bytes(1)); });
    const double most = detail::fastest_of(stream, 4, runs, [&] { copy(stream, largest_); });
    floor_ns_ = least;
    bytes_per_ns_ = static_cast<double>(largest_.count() - 1) / std::max(most - least, 1e-3);
  }

  /// What the smallest copy takes: no piece of work is shorter, unless it is none.
  [[nodiscard]] nanoseconds floor() const { return nanoseconds(std::llround(floor_ns_)); }
  /// Bytes read and written by a copy, both counted, in a nanosecond.
  [[nodiscard]] double dram_bytes_per_ns() const { return 2 * bytes_per_ns_; }
  /// How many copies stand in for a duration: none for less than half of what the smallest takes.
  [[nodiscard]] std::int64_t copies(nanoseconds duration) const {
    const auto wanted = static_cast<double>(duration.count());
    if (wanted <= 0 || wanted < floor_ns_ / 2) return 0;
    const double one = floor_ns_ + static_cast<double>(largest_.count() - 1) / bytes_per_ns_;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(wanted / one - 1e-9)));
  }
  /// Of each of the copies that stand in for a duration.
  [[nodiscard]] bytes size(nanoseconds duration) const {
    const std::int64_t n = copies(duration);
    if (n == 0) return {};
    const double each = static_cast<double>(duration.count()) / static_cast<double>(n) - floor_ns_;
    return std::clamp(bytes(1 + std::llround(each * bytes_per_ns_)), bytes(1), largest_);
  }
  /// Puts work on a stream that takes a duration where nothing disturbs it.
  void enqueue(cudaStream_t stream, nanoseconds duration) const {
    const std::int64_t n = copies(duration);
    const bytes each = size(duration);
    for (std::int64_t i = 0; i < n; ++i) copy(stream, each);
  }

 private:
  void copy(cudaStream_t stream, bytes size) const {
    check_cuda(cudaMemcpyAsync(to_.data(), from_.data(), static_cast<std::size_t>(size.count()),
                               cudaMemcpyDeviceToDevice, stream),
               "cudaMemcpyAsync");
  }

  bytes largest_;
  device_memory from_, to_;
  double floor_ns_ = 0;
  double bytes_per_ns_ = 1;
};

}  // namespace shardweave::inline v0

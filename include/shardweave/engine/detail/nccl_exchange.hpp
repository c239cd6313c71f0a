#pragma once

#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/nccl_launch.hpp>
#include <shardweave/engine/payload.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

namespace shardweave::inline v0::detail {

/// Two numbers of every rank, of which all get the larger ones. Holds the few bytes that this takes.
class nccl_exchange {
 public:
  nccl_exchange() : reached_(make_event()), device_(make_device_memory(size)), host_(make_pinned_memory(size)) {}

  /// Returns when every rank is here. Every rank calls, and nothing else is put on the stream meanwhile.
  /// \throws what `waiting` throws, which is called again and again; error (backend) if a call fails
  void larger(double (&values)[2], const nccl_communicator& world, cudaStream_t stream, const nccl_waiting& waiting) {
    std::copy_n(values, 2, reinterpret_cast<double*>(host_.data()));
    check_cuda(cudaMemcpyAsync(device_.data(), host_.data(), size, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    const nccl_piece piece{device_.data(), device_.data(), 2};
    const ncclResult_t code =
        launch_on(world, stream, collective::all_reduce, element_type::f64, reduce_op::max, std::span(&piece, 1));
    world.settle(code, "ncclAllReduce", waiting);
    check_cuda(cudaMemcpyAsync(host_.data(), device_.data(), size, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    record(reached_.get(), stream);
    for (const auto since = std::chrono::steady_clock::now(); !is_reached(reached_.get());) waiting({}, since);
    std::copy_n(reinterpret_cast<const double*>(host_.data()), 2, values);
  }

 private:
  static constexpr std::size_t size = 2 * sizeof(double);
  device_event reached_;
  device_memory device_;
  pinned_memory host_;
};

}  // namespace shardweave::inline v0::detail

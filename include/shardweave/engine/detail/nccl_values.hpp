#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/detail/block_pool.hpp>
#include <shardweave/engine/detail/nccl_channels.hpp>
#include <shardweave/engine/detail/nccl_queue.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/payload.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The buffers of collectives on a device, and the values in them.

namespace shardweave::inline v0::detail {

/// Lends buffers, copies between those of a bucket and those of its members, writes what ranks send and compares what
/// they received. Values go through host memory, which is kept until the device is done with it.
class nccl_values {
 public:
  /// \pre both outlive this
  nccl_values(nccl_queue& queue, nccl_channels& channels, bool check)
      : queue_(queue), channels_(channels), check_(check) {}

  void check(bool on) { check_ = on; }
  [[nodiscard]] std::size_t checked() const { return checked_; }

  // --- buffers
  /// Those of the calls of an operation.
  void lend(queued_operation& o) {
    for (const std::int64_t unit : o.units()) {
      o.sent.push_back(take(o.shape, o.shape.send_blocks() * unit));
      o.received.push_back(take(o.shape, o.shape.receive_blocks() * unit));
    }
  }
  void release(queued_operation& o) {
    give(o.sent);
    give(o.received);
  }
  /// A buffer for each member.
  [[nodiscard]] std::vector<device_memory> lend_parts(const payload_shape& shape, std::int64_t blocks) {
    std::vector<device_memory> parts;
    for (const std::int64_t unit : shape.units) parts.push_back(take(shape, blocks * unit));
    return parts;
  }
  void give(std::vector<device_memory>& buffers) {
    for (device_memory& m : buffers) memory_.give(std::move(m));
    buffers.clear();
  }
  /// Between the members' buffers and the bucket's, whose blocks hold the units of all members: a copy for each member.
  void copy(const payload_shape& shape, std::int64_t blocks, std::span<const device_memory> parts, std::byte* bucket,
            bool into) {
    const std::int64_t width = width_of(shape.type);
    const auto row = static_cast<std::size_t>(shape.unit * width);
    std::size_t at = 0;
    for (std::size_t m = 0; m < shape.units.size(); ++m) {
      const auto unit = static_cast<std::size_t>(shape.units[m] * width);
      std::byte* const in_bucket = bucket + at;
      at += unit;
      if (unit == 0) continue;
      const auto rows = static_cast<std::size_t>(blocks);
      check_cuda(into ? cudaMemcpy2DAsync(in_bucket, row, parts[m].data(), unit, unit, rows, cudaMemcpyDeviceToDevice,
                                          queue_.compute())
                      : cudaMemcpy2DAsync(parts[m].data(), unit, in_bucket, row, unit, rows, cudaMemcpyDeviceToDevice,
                                          queue_.compute()),
                 "cudaMemcpy2DAsync");
    }
  }

  // --- values, where they are checked
  /// Writes what this rank sends for each member, before the operation `ready`.
  void fill(const queued_operation& o, std::span<const device_memory> members, std::size_t ready, cudaStream_t stream) {
    if (!check_) return;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto size = static_cast<std::size_t>(o.shape.send_blocks() * o.shape.units[m] * width_of(o.shape.type));
      pinned_memory host = take_pinned(size);
      fill_payload(o.shape, m, channels_.position_on(o.channel), {host.data(), size});
      check_cuda(cudaMemcpyAsync(members[m].data(), host.data(), size, cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
      staged_.push_back({ready, std::move(host), queued_operation::none, 0});
    }
  }
  /// Gets what this rank received for each member, before the end of the operation `ready`.
  void fetch(std::size_t number, std::span<const device_memory> members, std::size_t ready, cudaStream_t stream) {
    if (!check_) return;
    const payload_shape& shape = queue_[number].shape;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto size = static_cast<std::size_t>(shape.receive_blocks() * shape.units[m] * width_of(shape.type));
      pinned_memory host = take_pinned(size);
      check_cuda(cudaMemcpyAsync(host.data(), members[m].data(), size, cudaMemcpyDeviceToHost, stream),
                 "cudaMemcpyAsync");
      staged_.push_back({ready, std::move(host), number, m});
    }
  }
  /// Compares results, the oldest first, until few enough bytes wait for it.
  void inspect_some() { inspect_down_to(std::size_t{1} << 28U); }
  void inspect_all() { inspect_down_to(0); }

 private:
  /// Host memory that the device reads or writes until an operation is done.
  struct staged {
    std::size_t ready = 0;  // with the end of this operation
    pinned_memory host = {};
    std::size_t collective = queued_operation::none;  // whose result this is, to be compared
    std::size_t member = 0;
  };

  [[nodiscard]] device_memory take(const payload_shape& shape, std::int64_t elements) {
    return memory_.take(static_cast<std::size_t>(elements * width_of(shape.type)), make_device_memory);
  }
  [[nodiscard]] pinned_memory take_pinned(std::size_t size) {
    pinned_memory host = pinned_.take(size, make_pinned_memory);
    staged_bytes_ += host.size();
    return host;
  }
  void inspect_down_to(std::size_t size) {
    while (staged_bytes_ > size && !staged_.empty()) {
      staged& s = staged_.front();
      channels_.poll_until([&] { return is_reached(queue_.end_of(s.ready)); });
      if (s.collective != queued_operation::none) inspect(queue_[s.collective], s.member, s.host);
      staged_bytes_ -= s.host.size();
      pinned_.give(std::move(s.host));
      staged_.pop_front();
    }
  }
  void inspect(const queued_operation& o, std::size_t member, const pinned_memory& host) {
    const std::string fault =
        payload_fault(o.shape, member, channels_.position_on(o.channel), {host.data(), host.size()});
    if (!fault.empty())
      refuse(error_category::backend, channels_.name(o) + ", task " + std::to_string(o.shape.tasks[member]) +
                                          ": rank " + std::to_string(channels_.world().rank()) + " " + fault);
    ++checked_;
  }

  nccl_queue& queue_;
  nccl_channels& channels_;
  bool check_;
  block_pool<device_memory> memory_;
  block_pool<pinned_memory> pinned_;
  std::deque<staged> staged_;
  std::size_t staged_bytes_ = 0;
  std::size_t checked_ = 0;
};

}  // namespace shardweave::inline v0::detail

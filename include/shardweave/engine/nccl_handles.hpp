#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Streams, events and memory of a device that free themselves, and errors instead of codes.

namespace shardweave::inline v0 {

static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 18, 1), "component nccl needs NCCL 2.18.1 or later");

/// Turns what the CUDA runtime returns into an error that names the call.
/// \throws error (backend) unless the code says success
inline void check_cuda(cudaError_t code, std::string_view call) {
  if (code == cudaSuccess) return;
  refuse(error_category::backend, std::string(call) + ": " + cudaGetErrorString(code));
}
/// Turns what NCCL returns into an error that names the call and tells what NCCL said last.
/// \throws error (backend) unless the code says success
inline void check_nccl(ncclResult_t code, std::string_view call, ncclComm_t comm = nullptr) {
  if (code == ncclSuccess) return;
  std::string text = std::string(call) + ": " + ncclGetErrorString(code);
  const char* last = ncclGetLastError(comm);
  if (last != nullptr && *last != '\0') text += " (" + std::string(last) + ")";
  refuse(error_category::backend, text);
}

/// How many devices this process sees.
/// \throws error (backend) with what the runtime says, where there is no driver
[[nodiscard]] inline int device_count() {
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}
/// Why nothing can run on a device here; empty where something can.
[[nodiscard]] inline std::string no_device_because() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return std::string("cudaGetDeviceCount: ") + cudaGetErrorString(code);
  return count > 0 ? "" : "cudaGetDeviceCount: there is no device";
}

/// From now on this thread works on that device; -1 = the rank modulo the devices that the process sees.
/// \returns the device.
/// \throws error (backend) if there is none
inline int use_device(int rank, int wanted) {
  const int count = device_count();
  const int device = wanted < 0 && count > 0 ? rank % count : wanted;
  if (device < 0 || device >= count)
    refuse(error_category::backend, "rank " + std::to_string(rank) + " cannot work on device " +
                                        std::to_string(device) + ", this process sees " + std::to_string(count));
  check_cuda(cudaSetDevice(device), "cudaSetDevice");
  return device;
}

/// Owns a handle of the CUDA runtime and frees it with `Free`.
template <class Handle, auto Free>
class device_handle {
 public:
  device_handle() = default;
  explicit device_handle(Handle owned) : handle_(owned) {}
  device_handle(device_handle&& other) noexcept : handle_(std::exchange(other.handle_, Handle())) {}
  device_handle& operator=(device_handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~device_handle() {
    if (handle_ != Handle()) static_cast<void>(Free(handle_));
  }
  [[nodiscard]] Handle get() const { return handle_; }

 private:
  Handle handle_ = Handle();
};

/// A stream of CUDA that is destroyed with its owner.
using device_stream = device_handle<cudaStream_t, cudaStreamDestroy>;
/// An event of CUDA that is destroyed with its owner.
using device_event = device_handle<cudaEvent_t, cudaEventDestroy>;

/// A stream of the current device that does not wait for the default stream.
[[nodiscard]] inline device_stream make_stream() {
  cudaStream_t made = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return device_stream(made);
}
/// An event of the current device that knows when it was reached.
[[nodiscard]] inline device_event make_event() {
  cudaEvent_t made = nullptr;
  check_cuda(cudaEventCreateWithFlags(&made, cudaEventDefault), "cudaEventCreateWithFlags");
  return device_event(made);
}
/// Whether everything before the event is done.
/// \throws error (backend) if something before it failed
[[nodiscard]] inline bool is_reached(cudaEvent_t event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) return false;
  check_cuda(code, "cudaEventQuery");
  return true;
}
/// From one event to another, which may be on another stream of the device. The runtime tells milliseconds as a float:
/// to the nanosecond up to 8 ms, to 60 ns up to a second.
/// \pre both are reached
[[nodiscard]] inline nanoseconds elapsed(cudaEvent_t from, cudaEvent_t to) {
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, from, to), "cudaEventElapsedTime");
  return nanoseconds(std::llround(static_cast<double>(ms) * 1e6));
}

/// Memory of a device, or of the host where the device reaches it.
template <auto Free>
class device_block {
 public:
  device_block() = default;
  device_block(void* owned, std::size_t size) : memory_(owned), size_(size) {}
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  device_handle<void*, Free> memory_ = {};
  std::size_t size_ = 0;
};
/// Memory of a device that is freed with its owner.
using device_memory = device_block<cudaFree>;
/// Memory of the host that devices read and write directly; freed with its owner.
using pinned_memory = device_block<cudaFreeHost>;

/// Of the current device.
[[nodiscard]] inline device_memory make_device_memory(std::size_t size) {
  void* made = nullptr;
  check_cuda(cudaMalloc(&made, size), "cudaMalloc of " + std::to_string(size) + " bytes");
  return {made, size};
}
/// Of the host, reached by all devices.
/// \throws error (backend) if CUDA gives none
[[nodiscard]] inline pinned_memory make_pinned_memory(std::size_t size) {
  void* made = nullptr;
  check_cuda(cudaHostAlloc(&made, size, cudaHostAllocDefault), "cudaHostAlloc of " + std::to_string(size) + " bytes");
  return {made, size};
}

}  // namespace shardweave::inline v0

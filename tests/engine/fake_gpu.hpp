#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A test double of the CUDA runtime, NCCL and cuBLAS: the functions that the engine calls, on host memory, linked in
/// place of the libraries. A stream is a thread with a queue. Time is a virtual clock of each stream, moved by what
/// copies and collectives cost by the settings, so that event times are exact and do not depend on the machine. It is
/// stricter than the originals: memory ranges are checked, and calls of ranks that do not fit together are reported.
///
/// A program without the double has none of these functions, and may have the tests that call them: it does not run
/// them.
///
/// It shows that calls come in the right order with the right arguments. It does not show how a device behaves.
namespace fake_gpu {

struct settings {
  int devices = 4;
  const char* name = "NVIDIA H100 80GB HBM3";
  std::int64_t copy_ns = 1000;  ///< of any copy; its bytes come on top
  std::int64_t copy_bytes_per_ns = 50;
  std::int64_t collective_ns = 10'000;  ///< of any launch; its bytes come on top
  std::int64_t collective_bytes_per_ns = 100;
  std::int64_t product_ns = 2000;               ///< of any product, unless its operations take longer
  std::int64_t product_flops_per_ns = 1 << 13;  ///< of products of many operations per byte
  std::int64_t product_half = 0;                ///< operations per byte at which half of that is reached
  int polls = 2;  ///< calls of a communicator that does not block are done when it was asked that many times
  /// A split says at once that it is done, and makes its communicator later all the same: NCCL 2.28 does so.
  bool splits_in_silence = false;
};

/// Forgets what was called and what was to go wrong.
[[gnu::weak]] void reset(const settings& chosen = {});
/// Handles, memory and communicators that were made and not let go since the program began.
[[gnu::weak]] std::size_t alive();
/// Names of the calls for a device, in their order, with what they are about ("ncclAllGather 128 ncclFloat16").
[[gnu::weak]] std::vector<std::string> calls(int device);

/// The next call of that name returns this code.
[[gnu::weak]] void fail_next(const std::string& name, int code);
/// Streams of a device do nothing more, until reset.
[[gnu::weak]] void hang(int device);
/// A bit of what a device receives in the next collective is turned.
[[gnu::weak]] void corrupt_next(int device);
/// Communicators of a device say that a remote process is gone, which they notice before anything else.
[[gnu::weak]] void lose_peer(int device);

}  // namespace fake_gpu

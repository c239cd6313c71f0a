#pragma once

#include <shardweave/engine/nccl_handles.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <thread>

namespace shardweave::inline v0::detail {

/// Puts an event on a stream.
inline void record(cudaEvent_t event, cudaStream_t stream) {
  check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
}

/// What one of several pieces of work in a row takes on a device, in nanoseconds: of the fastest of several runs,
/// because whatever disturbs makes it slower. `put()` puts a piece on the stream.
template <class Put>
[[nodiscard]] double fastest_of(cudaStream_t stream, int pieces, int runs, Put put) {
  const device_event begin = make_event(), end = make_event();
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run <= runs; ++run) {
    record(begin.get(), stream);
    for (int i = 0; i < pieces; ++i) put();
    record(end.get(), stream);
    while (!is_reached(end.get())) std::this_thread::yield();
    const double took = static_cast<double>(elapsed(begin.get(), end.get()).count()) / pieces;
    if (run > 0) best = std::min(best, took);  // the first touches fresh memory, and may load code
  }
  return best;
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/buffer_pool.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/tasks/task.hpp>

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// What an engine on MPI has done or is doing, and how a collective becomes a call of MPI.

namespace shardweave::inline v0::detail {

using mpi_clock = std::chrono::steady_clock;

/// One thing that an engine was told. Of work on the compute stream it has the times only; of a collective, or of a
/// bucket of them, also its channel, its shape and the buffers of its calls, which stay where they are while `requests`
/// are open: one call, or one for each member of a coalesced bucket.
struct mpi_operation {
  mpi_clock::time_point begin = {};
  mpi_clock::time_point end = {};
  std::uint32_t channel = no_index;         ///< of collectives
  const collective_call* bucket = nullptr;  ///< the call, if it has parts
  payload_shape shape = {};
  std::vector<byte_buffer> sent = {}, received = {};
  std::vector<MPI_Request> requests = {};
  bool done = false;
  bool inspected = false;  ///< its values have been compared

  [[nodiscard]] bool is_collective() const { return channel != no_index; }
  /// Whether members share the buffers of one call.
  [[nodiscard]] bool is_packed() const { return bucket && !bucket->coalesced; }
  /// Elements in a block, of each call.
  [[nodiscard]] std::span<const std::int64_t> units() const {
    return bucket && bucket->coalesced ? std::span(shape.units) : std::span(&shape.unit, 1);
  }
};

/// \pre the type is not f16, which travels between devices only
[[nodiscard]] inline MPI_Datatype mpi_type_of(element_type type) {
  const MPI_Datatype types[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_FLOAT, MPI_DOUBLE};
  return types[static_cast<std::size_t>(type)];
}
[[nodiscard]] inline MPI_Op mpi_op_of(reduce_op op) {
  return op == reduce_op::sum ? MPI_SUM : op == reduce_op::max ? MPI_MAX : MPI_MIN;
}

/// Begins the calls of a collective on a communicator of its `shape.ranks` ranks without waiting for them: `o.requests`
/// are open afterwards, and its clock runs. Every rank of the communicator calls, in the same order.
/// \pre there are buffers for each call, of the sizes of the shape, and MPI can count their blocks
/// \throws error (backend) if MPI refuses the call
inline void post(mpi_operation& o, MPI_Comm comm) {
  const MPI_Datatype type = mpi_type_of(o.shape.type);
  const MPI_Op reduce = mpi_op_of(o.shape.reduce);
  const bool shifts = o.shape.kind == collective::shift;  // of which MPI has two calls
  o.requests.assign(o.sent.size() * (shifts ? 2 : 1), MPI_REQUEST_NULL);
  o.begin = mpi_clock::now();
  for (std::size_t i = 0; i < o.sent.size(); ++i) {
    const int unit = static_cast<int>(o.units()[i]);
    const void* sent = o.sent[i].data();
    void* received = o.received[i].data();
    MPI_Request* request = &o.requests[shifts ? 2 * i : i];
    switch (o.shape.kind) {
      case collective::all_gather:
        check_mpi(MPI_Iallgather(sent, unit, type, received, unit, type, comm, request), "MPI_Iallgather");
        break;
      case collective::reduce_scatter:
        check_mpi(MPI_Ireduce_scatter_block(sent, received, unit, type, reduce, comm, request),
                  "MPI_Ireduce_scatter_block");
        break;
      case collective::all_reduce:
        check_mpi(MPI_Iallreduce(sent, received, unit, type, reduce, comm, request), "MPI_Iallreduce");
        break;
      case collective::all_to_all:
        check_mpi(MPI_Ialltoall(sent, unit, type, received, unit, type, comm, request), "MPI_Ialltoall");
        break;
      case collective::shift: {
        int position = 0;
        check_mpi(MPI_Comm_rank(comm, &position), "MPI_Comm_rank");
        const int ranks = static_cast<int>(o.shape.ranks);
        check_mpi(MPI_Irecv(received, unit, type, (position + ranks - 1) % ranks, 0, comm, request), "MPI_Irecv");
        check_mpi(MPI_Isend(sent, unit, type, (position + 1) % ranks, 0, comm, request + 1), "MPI_Isend");
        break;
      }
      case collective::other:  // refused by `payload_of`
        break;
    }
  }
}

}  // namespace shardweave::inline v0::detail

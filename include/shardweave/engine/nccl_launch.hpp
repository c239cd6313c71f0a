#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/payload.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// \file
/// Collectives of the library's kinds as calls of NCCL.

namespace shardweave::inline v0 {

/// How elements of a dtype travel between devices: as between hosts, but 16 bits as f16, which NCCL can add.
[[nodiscard]] inline element_type device_element_of(std::string_view dtype) {
  const element_type type = element_of(dtype);
  return type == element_type::u16 ? element_type::f16 : type;
}
/// \pre the type is not u16
[[nodiscard]] inline ncclDataType_t nccl_type_of(element_type type) {
  SHARDWEAVE_EXPECTS(type != element_type::u16);
  constexpr ncclDataType_t types[] = {ncclUint8,   ncclFloat16, ncclUint32, ncclUint64,
                                      ncclFloat32, ncclFloat64, ncclFloat16};
  return types[static_cast<std::size_t>(type)];
}
/// The operation of NCCL by which values become one.
[[nodiscard]] inline ncclRedOp_t nccl_reduction_of(reduce_op op) {
  return op == reduce_op::sum ? ncclSum : op == reduce_op::max ? ncclMax : ncclMin;
}
/// The call that carries a kind: an all-to-all or a shift is a group of sends and receives, which every release has.
[[nodiscard]] constexpr std::string_view nccl_call_of(collective kind) {
  constexpr std::string_view names[] = {"ncclAllGather", "ncclReduceScatter", "ncclAllReduce", "ncclSend and ncclRecv",
                                        "ncclSend and ncclRecv"};
  return names[static_cast<std::size_t>(kind)];
}

/// One piece of a launch: `unit` elements in each block.
struct nccl_piece {
  const std::byte* sent = nullptr;
  std::byte* received = nullptr;
  std::int64_t unit = 0;
};

/// Puts collectives of one kind on a stream, several pieces as one launch (`ncclGroupStart`, `ncclGroupEnd`).
/// \returns what NCCL returned last, possibly ncclInProgress (`nccl_communicator::settle`); nothing of the launch is
///          on the stream before that has settled
/// \throws error (backend) if a call was refused; the group is closed then
[[nodiscard]] inline ncclResult_t launch_on(const nccl_communicator& comm, cudaStream_t stream, collective kind,
                                            element_type type, reduce_op reduce, std::span<const nccl_piece> pieces) {
  ncclResult_t code = ncclSuccess, refused = ncclSuccess;
  const auto note = [&](ncclResult_t returned) {
    code = returned;
    if (refused == ncclSuccess && returned != ncclSuccess && returned != ncclInProgress) refused = returned;
  };
  const bool grouped = pieces.size() > 1 || kind == collective::all_to_all || kind == collective::shift;
  if (grouped) check_nccl(ncclGroupStart(), "ncclGroupStart");
  const ncclDataType_t as = nccl_type_of(type);
  for (const nccl_piece& piece : pieces) {
    const auto unit = static_cast<std::size_t>(piece.unit);
    switch (kind) {
      case collective::all_gather:
        note(ncclAllGather(piece.sent, piece.received, unit, as, comm.get(), stream));
        break;
      case collective::reduce_scatter:
        note(ncclReduceScatter(piece.sent, piece.received, unit, as, nccl_reduction_of(reduce), comm.get(), stream));
        break;
      case collective::all_reduce:
        note(ncclAllReduce(piece.sent, piece.received, unit, as, nccl_reduction_of(reduce), comm.get(), stream));
        break;
      case collective::all_to_all: {
        const std::size_t block = unit * static_cast<std::size_t>(width_of(type));
        for (int peer = 0; peer < comm.size(); ++peer) {
          const std::size_t at = static_cast<std::size_t>(peer) * block;
          note(ncclSend(piece.sent + at, unit, as, peer, comm.get(), stream));
          note(ncclRecv(piece.received + at, unit, as, peer, comm.get(), stream));
        }
        break;
      }
      case collective::shift:
        note(ncclSend(piece.sent, unit, as, (comm.rank() + 1) % comm.size(), comm.get(), stream));
        note(ncclRecv(piece.received, unit, as, (comm.rank() + comm.size() - 1) % comm.size(), comm.get(), stream));
        break;
      case collective::other:  // refused by `payload_of`
        break;
    }
  }
  if (grouped) note(ncclGroupEnd());
  check_nccl(refused, nccl_call_of(kind), comm.get());
  return code;
}

}  // namespace shardweave::inline v0

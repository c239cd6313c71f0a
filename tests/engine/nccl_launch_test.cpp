#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/nccl_launch.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace nccl_launch_tests {
namespace {
using nccl_tests::nccl_calls;
using nccl_tests::nothing_left;
}  // namespace

TEST_SUITE("nccl_launch, on the double") {
  TEST_CASE("types and reductions are those that NCCL has, 16 bits as floats") {
    const nothing_left after;
    CHECK(sw::device_element_of("bf16") == sw::element_type::f16);
    CHECK(sw::device_element_of("i32") == sw::element_type::u32);
    for (const auto& [dtype, type] : {std::pair{"u8", ncclUint8},
                                      {"f16", ncclFloat16},
                                      {"i32", ncclUint32},
                                      {"i64", ncclUint64},
                                      {"f32", ncclFloat32},
                                      {"f64", ncclFloat64}})
      CHECK(sw::nccl_type_of(sw::device_element_of(dtype)) == type);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::sum) == ncclSum);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::max) == ncclMax);
    CHECK(sw::nccl_reduction_of(sw::reduce_op::min) == ncclMin);
  }

  TEST_CASE("pieces become calls of their kind, several of them or of an exchange one group") {
    const nothing_left after;
    sw::use_device(0, 0);
    const sw::nccl_waiting waiting = [](std::string_view, auto) {};
    const sw::nccl_communicator all = sw::nccl_communicator::create(sw::meet_alone(), waiting);
    const sw::device_stream stream = sw::make_stream();
    const sw::device_memory sent = sw::make_device_memory(16), received = sw::make_device_memory(16);
    const sw::nccl_piece pieces[] = {{sent.data(), received.data(), 1}, {sent.data() + 4, received.data() + 4, 3}};
    const auto launch = [&](sw::collective kind, std::size_t count) {
      all.settle(sw::launch_on(all, stream.get(), kind, sw::element_type::u32, sw::reduce_op::max,
                               std::span(pieces).first(count)),
                 sw::nccl_call_of(kind), waiting);
    };
    launch(sw::collective::all_gather, 1);
    launch(sw::collective::reduce_scatter, 2);
    launch(sw::collective::all_reduce, 1);
    launch(sw::collective::all_to_all, 1);
    launch(sw::collective::shift, 1);
    CHECK(nccl_calls(0) ==
          std::vector<std::string>{"ncclAllGather 1 ncclUint32", "ncclGroupStart", "ncclReduceScatter 1 ncclUint32",
                                   "ncclReduceScatter 3 ncclUint32", "ncclGroupEnd", "ncclAllReduce 1 ncclUint32",
                                   "ncclGroupStart", "ncclSend 1 ncclUint32", "ncclRecv 1 ncclUint32", "ncclGroupEnd",
                                   "ncclGroupStart", "ncclSend 1 ncclUint32", "ncclRecv 1 ncclUint32", "ncclGroupEnd"});
    fake_gpu::fail_next("ncclReduceScatter", ncclSystemError);
    CHECK_THROWS_WITH_AS(launch(sw::collective::reduce_scatter, 2),
                         "ncclReduceScatter: unhandled system error (said by the double)", sw::error);
    CHECK(nccl_calls(0).back() == "ncclGroupEnd");  // what was refused leaves no group open
  }
}

}  // namespace nccl_launch_tests

#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include <shardweave/engine/nccl_handles.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace sw = shardweave;

namespace nccl_handles_tests {
namespace {
using nccl_tests::nothing_left;
}  // namespace

TEST_SUITE("nccl_handles, on the double") {
  TEST_CASE("a rank works on the device that it asks for, or on that of its number; codes become errors") {
    const nothing_left after({.devices = 3});
    CHECK(sw::use_device(7, -1) == 1);
    CHECK(sw::use_device(7, 2) == 2);
    CHECK_THROWS_WITH_AS(sw::use_device(7, 3), "rank 7 cannot work on device 3, this process sees 3", sw::error);
    CHECK_NOTHROW(sw::check_cuda(cudaSuccess, "one"));
    CHECK_THROWS_WITH_AS(sw::check_cuda(cudaErrorInvalidValue, "one"), "one: invalid argument", sw::error);
    CHECK_NOTHROW(sw::check_nccl(ncclSuccess, "one"));
    CHECK_THROWS_WITH_AS(sw::check_nccl(ncclInvalidArgument, "one"), "one: invalid argument (said by the double)",
                         sw::error);
  }

  TEST_CASE("a handle has one owner, which lets it go") {
    const nothing_left after;
    sw::use_device(0, 0);
    sw::device_event first = sw::make_event(), second;
    const cudaEvent_t made = first.get();
    second = std::move(first);
    CHECK(second.get() == made);
    const sw::device_event third(std::move(second));
    CHECK(third.get() == made);
    CHECK(fake_gpu::alive() == after.before + 1);
    CHECK(sw::make_device_memory(24).size() == 24);
    CHECK(sw::make_pinned_memory(24).data() != nullptr);
    CHECK(fake_gpu::alive() == after.before + 1);
  }
}

}  // namespace nccl_handles_tests

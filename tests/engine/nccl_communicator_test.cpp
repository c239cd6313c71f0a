#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace nccl_communicator_tests {
namespace {
using nccl_tests::nothing_left;
}  // namespace

TEST_SUITE("nccl_communicator, on the double") {
  TEST_CASE("a communicator is made and split while its rank waits, and is let go once") {
    bool splits_in_silence = false;
    SUBCASE("a split says that it is under way") {}
    SUBCASE("a split says that it is done before it is, as with NCCL 2.28") { splits_in_silence = true; }
    const nothing_left after({.polls = 3, .splits_in_silence = splits_in_silence});
    sw::use_device(0, 0);
    std::vector<std::string> waited;
    const sw::nccl_waiting waiting = [&](std::string_view call, auto) { waited.emplace_back(call); };
    sw::nccl_communicator all = sw::nccl_communicator::create(sw::meet_alone(), waiting);
    const sw::nccl_communicator part = all.split(0, 0, 1, waiting);
    CHECK(std::count(waited.begin(), waited.end(), "ncclCommInitRankConfig") >= 1);
    CHECK(std::count(waited.begin(), waited.end(), "ncclCommSplit") >= 1);
    CHECK(part.size() == 1);
    fake_gpu::fail_next("ncclCommSplit", ncclSystemError);
    CHECK_THROWS_WITH_AS(static_cast<void>(all.split(0, 0, 1, waiting)),
                         "ncclCommSplit: unhandled system error (said by the double)", sw::error);
    sw::nccl_communicator moved = std::move(all);
    CHECK(static_cast<bool>(moved));
    moved.abort();
    CHECK(!moved);
    moved.abort();
  }
}

}  // namespace nccl_communicator_tests

#include "support/llama_layer.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/memory_rows.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace memory_rows_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::llama_layer;
using sw::bytes;
using sw::mebibytes;

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("what no choice keeps is told: which row, how much it needs") {
    const auto policies = sw::block_policies(llama_layer());
    std::vector<sw::memory_block> blocks(32, {.policies = policies});
    // every layer keeps its input: 32 times 128 MiB
    const auto loss = sw::choose_policies(blocks, {.limit = mebibytes(8000), .after = mebibytes(4000)});
    REQUIRE(loss.shortage.has_value());
    CHECK(loss.shortage->block == 32);
    CHECK(loss.shortage->least == mebibytes(32 * 128 + 4000));
    CHECK(loss.shortage->limit == mebibytes(8000));
    const auto last = sw::choose_policies(blocks, {.limit = mebibytes(4200)});
    REQUIRE(last.shortage.has_value());
    CHECK(last.shortage->block < 32);
    CHECK(last.shortage->least > mebibytes(4200));
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::choose_policies(std::vector<sw::memory_block>(1), {})),
                         "block 0 has no policy", sw::error);
  }

  TEST_CASE("each row counts what is kept before it and what its part holds, and is met to the byte") {
    // two blocks of one policy that keeps 10 and 20, and holds 3 and 4 more while it goes back
    const sw::block_policy policies[] = {{.values = {}, .kept = bytes(10), .transient = bytes(3)},
                                         {.values = {}, .kept = bytes(20), .transient = bytes(4)}};
    std::vector<sw::memory_block> blocks{{.policies = {policies, 1}}, {.policies = {policies + 1, 1}}};
    struct row {
      bytes forward_of_second, beside_of_first, beside_of_second, after;
      bytes demand;
      std::size_t block;
    };
    const row rows[] = {
        {bytes(100), bytes(0), bytes(0), bytes(0), bytes(110), 1},  // 10 are kept of the first
        {bytes(0), bytes(100), bytes(0), bytes(0), bytes(113), 0},  // of the second nothing is left
        {bytes(0), bytes(0), bytes(100), bytes(0), bytes(134), 1},
        {bytes(0), bytes(0), bytes(0), bytes(100), bytes(130), 2},
    };
    for (const row& r : rows) {
      CAPTURE(r.demand.count());
      blocks[1].forward = r.forward_of_second;
      blocks[0].beside = r.beside_of_first;
      blocks[1].beside = r.beside_of_second;
      const auto fits = sw::choose_policies(blocks, {.limit = r.demand, .after = r.after});
      CHECK_FALSE(fits.shortage.has_value());
      CHECK(fits.peak == r.demand);
      const auto lacks = sw::choose_policies(blocks, {.limit = r.demand - bytes(1), .after = r.after});
      REQUIRE(lacks.shortage.has_value());
      CHECK(lacks.shortage->block == r.block);
      CHECK(lacks.shortage->least == r.demand);
      CHECK(lacks.shortage->limit == r.demand - bytes(1));
    }
  }

  TEST_CASE("the host's memory has no limit unless it is told, and then its bytes are counted over all blocks") {
    const sw::block_policy away[] = {{.values = {}, .offloaded = bytes(5)}};
    const std::vector<sw::memory_block> blocks(3, {.policies = away});
    CHECK_FALSE(sw::choose_policies(blocks, {.limit = bytes(0)}).shortage.has_value());
    CHECK_FALSE(sw::choose_policies(blocks, {.limit = bytes(0), .host = bytes(15)}).shortage.has_value());
    const auto lacks = sw::choose_policies(blocks, {.limit = bytes(0), .host = bytes(14)});
    REQUIRE(lacks.shortage.has_value());
    CHECK(lacks.shortage->least == bytes(15));
    CHECK(lacks.shortage->limit == bytes(14));
  }
}

}  // namespace memory_rows_tests

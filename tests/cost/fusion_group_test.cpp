#include <shardweave/cost/fusion_group.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>

namespace fusion_group_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("fusion_group") {
  TEST_CASE("only what crosses the border moves") {
    // c = a + b; d = c * a; only d is used outside
    fusion_group group;
    group.reads(0, bytes(100)).reads(1, bytes(100)).writes(2, bytes(100), false);
    group.reads(2, bytes(100)).reads(0, bytes(100)).writes(3, bytes(100), true);
    CHECK(group.work().moved == bytes(300));
    CHECK(group.work().flops == 0);
    group.computes(50).computes(25);
    CHECK(group.work().flops == 75);
  }

  TEST_CASE("a tensor that is read inside and outside leaves once") {
    fusion_group group;
    group.reads(0, bytes(8)).writes(1, bytes(8), true).reads(1, bytes(8)).writes(1, bytes(8), true);
    CHECK(group.work().moved == bytes(16));
    CHECK(fusion_group().work().moved == bytes(0));
  }

  TEST_CASE("random chains move what a count by sets says, and never more than apart") {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
      fusion_group together;
      std::set<std::uint64_t> written, read_before_written, left;
      std::int64_t apart = 0;
      for (int op = 0; op < 6; ++op) {
        for (int k = 0; k < 2; ++k) {
          const std::uint64_t t = random() % 8;
          together.reads(t, bytes(static_cast<std::int64_t>(t) + 1));
          apart += static_cast<std::int64_t>(t) + 1;
          if (!written.contains(t)) read_before_written.insert(t);
        }
        const std::uint64_t t = 100 + random() % 4;
        const bool leaves = random() % 2 == 0;
        together.writes(t, bytes(static_cast<std::int64_t>(t)), leaves);
        apart += static_cast<std::int64_t>(t);
        written.insert(t);
        if (leaves) left.insert(t);
      }
      std::int64_t expected = 0;
      for (const std::uint64_t t : read_before_written) expected += static_cast<std::int64_t>(t) + 1;
      for (const std::uint64_t t : left) expected += static_cast<std::int64_t>(t);
      CHECK(together.work().moved.count() == expected);
      CHECK(together.work().moved.count() <= apart);
    }
  }
}

}  // namespace fusion_group_tests

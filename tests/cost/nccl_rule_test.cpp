#include <shardweave/cost/nccl_rule.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace nccl_rule_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("nccl_rule") {
  TEST_CASE("a row matches inclusive sizes and the counts that it names") {
    const nccl_rule r{.operation = nccl_operation::all_gather, .least = 10, .most = 20, .nodes = 2, .ranks = 16};
    using enum nccl_operation;
    CHECK(r.matches(all_gather, 10, 2, 16));
    CHECK(r.matches(all_gather, 20, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 9, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 21, 2, 16));
    CHECK_FALSE(r.matches(all_reduce, 15, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 15, 1, 16));
    CHECK_FALSE(r.matches(all_gather, 15, 2, 8));
    nccl_rule other = r;
    other.nodes = other.ranks = -1;
    CHECK(other.matches(all_gather, 15, 77, 1));
    for (const std::int64_t merged : {-1, 0, 1, 2}) {
      other.merged = merged;
      CHECK(other.matches(all_gather, 15, 1, 2) == (merged == -1 || merged == 1));
    }
    other.merged = -1;
    for (const std::int64_t registered : {-1, 0, 1}) {
      other.registered = registered;
      CHECK(other.matches(all_gather, 15, 1, 2) == (registered != 1));
    }
    CHECK(first_match({}, all_gather, 1, 1, 2) == nullptr);
    const nccl_rules rows{r, other, {.operation = all_gather, .least = 0, .most = 100}};
    CHECK(first_match(rows, all_gather, 15, 2, 16) == rows.data());
    CHECK(first_match(rows, all_gather, 15, 3, 16) == &rows[2]);
    CHECK(first_match(rows, all_gather, 101, 3, 16) == nullptr);
  }
}

}  // namespace nccl_rule_tests

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstdint>
#include <string_view>

namespace sw = shardweave;

namespace bucketing_policy_tests {
namespace {
struct nameless {
  sw::bucketing_result operator()(const sw::task_graph&, const sw::solve_control&) const { return {}; }
};
struct of_nothing {
  static constexpr std::string_view name = "of nothing";
  sw::bucketing_result operator()() const { return {}; }
};
static_assert(sw::bucketing_policy<sw::no_bucketing> && sw::bucketing_policy<sw::greedy>);
static_assert(!sw::bucketing_policy<nameless> && !sw::bucketing_policy<of_nothing> && !sw::bucketing_policy<int>);
}  // namespace

TEST_SUITE("bucketing_policy") {
  TEST_CASE("the policy decides, and no policy merges nothing") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 30});
      CHECK(sw::bucket_collectives(g, sw::no_bucketing{}).buckets.empty());
      const sw::greedy policy{.fsdp_only = false, .needs_gain = false};
      CHECK(sw::bucket_collectives(g, policy).buckets == policy(g).buckets);
    }
  }
}

}  // namespace bucketing_policy_tests

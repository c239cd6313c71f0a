#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace sw = shardweave;

namespace pass_tests {
namespace {
using greedy_then_early = sw::two_steps<sw::greedy, sw::prefetch>;
static_assert(sw::scheduling_pass<greedy_then_early> && !sw::scheduling_pass<sw::greedy> &&
              !sw::scheduling_pass<sw::prefetch>);

/// Takes all the time that there is, and tells how much the next one is given.
struct slow {
  static constexpr std::string_view name = "slow";
  [[nodiscard]] sw::bucketing_result operator()(const sw::task_graph&, const sw::solve_control& control = {}) const {
    const sw::deadline limit(control);
    while (!limit.expired()) {
    }
    return {};
  }
};
struct told {
  static constexpr std::string_view name = "told";
  double* seconds = nullptr;
  [[nodiscard]] sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& buckets,
                                        const sw::solve_control& control = {}) const {
    *seconds = control.seconds;
    return sw::in_order{}(g, buckets, control);
  }
};
}  // namespace

TEST_SUITE("pass") {
  TEST_CASE("two steps are the one and then the other, under the name of the first") {
    CHECK(greedy_then_early::name == sw::greedy::name);
    std::size_t merged = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 30});
      const greedy_then_early pass{.bucketing = {.fsdp_only = false, .needs_gain = false}};
      const sw::schedule at_once = pass.plan(g);
      const sw::bucketing_result buckets = pass.bucketing(g);
      const sw::schedule apart = pass.order(g, buckets);
      CHECK(at_once.order == apart.order);
      CHECK(at_once.buckets == buckets.buckets);
      merged += buckets.buckets.size();
    }
    CHECK(merged > 20);
  }
  TEST_CASE("what the first one takes of the time is not there for the second") {
    double left = 1;
    const sw::two_steps<slow, told> pass{.order = {&left}};
    CHECK(pass.plan(random_tasks(1), {.seconds = 0.02}).order.size() == random_tasks(1).size());
    CHECK(left == 0);
  }
}

}  // namespace pass_tests

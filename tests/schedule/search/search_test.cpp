#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstdint>

namespace sw = shardweave;

namespace search_tests {

TEST_SUITE("search") {
  TEST_CASE("no order is worse than the start, none better than the proven best, and most are the best") {
    int proven = 0, optimal = 0, better = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 5});
      const sw::bucketing_result buckets =
          seed % 2 == 0 ? sw::bucketing_result{} : sw::greedy{.fsdp_only = false}(g, {});
      const sw::search<sw::in_order> from_order{.changes = 2000, .runs = 5};
      const sw::schedule found = from_order(g, buckets);
      sw::validate_schedule(g, found);
      CHECK(found.buckets == buckets.buckets);
      const auto end = sw::simulate(g, found).end_to_end;
      const auto start = sw::simulate(g, sw::in_order{}(g, buckets)).end_to_end;
      CHECK(end <= start);
      CHECK(from_order(g, buckets).order == found.order);
      better += end < start;
      const sw::schedule best = sw::exact{}(g, buckets);
      if (best.statistics.front().value != 1) continue;
      const auto least = sw::simulate(g, best).end_to_end;
      CHECK(end >= least);
      ++proven;
      optimal += end == least;
    }
    CHECK(better > 0);
    CHECK(proven >= 20);
    CHECK(optimal * 10 >= proven * 8);
  }

  TEST_CASE("a budget that the start keeps is kept") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 8});
      const auto plain = sw::simulate(g, sw::in_order{}(g, {}));
      const sw::search<sw::in_order> policy{.memory = plain.peak, .changes = 300, .rebucket = seed % 2 == 0};
      const sw::schedule found = policy(g, {});
      sw::validate_schedule(g, found);
      const auto line = sw::simulate(g, found);
      CHECK(found.within_memory);
      CHECK(line.peak <= plain.peak);
      CHECK(line.end_to_end <= plain.end_to_end);
    }
  }

  TEST_CASE("no changes and no runs: the start itself") {
    const sw::task_graph g = random_tasks(7);
    const sw::schedule found = sw::search<>{.changes = 0, .runs = 0}(g, {});
    CHECK(sw::simulate(g, found).end_to_end <= sw::simulate(g, sw::prefetch{}(g, {})).end_to_end);
  }
}

}  // namespace search_tests

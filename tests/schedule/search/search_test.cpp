#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/small_tasks.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

  TEST_CASE("buckets that may change are not launched apart where that gains nothing") {
    using namespace small_tasks;
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "dp", .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(64), sw::bytes(65'536)},
                                   {sw::nanoseconds(10'000), sw::nanoseconds(500'000)}));
    const auto first = b.add_task(work("first", 1'000'000));
    std::vector<sw::task_index> waits;
    sw::bucketing_result buckets;
    buckets.buckets.emplace_back();
    sw::bucket& both = buckets.buckets.front();
    for (const char* name : {"a", "b"}) {  // much before they are needed, whether together or not
      const auto gathered = b.add_task(gather(name, 10'000, {}, 64));
      both.members.push_back(gathered);
      both.bytes_in += sw::bytes(64);
      both.bytes_out += sw::bytes(256);
      waits.push_back(b.add_task(wait_for(std::string("wait ") + name, gathered)));
    }
    waits.push_back(first);
    b.add_task(work("last", 1'000'000, waits));
    const sw::task_graph g = std::move(b).build();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      const sw::search<> policy{.changes = 300, .rebucket = true};
      const sw::schedule found = policy(g, buckets, {.seed = seed});
      sw::validate_schedule(g, found);
      const sw::schedule_price start = sw::price_of(g, sw::prefetch{}(g, buckets)), price = sw::price_of(g, found);
      CHECK(price.end_to_end == start.end_to_end);
      CHECK(price.launches <= start.launches);
    }
  }

  TEST_CASE("no changes and no runs: the start itself") {
    const sw::task_graph g = random_tasks(7);
    const sw::schedule found = sw::search<>{.changes = 0, .runs = 0}(g, {});
    CHECK(sw::simulate(g, found).end_to_end <= sw::simulate(g, sw::prefetch{}(g, {})).end_to_end);
  }
}

}  // namespace search_tests

#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstddef>
#include <cstdint>

namespace sw = shardweave;

namespace schedule_price_tests {

TEST_SUITE("schedule_price") {
  TEST_CASE("memory comes before time, time before launches") {
    const auto price = [](std::int64_t excess, std::int64_t end, std::size_t launches) {
      return sw::schedule_price{sw::bytes(excess), sw::nanoseconds(end), launches};
    };
    CHECK(price(0, 9, 9) < price(1, 1, 1));
    CHECK(price(1, 9, 9) < price(2, 1, 1));
    CHECK(price(1, 3, 9) < price(1, 4, 1));
    CHECK(price(0, 3, 4) < price(0, 3, 5));
    CHECK_FALSE(price(0, 3, 4) < price(0, 3, 4));
  }
  TEST_CASE("a price is what the simulator says, and what the peak is above the budget") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      const sw::schedule s = sw::schedule_tasks(g, {}, sw::in_order{});
      const sw::timeline line = sw::simulate(g, s);
      const sw::schedule_price free = sw::price_of(g, s);
      CHECK(free.excess == sw::bytes(0));
      CHECK(free.end_to_end == line.end_to_end);
      CHECK(free.launches == line.collectives);
      CHECK(sw::price_of(g, s, line.peak).excess == sw::bytes(0));
      CHECK(sw::price_of(g, s, line.peak + sw::bytes(5)).excess == sw::bytes(0));
      if (line.peak > sw::bytes(0)) CHECK(sw::price_of(g, s, line.peak - sw::bytes(1)).excess == sw::bytes(1));
      CHECK(sw::price_of(g, s, sw::bytes(0)).excess == line.peak);
    }
  }
}

}  // namespace schedule_price_tests

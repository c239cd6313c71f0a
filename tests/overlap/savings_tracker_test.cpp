#include "overlap/random_demands.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/savings_tracker.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace savings_tracker_tests {
namespace {

namespace sw = shardweave;
using overlap_test::draw_demands;
using overlap_test::kind;
using ticks = std::int64_t;

constexpr kind all_kinds[] = {kind::any, kind::chains, kind::chains_and_holes, kind::any_and_holes};

}  // namespace

TEST_SUITE("savings_tracker") {
  TEST_CASE("after any change the total is what the sweep finds") {
    sw::random_source random(11);
    std::size_t changes = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(400); ++trial) {
      auto [computation, demands] = draw_demands(random, all_kinds[trial % 4], 12, 12, 1 + trial % 3);
      sw::savings_tracker tracker(computation, demands);
      REQUIRE(tracker.total() == sw::hide(computation, demands).total);
      for (int step = 0; step < 25; ++step) {
        // several changes before the next question, some of them none
        for (std::size_t n = random.below(4); n-- > 0;) {
          const auto value = static_cast<ticks>(random.below(12));
          if (!computation.empty() && random.chance(0.5)) {
            const std::size_t q = random.below(computation.size());
            computation[q] = value;
            tracker.set_computation(q, value);
          } else if (!demands.empty()) {
            const std::size_t d = random.below(demands.size());
            demands[d].amount = value;
            tracker.set_amount(d, value);
          }
          ++changes;
        }
        REQUIRE(tracker.total() == sw::hide(computation, demands).total);
      }
    }
    CHECK(changes > shardweave_test::at_scale(400) * 20);
  }

  TEST_CASE("floating sums do not drift away") {
    sw::random_source random(5);
    for (const kind which : all_kinds) {
      const auto [whole, wanted] = draw_demands(random, which, 20, 20, 1);
      std::vector<double> computation(whole.begin(), whole.end());
      std::vector<sw::hideable<double>> demands;
      for (const auto& d : wanted) demands.push_back({d.where, static_cast<double>(d.amount)});
      REQUIRE((!computation.empty() && !demands.empty()));
      sw::savings_tracker tracker(computation, demands);
      for (int step = 0; step < 3000; ++step) {
        const double value = std::ldexp(random.unit(), static_cast<int>(random.below(30)));
        const std::size_t q = random.below(computation.size()), d = random.below(demands.size());
        tracker.set_computation(q, computation[q] = value);
        tracker.set_amount(d, demands[d].amount = value / 3);
      }
      for (double& c : computation) c = std::floor(c);
      for (std::size_t q = 0; q < computation.size(); ++q) tracker.set_computation(q, computation[q]);
      const double fresh = sw::hide(computation, demands).total;
      CHECK(std::abs(tracker.total() - fresh) <= 1e-9 * fresh);
    }
  }

  TEST_CASE("strong types and short integers are exact too") {
    const std::vector<sw::nanoseconds> computation{sw::nanoseconds(5), sw::nanoseconds(10)};
    const std::vector<sw::hideable<sw::nanoseconds>> demands{{{0, 1}, sw::nanoseconds(12)}};
    sw::savings_tracker tracker(computation, demands);
    CHECK(tracker.total() == sw::nanoseconds(12));
    tracker.set_computation(0, sw::nanoseconds(1));
    CHECK(tracker.total() == sw::nanoseconds(11));
    CHECK(tracker.computation(0) == sw::nanoseconds(1));
    tracker.set_amount(0, sw::nanoseconds(2));
    CHECK(tracker.total() == sw::nanoseconds(2));
    CHECK(tracker.amount(0) == sw::nanoseconds(2));
  }

  TEST_CASE("what cannot matter is remembered and changes nothing") {
    // position 2 lies in no window, demand 1 has none
    sw::savings_tracker tracker(std::vector<ticks>{4, 4, 4},
                                std::vector<sw::hideable<ticks>>{{{0, 1}, 6}, {{2, 1}, 6}});
    tracker.set_computation(2, 100);
    tracker.set_amount(1, 100);
    CHECK(tracker.total() == 6);
    CHECK(tracker.computation(2) == 100);
    CHECK(tracker.amount(1) == 100);
  }

  TEST_CASE("a copy goes its own way") {
    sw::savings_tracker tracker(std::vector<ticks>{4, 4}, std::vector<sw::hideable<ticks>>{{{0, 1}, 6}});
    auto copy = tracker;
    copy.set_amount(0, 1);
    CHECK(copy.total() == 1);
    CHECK(tracker.total() == 6);
  }

  TEST_CASE("nothing at all saves nothing") {
    CHECK(sw::savings_tracker(std::vector<ticks>{}, std::vector<sw::hideable<ticks>>{}).total() == 0);
    CHECK(sw::savings_tracker(std::vector<ticks>{3}, std::vector<sw::hideable<ticks>>{}).total() == 0);
    CHECK(sw::savings_tracker(std::vector<ticks>{}, std::vector<sw::hideable<ticks>>{{{0, 5}, 3}}).total() == 0);
  }

  TEST_CASE("a wrong time is refused by name, and nothing has changed") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    sw::savings_tracker tracker(std::vector<double>{4}, std::vector<sw::hideable<double>>{{{0, 0}, 3}});
    CHECK_THROWS_WITH_AS(tracker.set_computation(0, -1), "the computation at position 0 is negative or not a number",
                         sw::error);
    CHECK_THROWS_WITH_AS(tracker.set_amount(0, nan), "the amount of demand 0 is negative or not a number", sw::error);
    CHECK(tracker.total() == 3);
    CHECK_THROWS_WITH_AS(sw::savings_tracker(std::vector<ticks>{-2}, std::vector<sw::hideable<ticks>>{}),
                         "the computation at position 0 is negative or not a number", sw::error);
  }
}

}  // namespace savings_tracker_tests

#include "overlap/random_demands.hpp"
#include "support/scale.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/segments.hpp>
#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace segments_tests {
namespace {
namespace sw = shardweave;
}  // namespace

TEST_SUITE("order_segments") {
  TEST_CASE("segments save what positions save") {
    sw::random_source random(13);
    std::size_t fewer = 0;
    using overlap_test::kind;
    constexpr kind kinds[] = {kind::any, kind::chains, kind::chains_and_holes, kind::any_and_holes};
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(2000); ++trial) {
      const auto [computation, demands] = overlap_test::draw_demands(random, kinds[trial % 4], 16, 5, 2);
      const sw::order_segments segments = sw::segments_of(demands, computation.size());
      auto shorter = demands;
      for (auto& d : shorter) d.where = segments(d.where);
      REQUIRE(sw::hide(segments.sums(computation), shorter).total == sw::hide(computation, demands).total);
      fewer += segments.size() < computation.size() ? 1U : 0U;
    }
    CHECK(fewer > shardweave_test::at_scale(1000));
  }

  TEST_CASE("positions that no window tells apart are one, those in none are nowhere") {
    const std::vector<sw::hiding_place> places{{0, {2, 5}}, {1, {4, 6}}, {2, {9, 20}}, {3, {3, 2}}};
    const auto segments = sw::segments_of(places, 12);
    CHECK(segments.runs == std::vector<sw::window>{{2, 3}, {4, 5}, {6, 6}, {9, 11}});
    CHECK(segments(places[1].where) == sw::window{1, 2});
    CHECK(segments(places[2].where) == sw::window{3, 3});
    CHECK(segments(places[3].where) == sw::window{1, 0});
    CHECK(segments.segment_of[7] == sw::no_position);
    CHECK(segments.sums(std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5}) == std::vector<int>{2, 2, 1, 7});
  }

  TEST_CASE("neighbours share a segment if every window holds both or neither; what lies between held ones has one") {
    sw::random_source random(29);
    for (std::size_t trial = 0; trial < 200; ++trial) {
      const auto [computation, demands] =
          overlap_test::draw_demands(random, overlap_test::kind::any_and_holes, 9, 4, 2);
      const std::size_t n = computation.size();
      const sw::order_segments segments = sw::segments_of(demands, n);
      const auto seen_from = [&](std::size_t q) {
        std::vector<bool> in;
        for (const auto& d : demands) in.push_back(d.where.contains(q));
        return in;
      };
      std::size_t runs = 0;
      std::vector<bool> before;
      for (std::size_t q = 0; q < n; ++q) {
        const std::vector<bool> now = seen_from(q);
        const bool covered = std::ranges::any_of(demands, [&](const auto& d) {
          bool before_it = false, after_it = false;
          for (std::size_t other = 0; other < n; ++other)
            if (d.where.contains(other)) before_it |= other <= q, after_it |= other >= q;
          return before_it && after_it;
        });
        if (covered && (runs == 0 || now != before)) ++runs;
        REQUIRE(segments.segment_of[q] == (covered ? runs - 1 : sw::no_position));
        if (covered) REQUIRE(segments.runs[runs - 1].contains(q));
        before = now;
      }
      REQUIRE(segments.size() == runs);
    }
  }

  TEST_CASE("a window of a part that leaves a position out is refused by its number") {
    const std::vector<sw::hiding_place> places{{0, {0, 3}}, {1, {0, 3, 1}}, {2, {1, 3, 2}}};
    CHECK_NOTHROW(static_cast<void>(sw::segments_of(std::vector<sw::hiding_place>{places[1]}, 4)));
    CHECK_THROWS_WITH_AS(
        static_cast<void>(sw::segments_of(places, 4)),
        "demand 2 leaves position 2 out of its window 1 to 3, which is possible only for all 4 positions", sw::error);
  }
}

}  // namespace segments_tests

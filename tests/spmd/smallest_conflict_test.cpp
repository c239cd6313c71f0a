#include <shardweave/core/random.hpp>
#include <shardweave/spmd/smallest_conflict.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace smallest_conflict_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;

using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("smallest_conflict") {
  TEST_CASE("the set is one of least size among all subsets") {
    random_source random(3);
    for (std::size_t round = 0; round < shardweave_test::at_scale(200); ++round) {
      const std::size_t count = 3 + random.below(6);
      std::vector<std::size_t> conflicts;  // as bit sets: a set of demands holds if it contains none of these
      for (std::size_t k = random.below(5); k-- > 0;) conflicts.push_back(1 + random.below((1U << count) - 1));
      const auto holds = [&](std::size_t set) {
        return std::ranges::none_of(conflicts, [&](std::size_t c) { return (set & c) == c; });
      };
      std::size_t questions = 0;
      const auto found = smallest_conflict(count, [&](std::span<const std::size_t> chosen) {
        ++questions;
        std::size_t set = 0;
        for (const std::size_t i : chosen) set |= std::size_t{1} << i;
        CHECK(std::ranges::is_sorted(chosen));
        return holds(set);
      });
      std::size_t least = count + 1;
      for (std::size_t set = 0; set < (std::size_t{1} << count); ++set)
        if (!holds(set)) least = std::min(least, static_cast<std::size_t>(std::popcount(set)));
      std::size_t set = 0;
      for (const std::size_t i : found) set |= std::size_t{1} << i;
      CHECK(found.size() == (least > count ? 0 : least));
      CHECK(holds(set) == found.empty());
      CHECK(questions <= (std::size_t{1} << count) * count);
    }
  }

  TEST_CASE("one culprit among many is found in few questions") {
    std::size_t questions = 0;
    const auto found = smallest_conflict(40, [&](std::span<const std::size_t> chosen) {
      ++questions;
      return std::ranges::find(chosen, 17U) == chosen.end();
    });
    CHECK(found == std::vector<std::size_t>{17});
    CHECK(questions <= 44);
  }

  TEST_CASE("a contradiction without demands is an error") {
    CHECK(refusal_of([] { (void)smallest_conflict(2, [](std::span<const std::size_t>) { return false; }); }) ==
          "there is no assignment even without any of the 2 demands");
  }
}

}  // namespace smallest_conflict_tests

#include <shardweave/core/random.hpp>
#include <shardweave/placement/detail/dynamic_program.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace dynamic_program_tests {
namespace {

using shardweave_test::at_scale;
using program = sw::detail::dynamic_program<std::int64_t>;
const auto never = [] { return false; };

/// Costs of some unknowns together, as a dynamic program is given them.
struct costs {
  std::vector<std::uint32_t> unknowns;
  std::vector<std::int64_t> of;
  std::vector<char> allowed;
};

/// The least sum, by all ways to choose.
std::optional<std::int64_t> least_of(const std::vector<std::size_t>& choices, const std::vector<costs>& all) {
  std::optional<std::int64_t> best;
  std::vector<std::size_t> at(choices.size());
  for (bool more = true; more;) {
    std::int64_t sum = 0;
    bool allowed = true;
    for (const costs& one : all) {
      std::size_t place = 0;
      for (const std::uint32_t x : one.unknowns) place = place * choices[x] + at[x];
      allowed = allowed && one.allowed[place] != 0;
      sum += one.of[place];
    }
    if (allowed && (!best || sum < *best)) best = sum;
    more = false;
    for (std::size_t x = 0; x < at.size() && !more; ++x) {
      at[x] = at[x] + 1 < choices[x] ? at[x] + 1 : 0;
      more = at[x] != 0;
    }
  }
  return best;
}

}  // namespace

TEST_SUITE("detail::dynamic_program") {
  TEST_CASE("in any order the least sum of costs of one to three unknowns is that of all ways to choose") {
    std::size_t nothing = 0, something = 0;
    for (std::uint64_t seed = 0; seed < at_scale(1000); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      std::vector<std::size_t> choices(1 + random.below(6));
      for (std::size_t& n : choices) n = 1 + random.below(4);
      std::vector<std::uint32_t> order(choices.size());
      std::iota(order.begin(), order.end(), 0U);
      const auto shuffle = [&] {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
      };
      std::vector<costs> all;
      for (std::size_t many = 1 + random.below(8); many-- > 0;) {
        shuffle();
        costs one{{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min<std::size_t>(1 + random.below(3), order.size()))},
                  {},
                  {}};
        std::size_t size = 1;
        for (const std::uint32_t x : one.unknowns) size *= choices[x];
        for (std::size_t i = 0; i < size; ++i) {
          one.of.push_back(static_cast<std::int64_t>(random.below(40)) - 20);
          one.allowed.push_back(random.chance(0.2) ? 0 : 1);
        }
        all.push_back(std::move(one));
      }
      program p(choices, 1'000'000);
      p.add(7);
      for (const costs& one : all) p.add(one.unknowns, one.of, one.allowed);
      shuffle();
      for (const std::uint32_t x : order) p.eliminate(x, never);
      REQUIRE(p.has_room());
      const auto expected = least_of(choices, all);
      CHECK(p.least() == (expected ? std::optional(*expected + 7) : std::nullopt));
      ++(expected ? something : nothing);
    }
    CHECK(nothing > at_scale(50));
    CHECK(something > at_scale(300));
  }
  TEST_CASE("what it holds at once has room, costs that are given and costs that it makes") {
    const std::vector<std::size_t> choices{3, 3, 3};
    const auto fits = [&](std::size_t room, std::uint32_t first) {
      program p(choices, room);
      p.add({0, 1}, std::vector<std::int64_t>(9), std::vector<char>(9, 1));
      p.add({1, 2}, std::vector<std::int64_t>(9), std::vector<char>(9, 1));
      p.eliminate(first, never);
      return p.has_room();
    };
    CHECK(!fits(17, 0));  // 18 are given
    CHECK(fits(18, 0));   // 9 become 3
    CHECK(fits(18, 1));   // 18 become 9
    program wide({10, 10, 10, 10}, 400);
    for (std::uint32_t x = 1; x < 4; ++x) wide.add({0, x}, std::vector<std::int64_t>(100), std::vector<char>(100, 1));
    wide.eliminate(0, never);
    CHECK(!wide.has_room());  // 1,000 at once
  }
}

}  // namespace dynamic_program_tests

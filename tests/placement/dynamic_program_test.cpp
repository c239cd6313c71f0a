#include <shardweave/core/random.hpp>
#include <shardweave/placement/dynamic_program.hpp>

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
using program = sw::dynamic_program<std::int64_t>;
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

/// Adds costs, some choices of which may be one class: where all that they cost is the same.
void add(program& p, const std::vector<std::size_t>& choices, const costs& one, sw::random_source& random) {
  std::vector<program::side> sides;
  std::vector<std::size_t> extent;
  std::vector<std::vector<std::size_t>> first;  // a choice of each class
  for (const std::uint32_t x : one.unknowns) {
    std::vector<std::uint32_t> class_of(choices[x]);
    std::iota(class_of.begin(), class_of.end(), 0U);
    for (std::size_t i = class_of.size(); i > 1; --i) std::swap(class_of[i - 1], class_of[random.below(i)]);
    auto& of = first.emplace_back(choices[x]);
    for (std::size_t s = 0; s < class_of.size(); ++s) of[class_of[s]] = s;
    extent.push_back(choices[x]);
    sides.push_back({x, std::move(class_of)});
  }
  std::vector<std::int64_t> of;
  std::vector<char> allowed;
  std::vector<std::size_t> at(one.unknowns.size());
  for (std::size_t cell = 0; cell < one.of.size(); ++cell) {
    std::size_t rest = cell, place = 0;
    for (std::size_t d = at.size(); d-- > 0; rest /= extent[d]) at[d] = rest % extent[d];
    for (std::size_t d = 0; d < at.size(); ++d) place = place * extent[d] + first[d][at[d]];
    of.push_back(one.of[place]);
    allowed.push_back(one.allowed[place]);
  }
  p.add(std::move(sides), std::move(extent), std::move(of), std::move(allowed));
}

}  // namespace

TEST_SUITE("dynamic_program") {
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
      std::vector<program::choices> own;
      for (const std::size_t n : choices) own.emplace_back(n, 0);
      for (const costs& one : all)
        for (std::size_t s = 0; one.unknowns.size() == 1 && s < one.of.size(); ++s) {
          auto& of = own[one.unknowns[0]][s];
          of = of && one.allowed[s] != 0 ? std::optional(*of + one.of[s]) : std::nullopt;
        }
      program p(std::move(own), 1'000'000);
      p.add(7);
      for (const costs& one : all)
        if (one.unknowns.size() > 1) add(p, choices, one, random);
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
  TEST_CASE("choices that no table tells apart are looked at once, and those that are not allowed not at all") {
    // 64 choices of three unknowns in a row, in 2 classes each: 2 * 2 sums of two costs at the ends
    const auto alternating = [] {
      std::vector<std::uint32_t> class_of;
      for (std::uint32_t s = 0; s < 64; ++s) class_of.push_back(s % 2);
      return class_of;
    };
    const auto least_with = [&](double work) {
      std::vector<program::choices> own(3);
      for (std::int64_t s = 0; s < 64; ++s)
        for (auto& of : own) of.push_back(s < 10 ? std::nullopt : std::optional(s));
      program p(std::move(own), 100, work);
      for (const std::uint32_t x : {0U, 1U})
        p.add({{x, alternating()}, {x + 1, alternating()}}, {2, 2}, {5, 0, 0, 5}, {1, 1, 1, 1});
      for (const std::uint32_t x : {0U, 2U, 1U}) p.eliminate(x, never);
      return p.has_room() ? p.least() : std::nullopt;
    };
    CHECK(least_with(10) == 10 + 11 + 10);  // 4, 4 and the 2 that nothing tells apart
    CHECK(least_with(8) == std::nullopt);
  }
  TEST_CASE("what it holds at once has room, costs that are given and costs that it makes") {
    const auto own = [](std::size_t unknowns, std::size_t choices) {
      return std::vector<program::choices>(unknowns, program::choices(choices, 0));
    };
    const auto side = [](std::uint32_t x, std::uint32_t choices) {
      std::vector<std::uint32_t> each(choices);
      std::iota(each.begin(), each.end(), 0U);
      return program::side{x, std::move(each)};
    };
    const auto fits = [&](std::size_t room, std::uint32_t first) {
      program p(own(3, 3), room);
      for (const std::uint32_t x : {0U, 1U})
        p.add({side(x, 3), side(x + 1, 3)}, {3, 3}, std::vector<std::int64_t>(9), std::vector<char>(9, 1));
      p.eliminate(first, never);
      return p.has_room();
    };
    CHECK(!fits(17, 0));  // 18 are given
    CHECK(!fits(20, 0));  // 3 are made beside them
    CHECK(fits(21, 0));
    CHECK(!fits(26, 1));  // 9 are made
    CHECK(fits(27, 1));
    program wide(own(4, 10), 1'299);
    for (std::uint32_t x = 1; x < 4; ++x)
      wide.add({side(0, 10), side(x, 10)}, {10, 10}, std::vector<std::int64_t>(100), std::vector<char>(100, 1));
    wide.eliminate(0, never);
    CHECK(!wide.has_room());  // 1,000 at once
  }
}

}  // namespace dynamic_program_tests

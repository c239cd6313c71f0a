#include <shardweave/core/random.hpp>
#include <shardweave/placement/knapsack_sums.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace knapsack_sums_tests {
namespace {

using sums = sw::knapsack_sums<std::int64_t>;
using items = std::vector<std::vector<sums::option>>;

/// All selections one by one: the least of all, and by item and option the least of those with it.
struct all_selections {
  std::optional<std::int64_t> least = std::nullopt;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> with = {};

  all_selections(const items& of, std::uint32_t room) {
    std::vector<std::size_t> chosen(of.size());
    while (true) {
      std::uint64_t weight = 0;
      std::int64_t amount = 0;
      for (std::size_t i = 0; i < of.size(); ++i) {
        weight += of[i][chosen[i]].weight;
        amount += of[i][chosen[i]].amount;
      }
      if (weight <= room) {
        least = std::min(least.value_or(amount), amount);
        for (std::size_t i = 0; i < of.size(); ++i) {
          const auto [at, fresh] = with.try_emplace({i, chosen[i]}, amount);
          if (!fresh) at->second = std::min(at->second, amount);
        }
      }
      std::size_t i = 0;
      while (i < of.size() && ++chosen[i] == of[i].size()) chosen[i++] = 0;
      if (i == of.size()) return;
    }
  }
};

/// Some weigh nothing, one of each item does.
items random_items(sw::random_source& random, std::size_t count, std::size_t most_options) {
  items of(count);
  for (auto& item : of) {
    const std::size_t options = 1 + random.below(most_options);
    const std::size_t lightest = random.below(options);
    for (std::size_t o = 0; o < options; ++o)
      item.push_back({o == lightest ? 0U : static_cast<std::uint32_t>(random.below(9)),
                      static_cast<std::int64_t>(random.below(41)) - 20});
  }
  return of;
}

}  // namespace

TEST_SUITE("knapsack_sums") {
  TEST_CASE("least sums are those of all selections that fit, with each option too") {
    sw::random_source random(1);
    std::size_t tight = 0, out = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(2000); ++trial) {
      CAPTURE(trial);
      const bool is_long = trial % 8 == 0;
      const items of = random_items(random, random.below(is_long ? 11 : 5), is_long ? 2 : 4);
      const auto room = static_cast<std::uint32_t>(random.below(14));
      const all_selections expected(of, room);
      sums found(room, random.below(20));  // however many are expected
      for (const auto& item : of) found.add(item);
      CHECK(found.least() == expected.least);
      for (std::size_t i = of.size(); i-- > 0;) {
        const auto excess = found.excess(i);
        REQUIRE(excess.size() == of[i].size());
        for (std::size_t o = 0; o < of[i].size(); ++o) {
          const auto at = expected.with.find({i, o});
          REQUIRE(excess[o].has_value() == (at != expected.with.end()));
          out += excess[o] ? 0U : 1U;
          if (!excess[o]) continue;
          CHECK(*excess[o] + found.least() == at->second);
          tight += *excess[o] > 0 ? 1U : 0U;
        }
      }
    }
    CHECK(tight > 0);
    CHECK(out > 0);
  }
  TEST_CASE("no item may be left out, and none sum up to nothing") {
    CHECK(sums(3, 0).least() == 0);
    const items of{{{0, 5}, {2, 1}}, {{0, 4}, {3, 2}}, {{0, 5}, {4, 0}}};
    sums found(5, of.size());
    for (const auto& item : of) found.add(item);
    CHECK(found.least() == 1 + 2 + 5);
    CHECK(*found.excess(2)[1] == 5 + 4 + 0 - 8);  // the last one leaves no room for the others
    CHECK(*found.excess(0)[0] == 5 + 4 + 0 - 8);  // without the first one's 2 there is room for it
  }
}

}  // namespace knapsack_sums_tests

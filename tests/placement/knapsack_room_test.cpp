#include <shardweave/core/random.hpp>
#include <shardweave/placement/knapsack_room.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace knapsack_room_tests {
namespace {

using room = sw::knapsack_room<std::int64_t>;

/// Per unknown what its strategies use; nothing if the list is empty.
room::row_usage shared(const std::vector<std::vector<std::int64_t>>& used) {
  room::row_usage result;
  for (const auto& of : used)
    result.push_back(of.empty() ? nullptr : std::make_shared<const std::vector<std::int64_t>>(of));
  return result;
}

}  // namespace

TEST_SUITE("knapsack_room") {
  TEST_CASE("cells are as large as what members have in common, or so large that there are few") {
    const sw::strategies_left left{{1, 1, 1}, {1, 1}, {1}};
    const auto used = shared({{7, 1, 4}, {}, {2}});
    const std::vector<std::uint32_t> all{0, 1, 2};
    const room exact(used, 10, left, all, 1024);  // 7 of 10 are left, in cells of 3
    CHECK(!exact.is_exceeded());
    CHECK(exact.cells() == 2);
    CHECK(exact.weight(0, 0) == 2);
    CHECK(exact.weight(0, 1) == 0);
    CHECK(exact.weight(0, 2) == 1);
    CHECK(exact.weight(1, 1) == 0);
    const room rough(used, 10, left, all, 2);  // fewer than 2: of 4
    CHECK(rough.cells() == 1);
    CHECK(rough.weight(0, 0) == 1);
    CHECK(rough.weight(0, 2) == 0);
    CHECK(room(used, 3, left, all, 9).cells() == 0);
    CHECK(room(used, 3, left, all, 9).weight(0, 0) == 1);  // one more than there are
    CHECK(room(used, 2, left, all, 9).is_exceeded());
    CHECK(room(used, 3, {{0, 0, 1}, {1, 1}, {1}}, all, 9).is_exceeded());  // 4 is the least of what is left
    CHECK(room(used, 10, left, {}, 3).cells() == 2);                       // of 3, whatever others use
  }
  TEST_CASE("whatever keeps the limit is within the cells; of cells of what all have in common nothing else is") {
    sw::random_source random(3);
    std::size_t kept = 0, broken = 0, exceeded = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(600); ++trial) {
      CAPTURE(trial);
      const auto unit = static_cast<std::int64_t>(1 + random.below(4));
      std::vector<std::vector<std::int64_t>> used(1 + random.below(4));
      sw::strategies_left left;
      for (auto& of : used) {
        left.emplace_back(1 + random.below(3), 1);
        for (std::size_t s = 0; s < left.back().size() && !random.chance(0.1); ++s)
          of.push_back(unit * static_cast<std::int64_t>(random.below(20)));
        of.resize(of.empty() ? 0 : left.back().size());
        if (random.chance(0.3)) left.back()[0] = left.back().size() > 1 ? 0 : 1;
      }
      std::vector<std::uint32_t> members(used.size());
      std::iota(members.begin(), members.end(), 0U);
      const auto limit = static_cast<std::int64_t>(random.below(60));
      const auto most = static_cast<std::uint32_t>(1 + random.below(80));
      const room found(shared(used), limit, left, members, most);
      const bool is_exact = static_cast<std::int64_t>(most) > limit;  // as many cells as the room has units
      std::vector<std::size_t> at(used.size());
      bool any = false;
      for (bool more = true; more;) {
        std::int64_t total = 0;
        std::uint64_t cells = 0;
        bool is_left = true;
        for (std::uint32_t x = 0; x < used.size(); ++x) {
          is_left = is_left && left[x][at[x]] != 0;
          total += used[x].empty() ? 0 : used[x][at[x]];
          if (is_left && !found.is_exceeded()) cells += found.weight(x, at[x]);
        }
        if (is_left && total <= limit) {
          any = true;
          CHECK(cells <= found.cells());
        }
        if (is_left && total > limit && !found.is_exceeded() && is_exact) {
          ++broken;
          CHECK(cells > found.cells());
        }
        more = false;
        for (std::size_t x = 0; x < at.size() && !more; ++x) {
          at[x] = at[x] + 1 < left[x].size() ? at[x] + 1 : 0;
          more = at[x] != 0;
        }
      }
      CHECK(found.is_exceeded() == !any);
      kept += any ? 1U : 0U;
      exceeded += any ? 0U : 1U;
    }
    CHECK(kept > shardweave_test::at_scale(200));
    CHECK(exceeded > shardweave_test::at_scale(20));
    CHECK(broken > shardweave_test::at_scale(100));
  }
}

}  // namespace knapsack_room_tests

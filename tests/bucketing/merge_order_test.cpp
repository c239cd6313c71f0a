#include <shardweave/bucketing/merge_order.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace merge_order_tests {
namespace {
using edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Whether the graph with its vertices drawn together into sets has a cycle, by repeated removal of sources.
bool quotient_has_cycle(std::size_t n, const edges& all, const std::vector<std::uint32_t>& set) {
  std::vector<bool> gone(n);
  for (bool removed = true; removed;) {
    removed = false;
    for (std::uint32_t s = 0; s < n; ++s) {
      if (gone[s] || std::find(set.begin(), set.end(), s) == set.end()) continue;
      const bool fed =
          std::any_of(all.begin(), all.end(), [&](const auto& e) { return set[e.second] == s && !gone[set[e.first]]; });
      if (!fed) gone[s] = removed = true;
    }
  }
  return std::any_of(set.begin(), set.end(), [&](std::uint32_t s) { return !gone[s]; });
}
}  // namespace

TEST_SUITE("merge_order") {
  TEST_CASE("a merge is refused exactly where it would close a cycle, and the order stays topological") {
    std::size_t merged = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(300U, 60U); ++seed) {
      sw::random_source random(seed);
      const std::size_t n = 4 + random.below(16);
      // numbers are not in topological order: edges run along a random permutation
      std::vector<std::uint32_t> name(n);
      std::iota(name.begin(), name.end(), 0u);
      for (std::size_t i = n; i-- > 1;) std::swap(name[i], name[random.below(i + 1)]);
      edges all;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j)
          if (random.chance(2.0 / static_cast<double>(n))) all.emplace_back(name[i], name[j]);
      const sw::compressed_graph g(n, all);
      sw::merge_order order(g);
      std::vector<std::uint32_t> set(n);
      std::iota(set.begin(), set.end(), 0u);
      for (int attempt = 0; attempt < 30; ++attempt) {
        const auto a = static_cast<std::uint32_t>(random.below(n)), b = static_cast<std::uint32_t>(random.below(n));
        std::vector<std::uint32_t> tried = set;
        for (auto& s : tried)
          if (s == set[b]) s = set[a];
        const bool fits = !quotient_has_cycle(n, all, tried);
        const auto before = order.order();
        REQUIRE(order.merge(a, b) == fits);
        if (fits)
          set = tried;
        else
          CHECK(order.order() == before);  // a refusal changes nothing
        ++(fits ? merged : refused);
        for (std::uint32_t v = 0; v < n; ++v) CHECK(order.same(v, a) == (set[v] == set[a]));
        const auto now = order.order();
        REQUIRE(now.size() == n);
        std::vector<std::size_t> place(n, n);
        for (std::size_t i = 0; i < n; ++i) place[now[i]] = i;
        for (const auto& [from, to] : all) {
          if (set[from] == set[to]) continue;
          CHECK(place[from] < place[to]);
          CHECK(order.place_of(from) < order.place_of(to));
        }
        for (std::size_t i = 0; i < n; ++i)  // members stand together
          for (std::size_t j = i + 1; j < n; ++j)
            if (set[now[i]] == set[now[j]]) CHECK(set[now[j - 1]] == set[now[j]]);
      }
    }
    CHECK(merged > shardweave_test::sized(1000U, 200U));
    CHECK(refused > shardweave_test::sized(1000U, 200U));
  }
  TEST_CASE("two merges that are harmless alone may close a cycle together") {
    const sw::compressed_graph g(4, edges{{0, 1}, {2, 3}});
    sw::merge_order order(g);
    CHECK(order.merge(0, 3));
    CHECK_FALSE(order.merge(1, 2));
    CHECK(order.merge(1, 1));
  }
  TEST_CASE("a graph with a cycle is refused") {
    const sw::compressed_graph g(2, edges{{0, 1}, {1, 0}});
    CHECK_THROWS_WITH_AS(sw::merge_order{g}, "the graph has a cycle through vertex 0", sw::error);
  }
}

}  // namespace merge_order_tests

#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace parked_order_tests {
namespace {

using order = std::vector<std::uint32_t>;

/// Inputs by vertex, in the order in which they are asked for.
order parked(const order& listed, const std::vector<order>& inputs) {
  return sw::parked_topological_order(listed, [&](std::uint32_t v, const auto& f) {
    for (const std::uint32_t p : inputs[v]) f(p);
  });
}

order pulled(const order& listed, const std::vector<order>& inputs) {
  return sw::pulled_topological_order(listed, [&](std::uint32_t v, const auto& f) {
    for (const std::uint32_t p : inputs[v]) f(p);
  });
}

/// The rule told again: go through the list; whoever misses something waits with the last of what it misses; whoever
/// is placed calls those who wait for it, at once and in their order.
void place(std::uint32_t v, const std::vector<order>& inputs, std::vector<order>& waiting, std::vector<bool>& placed,
           order& result) {
  for (std::size_t i = inputs[v].size(); i-- > 0;)
    if (!placed[inputs[v][i]]) return waiting[inputs[v][i]].push_back(v);
  placed[v] = true;
  result.push_back(v);
  const order called = std::move(waiting[v]);
  for (const std::uint32_t w : called) place(w, inputs, waiting, placed, result);
}

}  // namespace

TEST_SUITE("parked_topological_order") {
  TEST_CASE("an order that is topological stays as it is") {
    CHECK(parked({0, 1, 2, 3}, {{}, {0}, {0}, {1, 2}}) == order{0, 1, 2, 3});
    CHECK(parked({2, 0, 1}, {{2}, {0}, {}}) == order{2, 0, 1});
    CHECK(parked({}, {}).empty());
  }
  TEST_CASE("what comes too early stands right behind what it misses, not where the smallest number would stand") {
    CHECK(parked({0, 1, 2, 3}, {{2}, {}, {}, {}}) == order{1, 2, 0, 3});
    // two wait for the same one, and a third for the first of them
    CHECK(parked({0, 1, 2, 3, 4}, {{3}, {3}, {0}, {}, {}}) == order{3, 0, 2, 1, 4});
  }
  TEST_CASE("of several that are missing the last in the list of inputs counts") {
    CHECK(parked({0, 1, 2, 3}, {{3, 1}, {}, {}, {}}) == order{1, 2, 3, 0});
    CHECK(parked({0, 1, 2, 3}, {{1, 3}, {}, {}, {}}) == order{1, 2, 3, 0});
  }
  TEST_CASE("a cycle is refused and named") {
    CHECK(shardweave_test::refusal_of([] {
            return parked({0, 1, 2}, {{}, {2}, {1}});
          }) == "the graph has a cycle before vertex 1");
  }
  TEST_CASE("each vertex is asked for its inputs once, however many it misses and in whatever order") {
    // one joins 32 others that stand behind it, the last one first
    std::vector<order> inputs(33);
    order listed;
    for (std::uint32_t v = 33; v-- > 1;) inputs[0].push_back(v);
    for (std::uint32_t v = 0; v < 33; ++v) listed.push_back(v);
    std::vector<int> asked(33);
    const order sorted = sw::parked_topological_order(listed, [&](std::uint32_t v, const auto& f) {
      ++asked[v];
      for (const std::uint32_t p : inputs[v]) f(p);
    });
    CHECK(std::all_of(asked.begin(), asked.end(), [](int n) { return n == 1; }));
    CHECK(sorted.back() == 0);
    CHECK(std::is_sorted(sorted.begin(), sorted.end() - 1));
  }
  TEST_CASE("a chain whose ends moved back follows them, the rest stays, and a second run changes nothing") {
    // 0..49 is a chain; 10 and 30 need what stands behind it, 50 and 51; 52 to 55 are on their own
    std::vector<order> inputs(56);
    for (std::uint32_t v = 1; v < 50; ++v) inputs[v] = {v - 1};
    inputs[10].push_back(50);
    inputs[30].push_back(51);
    order listed(56);
    std::iota(listed.begin(), listed.end(), 0U);
    const order sorted = parked(listed, inputs);
    std::vector<std::size_t> place(56);
    for (std::size_t i = 0; i < sorted.size(); ++i) place[sorted[i]] = i;
    CHECK(place[10] == place[50] + 1);
    CHECK(place[30] == place[51] + 1);
    for (std::uint32_t v = 1; v < 50; ++v) CHECK(place[v - 1] < place[v]);
    for (std::uint32_t v = 0; v < 10; ++v) CHECK(place[v] == v);
    for (std::uint32_t v = 53; v < 56; ++v) CHECK(place[v - 1] < place[v]);
    CHECK(parked(sorted, inputs) == sorted);
  }
  TEST_CASE("random graphs are sorted as the rule says, and every edge runs forward") {
    std::size_t moved = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      sw::random_source random(seed);
      const auto n = static_cast<std::uint32_t>(2 + random.below(20));
      order hidden(n), listed(n);  // an order in which all edges run forward, and the one that is given
      std::iota(hidden.begin(), hidden.end(), 0U);
      std::iota(listed.begin(), listed.end(), 0U);
      for (std::uint32_t i = n; i-- > 1;) std::swap(hidden[i], hidden[random.below(i + 1)]);
      std::vector<order> inputs(n);
      for (std::uint32_t i = 0; i < n; ++i)
        for (std::uint32_t k = 0; k < i; ++k)
          if (random.chance(0.2)) inputs[hidden[i]].push_back(hidden[k]);
      const order found = parked(listed, inputs);
      std::vector<order> waiting(n);
      std::vector<bool> placed(n);
      order expected;
      for (const std::uint32_t v : listed) place(v, inputs, waiting, placed, expected);
      REQUIRE(found == expected);
      std::vector<std::size_t> at(n);
      for (std::size_t i = 0; i < n; ++i) at[found[i]] = i;
      for (std::uint32_t v = 0; v < n; ++v)
        for (const std::uint32_t p : inputs[v]) REQUIRE(at[p] < at[v]);
      REQUIRE(parked(found, inputs) == found);
      moved += found != listed;
    }
    CHECK(moved > 200);
  }
}

TEST_SUITE("pulled_topological_order") {
  TEST_CASE("what one misses comes right before it, in the order of the list, and nothing else moves") {
    CHECK(pulled({0, 1, 2, 3}, {{}, {0}, {0}, {1, 2}}) == order{0, 1, 2, 3});
    CHECK(pulled({0, 1, 2, 3, 4}, {{}, {4, 3}, {}, {}, {}}) == order{0, 3, 4, 1, 2});
    CHECK(pulled({0, 1, 2, 3}, {{3}, {}, {}, {1}}) == order{1, 3, 0, 2});
    CHECK(pulled({}, {}).empty());
  }
  TEST_CASE("a cycle is refused, and random graphs are sorted once and for all") {
    CHECK_THROWS_WITH_AS(pulled({0, 1, 2}, {{}, {2}, {1}}), "the graph has a cycle through vertex 1", sw::error);
    sw::random_source random(11);
    for (int round = 0; round < 50; ++round) {
      const auto n = static_cast<std::uint32_t>(1 + random.below(20));
      order hidden(n), listed(n);
      std::iota(hidden.begin(), hidden.end(), 0U);
      std::iota(listed.begin(), listed.end(), 0U);
      for (std::uint32_t i = n; i > 1; --i) std::swap(hidden[i - 1], hidden[random.below(i)]);
      std::vector<order> inputs(n);
      for (std::uint32_t i = 0; i < n; ++i)
        for (std::uint32_t k = 0; k < i; ++k)
          if (random.chance(0.2)) inputs[hidden[i]].push_back(hidden[k]);
      const order found = pulled(listed, inputs);
      std::vector<std::size_t> place(n);
      for (std::size_t i = 0; i < found.size(); ++i) place[found[i]] = i;
      CHECK(found.size() == n);
      for (std::uint32_t v = 0; v < n; ++v)
        for (const std::uint32_t p : inputs[v]) CHECK(place[p] < place[v]);
      CHECK(pulled(found, inputs) == found);
    }
  }
}

}  // namespace parked_order_tests

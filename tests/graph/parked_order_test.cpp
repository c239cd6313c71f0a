#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <doctest/doctest.h>

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
    try {
      parked({0, 1, 2}, {{}, {2}, {1}});
      FAIL("accepted");
    } catch (const sw::error& e) {
      CHECK(std::string(e.what()) == "the graph has a cycle before vertex 1");
    }
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

}  // namespace parked_order_tests

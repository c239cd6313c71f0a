#include "support/user_graph.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace eligibility_tests {
namespace {

namespace sw = shardweave;
using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using marks = std::vector<bool>;

auto one_of(std::vector<std::uint32_t> list) {
  return [list = std::move(list)](std::uint32_t v) { return std::ranges::find(list, v) != list.end(); };
}

static_assert(sw::always{}() && sw::always{}(1, "two"));

}  // namespace

TEST_SUITE("derived_from") {
  TEST_CASE("a chain from a parameter is derived to its end") {
    const sw::compressed_graph g(4, ends{{0, 1}, {1, 2}, {2, 3}});
    CHECK(sw::derived_from(g, one_of({0})) == marks{true, true, true, true});
    CHECK(sw::derived_from(g, one_of({1})) == marks{false, true, true, true});
  }
  TEST_CASE("two parameters may meet, a parameter and an input may not") {
    const sw::compressed_graph g(6, ends{{0, 3}, {1, 3}, {1, 4}, {2, 4}, {4, 5}});
    CHECK(sw::derived_from(g, one_of({0, 1})) == marks{true, true, false, true, false, false});
  }
  TEST_CASE("without parameters nothing is derived; a vertex without inputs is not either") {
    const sw::compressed_graph g(3, ends{{0, 1}});
    CHECK(sw::derived_from(g, one_of({})) == marks{false, false, false});
    CHECK(sw::derived_from(g, one_of({0})) == marks{true, true, false});
  }
  TEST_CASE("an input used twice is one condition twice; a filter keeps vertices out") {
    const sw::compressed_graph g(3, ends{{0, 1}, {0, 1}, {1, 2}});
    CHECK(sw::derived_from(g, one_of({0})) == marks{true, true, true});
    CHECK(sw::derived_from(g, one_of({0}), [](std::uint32_t v) { return v != 1; }) == marks{true, false, false});
  }
  TEST_CASE("a source may have inputs of its own") {
    const sw::compressed_graph g(3, ends{{0, 1}, {1, 2}});
    CHECK(sw::derived_from(g, one_of({1})) == marks{false, true, true});
  }
}

TEST_SUITE("feeding_only") {
  TEST_CASE("a chain into a gradient is fed from its beginning") {
    const sw::compressed_graph g(4, ends{{0, 1}, {1, 2}, {2, 3}});
    CHECK(sw::feeding_only(g, one_of({3})) == marks{true, true, true, true});
    CHECK(sw::feeding_only(g, one_of({2})) == marks{true, true, true, false});
  }
  TEST_CASE("one user that leads elsewhere keeps a vertex out, and all before it") {
    const sw::compressed_graph g(5, ends{{0, 1}, {1, 2}, {1, 3}, {3, 4}});
    CHECK(sw::feeding_only(g, one_of({2})) == marks{false, false, true, false, false});
    CHECK(sw::feeding_only(g, one_of({2, 4})) == marks{true, true, true, true, true});
  }
  TEST_CASE("without terminals nothing is marked") {
    CHECK(sw::feeding_only(sw::compressed_graph(2, ends{{0, 1}}), one_of({})) == marks{false, false});
  }
  TEST_CASE("scans and permissions of a host's own graph") {
    // 10 -> 20 -> 30 -> 40, 15 would be another input of 30: here 50 -> 30
    test_support::user_graph g(5);
    g.add(10, 20);
    g.add(20, 30);
    g.add(30, 40);
    g.add(50, 30);
    const auto derived = sw::derived_from(g, [](int v) { return v == 10; });
    const auto feeding = sw::feeding_only(
        g, [](int v) { return v == 40; }, [](int v) { return v == 30; });
    CHECK(derived == marks{true, true, false, false, false});
    CHECK(feeding == marks{false, false, true, true, false});
    using enum sw::hiding;
    CHECK(sw::hiding_of_edges(g, derived, feeding) == std::vector<sw::hiding>{earlier, both, later, later});
  }
}

TEST_SUITE("eligibility") {
  TEST_CASE("marks are those of the definition, and against the edges one scan is the other") {
    sw::random_source random(19);
    std::size_t some = 0;
    for (std::size_t trial = 0; trial < 100; ++trial) {
      const std::size_t n = 1 + random.below(9);
      ends list, reversed;
      for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = a + 1; b < n; ++b)
          for (std::size_t parallel = random.below(4); parallel > 1; --parallel) {
            list.emplace_back(a, b);
            reversed.emplace_back(b, a);
          }
      marks seeds(n), filter(n), expected(n);
      for (std::uint32_t v = 0; v < n; ++v) {
        seeds[v] = random.chance(0.5);
        filter[v] = random.chance(0.8);
        bool has_input = false, all = true;
        for (const auto& [from, to] : list)
          if (to == v) has_input = true, all = all && expected[from];
        expected[v] = seeds[v] || (filter[v] && has_input && all);
        some += expected[v] && !seeds[v] ? 1U : 0U;
      }
      const auto is_seed = [&](std::uint32_t v) { return seeds[v]; };
      const auto may_join = [&](std::uint32_t v) { return filter[v]; };
      REQUIRE(sw::derived_from(sw::compressed_graph(n, list), is_seed, may_join) == expected);
      REQUIRE(sw::feeding_only(sw::compressed_graph(n, reversed), is_seed, may_join) == expected);
    }
    CHECK(some > 40);
  }
}

}  // namespace eligibility_tests

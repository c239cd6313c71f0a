#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/ready_order.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

using namespace shardweave;

namespace ready_order_tests {
namespace {

using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The definition, played step by step: of all vertices whose producers are listed, the smallest.
std::vector<std::uint32_t> played(std::uint32_t n, const ends& edges) {
  std::vector<std::uint32_t> order;
  std::vector<bool> listed(n);
  for (;;) {
    std::uint32_t next = 0;
    const auto is_ready = [&](std::uint32_t v) {
      return !listed[v] && std::ranges::all_of(edges, [&](const auto& e) { return e.second != v || listed[e.first]; });
    };
    while (next < n && !is_ready(next)) ++next;
    if (next == n) return order;
    listed[next] = true;
    order.push_back(next);
  }
}

}  // namespace

TEST_SUITE("ready_order") {
  TEST_CASE("it lists what no cycle precedes, the smallest number first, and counts what the others wait for") {
    std::mt19937 random(11);
    int whole = 0, cyclic = 0;
    for (int round = 0; round < 300; ++round) {
      const auto n = static_cast<std::uint32_t>(1 + random() % 9);
      ends edges;
      for (std::uint32_t e = 0; e < random() % (2 * n); ++e)
        edges.emplace_back(static_cast<std::uint32_t>(random() % n), static_cast<std::uint32_t>(random() % n));
      const compressed_graph g(n, edges);
      std::vector<std::uint32_t> waiting = {99};  // whatever was in it
      const std::vector<std::uint32_t> order = ready_order(g, waiting);
      CHECK(order == played(n, edges));
      REQUIRE(waiting.size() == n);
      const auto is_listed = [&](std::uint32_t v) { return std::ranges::find(order, v) != order.end(); };
      for (std::uint32_t v = 0; v < n; ++v)
        CHECK(static_cast<std::ptrdiff_t>(waiting[v]) ==
              std::ranges::count_if(edges, [&](const auto& e) { return e.second == v && !is_listed(e.first); }));
      if (order.size() == n) CHECK(order == stable_topological_order(g));
      ++(order.size() == n ? whole : cyclic);
    }
    CHECK(whole > 0);
    CHECK(cyclic > 0);
  }
}

}  // namespace ready_order_tests

#include "support/user_graph.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace stable_order_tests {
namespace {

using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using order = std::vector<std::uint32_t>;

/// The definition, step by step: the smallest vertex not yet listed whose producers all are. Ends early on a cycle.
order by_definition(std::size_t n, const ends& edges) {
  order result;
  std::vector<bool> listed(n);
  for (bool found = true; found;) {
    found = false;
    for (std::uint32_t v = 0; v < n && !found; ++v) {
      if (listed[v]) continue;
      found = std::all_of(edges.begin(), edges.end(), [&](const auto& e) { return e.second != v || listed[e.first]; });
      if (found) {
        listed[v] = true;
        result.push_back(v);
      }
    }
  }
  return result;
}

/// Is there a way of at least one edge from v to v?
bool is_on_cycle(std::size_t n, const ends& edges, std::uint32_t v) {
  std::vector<bool> reached(n);
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [from, to] : edges)
      if ((from == v || reached[from]) && !reached[to]) grows = reached[to] = true;
  }
  return reached[v];
}

std::string refusal(std::size_t n, const ends& edges) {
  return shardweave_test::refusal_of([&] { return sw::stable_topological_order(sw::compressed_graph(n, edges)); });
}

}  // namespace

TEST_SUITE("stable_topological_order") {
  TEST_CASE("an order that is topological already stays") {
    CHECK(sw::stable_topological_order(sw::compressed_graph(4, ends{{0, 2}, {1, 2}, {2, 3}})) == order{0, 1, 2, 3});
    CHECK(sw::stable_topological_order(sw::compressed_graph(3, ends{})) == order{0, 1, 2});
    CHECK(sw::stable_topological_order(sw::compressed_graph()).empty());
  }

  TEST_CASE("a vertex moves behind its producers and no further") {
    CHECK(sw::stable_topological_order(sw::compressed_graph(4, ends{{2, 0}})) == order{1, 2, 0, 3});
  }

  TEST_CASE("it is what the definition says, on random graphs with parallel edges") {
    sw::random_source random(2);
    for (int trial = 0; trial < 500; ++trial) {
      const std::size_t n = 1 + random.below(14);
      order shuffled(n);
      for (std::uint32_t v = 0; v < n; ++v) shuffled[v] = v;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      ends edges;
      for (std::size_t e = random.below(3 * n); e > 0 && n > 1; --e) {
        const std::size_t to = 1 + random.below(n - 1);
        edges.emplace_back(shuffled[random.below(to)], shuffled[to]);
      }
      const order expected = by_definition(n, edges);
      REQUIRE(expected.size() == n);
      REQUIRE(sw::stable_topological_order(sw::compressed_graph(n, edges)) == expected);
    }
  }

  TEST_CASE("a cycle is refused by a vertex that lies on it") {
    CHECK(refusal(1, {{0, 0}}) == "the graph has a cycle through vertex 0");
    CHECK(refusal(4, {{0, 1}, {1, 2}, {2, 3}, {3, 3}}) == "the graph has a cycle through vertex 3");
    sw::random_source random(3);
    int cyclic = 0;
    for (int trial = 0; trial < 300; ++trial) {
      const std::size_t n = 1 + random.below(8);
      ends edges(random.below(2 * n));
      for (auto& [from, to] : edges) {
        from = static_cast<std::uint32_t>(random.below(n));
        to = static_cast<std::uint32_t>(random.below(n));
      }
      const std::string words = refusal(n, edges);
      REQUIRE(words.empty() == (by_definition(n, edges).size() == n));
      if (words.empty()) continue;
      ++cyclic;
      const std::string start = "the graph has a cycle through vertex ";
      REQUIRE(words.substr(0, start.size()) == start);
      CHECK(is_on_cycle(n, edges, static_cast<std::uint32_t>(std::stoul(words.substr(start.size())))));
    }
    CHECK(cyclic > 50);
  }

  TEST_CASE("any graph is answered in its own descriptors") {
    SUBCASE("a host's own type") {
      test_support::user_graph g(3);
      g.add(10, 20);
      g.add(30, 10);
      CHECK(sw::stable_topological_order(g) == std::vector<int>{30, 10, 20});
    }
    SUBCASE("vertices that are pointers") {
      boost::adjacency_list<boost::vecS, boost::listS, boost::directedS> g;
      const auto a = add_vertex(g);
      const auto b = add_vertex(g);
      add_edge(b, a, g);
      CHECK(sw::stable_topological_order(g) == std::vector{b, a});
    }
    SUBCASE("views") {
      boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> g(4);
      add_edge(0, 1, g);
      add_edge(1, 3, g);
      const auto reversed = boost::make_reverse_graph(g);
      CHECK(sw::stable_topological_order(reversed) == std::vector<std::size_t>{2, 3, 1, 0});
      // without vertex 1 the others are free
      const boost::filtered_graph without(reversed, boost::keep_all{},
                                          std::function<bool(std::size_t)>([](std::size_t v) { return v != 1; }));
      CHECK(sw::stable_topological_order(without) == std::vector<std::size_t>{0, 2, 3});
    }
  }
}

}  // namespace stable_order_tests

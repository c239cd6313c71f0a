#include "support/user_graph.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace sw = shardweave;

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<sw::compressed_graph>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<sw::compressed_graph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<sw::compressed_graph>));

namespace compressed_graph_tests {
namespace {

using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

ends random_ends(sw::random_source& random, std::size_t vertices, std::size_t edges) {
  ends result(edges);
  for (auto& [from, to] : result) {
    from = static_cast<std::uint32_t>(random.below(vertices));
    to = static_cast<std::uint32_t>(random.below(vertices));
  }
  return result;
}

template <class Range>
std::vector<std::uint32_t> indices(const Range& range) {
  std::vector<std::uint32_t> result;
  for (const auto& e : range) result.push_back(e.index);
  return result;
}

/// Source and target of every edge, as numbers of a compressed graph.
ends listed(const sw::compressed_graph& g) {
  ends result;
  for (auto [e, last] = edges(g); e != last; ++e) result.emplace_back(source(*e, g), target(*e, g));
  return result;
}

}  // namespace

TEST_SUITE("compressed_graph") {
  TEST_CASE("a graph may be empty") {
    const sw::compressed_graph g;
    CHECK(num_vertices(g) == 0);
    CHECK(num_edges(g) == 0);
    CHECK(vertices(g).first == vertices(g).second);
    CHECK(edges(g).first == edges(g).second);
  }

  TEST_CASE("parallel edges and loops are kept, in the order of their indices") {
    const sw::compressed_graph g(3, ends{{0, 1}, {2, 2}, {0, 1}, {0, 2}});
    CHECK(indices(g.out(0)) == std::vector<std::uint32_t>{0, 2, 3});
    CHECK(indices(g.out(1)).empty());
    CHECK(indices(g.in(1)) == std::vector<std::uint32_t>{0, 2});
    CHECK(indices(g.in(2)) == std::vector<std::uint32_t>{1, 3});
    CHECK(out_degree(2, g) == 1);
    CHECK(in_degree(2, g) == 2);
    CHECK(degree(2, g) == 3);
  }

  TEST_CASE("an edge to nowhere is refused by name") {
    CHECK_THROWS_WITH_AS(sw::compressed_graph(2, ends{{0, 1}, {1, 2}}),
                         "edge 1 joins vertex 1 to 2, but there are only 2 vertices", sw::error);
    CHECK_THROWS_WITH_AS(sw::compressed_graph(0, ends{{0, 0}}),
                         "edge 0 joins vertex 0 to 0, but there are only 0 vertices", sw::error);
  }

  TEST_CASE("out-edges and in-edges are the edges with that end") {
    sw::random_source random(1);
    for (int trial = 0; trial < 200; ++trial) {
      const std::size_t n = 1 + random.below(12);
      const ends given = random_ends(random, n, random.below(40));
      const sw::compressed_graph g(n, given);
      REQUIRE(num_vertices(g) == n);
      REQUIRE(num_edges(g) == given.size());
      CHECK(listed(g) == given);
      for (std::uint32_t v = 0; v < n; ++v) {
        std::vector<std::uint32_t> out;
        std::vector<std::uint32_t> in;
        for (std::uint32_t e = 0; e < given.size(); ++e) {
          if (given[e].first == v) out.push_back(e);
          if (given[e].second == v) in.push_back(e);
        }
        CHECK(indices(g.out(v)) == out);
        CHECK(indices(g.in(v)) == in);
      }
    }
  }

  TEST_CASE("algorithms of Boost.Graph run on it, forwards and backwards") {
    // 0 -> 1 -> 3 costs 2 + 2, 0 -> 2 -> 3 costs 1 + 5
    const sw::compressed_graph g(4, ends{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
    const std::array<int, 4> cost{2, 1, 2, 5};
    const auto distances = [&](const auto& graph, std::uint32_t from, auto edge_cost) {
      std::vector<int> result(4);
      boost::dijkstra_shortest_paths(
          graph, from,
          boost::weight_map(
              boost::make_function_property_map<sw::edge_t<std::remove_cvref_t<decltype(graph)>>, int>(edge_cost))
              .distance_map(boost::make_iterator_property_map(result.begin(), get(boost::vertex_index, g)))
              .vertex_index_map(get(boost::vertex_index, g)));
      return result;
    };
    CHECK(distances(g, 0, [&](const auto& e) { return cost[e.index]; }) == std::vector<int>{0, 2, 1, 4});
    const auto back = boost::make_reverse_graph(g);
    CHECK(distances(back, 3, [&](const auto& e) { return cost[e.underlying_descx.index]; }) ==
          std::vector<int>{4, 2, 5, 0});
  }
}

TEST_SUITE("compress") {
  TEST_CASE("vertices and edges keep the order in which the graph lists them") {
    const ends given{{0, 1}, {0, 2}, {2, 1}, {2, 1}};
    SUBCASE("an adjacency list with vertices in a vector") {
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> g(3);
      for (const auto& [from, to] : given) add_edge(from, to, g);
      CHECK(listed(sw::compress(g)) == given);
    }
    SUBCASE("an adjacency list with vertices in a list") {
      boost::adjacency_list<boost::vecS, boost::listS, boost::bidirectionalS> g;
      const std::array v{add_vertex(g), add_vertex(g), add_vertex(g)};
      for (const auto& [from, to] : given) add_edge(v[from], v[to], g);
      CHECK(listed(sw::compress(g)) == given);
    }
    SUBCASE("compressed rows") {
      const boost::compressed_sparse_row_graph<boost::directedS> g(boost::edges_are_sorted, given.begin(), given.end(),
                                                                   3);
      CHECK(listed(sw::compress(g)) == given);
    }
    SUBCASE("a host's own type") {
      test_support::user_graph g(3);
      for (const auto& [from, to] : given) g.add(10 * (static_cast<int>(from) + 1), 10 * (static_cast<int>(to) + 1));
      CHECK(listed(sw::compress(g)) == given);
    }
    SUBCASE("its own form") { CHECK(listed(sw::compress(sw::compressed_graph(3, given))) == given); }
    SUBCASE("a reversed view") {
      boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> g(3);
      for (const auto& [from, to] : given) add_edge(to, from, g);
      CHECK(listed(sw::compress(boost::make_reverse_graph(g))) == given);
    }
  }
}

}  // namespace compressed_graph_tests

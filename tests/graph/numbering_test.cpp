#include "support/user_graph.hpp"
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/numbering.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace numbering_tests {
namespace {

/// The definition: the i-th vertex listed has number i, and i leads back to it.
template <class G>
void check_numbering(const G& g) {
  const sw::vertex_numbering<G> numbers(g);
  std::size_t i = 0;
  for (auto [v, last] = vertices(g); v != last; ++v, ++i) {
    REQUIRE(i < numbers.size());
    CHECK(numbers(*v) == i);
    CHECK(numbers[i] == *v);
  }
  CHECK(numbers.size() == i);
}

}  // namespace

TEST_SUITE("vertex_numbering") {
  TEST_CASE("numbers follow the listing, whatever a vertex is") {
    using in_vector = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    using in_list = boost::adjacency_list<boost::vecS, boost::listS, boost::directedS>;
    using rows = boost::compressed_sparse_row_graph<boost::directedS>;
    SUBCASE("no vertices") {
      check_numbering(in_vector(0));
      check_numbering(in_list());
      check_numbering(sw::compressed_graph());
    }
    SUBCASE("integers from zero") {
      check_numbering(in_vector(5));
      check_numbering(sw::compressed_graph(5, {}));
      const std::vector<std::pair<int, int>> ends{{0, 2}};
      check_numbering(rows(boost::edges_are_unsorted, ends.begin(), ends.end(), 4));
    }
    SUBCASE("pointers") {
      in_list g;
      for (int i = 0; i < 20; ++i) add_vertex(g);
      check_numbering(g);
    }
    SUBCASE("integers with a gap") {
      const in_vector whole(6);
      const auto odd = [](std::size_t v) { return v % 2 == 1; };
      check_numbering(boost::filtered_graph(whole, boost::keep_all{}, std::function<bool(std::size_t)>(odd)));
    }
    SUBCASE("names of a host's own") { check_numbering(test_support::user_graph(4)); }
  }
}

}  // namespace numbering_tests

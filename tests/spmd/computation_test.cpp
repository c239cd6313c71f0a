#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/spmd/computation.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace computation_tests {

namespace sw = shardweave;

TEST_SUITE("computation") {
  TEST_CASE("operation i is vertex i, and its edges come from its arguments, in their order, each use counted") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      sw::computation graph;
      const auto n = static_cast<std::uint32_t>(1 + random.below(12));
      std::size_t uses = 0;
      for (std::uint32_t v = 0; v < n; ++v) {
        sw::operation op;
        for (std::size_t i = v == 0 ? 0 : random.below(4); i > 0; --i)
          op.inputs.push_back(static_cast<std::uint32_t>(random.below(v)));
        uses += op.inputs.size();
        graph.operations.push_back(std::move(op));
      }
      const sw::compressed_graph g = graph.graph();
      CHECK(num_vertices(g) == n);
      CHECK(num_edges(g) == uses);
      for (std::uint32_t v = 0; v < n; ++v) {
        std::vector<std::uint32_t> sources;
        for (const auto& e : g.in(v)) {
          CHECK(e.target == v);
          sources.push_back(e.source);
        }
        CHECK(sources == graph.operations[v].inputs);
      }
    }
  }

  TEST_CASE("an argument that no operation makes is refused") {
    sw::computation graph;
    graph.operations.resize(2);
    graph.operations[1].inputs = {0, 2};
    CHECK_THROWS_AS(static_cast<void>(graph.graph()), sw::error);
  }
}

}  // namespace computation_tests

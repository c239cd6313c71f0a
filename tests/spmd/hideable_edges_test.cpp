#include "spmd/training_step.hpp"
#include <shardweave/spmd/hideable_edges.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace hideable_edges_tests {
namespace {

using namespace training_steps;
namespace sw = shardweave;

}  // namespace

TEST_SUITE("hideable_edges") {
  TEST_CASE("what is made of parameters alone moves earlier, what only results wait for later, and nothing else") {
    const auto model = training_step();
    const auto expected = by_definition(model.operations());
    const auto told = sw::hideable_edges(model);
    std::map<std::uint32_t, sw::hiding> found;
    std::map<sw::hiding, std::size_t> ways;
    for (const sw::hideable_edge& e : told) {
      CHECK(found.emplace(e.edge, e.direction).second);
      ++ways[e.direction];
    }
    CHECK(found == expected);
    CHECK(ways[sw::hiding::earlier] > 10);
    CHECK(ways[sw::hiding::later] > 10);
    CHECK(told.size() < num_edges(model.graph()) / 2);
  }
}

}  // namespace hideable_edges_tests

#include <shardweave/core/random.hpp>
#include <shardweave/placement/constraints.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;

TEST_SUITE("constraints") {
  TEST_CASE("a tied vertex is led by the first that ties reach from it") {
    std::size_t joined = 0;
    for (std::uint64_t seed = 0; seed < at_scale(100); ++seed) {
      sw::random_source random(seed);
      const auto vertices = static_cast<std::uint32_t>(1 + random.below(12));
      std::vector<sw::tie> ties(random.below(6));
      for (sw::tie& t : ties)
        for (std::size_t i = random.below(4); i > 0; --i)
          t.vertices.push_back(static_cast<std::uint32_t>(random.below(vertices)));
      const std::vector<std::uint32_t> leader = sw::tie_leaders(vertices, ties);
      // each takes the least number of those it is tied with until none changes
      std::vector<std::uint32_t> expected(vertices);
      for (std::uint32_t v = 0; v < vertices; ++v) expected[v] = v;
      for (bool changed = true; changed;) {
        changed = false;
        for (const sw::tie& t : ties)
          for (const std::uint32_t a : t.vertices)
            for (const std::uint32_t b : t.vertices)
              if (expected[a] > expected[b]) {
                expected[a] = expected[b];
                changed = true;
              }
      }
      CHECK(leader == expected);
      joined += ties.size() > 1 && std::count(leader.begin(), leader.end(), 0U) > 2 ? 1U : 0U;
    }
    CHECK(joined > 0);
  }
}

#include "io/small_placement.hpp"
#include "support/shared_data.hpp"
#include <shardweave/io/placement.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <doctest/doctest.h>

#include <string>

namespace sw = shardweave;

namespace placement_tests {
namespace {

using namespace small_placements;

}  // namespace

TEST_SUITE("read_placement") {
  TEST_CASE("extracted problems are read, and their references cost what they are said to cost") {
    for (const char* name : {"tiny2-1d-8-overlap", "tiny2-2d-4x2", "llama3-1b-1d-64-memory"}) {
      const auto path = shared_data(std::string("placement/") + name + ".json.gz");
      if (!path) return;
      CAPTURE(name);
      const auto d = sw::read_placement(*path, {.strict = true});
      CHECK(d.name == name);
      REQUIRE(d.reference);
      const auto priced = sw::evaluate(d, d.reference->choice);
      CHECK(priced.violations.empty());
      CHECK(priced.objective ==
            doctest::Approx(d.reference->without_savings.value_or(d.reference->objective)).epsilon(1e-12));
    }
  }

  TEST_CASE("an extracted problem has the sizes that are known of it") {
    const auto path = shared_data("placement/tiny2-2d-4x2.json.gz");
    if (!path) return;
    const auto d = sw::read_placement(*path);
    std::size_t strategies = 0, entries = 0, tied = 0;
    for (const auto& v : d.vertices) strategies += v.compute.size();
    for (const auto& t : d.tables) entries += t->rows() * t->columns();
    for (const auto& t : d.constraints.ties) tied += t.vertices.size();
    CHECK(d.vertices.size() == 608);
    CHECK(d.edges.size() == 730);
    CHECK(strategies == 15'344);
    CHECK(d.tables.size() == 246);
    CHECK(entries == 240'577);
    CHECK(d.constraints.ties.size() == 273);
    CHECK(tied == 546);
    CHECK(d.constraints.pairs.size() == 22);
  }
}

}  // namespace placement_tests

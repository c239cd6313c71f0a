#include "io/small_placement.hpp"
#include "io/written_texts.hpp"
#include "support/random_problem.hpp"
#include <shardweave/io/write_placement.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace write_placement_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::draw_problem;
using shardweave_test::problem_features;
using namespace small_placements;
using namespace written_texts;

}  // namespace

TEST_SUITE("write_placement") {
  TEST_CASE("what is written reads back to the same problem") {
    const auto d = read(small);
    const std::string text = written(d);
    const auto again = read(text);
    CHECK(written(again) == text);
    CHECK(again.overlap.size() == 3);
    CHECK(*again.tables[0] == *d.tables[0]);
    CHECK(again.reference->objective == d.reference->objective);
  }

  TEST_CASE("random problems read back to the same text and the same costs, bit for bit") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      const problem_features features = problem_features::combination(static_cast<unsigned>(seed) & 127U);
      const auto problem = draw_problem<double>(seed, features);
      const std::string text = written(problem.description);
      const auto again = read(text);
      CHECK(written(again) == text);
      REQUIRE(again.tables.size() <= problem.description.tables.size());
      sw::random_source random(seed);
      sw::assignment choice;
      for (const auto& v : again.vertices) choice.push_back(static_cast<sw::strategy>(random.below(v.compute.size())));
      const auto before = sw::evaluate(problem.description, choice), after = sw::evaluate(again, choice);
      CHECK(before.parts == after.parts);
      CHECK(before.objective == after.objective);
    }
  }

  TEST_CASE("exact costs are written as they are") {
    sw::placement_description<std::int64_t> d;
    d.vertices.resize(1);
    d.vertices[0].compute = {9007199254740993, sw::forbidden<std::int64_t>};
    CHECK(written(d).find("\"compute\":[9007199254740993,null]") != std::string::npos);
  }
}

TEST_SUITE("shardweave.placement") {
  TEST_CASE("a problem is written with null for forbidden costs, and only the limits that there are") {
    CHECK(text_by([](sw::json_writer& out) { sw::write_placement(out, two_vertices()); }) ==
          R"json({"format":"shardweave.placement","version":1,
"name":"p","description":"d","unit":"us",
"vertices":[
{"name":"x","op":"mm","phase":"forward","labels":["R","S(0)"],"compute":[0.5,null],"tie":0,"memory":[8,4]},
{"name":"y","compute":[1,2],"tie":0}],
"matrices":[
[0,1,null,0.1]],
"edges":[
{"from":0,"to":1,"slot":1,"communication":0},
{"from":0,"to":1,"slot":0,"transition":0}],
"fixed":[
{"vertex":1,"strategies":[0,1],"why":"output"}],
"pairs":[
{"a":0,"b":1,"allowed":[[0,0],[1,1]]}],
"budgets":[
{"name":"memory","high":9,"terms":[
{"vertex":0,"usage":[1,0.5],"live":[2,6]},
{"vertex":1,"usage":[3,4]}]}],
"overlap":{"order":"vertex order","edges":[
{"edge":0,"direction":"earlier"},
{"edge":1,"window":[0,1],"channel":2}]}}
)json");
  }

  TEST_CASE("an edge that hides either way is written as two, one for each direction") {
    sw::placement_description<double> d = two_vertices();
    d.overlap = {{.edge = 1, .direction = sw::hiding::both}};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_placement(out, d); });
    CHECK(text.find("\"edges\":[\n{\"edge\":1,\"direction\":\"earlier\"},\n{\"edge\":1,\"direction\":\"later\"}]") !=
          std::string::npos);
  }
}

}  // namespace write_placement_tests

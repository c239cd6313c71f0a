#include "spmd/training_step.hpp"
#include <shardweave/placement/describe.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace describe_spmd_tests {
namespace {

using namespace training_steps;
namespace sw = shardweave;

}  // namespace

TEST_SUITE("describe_spmd") {
  TEST_CASE("the problem is that of the model's graph, with the names of its operations, in us, and what may hide") {
    const auto model = training_step();
    const auto constraints = sw::training_constraints(model);
    const auto told = sw::describe(model, constraints);
    const auto plain = sw::describe(model.graph(), model, constraints);
    CHECK(told.name == "two layers");
    CHECK(told.unit == "us");
    CHECK(told.counted == sw::savings_form::off);
    REQUIRE(told.vertices.size() == model.operations().operations.size());
    for (std::size_t v = 0; v < told.vertices.size(); ++v) {
      const sw::operation& op = model.operations().operations[v];
      CHECK(told.vertices[v].name == op.name);
      CHECK(told.vertices[v].op == op.op);
      CHECK(told.vertices[v].phase == sw::name_of(op.when));
      CHECK(told.vertices[v].compute == plain.vertices[v].compute);
    }
    REQUIRE(told.edges.size() == plain.edges.size());
    for (std::size_t e = 0; e < told.edges.size(); ++e) {
      CHECK(told.edges[e].from == plain.edges[e].from);
      CHECK(told.edges[e].to == plain.edges[e].to);
    }
    const auto expected = by_definition(model.operations());
    REQUIRE(told.overlap.size() == expected.size());
    for (const sw::hideable_edge& e : told.overlap) CHECK(expected.at(e.edge) == e.direction);
  }
}

}  // namespace describe_spmd_tests

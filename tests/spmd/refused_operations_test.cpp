#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/two_devices.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::sharding;

namespace refused_operations_tests {

TEST_SUITE("refused_operations") {
  TEST_CASE("where a source does not fit the value and the mesh there is no way") {
    const auto d = sw::find_device("h100");
    sw::redistributor of(sw::device_mesh({8}), sw::roofline{d}, sw::alpha_beta(d));
    for (const char* from : {"S(0)", "S(3)", "RR"}) {
      const auto plan = of.plan(sw::tensor{{4}}, sharding::parse(from), sharding::parse("R"));
      CHECK(std::isinf(plan.cost_us));
      CHECK(plan.steps.empty());
    }
  }
  TEST_CASE("operations without the arguments or dimensions that they need are refused by name") {
    struct c {
      const char* op;
      std::vector<sw::tensor> in, out;
    };
    const sw::tensor v{{4}}, m{{4, 4}}, t{{4, 4, 4}}, f{{4, 4, 4, 4}};
    for (const c& each :
         {c{"sdpa", {m, m, m}, {m}}, c{"sdpa", {t, t, t}, {t}}, c{"sdpa", {f, f}, {f}}, c{"expand", {t}, {m}},
          c{"gather", {m}, {m}}, c{"gather", {v, v}, {m}}, c{"scatter_add", {v}, {v}}, c{"scatter_add", {m, v, m}, {m}},
          c{"histogram", {}, {v}}, c{"view_as_complex", {}, {m}}, c{"embedding", {m}, {m}}}) {
      CAPTURE(each.op);
      sw::graph_builder b("g");
      std::vector<sw::graph_builder::value> in;
      int i = 0;
      for (const sw::tensor& x : each.in) in.push_back(b.input("x" + std::to_string(i++), x));
      b.result(b.apply(each.op, in, each.out, {.dims = {0}}));
      const sw::computation graph = b.finish();
      CHECK_THROWS_WITH_AS(shardweave_test::on_two_devices(graph), doctest::Contains("operation '"), sw::error);
    }
  }
  TEST_CASE("a result that is none is refused by name") {
    sw::graph_builder b("g");
    b.result(b.apply("relu", {b.input("x", {{4, 4}})}, {{{4, 4}}}));
    sw::computation c = b.finish();
    c.results.push_back(static_cast<std::uint32_t>(c.operations.size() - 1));  // "results", the last one, gives nothing
    CHECK_THROWS_WITH_AS(shardweave_test::on_two_devices(std::move(c)),
                         "results names operation 'results', which has none, expected one that has", sw::error);
  }
  TEST_CASE("a parameter without elements takes no memory") {
    sw::graph_builder b("g");
    const auto x = b.input("x", {{4, 4}});
    const auto w = b.parameter("w", {{4, 4}});
    const auto e = b.parameter("e", {{0}});
    b.result(b.einsum("ab,bc->ac", {x, w}));
    b.result(b.neg(e));
    const auto m = shardweave_test::on_two_devices(b.finish());
    CHECK(sw::parameter_budget(m, 0.5, sw::parameter_unit::ratio).high == 0.5);
    for (const auto& f : sw::training_constraints(m).fixed) CHECK(!f.allowed.empty());
  }
}

}  // namespace refused_operations_tests

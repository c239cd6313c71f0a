#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/demand.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace propagation_tests {
namespace {

using namespace shardweave;
using model_type = spmd_cost_model;

constexpr auto cut = [](std::size_t dim) { return dim_placement::shard(dim); };
const dim_placement whole = dim_placement::replicate();

/// `layers` times y = (x w)^2, with gradients of the weights.
computation layered(std::int64_t layers, std::int64_t rows, std::int64_t width) {
  graph_builder b("layers");
  auto x = b.input("x", {{rows, width}, dtype::bf16});
  std::vector<graph_builder::value> weights, narrow, inputs;
  for (std::int64_t l = 0; l < layers; ++l) {
    weights.push_back(b.parameter("w" + std::to_string(l), {{width, width}, dtype::f32}));
    narrow.push_back(b.cast(weights.back(), dtype::bf16));
    inputs.push_back(x);
    x = b.pow(b.einsum("bk,kn->bn", {x, narrow.back()}), 2);
  }
  b.result(x);
  b.when(phase::backward);
  auto g = b.tangent("dy", x);
  for (std::int64_t l = layers; l-- > 0;) {
    const auto i = static_cast<std::size_t>(l);
    b.gradient(weights[i], b.cast(b.einsum("bk,bn->kn", {inputs[i], g}), dtype::f32));
    if (l > 0) g = b.einsum("bn,kn->bk", {g, narrow[i]});
  }
  return insert_aliases(b.finish());
}

model_type model_of(computation graph, const char* mesh) {
  const device_profile h100 = find_device("h100");
  return {std::move(graph), device_mesh::parse(mesh), roofline{h100}, node_table<>(h100)};
}

const operation& operation_of(const model_type& model, std::uint32_t v) { return model.operations().operations[v]; }

std::uint32_t number_of(const model_type& model, const std::string& name) {
  const auto at = std::ranges::find(model.operations().operations, name, &operation::name);
  REQUIRE(at != model.operations().operations.end());
  return static_cast<std::uint32_t>(at - model.operations().operations.begin());
}

std::vector<std::uint32_t> products_of(const model_type& model) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v)
    if (operation_of(model, v).op == "einsum") all.push_back(v);
  return all;
}

double optimum(const model_type& model, const constraint_set& constraints) {
  const auto found = trws{}.solve(compile(describe(model.graph(), model, constraints)));
  REQUIRE(found.status == solve_status::optimal);
  return found.objective;
}

/// The annotations alone as constraints, tangents and gradients with what they belong to.
constraint_set demanded(const model_type& model, const std::vector<annotation>& annotations) {
  constraint_set all;
  for (const annotation& a : annotations) {
    const std::uint32_t v = number_of(model, a.pattern);
    all.fixed.push_back(result_placed_along(model, v, a.mesh_dim, a.where, "demanded"));
    for (const auto* pairs : {&model.operations().gradient_of, &model.operations().tangent_of})
      for (const auto& [one, other] : *pairs)
        if (one == v) all.fixed.push_back(result_placed_along(model, other, a.mesh_dim, a.where, "demanded"));
  }
  return all;
}

std::string refusal_of(const model_type& model, const annotation& a) {
  return shardweave_test::refusal_of([&] { return propagate(model, std::vector{a}); }, error_category::constraint);
}

/// Whether an argument of the operation is a boundary.
bool meets_boundary(const propagation& told, std::uint32_t v) {
  return std::ranges::find(told.boundaries, v, &axis_boundary::consumer) != told.boundaries.end();
}

/// Where no boundary is met, nothing is left of an operation that its strategies and its producers' placements do not
/// give, and, if it has several users, nothing else is missing.
std::size_t check_domains(const model_type& model, const propagation& told, const std::set<std::uint32_t>& annotated) {
  std::size_t compared = 0;
  for (std::uint32_t v = 0; v < told.left.size(); ++v)
    for (std::size_t d = 0; d < model.mesh().rank() && !operation_of(model, v).outputs.empty(); ++d) {
      if (meets_boundary(told, v)) continue;
      std::set<dim_placement> supported;
      for (const mesh_strategy& s : model.strategies(v).strategies) {
        bool good = true;
        for (const auto& e : model.graph().in(v))
          good = good && told.left[e.source][d].contains(s.inputs[model.argument(e)][d]);
        if (good) supported.insert(s.outputs.front()[d]);
      }
      CHECK(std::ranges::includes(supported, told.left[v][d]));
      if (annotated.contains(v) || model.graph().out(v).size() < 2) continue;
      CHECK(supported == told.left[v][d]);
      ++compared;
    }
  return compared;
}

}  // namespace

TEST_SUITE("propagate") {
  TEST_CASE("a cut batch determines the products along its mesh dimension, and leaves the other one open") {
    const model_type model = model_of(layered(2, 4096, 256), "4x2");
    const std::uint32_t x = number_of(model, "x"), dy = number_of(model, "dy");
    const propagation told = propagate(model, std::vector<annotation>{{"x", 0, cut(0)}, {"dy", 0, cut(0)}});
    // sums over rows are put together where gradients of weights leave, and nowhere else
    REQUIRE(told.boundaries.size() == 2);
    for (const axis_boundary& b : told.boundaries) {
      CHECK(told.left[b.producer][b.mesh_dim] == std::set<dim_placement>{dim_placement::partial()});
      CHECK(std::ranges::any_of(model.operations().gradient_of,
                                [&](const auto& pair) { return pair.second == b.consumer; }));
    }
    CHECK(told.determined[x] == std::vector<std::size_t>{0});
    const auto products = products_of(model);
    REQUIRE(products.size() == 5);
    std::size_t pinned = 0;
    for (const std::uint32_t v : products) {
      CAPTURE(operation_of(model, v).name);
      const bool of_weights = operation_of(model, v).with.equation == "bk,bn->kn";
      // rows cut stay cut, and products that sum over rows are partial, which is pinned only on demand
      CHECK(told.left[v][0] == std::set<dim_placement>{of_weights ? dim_placement::partial() : cut(0)});
      CHECK(told.determined[v] == (of_weights ? std::vector<std::size_t>{} : std::vector<std::size_t>{0}));
      CHECK(told.left[v][1].size() > 2);
      pinned += told.determined[v].size();
    }
    CHECK(pinned == 3);
    CHECK(check_domains(model, told, {x, dy}) > 5);
    CHECK(told.strategies_after < told.strategies_before);
    std::size_t kept = told.strategies_before;
    for (const fixed_strategies& f : told.constraints) {
      kept -= model.strategy_count(f.vertex) - f.allowed.size();
      for (strategy s = 0; s < model.strategy_count(f.vertex); ++s)
        CHECK((model.strategies(f.vertex).strategies[s].outputs.front()[0] == cut(0)) ==
              (std::ranges::find(f.allowed, s) != f.allowed.end()));
    }
    CHECK(kept == told.strategies_after);
    const propagation all =
        propagate(model, std::vector<annotation>{{"x", 0, cut(0)}, {"dy", 0, cut(0)}}, {.aggressive = true});
    for (const std::uint32_t v : products) CHECK(all.determined[v] == std::vector<std::size_t>{0});
  }

  TEST_CASE("the optimum stays where rows are many, and is never better than that of the annotations alone") {
    for (const auto& [rows, width, mesh] : {std::tuple(std::int64_t{65536}, std::int64_t{128}, "8"),
                                            std::tuple(std::int64_t{65536}, std::int64_t{128}, "4x2"),
                                            std::tuple(std::int64_t{64}, std::int64_t{2048}, "4"),
                                            std::tuple(std::int64_t{512}, std::int64_t{512}, "2x2")}) {
      CAPTURE(rows);
      CAPTURE(mesh);
      const model_type model = model_of(layered(2, rows, width), mesh);
      const std::vector<annotation> batch{{"x", 0, cut(0)}, {"dy", 0, cut(0)}};
      const propagation told = propagate(model, batch);
      constraint_set propagated;
      propagated.fixed = told.constraints;
      const double full = optimum(model, demanded(model, batch)), found = optimum(model, propagated);
      CHECK(found >= full * (1 - 1e-9));
      if (rows > 10'000) CHECK(found == doctest::Approx(full).epsilon(1e-9));
      CHECK(told.strategies_after < told.strategies_before);
    }
  }

  TEST_CASE("a parameter cut along one mesh dimension stays open along the other, and its gradient lies as it does") {
    const model_type model = model_of(layered(1, 4096, 256), "4x2");
    const propagation told = propagate(model, std::vector<annotation>{{"w*", 1, cut(1)}});
    const std::uint32_t w = number_of(model, "w0");
    CHECK(told.left[w][0] == std::set<dim_placement>{whole, cut(0), cut(1)});
    CHECK(told.left[w][1] == std::set<dim_placement>{cut(1)});
    REQUIRE(model.operations().gradient_of.size() == 1);
    const std::uint32_t gradient = model.operations().gradient_of[0].second;
    CHECK(told.left[gradient][1] == std::set<dim_placement>{cut(1)});
    CHECK(told.determined[gradient] == std::vector<std::size_t>{1});
  }

  TEST_CASE("what comes first decides, and the other argument becomes a boundary") {
    const model_type model = model_of(layered(1, 4096, 256), "4");
    const std::uint32_t product = products_of(model).front();
    // rows of x cut want all of w; w cut along what is summed up wants columns of x cut
    const auto told_of = [&](int priority_of_w) {
      return propagate(model, std::vector<annotation>{{"x", 0, cut(0), 0}, {"w0", 0, cut(0), priority_of_w}});
    };
    const auto moved = [&](const propagation& told, const char* name) {  // or its alias
      return std::ranges::any_of(told.boundaries, [&](const axis_boundary& b) {
        return operation_of(model, b.producer).name.starts_with(name);
      });
    };
    const propagation rows_first = told_of(1), weights_first = told_of(-1);
    CHECK(rows_first.left[product][0] == std::set<dim_placement>{cut(0)});
    CHECK(weights_first.left[product][0] == std::set<dim_placement>{dim_placement::partial()});
    CHECK(moved(rows_first, "w0"));
    CHECK_FALSE(moved(rows_first, "x"));
    CHECK(moved(weights_first, "x"));
    CHECK_FALSE(moved(weights_first, "w0"));
    // parameters come after inputs unless a priority is given
    const propagation usual = propagate(model, std::vector<annotation>{{"w0", 0, cut(0)}, {"x", 0, cut(0)}});
    CHECK(usual.left == rows_first.left);
    CHECK(usual.boundaries == rows_first.boundaries);
  }

  TEST_CASE("nothing annotated determines nothing") {
    const model_type model = model_of(layered(1, 4096, 256), "2x2");
    const propagation told = propagate(model, std::vector<annotation>{});
    CHECK(told.constraints.empty());
    CHECK(told.boundaries.empty());
    CHECK(told.touched == 0);
    CHECK(told.strategies_before == told.strategies_after);
    CHECK(check_domains(model, told, {}) > 0);
  }

  TEST_CASE("annotations that nothing can follow are refused by name, with what is offered") {
    const model_type model = model_of(layered(1, 4096, 256), "2x2");
    CHECK(refusal_of(model, {"q*", 0, cut(0)}) == "annotation 'q* 0 S(0)': no operation has such a name");
    CHECK(refusal_of(model, {"x", 2, cut(0)}) == "annotation 'x 2 S(0)': there is no dimension 2 of mesh 2x2");
    CHECK(refusal_of(model, {"x", 1, cut(5)}) == "annotation 'x 1 S(5)': operation 'x' offers R, S(0), S(1) there");
    const model_type narrow = model_of(layered(1, 2, 8), "2x2");
    CHECK(shardweave_test::refusal_of(
              [&] {
                return propagate(narrow, std::vector<annotation>{{"x", 0, cut(0)}, {"x", 1, cut(0)}});
              },
              error_category::constraint) ==
          "annotations of operation 'x' allow none of its strategies along all mesh dimensions together");
  }
}

}  // namespace propagation_tests

#include "finite_difference.hpp"
#include "interpreter.hpp"
#include "model_checks.hpp"
#include "models/written_gradients.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/standard_backward_rules.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Every backward rule against finite differences of the forward graph, and what the pass makes of whole graphs.

namespace joint_graph_tests {
namespace {

using namespace written_gradients;
namespace sw = shardweave;

/// Operations on whatever is there, so that values have many users.
sw::computation random_graph(std::uint64_t seed) {
  sw::random_source random(seed);
  builder b("random");
  std::vector<value> all{real(b, {3, 4}), real(b, {3, 4}), real(b, {4, 4}), real(b, {3, 1})};
  const auto any = [&] { return all[random.below(all.size())]; };
  const auto rows = [&] {  // a value of shape [3, 4]
    const value v = any();
    const shape_vector shape = b.of_value(v).shape;
    if (shape == shape_vector{4, 4}) return b.slice(v, 0, static_cast<std::int64_t>(random.below(2)), 3);
    return shape == shape_vector{3, 1} ? b.expand(v, {3, 4}) : v;
  };
  for (int i = 0; i < 14; ++i) {
    const value x = rows();
    const value y = rows();
    switch (random.below(9)) {
      case 0:
        all.push_back(b.add(x, y));
        break;
      case 1:
        all.push_back(b.mul(x, b.sigmoid(y)));
        break;
      case 2:
        all.push_back(b.sub(x, b.mean(y, {-1}, true)));
        break;
      case 3:
        all.push_back(b.einsum("ab,bc->ac", {x, b.softmax(all[2], 1)}));
        break;
      case 4:
        all.push_back(b.softmax(b.einsum("ab,ac->bc", {x, y}), 0));
        break;
      case 5:
        all.push_back(b.amax(x, {1}, true));
        break;
      case 6:
        all.push_back(b.permute(b.view(b.softmax(x, 1), {4, 3}), {1, 0}));
        break;
      case 7:
        all.push_back(b.div(x, b.add_scalar(b.mul(y, y), 1)));
        break;
      default:
        all.push_back(b.slice(b.cat({x, y}, 1), 1, 2, 4));
        break;
    }
  }
  b.result(all.back());
  b.result(b.sum(all[all.size() - 2], {0, 1}));
  return sw::joint_graph(std::move(b));
}

}  // namespace

TEST_SUITE("joint_graph") {
  TEST_CASE("a forward graph becomes a joint graph, gradients of parameters first") {
    builder b("two layers");
    const value x = b.input("x", {{2, 3}, dtype::bf16});
    std::vector<value> w;
    for (int l = 0; l < 2; ++l)
      w.push_back(b.layer(l).group("w").parameter("w" + std::to_string(l), {{3, 3}, dtype::f32}));
    value y = x;
    for (int l = 0; l < 2; ++l) {
      b.layer(l).group("w");
      const value narrow = b.cast(w[static_cast<std::size_t>(l)], dtype::bf16);
      b.group("mix");
      y = b.sigmoid(b.einsum("bk,kn->bn", {y, narrow}));
    }
    b.layer(-1).group("").result(y);
    sw::backward_pass(b, sw::standard_backward_rules()).run();
    const sw::computation plain = b.finish();
    CHECK(names_of(plain) ==
          std::vector<std::string>{"x",
                                   "w0",
                                   "w1",
                                   "layers.0.w.cast",
                                   "layers.0.mix.einsum",
                                   "layers.0.mix.sigmoid",
                                   "layers.1.w.cast",
                                   "layers.1.mix.einsum",
                                   "layers.1.mix.sigmoid",
                                   "tangent",
                                   "backward.layers.1.mix.rsub_scalar",
                                   "backward.layers.1.mix.mul",
                                   "backward.layers.1.mix.mul_1",
                                   "backward.layers.1.mix.einsum",
                                   "backward.layers.1.w.cast",  // the weight's gradient is ready to go
                                   "backward.layers.1.mix.permute",
                                   "backward.layers.1.mix.einsum_1",
                                   "backward.layers.0.mix.rsub_scalar",
                                   "backward.layers.0.mix.mul",
                                   "backward.layers.0.mix.mul_1",
                                   "backward.layers.0.mix.einsum",
                                   "backward.layers.0.w.cast",
                                   "results"});
    CHECK(plain.operations[13].with.equation == "bn,bk->kn");
    CHECK(plain.operations[13].inputs == std::vector<std::uint32_t>{12, 5});
    CHECK(plain.operations[16].with.equation == "bn,nk->bk");
    CHECK(plain.operations[14].outputs[0] == sw::tensor{{3, 3}, dtype::f32});
    CHECK(plain.results == std::vector<std::uint32_t>{8, 14, 21});
    CHECK(plain.gradient_of == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 14}, {1, 21}});
    CHECK(plain.tangent_of == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{8, 9}});
    // layers are alike in the backward half, too, though the first has no gradient of its input
    for (const std::size_t v : {10U, 11U, 12U, 13U, 14U})
      CHECK(plain.operations[v].site == plain.operations[v + 7].site);
    CHECK(plain.operations[11].site != plain.operations[12].site);
    CHECK(plain.operations[11].layer == 1);
    CHECK(plain.operations.back().when == sw::phase::backward);
    CHECK(compare(plain).worst < 1e-6);
  }

  TEST_CASE("random graphs have the gradients that finite differences give") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(15); ++seed) {
      CAPTURE(seed);
      const comparison made = compare(random_graph(seed), seed, 3);
      CHECK(made.worst < 1e-5);
      CHECK(made.largest > 1e-3);
    }
  }
}

}  // namespace joint_graph_tests

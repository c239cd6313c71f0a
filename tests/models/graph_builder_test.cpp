#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/shape_inference.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::dtype;
using sw::shape_vector;

TEST_SUITE("graph_builder") {
  TEST_CASE("a host writes a layer in a few lines, and shapes and types follow") {
    sw::graph_builder b("feed forward");
    const auto x = b.input("x", {{4, 6, 8}, dtype::bf16});
    b.layer(0).group("up");
    const auto w = b.parameter("up", {{16, 8}, dtype::f32});
    const auto t = b.permute(b.cast(w, dtype::bf16), {1, 0});
    const auto y = b.einsum("bsk,kn->bsn", {x, t});
    b.layer(1).group("down");
    const auto z = b.sum(b.mul(y, b.mean(y, {-1}, true)), {0, -1});
    b.result(z);
    const sw::computation graph = b.finish();

    CHECK(graph.name == "feed forward");
    REQUIRE(graph.operations.size() == 9);
    CHECK(graph.operations[0].kind == sw::role::input);
    CHECK(graph.operations[1].kind == sw::role::parameter);
    CHECK(graph.operations[3].name == "layers.0.up.permute");
    CHECK(graph.operations[3].outputs[0] == sw::tensor{{8, 16}, dtype::bf16, false});
    CHECK(graph.operations[4].outputs[0] == sw::tensor{{4, 6, 16}, dtype::bf16});
    CHECK(graph.operations[4].with.equation == "bsk,kn->bsn");
    CHECK(graph.operations[5].outputs[0].shape == shape_vector{4, 6, 1});
    CHECK(graph.operations[5].with.dims == shape_vector{2});
    CHECK(graph.operations[6].inputs == std::vector<std::uint32_t>{4, 5});
    CHECK(graph.operations[7].outputs[0].shape == shape_vector{6});
    CHECK(graph.operations[7].group == "down");
    CHECK(graph.operations[7].layer == 1);
    CHECK(graph.operations[8].op == "output");
    CHECK(graph.operations[8].inputs == graph.results);
    CHECK(num_edges(graph.graph()) == 9);
  }

  TEST_CASE("the same place in two layers of a kind is one site, in two phases or kinds it is two") {
    sw::graph_builder b("sites");
    const auto x = b.input("x", {{4}, dtype::f32});
    const auto outside = b.neg(x);
    b.layer(0);
    const auto a0 = b.neg(x);
    const auto a1 = b.neg(a0);
    b.layer(1);
    const auto b0 = b.neg(a1);
    b.layer(0, "experts");
    const auto e0 = b.neg(b0);
    b.layer(1).when(sw::phase::backward);
    const auto g0 = b.neg(e0);
    b.layer(1).when(sw::phase::forward);
    const auto b1 = b.neg(g0);
    b.result(b1);
    const sw::computation graph = b.finish();
    const auto site = [&](auto v) { return graph.operations[v.vertex].site; };
    CHECK(site(outside) == 0);
    CHECK(site(a0) == site(b0));
    CHECK(site(a1) == site(b1));
    CHECK(site(a0) != site(a1));
    CHECK(site(e0) != site(a0));
    CHECK(site(g0) != site(a0));
    CHECK(graph.operations[g0.vertex].name == "backward.layers.1.neg");
    CHECK(graph.operations[b1.vertex].name == "layers.1.neg_1");
  }

  TEST_CASE("a finished builder is empty") {
    sw::graph_builder b("twice");
    b.result(b.neg(b.input("x", {{4}, dtype::f32})));
    CHECK(b.finish().operations.size() == 3);
    b.result(b.neg(b.input("x", {{4}, dtype::f32})));
    const sw::computation again = b.finish();
    CHECK(again.operations.size() == 3);
    CHECK(again.operations[1].name == "neg");
  }

  TEST_CASE("complex values, attention and embeddings have their shapes") {
    sw::graph_builder b("shapes");
    const auto q = b.input("q", {{2, 4, 6, 8}, dtype::bf16});
    const auto k = b.input("k", {{2, 2, 6, 8}, dtype::bf16});
    const auto all = b.sdpa(q, k, k);
    CHECK(b.elements_of(all).size() == 4);
    CHECK(b.of_value(b.getitem(all, 0)).shape == shape_vector{2, 4, 6, 8});
    CHECK(b.of_value(b.getitem(all, 1)) == sw::tensor{{2, 4, 6}, dtype::f32});
    CHECK(b.of_value(b.getitem(all, 3)).shape.empty());
    const auto d =
        b.sdpa_backward(q, q, k, k, b.getitem(all, 0), b.getitem(all, 1), b.getitem(all, 2), b.getitem(all, 3));
    CHECK(b.of_value(b.getitem(d, 2)).shape == shape_vector{2, 2, 6, 8});
    const auto c = b.view_as_complex(b.view(b.conv(q, dtype::f32), {2, 4, 6, 4, 2}));
    CHECK(b.of_value(c) == sw::tensor{{2, 4, 6, 4}, dtype::c64});
    CHECK(b.of_value(b.view_as_real(b.conj(c))) == sw::tensor{{2, 4, 6, 4, 2}, dtype::f32});
    const auto table = b.parameter("table", {{100, 8}, dtype::f32});
    const auto tokens = b.input("tokens", {{2, 6}, dtype::i64});
    const auto x = b.embedding(table, tokens);
    CHECK(b.of_value(x) == sw::tensor{{2, 6, 8}, dtype::f32});
    CHECK(b.of_value(b.embedding_backward(x, tokens, 100)).shape == shape_vector{100, 8});
    CHECK(b.of_value(b.add(b.conv(x, dtype::bf16), x)).type == dtype::f32);
  }

  TEST_CASE("an operation that cannot be is refused by name") {
    sw::graph_builder b("wrong");
    b.layer(3).group("wq");
    const auto x = b.input("x", {{4, 6, 8}, dtype::bf16});
    const auto w = b.parameter("w", {{9, 16}, dtype::bf16});
    const auto f = b.input("f", {{8, 16}, dtype::f32});
    const auto refuses = [](auto&& f_, const char* message) { CHECK_THROWS_WITH_AS((void)f_(), message, sw::error); };
    refuses(
        [&] {
          return b.einsum("bsk,kn->bsn", {x, w});
        },
        "layers.3.wq.einsum: equation \"bsk,kn->bsn\" gives letter 'k' two extents, 8 and 9");
    refuses(
        [&] {
          return b.einsum("bk,kn->bn", {x, w});
        },
        "layers.3.wq.einsum: equation \"bk,kn->bn\" expects 2 dimensions of operand 0, found [4, 6, 8]");
    refuses(
        [&] {
          return b.einsum("bsk->bsk", {x, w});
        },
        "layers.3.wq.einsum: equation \"bsk->bsk\" does not name 2 operands, as many as were given");
    refuses(
        [&] {
          return b.einsum("bsk,kn,n->bsn", {x, w});
        },
        "layers.3.wq.einsum: equation \"bsk,kn,n->bsn\" does not name 2 operands, as many as were given");
    refuses([&] { return b.einsum("bsk->bsz", {x}); },
            "layers.3.wq.einsum: equation \"bsk->bsz\" has letter 'z' in the output only");
    refuses([&] { return b.einsum("bsk", {x}); },
            "layers.3.wq.einsum: equation \"bsk\" has no \"->\", expected the output's letters after it");
    refuses(
        [&] {
          return b.einsum("bsk,kn->bsn", {x, f});
        },
        "layers.3.wq.einsum: operands have element types bf16 and f32, expected one");
    refuses([&] { return b.add(x, w); },
            "layers.3.wq.add: shapes [4, 6, 8] and [9, 16] do not match in dimension -1, expected equal extents or 1");
    refuses(
        [&] {
          return b.permute(x, {0, 1, 1});
        },
        "layers.3.wq.permute: [0, 1, 1] is not a permutation of the dimensions of [4, 6, 8]");
    refuses(
        [&] {
          return b.view(x, {4, 6, 7});
        },
        "layers.3.wq.view: [4, 6, 8] cannot be seen as [4, 6, 7], which has another number of elements");
    refuses([&] { return b.sum(x, {3}); }, "layers.3.wq.sum: dimension 3 does not exist in [4, 6, 8]");
    refuses([&] { return b.mean(x, {-4}); }, "layers.3.wq.mean: dimension -4 does not exist in [4, 6, 8]");
    refuses([&] { return b.view_as_complex(x); },
            "layers.3.wq.view_as_complex: found bf16 [4, 6, 8], expected f32 with a last extent of 2");
    refuses([&] { return b.view_as_real(x); }, "layers.3.wq.view_as_real: found bf16, expected c64");
    refuses([&] { return b.getitem(x, 1); }, "layers.3.wq.getitem: element 1 of a tuple of 1");
    refuses([&] { return b.embedding(x, x); },
            "layers.3.wq.embedding: found a weight [4, 6, 8], expected two dimensions");
    refuses([&] { return b.sdpa(x, x, x); },
            "layers.3.wq.sdpa: q [4, 6, 8], k [4, 6, 8] and v [4, 6, 8] do not match, expected [B, H, S, h] and twice "
            "[B, KV, S, h]");
    const auto q = b.input("q", {{2, 4, 6, 8}, dtype::bf16});
    int written = 0;
    const auto attend = [&](shape_vector keys, shape_vector values) {
      const std::string number = std::to_string(++written);
      const auto k = b.input("k" + number, {std::move(keys), dtype::bf16});
      return b.sdpa(q, k, b.input("v" + number, {std::move(values), dtype::bf16}));
    };
    CHECK_NOTHROW((void)attend({2, 2, 5, 8}, {2, 2, 5, 3}));
    for (const auto& [k, v] : std::vector<std::pair<shape_vector, shape_vector>>{{{4, 6, 8}, {4, 6, 8}},
                                                                                 {{2, 0, 6, 8}, {2, 0, 6, 8}},
                                                                                 {{2, 3, 6, 8}, {2, 3, 6, 8}},
                                                                                 {{1, 2, 6, 8}, {1, 2, 6, 8}},
                                                                                 {{2, 2, 6, 4}, {2, 2, 6, 4}},
                                                                                 {{2, 2, 6, 8}, {2, 2, 5, 8}},
                                                                                 {{2, 2, 6, 8}, {2, 2, 6}}})
      CHECK_THROWS_WITH_AS((void)attend(k, v), doctest::Contains("do not match, expected [B, H, S, h]"), sw::error);
    refuses([&] { return b.getitem(x, -1); }, "layers.3.wq.getitem: element -1 of a tuple of 1");
    refuses(
        [&] {
          return b.view_as_complex(b.input("scalar", {{}, dtype::f32}));
        },
        "layers.3.wq.view_as_complex: found f32 [], expected f32 with a last extent of 2");
    refuses(
        [&] {
          return b.view_as_complex(b.input("pairs", {{3, 2}, dtype::bf16}));
        },
        "layers.3.wq.view_as_complex: found bf16 [3, 2], expected f32 with a last extent of 2");
    refuses([&] { return b.input("x", {{1}, dtype::f32}); }, "graph 'wrong' has two operations named 'x'");
    CHECK_THROWS_WITH_AS(b.gradient(w, x), "the gradient of 'w' has shape [4, 6, 8], expected [9, 16]", sw::error);
    refuses([&] { return b.finish(); }, "graph 'wrong' has no results, expected one");
  }
}

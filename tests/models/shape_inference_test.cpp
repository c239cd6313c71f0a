#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/models/shape_inference.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shape_inference_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::refusal_of;
using sw::dtype;
using sw::shape_vector;

}  // namespace

TEST_SUITE("shape_inference") {
  TEST_CASE("types are promoted as arithmetic does") {
    CHECK(sw::promoted(dtype::bf16, dtype::bf16) == dtype::bf16);
    CHECK(sw::promoted(dtype::bf16, dtype::f32) == dtype::f32);
    CHECK(sw::promoted(dtype::f16, dtype::bf16) == dtype::f32);
    CHECK(sw::promoted(dtype::i64, dtype::bf16) == dtype::bf16);
    CHECK(sw::promoted(dtype::c64, dtype::f32) == dtype::c64);
    CHECK(sw::promoted(dtype::i32, dtype::i64) == dtype::i64);
    CHECK(sw::promoted(dtype::boolean, dtype::u8) == dtype::u8);
  }

  TEST_CASE("promotion does not depend on the order, keeps a type beside itself, and is no less than either") {
    constexpr auto last = static_cast<std::size_t>(dtype::f8e5m2);
    for (std::size_t i = 0; i <= last; ++i)
      for (std::size_t j = 0; j <= last; ++j) {
        const auto a = static_cast<dtype>(i), b = static_cast<dtype>(j);
        CAPTURE(std::string(sw::name_of(a)));
        CAPTURE(std::string(sw::name_of(b)));
        const dtype both = sw::promoted(a, b);
        CHECK(both == sw::promoted(b, a));
        if (a == b) CHECK(both == a);
        CHECK(sw::promoted(both, a) == both);
        CHECK((sw::has_gradients(a) || sw::has_gradients(b)) == sw::has_gradients(both));
      }
    CHECK(sw::has_gradients(dtype::c64));
    CHECK(sw::has_gradients(dtype::f8e4m3));
    CHECK_FALSE(sw::has_gradients(dtype::boolean));
    CHECK_FALSE(sw::has_gradients(dtype::i64));
  }

  TEST_CASE("a broadcast reads every element of both: the shapes match from the last dimension on, or are refused") {
    const std::string who = "add";
    CHECK(sw::broadcast_shape(who, {4, 1, 6}, {3, 4, 5, 6}) == shape_vector{3, 4, 5, 6});
    CHECK(sw::broadcast_shape(who, {3, 4, 5, 6}, {6}) == shape_vector{3, 4, 5, 6});
    CHECK(sw::broadcast_shape(who, {}, {2, 3}) == shape_vector{2, 3});
    CHECK(sw::broadcast_shape(who, {1, 3}, {0, 1}) == shape_vector{0, 3});
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::broadcast_shape(who, {4, 5}, {3, 5})),
                         "add: shapes [4, 5] and [3, 5] do not match in dimension -2, expected equal extents or 1",
                         sw::error);
  }

  TEST_CASE("an einsum has the extents of its letters; equations that do not fit are refused in words") {
    const std::vector<shape_vector> two{{2, 3, 4}, {4, 5}};
    CHECK(sw::einsum_shape("y", "bsk,kn->bsn", two) == shape_vector{2, 3, 5});
    CHECK(sw::einsum_shape("y", "bsk,kn->nb", two) == shape_vector{5, 2});
    CHECK(sw::einsum_shape("y", "bsk,kn->", two).empty());
    const auto refused = [&](const char* equation, const std::vector<shape_vector>& of) {
      return shardweave_test::refusal_of([&] { return sw::einsum_shape("y", equation, of); });
    };
    CHECK(refused("bsk,kn", two) == "y: equation \"bsk,kn\" has no \"->\", expected the output's letters after it");
    CHECK(refused("bsk->bs", two) == "y: equation \"bsk->bs\" does not name 2 operands, as many as were given");
    CHECK(refused("bk,kn->bn", two) == "y: equation \"bk,kn->bn\" expects 2 dimensions of operand 0, found [2, 3, 4]");
    CHECK(refused("bsk,sn->bn", two) == "y: equation \"bsk,sn->bn\" gives letter 's' two extents, 3 and 4");
    CHECK(refused("bsk,kn->bz", two) == "y: equation \"bsk,kn->bz\" has letter 'z' in the output only");
  }

  TEST_CASE("dimensions are permuted, counted from the last, and reduced") {
    sw::random_source random(3);
    for (int i = 0; i < 50; ++i) {
      shape_vector shape, order;
      for (std::size_t d = 0; d < 1 + random.below(4); ++d)
        shape.push_back(static_cast<std::int64_t>(2 + random.below(5)));
      for (std::size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
      for (std::size_t d = shape.size(); d > 1; --d) std::swap(order[d - 1], order[random.below(d)]);
      const shape_vector turned = sw::permuted_shape("x", shape, order);
      shape_vector back(order.size());  // the inverse permutation undoes it
      for (std::size_t d = 0; d < order.size(); ++d)
        back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
      CHECK(sw::permuted_shape("x", turned, back) == shape);
    }
    const shape_vector shape{2, 3, 4};
    CHECK(sw::normalized_dims("x", shape, shape_vector{-1, 0}) == shape_vector{0, 2});
    CHECK(sw::reduced_shape(shape, shape_vector{0, 2}, false) == shape_vector{3});
    CHECK(sw::reduced_shape(shape, shape_vector{0, 2}, true) == shape_vector{1, 3, 1});
    CHECK(sw::reduced_shape(shape, {}, false) == shape);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::normalized_dims("x", shape, shape_vector{3})),
                         "x: dimension 3 does not exist in [2, 3, 4]", sw::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::normalized_dims("x", shape, shape_vector{-4})),
                         "x: dimension -4 does not exist in [2, 3, 4]", sw::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::permuted_shape("x", shape, shape_vector{0, 1, 1})),
                         "x: [0, 1, 1] is not a permutation of the dimensions of [2, 3, 4]", sw::error);
  }
}

}  // namespace shape_inference_tests

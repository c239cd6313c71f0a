#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <doctest/doctest.h>
#include <support/two_devices.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace impossible_shapes_tests {

TEST_SUITE("impossible_shapes") {
  TEST_CASE("shapes that cannot be are refused") {
    sw::graph_builder b("g");
    const auto v = b.input("v", {{4}}), s = b.input("s", {{}}), i = b.input("i", {{}, sw::dtype::i64});
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    SUBCASE("a") { CHECK_THROWS_AS((void)b.einsum("->", {}), sw::error); }
    SUBCASE("b") { CHECK_THROWS_AS((void)b.embedding_backward(s, i, 4), sw::error); }
    SUBCASE("c") { CHECK_THROWS_AS((void)b.slice(v, 0, most, 1), sw::error); }
    SUBCASE("d") { CHECK_THROWS_AS((void)b.pad(v, 0, most, 1), sw::error); }
    SUBCASE("e") { CHECK_THROWS_AS((void)b.split(v, {5, -1}, 0), sw::error); }
    SUBCASE("f") { CHECK(b.of_value(b.sum(v, {})).shape.empty()); }
    SUBCASE("g") { CHECK_THROWS_AS((void)b.view(v, {std::int64_t{1} << 32, std::int64_t{1} << 32}), sw::error); }
    SUBCASE("h") {
      const auto none = b.input("none", {{0}});
      CHECK_THROWS_AS((void)b.view(none, {std::int64_t{1} << 32, std::int64_t{1} << 32}), sw::error);
    }
    CHECK(b.of_value(b.slice(v, 0, 1, 3)).shape == std::vector<std::int64_t>{3});
    CHECK(b.of_value(b.pad(v, 0, 1, 5)).shape == std::vector<std::int64_t>{5});
    CHECK(b.elements_of(b.split(v, {1, 3}, 0)).size() == 2);
  }
  TEST_CASE("aliases of operations without names have none") {
    sw::computation c;
    const std::vector<sw::tensor> v{sw::tensor{{4}}};
    c.operations.push_back({"", "input", sw::phase::forward, sw::role::input, {}, v});
    c.operations.push_back({"", "neg", sw::phase::forward, sw::role::none, {0}, v});
    c.operations.push_back({"", "exp", sw::phase::forward, sw::role::none, {1}, v});
    c.operations.push_back({"", "add", sw::phase::forward, sw::role::none, {1, 2}, v});
    c.operations.push_back({"", "add", sw::phase::forward, sw::role::none, {2, 3}, v});
    c.results = {4};
    CHECK_NOTHROW(shardweave_test::on_two_devices(c));
    CHECK_NOTHROW(shardweave_test::on_two_devices(sw::insert_aliases(c)));
  }
}

}  // namespace impossible_shapes_tests

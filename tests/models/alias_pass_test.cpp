#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace alias_pass_tests {
namespace {

namespace sw = shardweave;
using sw::dtype;

}  // namespace

TEST_SUITE("insert_aliases") {
  TEST_CASE("shared values and results get an alias, others none") {
    sw::graph_builder b("aliases");
    const auto x = b.input("x", {{4}, dtype::f32});
    const auto w = b.parameter("w", {{4}, dtype::f32});
    const auto square = b.mul(x, x);  // one user, though it names x twice
    const auto product = b.mul(square, w);
    const auto sum = b.add(product, w);
    b.result(sum);
    const auto t = b.tangent("t", sum);
    b.gradient(w, b.mul(t, product));
    const sw::computation plain = b.finish();
    const sw::computation made = sw::insert_aliases(plain);

    std::vector<std::string> order;
    for (const sw::operation& op : made.operations) order.push_back(op.name);
    CHECK(order == std::vector<std::string>{"x", "w", "mul", "w.shared", "mul_1", "mul_1.shared", "add", "add.result",
                                            "t", "mul_2", "mul_2.result", "results"});
    CHECK(made.operations[2].inputs == std::vector<std::uint32_t>{0, 0});
    CHECK(made.operations[4].inputs == std::vector<std::uint32_t>{2, 3});
    CHECK(made.operations[6].inputs == std::vector<std::uint32_t>{5, 3});
    CHECK(made.operations[9].inputs == std::vector<std::uint32_t>{8, 5});
    CHECK(made.operations[5].op == "alias");
    CHECK(made.operations[5].outputs == made.operations[4].outputs);
    CHECK(made.results == std::vector<std::uint32_t>{7, 10});
    CHECK(made.operations.back().inputs == made.results);
    REQUIRE(made.gradient_of.size() == 1);
    CHECK(made.gradient_of[0] == std::pair<std::uint32_t, std::uint32_t>{1, 10});
    REQUIRE(made.tangent_of.size() == 1);
    CHECK(made.tangent_of[0] == std::pair<std::uint32_t, std::uint32_t>{7, 8});
  }

  TEST_CASE("a result that is also used has an alias for its users and one of its own") {
    sw::graph_builder b("used result");
    const auto x = b.input("x", {{4}, dtype::f32});
    const auto y = b.neg(x);
    b.result(y);
    b.result(b.exp(y));
    const sw::computation made = sw::insert_aliases(b.finish());
    std::vector<std::string> order;
    for (const sw::operation& op : made.operations) order.push_back(op.name);
    CHECK(order == std::vector<std::string>{"x", "neg", "neg.shared", "neg.result", "exp", "exp.result", "results"});
    CHECK(made.operations[3].inputs == std::vector<std::uint32_t>{2});
    CHECK(made.operations[4].inputs == std::vector<std::uint32_t>{2});
    CHECK(made.operations[6].inputs == std::vector<std::uint32_t>{3, 5});
  }

  TEST_CASE("tuples have no alias, their elements do") {
    sw::graph_builder b("tuple");
    const auto q = b.input("q", {{2, 4, 6, 8}, dtype::bf16});
    const auto all = b.sdpa(q, q, q);
    const auto out = b.getitem(all, 0);
    const auto sums = b.getitem(all, 1);
    b.result(b.add(out, b.exp(out)));
    b.result(sums);
    const sw::computation made = sw::insert_aliases(b.finish());
    int aliases = 0;
    for (const sw::operation& op : made.operations) {
      aliases += op.op == "alias" ? 1 : 0;
      CHECK(op.name != "sdpa.shared");
    }
    CHECK(aliases == 3);
  }
}

}  // namespace alias_pass_tests

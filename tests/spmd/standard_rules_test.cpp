#include "spmd/one_operation.hpp"
#include "spmd/simulated_mesh.hpp"
#include "spmd/tried_rules.hpp"
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/convolution.hpp>
#include <shardweave/spmd/rules/indexing.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <set>
#include <sstream>
#include <string>
#include <vector>

// Every strategy that the rules offer is carried out on tiny tensors: the arguments are laid out as it says, the
// operator runs on each device's pieces, and the results put together must be the operator's result.

namespace standard_rules_tests {
namespace {

using namespace one_operations;
using namespace tried_rules;
using namespace shardweave;

/// Every operator of the table, in shapes that 2 and 3 devices cut evenly and unevenly: operators, shapes, options.
constexpr const char* table[][3] = {
    {"einsum", "4x6 6x5 -> 4x5", "einsum mk,kn->mn"},
    {"einsum", "4x6x5 5x4 -> 4x6x4", "einsum bsk,kn->bsn"},
    {"einsum", "4x6x5 4x6x3 -> 3x5", "einsum bsn,bsk->kn"},
    {"einsum", "4x3x5 4x5x6 -> 4x3x6", "einsum bmk,bkn->bmn"},
    {"einsum", "5x4x3 -> 3x5", "einsum abc->ca"},
    {"einsum", "4x3 3x5 5x4 -> 4x4", "einsum ab,bc,cd->ad"},
    {"einsum", "3x4x3x2 3x2x5 -> 3x4x3x5", "einsum egcd,edf->egcf"},

    {"view", "4x6x12 -> 4x6x6x2", ""},
    {"view", "4x6x12 -> 24x12", ""},
    {"view", "24x12 -> 4x6x12", ""},
    {"view", "6x4 -> 1x6x1x4", ""},
    {"view", "1x6x1x4 -> 6x4", ""},
    {"view", "6x4 -> 4x6", ""},
    {"view", "12 -> 3x4", ""},
    {"view", "5x8 -> 5x2x4", ""},
    {"view", "2x3x8 -> 6x2x4", ""},
    {"permute", "4x6x3 -> 3x4x6", "dims 2,0,1"},
    {"expand", "4x1x6 -> 3x4x5x6", ""},
    {"view_as_complex", "4x6x2 -> 4x6c", ""},
    {"view_as_real", "4x6c -> 4x6x2", ""},
    {"conj", "4x5c -> 4x5c", ""},
    {"alias getitem clone", "4x5 -> 4x5", ""},
    {"conv cast quantize", "4x5 -> 4x5", ""},
    {"conv cast", "4x5 -> 4x5i", ""},
    {"conv cast", "4x5 -> 4x5b", ""},

    {"neg exp rsqrt reciprocal sigmoid tanh relu silu gelu log sqrt abs", "4x5 -> 4x5", ""},
    {"gelu_backward", "4x5 4x5 -> 4x5", ""},
    {"pow add_scalar mul_scalar div_scalar rsub_scalar", "4x5 -> 4x5", "scalar 3"},
    {"add sub mul div maximum minimum", "4x6 4x6 -> 4x6", ""},
    {"add sub mul div maximum minimum", "4x6 4x1 -> 4x6", ""},
    {"add sub mul div maximum minimum", "6 4x6 -> 4x6", ""},
    {"where", "4x6b 4x6 6 -> 4x6", ""},
    {"sum mean amax amin", "4x6x3 -> 4x6", "dims 2"},
    {"sum mean amax amin", "4x6x3 -> 4x6x1", "dims 2 keep"},
    {"sum mean amax amin", "4x6x3 -> 3", "dims 0,1"},
    {"sum mean amax amin", "4x5x3 -> 1x1x3", "dims 0,1 keep"},

    {"embedding", "7x6 4x6i -> 4x6x6", "below 7 picks 0,0,1"},
    {"embedding_backward", "4x6x6 4x6i -> 7x6", "below 7"},
    {"gather", "5x6 4x6i -> 4x6", "dims 0 below 5 picks 0,0,1"},
    {"gather", "4x7x3 4x5x3i -> 4x5x3", "dims 1 below 7 picks 0,1,1"},
    {"gather", "6x5 4x1i -> 4x1", "dims 1 below 5 picks 0,1,1"},
    {"gather_backward", "4x6 4x6i -> 5x6", "dims 0 below 5"},
    {"gather_backward", "4x2 4x2i -> 4x7", "dims 1 below 7"},
    {"scatter", "5x4 3x4i 3x4 -> 5x4", "dims 0 below 5"},
    {"scatter_add", "5x4 6x4i 6x4 -> 5x4", "dims 0 below 5"},
    {"scatter_add", "6x5 4x5i 4x5 -> 6x5", "dims 0 below 6"},
    {"histogram", "4x5i -> 7i", "index 7 below 7"},

    {"cat", "4x5 4x2 4x6 -> 4x13", "dims 1"},
    {"cat", "3x5 4x5 -> 7x5", "dims 0"},
    {"split", "4x9 -> 4x2 4x4 4x3", "dims 1"},
    {"slice", "7x5 -> 4x5", "dims 0 index 2"},
    {"pad", "4x5 -> 9x5", "dims 0 index 3"},
    {"sort", "4x5 -> 4x5 4x5i", "dims 1"},
    {"topk", "4x5x3 -> 4x2x3 4x2x3i", "dims 1"},
    {"log_softmax_backward", "4x5x3 4x5x3 -> 4x5x3", "dims 2"},
    {"softmax_backward", "4x5x3 4x5x3 -> 4x5x3", "dims 2"},
    {"softmax log_softmax cumsum", "4x5x3 -> 4x5x3", "dims 0"},
    {"softmax log_softmax cumsum", "4x5x3 -> 4x5x3", "dims 1"},

    {"flip cumprod", "4x5x3 -> 4x5x3", "dims 1"},
    {"roll", "4x5x3 -> 4x5x3", "dims 1 index 2"},
    {"repeat", "4x5x3 -> 4x15x3", "dims 1"},
    {"prod logsumexp", "4x6x3 -> 4x6", "dims 2"},
    {"prod logsumexp", "4x6x3 -> 1x6x1", "dims 0,2 keep"},
    {"argmax argmin", "4x6x3 -> 4x3i", "dims 1"},
    {"prod argmax argmin logsumexp", "4x3 -> s", ""},
    {"any all", "4x6x3b -> 6x3b", "dims 0"},

    {"index", "5x6x3 4i -> 5x4x3", "dims 1 below 6"},
    {"index", "5x6x3 4x2i -> 4x2x6x3", "dims 0 below 5"},
    {"index", "5x6x3 4x2i 4x1i -> 4x2x3", "dims 0,1 below 5"},
    {"index", "3x5x6 4i 3x1i -> 3x3x4", "dims 1,2 below 5"},
    {"index", "5x3x6 4i 4i -> 4x3", "dims 0,2 below 5"},
    {"index_backward", "5x4x3 4i -> 5x6x3", "dims 1 below 6"},
    {"index_backward", "4x2x3 4x2i 4x1i -> 5x6x3", "dims 0,1 below 5"},
    {"index_backward", "4x3 4i 4i -> 5x3x6", "dims 0,2 below 5"},
    {"index_put", "5x6x3 5x4x3 4i -> 5x6x3", "dims 1 below 6"},
    {"index_put", "5x6x3 4x2x3 4x2i 4x1i -> 5x6x3", "dims 0,1 below 5"},
    {"index_put", "5x3x6 4x3 4i 4i -> 5x3x6", "dims 0,2 below 5"},

    // one, two and three dimensions of space; groups of 2, 3 and 1 channels, one filter for each channel, and two
    {"convolution", "4x3x5 6x3x3 -> 4x6x3", ""},
    {"convolution", "3x4x4x3 6x4x2x2 -> 3x6x3x2", ""},
    {"convolution", "2x4x3x2x2 3x4x2x1x2 -> 2x3x2x2x1", ""},
    {"convolution", "4x4x4 6x2x2 -> 4x6x3", ""},
    {"convolution", "3x6x4 6x2x2 -> 3x6x3", ""},
    {"convolution", "3x5x4 5x1x2 -> 3x5x3", ""},
    {"convolution", "3x4x4 8x1x2 -> 3x8x3", ""},
    {"convolution_backward", "4x6x3 4x3x5 6x3x3 -> 4x3x5 6x3x3", ""},
    {"convolution_backward", "4x6x3 4x4x4 6x2x2 -> 4x4x4 6x2x2", ""},
    {"convolution_backward", "3x5x3 3x5x4 5x1x2 -> 3x5x4 5x1x2", ""},
    {"convolution_backward_input", "4x6x3 4x3x5 6x3x3 -> 4x3x5", ""},
    {"convolution_backward_input", "3x6x3 3x6x4 6x2x2 -> 3x6x4", ""},
    {"convolution_backward_weight", "4x6x3 4x3x5 6x3x3 -> 6x3x3", ""},
    {"convolution_backward_weight", "3x6x3 3x6x4 6x2x2 -> 6x2x2", ""},
    {"transposed_convolution", "4x6x3 6x3x3 -> 4x3x5", ""},
    {"transposed_convolution", "4x6x3 6x2x2 -> 4x4x4", ""},
    {"transposed_convolution_backward", "4x3x5 4x6x3 6x3x3 -> 4x6x3 6x3x3", ""},
    {"transposed_convolution_backward", "4x4x4 4x6x3 6x2x2 -> 4x6x3 6x2x2", ""},
    {"transposed_convolution_backward_input", "4x3x5 4x6x3 6x3x3 -> 4x6x3", ""},
    {"transposed_convolution_backward_weight", "4x3x5 4x6x3 6x3x3 -> 6x3x3", ""},
    {"channelwise", "4x6x5 -> 4x6x3", ""},
    {"channelwise", "4x5x2x3 4x5x4x4 -> 4x5x4x4", ""},

    {"rms_norm", "4x5x3 3 -> 4x5x3 4x5", "scalar 0.1"},
    {"rms_norm_backward", "4x5x3 4x5x3 3 4x5 -> 4x5x3 3", ""},
    {"layer_norm", "4x5 5 5 -> 4x5 4 4", "scalar 0.1"},
    {"layer_norm_backward", "4x5 4x5 5 4 4 -> 4x5 5 5", ""},
    {"cross_entropy", "4x5x7 4x5i -> 4x5 4x5", "below 7"},
    {"cross_entropy_backward", "4x5 4x5x7 4x5i 4x5 -> 4x5x7", "below 7"},
    // 4 groups of 5 tokens choose 2 of 6 experts, which have 2 places for each group: some find none
    {"moe_dispatch", "4x5x3 4x5x2i -> 6x4x2x3", "below 6"},
    {"moe_combine", "6x4x2x3 4x5x2i -> 4x5x3", "below 6 picks 0,0,1"},
    {"moe_combine", "5x4x2x3 4x5x2i 4x5x2 -> 4x5x3", "below 5 picks 0,0,1"},
    {"moe_combine_backward", "4x5x3 6x4x2x3 4x5x2i 4x5x2 -> 6x4x2x3 4x5x2", "below 6 picks 1,0,2"},
    // 8, 4 and 2 key heads; values may be of another width
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x4x3x2 4x4x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x2x3x2 4x2x3x2 -> 4x8x3x2 4x8x3 2 s", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 4x8x3 2 s -> 4x8x3x2 4x8x3x2 4x8x3x3", ""},
    // masks: of each head, of each sequence, of all heads, of all
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x4x3x2 4x4x3x3 4x1x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 1x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 4x8x3 4x1x3x3 -> 4x8x3x2 4x8x3x2 4x8x3x3", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x4x3x2 4x4x3x3 4x8x3x3 4x8x3 2 s 1x1x3x3 -> 4x8x3x2 4x4x3x2 4x4x3x3", ""},
    {"sdpa_backward", "4x8x3x2 4x8x3x2 4x4x3x2 4x4x3x2 4x8x3x2 4x8x3 2 s -> 4x8x3x2 4x4x3x2 4x4x3x2", ""},
    {"sdpa_backward", "4x8x3x2 4x8x3x2 4x2x3x2 4x2x3x2 4x8x3x2 4x8x3 2 s -> 4x8x3x2 4x2x3x2 4x2x3x2", ""}};

}  // namespace

TEST_SUITE("standard_rules") {
  TEST_CASE("every strategy of every operator gives its result") {
    std::set<std::string> tried{"parameter", "input", "constant", "tangent"};  // have no argument to get wrong
    std::size_t trials = 0;
    for (const auto& [operators, shapes, options] : table) {
      std::istringstream words(operators);
      for (std::string op; words >> op;) {
        tried.insert(op);
        const trial t(op, shapes, options);
        if (is_small_scale)
          check(t, meshes[trials % 4 == 0 ? 1 : 0]);  // the larger one now and then
        else
          for (const std::string& mesh : meshes) check(t, mesh);
        ++trials;
      }
    }
    for (const std::string& op : standard_rules().operators()) CHECK_MESSAGE(tried.contains(op), op);
  }

  TEST_CASE("a rule that claims too much is found out") {
    const dim_placement whole;
    const dim_placement rows = dim_placement::shard(0);
    const auto wrong = [](const trial& t, const std::string& mesh, const auto& rule) {
      rule_table rules = standard_rules();
      rules.add(t.op, rule, {.moves_data_only = true});
      const outcome found = carry_out(t, mesh, rules);
      CHECK(found.wrong.size() < found.labels.size());
      return joined(found.wrong);
    };
    CHECK(wrong({"silu", "4x6 -> 4x6"}, "2", linear_rule()) == "P(avg)->P(avg) P->P");
    CHECK(wrong({"softmax", "4x6 -> 4x6", "dims 1"}, "2", pointwise_rule{}) == "S(1)->S(1)");
    CHECK(wrong({"mul", "4x6 4x6 -> 4x6"}, "3", addition_rule()) ==
          "P(avg),P(avg)->P(avg) P(max),R->P(max) P(min),R->P(min) P,P->P");
    CHECK(wrong({"conv", "4x6 -> 4x6i"}, "2", same_placement_rule{}) == "P(avg)->P(avg) P->P");
    CHECK(wrong({"amax", "4x5 -> 5", "dims 0"}, "2", reduction_rule{}) == "P->P S(0)->P");
    CHECK(wrong({"slice", "4x6 -> 4x4", "dims 1 index 1"}, "2", same_placement_rule{}) == "S(1)->S(1)");
    CHECK(wrong({"rms_norm", "4x6 6 -> 4x6 4", "scalar 1"}, "2", letter_rule{"...d,d->...d,..."}) == "S(1),S(0)->S(1)");
    CHECK(wrong({"moe_combine", "6x4x2x3 4x5x2i -> 4x5x3", "below 6 picks 0,0,1"}, "2",
                letter_rule{"egcd,gsk->gsd", "ek"}) == "R,S(1)->S(1) S(2),R->P");
    // a masked sum that overlaps is no mask, though its sum is right
    CHECK(wrong({"cumsum", "4x6 -> 4x6", "dims 0"}, "2", line_rule{partial_passing::all}) ==
          "P(mask)->P(mask) P(max)->P(max) P(min)->P(min)");
    const auto lookup = [&](const operation_view&, std::int64_t) {
      return std::vector<dim_strategy>{{{whole}, {whole, whole}},
                                       {{dim_placement::partial(partial_kind::max)}, {rows, whole}},
                                       {{dim_placement::partial()}, {whole, rows}}};
    };
    CHECK(wrong({"embedding", "4x6 3x4i -> 3x4x6", "below 4 picks 0,0,1"}, "2", lookup) == "R,S(0)->P S(0),R->P(max)");
  }

  TEST_CASE("experts are reached by groups, by width, or each by those who hold it") {
    CHECK(check({"moe_dispatch", "4x5x4 4x5x2i -> 6x4x2x4", "below 6"}, "2") ==
          "P,R->P R,R->R S(0),S(0)->S(1) S(2),R->S(3)");
    CHECK(check({"moe_combine", "6x4x2x4 4x5x2i 4x5x2 -> 4x5x4", "below 6 picks 0,0,1"}, "2") ==
          "P,R,R->P R,R,P->P R,R,R->R S(0),R,R->P S(1),S(0),S(0)->S(0) S(3),R,R->S(2)");
  }

  TEST_CASE("the elements of a tuple lie each in their own way, and what takes one follows that") {
    const tensor x{{4, 6}};
    computation graph = one_operation("rms_norm_backward", {x, x, {{6}}, {{4}}}, {x, {{6}}});
    for (const std::int64_t element : {0, 1})
      graph.operations.push_back({"element" + std::to_string(element),
                                  "getitem",
                                  phase::backward,
                                  role::none,
                                  {4},
                                  {graph.operations[4].outputs[static_cast<std::size_t>(element)]},
                                  {.index = element}});
    const strategy_space space =
        enumerate_strategies(graph, device_mesh::parse("2"), roofline{find_device("h100")}, standard_rules());
    CHECK(labels_of(space.of(4)) == std::set<std::string>{"R R R R -> R R", "S(0) S(0) R S(0) -> S(0) P"});
    CHECK(labels_of(space.of(5)) == std::set<std::string>{"R -> R", "S(0) -> S(0)"});
    CHECK(labels_of(space.of(6)) == std::set<std::string>{"R -> R", "P -> P"});
  }

  TEST_CASE("dimensions along which an operator works may be counted from the last") {
    const tensor x{{4, 6}};
    const rule_table rules = standard_rules();
    for (const std::int64_t d : {1, -1}) {
      CHECK(ways(one_operation("softmax", {x}, {x}, {.dims = {d}}), rules) ==
            std::set<std::string>{"R -> R", "S(0) -> S(0)"});
      CHECK(ways(one_operation("cat", {x, x}, {{{4, 12}}}, {.dims = {d}}), rules).contains("S(0) S(0) -> S(0)"));
      CHECK_FALSE(ways(one_operation("cat", {x, x}, {{{4, 12}}}, {.dims = {d}}), rules).contains("S(1) S(1) -> S(1)"));
    }
  }
}

}  // namespace standard_rules_tests

#include <shardweave/models/llama.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strategy_list_tests {
namespace {

using namespace shardweave;
using namespace strategy_texts;

using shardweave_test::published_llama;

}  // namespace

TEST_SUITE("strategy_list") {
  TEST_CASE("classes are the distinct shardings of a result or an argument") {
    const computation graph = llama_training_graph(published_llama(4096, 1, 32, 14336, false), {64, 256});
    const strategy_space space = enumerate_strategies(graph, device_mesh::parse("8x8"), h100, standard_rules());
    for (const auto& list : space.lists)
      for (const bool results : {true, false}) {
        const auto& all = results ? list->outputs : list->inputs;
        for (std::size_t i = 0; i < all.size(); ++i) {
          std::set<std::uint64_t> keys;
          bool exact = true;
          for (std::size_t s = 0; s < list->size(); ++s) {
            const sharding mine = results ? list->strategies[s].outputs[i] : list->strategies[s].inputs[i];
            exact = exact && all[i].distinct[all[i].of[s]] == mine;
            keys.insert(mine.key());
          }
          CHECK(exact);
          CHECK(keys.size() == all[i].distinct.size());
        }
        CHECK(list->compute_us.size() == list->size());
      }
  }

  TEST_CASE("strategies are named by arguments, then results, those of a tuple in brackets") {
    const auto classes = [](std::vector<sharding> distinct, std::vector<std::uint32_t> of) {
      return sharding_classes{std::move(distinct), std::move(of)};
    };
    strategy_list list;
    list.strategies.resize(3);
    list.inputs = {classes({sharding::parse("S(0)R"), sharding::parse("RS(1)")}, {0, 1, 0}),
                   classes({sharding::parse("RR"), sharding::parse("RS(0)")}, {0, 1, 1})};
    list.outputs = {classes({sharding::parse("S(0)R"), sharding::parse("RP")}, {0, 1, 1})};
    CHECK(label_strategies(list) == label_list{"S(0)R,RR->S(0)R", "RS(1),RS(0)->RP", "S(0)R,RS(0)->RP"});
    list.outputs.push_back(classes({sharding::parse("RR")}, {0, 0, 0}));
    CHECK(label_strategies(list)[1] == "RS(1),RS(0)->[RP,RR]");
    list.inputs.clear();
    CHECK(label_strategies(list)[0] == "->[S(0)R,RR]");
  }

  TEST_CASE("work is every argument read and every result written once, unless the operator says otherwise") {
    const std::vector<tensor> in{{{4, 8}, dtype::bf16}, {{8, 2}, dtype::f32}}, out{{{4, 2}, dtype::f32}};
    const operation op{"tested", "any", phase::forward, role::none, {}, out, {}};
    const operation_view view{op, in, in, out};
    const device_work plain = work_of_operation({.moves_data_only = true}, view);
    CHECK(plain.moved == bytes(4 * 8 * 2 + 8 * 2 * 4 + 4 * 2 * 4));
    CHECK(plain.flops == 0);
    CHECK(plain.kind == arithmetic::f16);  // of the first argument
    const device_work own =
        work_of_operation({.flops = [](const operation_view& v) { return 10.0 * static_cast<double>(v.inputs.size()); },
                           .moved = [](const operation_view&) { return bytes(7); }},
                          view);
    CHECK(own.moved == bytes(7));
    CHECK(own.flops == 20);
  }

  TEST_CASE("products run on the arithmetic of as many bits, whole numbers on that of eight") {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(dtype::f8e5m2); ++i) {
      const auto type = static_cast<dtype>(i);
      const std::string name(name_of(type));
      CAPTURE(name);
      const bool is_float = name.front() == 'f' || name.front() == 'b';
      const bool is_whole = name.front() == 'i' || name.front() == 'u' || name == "bool";
      const std::int64_t size = element_size(type);
      const arithmetic kind = arithmetic_of(type);
      if (is_whole) CHECK(kind == arithmetic::i8);
      if (name == "c64") CHECK(kind == arithmetic::f32);  // of its two parts
      if (is_float && !is_whole)
        CHECK(kind == (size == 8   ? arithmetic::f64
                       : size == 4 ? arithmetic::f32
                       : size == 2 ? arithmetic::f16
                                   : arithmetic::f8));
    }
  }

  TEST_CASE("an argument takes the element that a getitem names, any other operation takes the first") {
    const operation tuple{"t", "sort", phase::forward, role::none, {}, {{{4}}, {{4}}}, {}};
    operation user{"u", "getitem", phase::forward, role::none, {0}, {{{4}}}, {.index = 1}};
    CHECK(element_taken(user, tuple) == 1);
    user.with.index = 2;
    CHECK(element_taken(user, tuple) == 0);  // there is none
    user = {"u", "slice", phase::forward, role::none, {0}, {{{4}}}, {.index = 1}};
    CHECK(element_taken(user, tuple) == 0);
    CHECK(strategy_list{}.ring(0) == nullptr);
  }
}

}  // namespace strategy_list_tests

#include "spmd/small_chain.hpp"
#include <shardweave/spmd/demand.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace demand_tests {
namespace {

using namespace small_chains;
using namespace shardweave;
using shardweave_test::refusal_of;

using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("demand") {
  TEST_CASE("every demand has words that mean it again") {
    const std::vector<std::pair<demand, std::string>> all{
        {operations_placed{"layers.*.w", lying("S(0)R")}, "placed layers.*.w S(0)R"},
        {operations_placed_along{"x", 1, dim_placement::shard(2)}, "placed_along x 1 S(2)"},
        {inputs_placed{lying("S(0)P(avg)")}, "inputs S(0)P(avg)"},
        {results_placed{lying("RR")}, "results RR"},
        {gradients_paired{}, "pair_gradients"},
        {layers_tied{}, "tie_layers"},
        {parameters_shared{0.125, parameter_unit::ratio}, "parameter_share 0.125 ratio"},
        {parameters_shared{1, parameter_unit::size}, "parameter_share 1 size"},
        {parameters_limited{bytes(16'000'000'000)}, "parameter_bytes 16000000000"},
        {memory_limited{bytes(80'000'000'000), 12.5}, "memory_bytes 80000000000 state 12.5"}};
    for (const auto& [what, words] : all) {
      CHECK(to_string(what) == words);
      CHECK(parse_demand(words) == what);
    }
    CHECK(parse_demand("  inputs   R ") == demand(inputs_placed{lying("R")}));
  }

  TEST_CASE("other words are refused") {
    for (const std::string line :
         {"", "place x R", "placed x", "placed x R R", "placed_along x one R", "placed_along x 1 RR",
          "parameter_share 0.5 gigabytes", "parameter_share half ratio", "parameter_bytes 1e9", "memory_bytes 5",
          "memory_bytes 5 with 8", "memory_bytes 5 state many", "pair_gradients please", "tie_layers 3"})
      CHECK(refusal_of([&] { (void)parse_demand(line); }).starts_with("'" + line + "' is no demand, expected "));
    CHECK(refusal_of([] { (void)parse_demand("placed x"); }) ==
          "'placed x' is no demand, expected one like 'placed layers.*.wq S(0)R'");
    CHECK(refusal_of([] { (void)parse_demand("place x R"); }) ==
          "'place x R' is no demand, expected one that begins with one of placed, placed_along, inputs, results, "
          "pair_gradients, tie_layers, parameter_share, parameter_bytes, memory_bytes");
    for (const std::string_view example : detail::demand_examples) CHECK(to_string(parse_demand(example)) == example);
    CHECK(refusal_of([] { (void)parse_demand("inputs Q"); }).starts_with("'Q' is no sharding"));
  }
}

}  // namespace demand_tests

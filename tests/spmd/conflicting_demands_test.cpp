#include "spmd/small_chain.hpp"
#include <shardweave/spmd/conflicting_demands.hpp>
#include <shardweave/spmd/constraint_log.hpp>

#include <doctest/doctest.h>

#include <string>

namespace conflicting_demands_tests {
namespace {

using namespace small_chains;
using namespace shardweave;

}  // namespace

TEST_SUITE("conflicting_demands") {
  TEST_CASE("of many demands, the fewest that contradict each other are told in the user's words") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    log.add(inputs_placed{lying("S(0)")});
    log.add(operations_placed{"layers.1.w", lying("S(1)")});
    log.add(gradients_paired{});
    log.add(results_placed{lying("S(0)")});
    CHECK(conflicting_demands(model, log, exhaustive{}).empty());
    log.add(operations_placed{"backward.layers.1.cast.result", lying("R")});
    log.add(parameters_limited{bytes(100'000)});
    log.add(layers_tied{});
    std::string told;
    for (const auto& r : conflicting_demands(model, log, exhaustive{})) told += to_string(r.what) + "; ";
    CHECK(told == "placed layers.1.w S(1); pair_gradients; placed backward.layers.1.cast.result R; ");
  }

  TEST_CASE("memory that is too small contradicts what is kept whole") {
    const model_type model = model_of(chain(2), "8");
    constraint_log log;
    log.add(inputs_placed{lying("S(0)")});
    log.add(layers_tied{});
    log.add(operations_placed{"layers.0.w", lying("R")});
    log.add(parameters_limited{bytes(17'000)});  // 16384 for one and 2048 for a part of the other would be more
    std::string told;
    for (const auto& r : conflicting_demands(model, log, exhaustive{})) told += std::to_string(r.id) + " ";
    CHECK(told == "3 4 ");
    log.remove(3);
    CHECK(conflicting_demands(model, log, exhaustive{}).empty());
    const auto limit = log.add(parameters_limited{bytes(4'000)});  // less than both cut in 8
    REQUIRE(conflicting_demands(model, log, exhaustive{}).size() == 1);
    CHECK(conflicting_demands(model, log, exhaustive{}).front().id == limit);
  }
}

}  // namespace conflicting_demands_tests

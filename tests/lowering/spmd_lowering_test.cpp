#include "lowering/planned_computation.hpp"
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stop_token>

namespace spmd_lowering_tests {
namespace {

namespace sw = shardweave;
using namespace planned_computations;

}  // namespace

TEST_SUITE("spmd_lowering") {
  TEST_CASE("a stop ends it with an error, and a token that nobody stops changes nothing") {
    planned p(linear_training(), {4});
    const sw::assignment chosen(p.graph.operations.size(), 0);
    std::stop_source source;
    const sw::spmd_lowering policy;
    CHECK(policy(p.model, chosen, source.get_token()).tasks.size() == policy(p.model, chosen).tasks.size());
    source.request_stop();
    CHECK_THROWS_WITH_AS((void)policy(p.model, chosen, source.get_token()),
                         "the operations were not lowered before the stop", sw::error);
  }

  TEST_CASE("it is lowering with its options, and tells the work of what it lowers") {
    planned p(linear_training(), {4});
    sw::random_source random(3);
    for (const bool shares : {false, true}) {
      const sw::assignment chosen = p.any_assignment(random);
      const sw::spmd_lowering policy{{.wait_shares_storage = shares}};
      const sw::lowered_graph made = policy(p.model, chosen), expected = p.lower(chosen, policy.options);
      REQUIRE(made.tasks.size() == expected.tasks.size());
      for (sw::task_index t = 0; t < made.tasks.size(); ++t) CHECK(made.tasks.record(t) == expected.tasks.record(t));
      CHECK(made.origin == expected.origin);
      const sw::lowered_work work = policy.work(p.model);
      CHECK(work.channel_count() > 1);  // the compute stream, and groups
      for (std::uint32_t v = 0; v < chosen.size(); ++v)
        CHECK(work.vertex_time(v, chosen[v]) == static_cast<double>(made.tasks.duration(made.task_of[v]).count()));
    }
    CHECK(sw::spmd_lowering::name == "spmd");
  }
}

}  // namespace spmd_lowering_tests

#include "simulate/three_tasks.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate_machine.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <vector>

namespace sw = shardweave;

namespace machine_tests {
namespace {

using namespace small_steps;
static_assert(sw::interference_policy<sw::modelled_interference>);
static_assert(!sw::interference_policy<sw::launch_costs>);

}  // namespace

TEST_SUITE("simulate on a machine") {
  TEST_CASE("nothing begins before the host has launched it, and the host runs ahead") {
    const sw::task_graph g = three_tasks(5, 40, 8);
    const auto run = sw::simulate(g, in_order_of(g), sw::machine(sw::launch_costs{ns(10), ns(7), ns(0), ns(3)}));
    // launched at 10, 17, 27: work 10 to 15, a collective 17 to 28 with its latency, work 27 to 67
    CHECK(run.launched == std::vector<ns>{ns(10), ns(17), ns(27)});
    CHECK(run.line.start == std::vector<ns>{ns(10), ns(17), ns(27)});
    CHECK(run.line.end == std::vector<ns>{ns(15), ns(28), ns(67)});
    CHECK(run.starved == ns(22));
    CHECK(run.communication_slowed == ns(0));
    CHECK(run.host == ns(27));
    // behind long work the host is far ahead and costs nothing but its first launch
    const sw::task_graph slow = three_tasks(100, 40, 8);
    CHECK(sw::simulate(slow, in_order_of(slow), sw::machine(sw::launch_costs::each(ns(10)))).line.end_to_end ==
          ns(10 + 140));
  }

  TEST_CASE("launches of computation alone make a step longer than its work, and add up") {
    sw::task_graph_builder b;
    for (int i = 0; i < 4; ++i)
      b.add_task({.name = "mm", .op = "mm", .kind = sw::task_kind::compute, .duration = ns(25'000)});
    const sw::task_graph g = std::move(b).build();
    const auto run = sw::simulate(g, in_order_of(g), sw::machine(sw::launch_costs::each(ns(1000))));
    CHECK(run.line.compute == ns(100'000));
    CHECK(run.line.communication == ns(0));
    CHECK(run.line.exposed == ns(0));
    CHECK(run.line.end_to_end == ns(101'000));
    // a host slower than the device: every launch counts
    CHECK(sw::simulate(g, in_order_of(g), sw::machine(sw::launch_costs::each(ns(30'000)))).line.end_to_end ==
          ns(4 * 30'000 + 25'000));
  }
}

}  // namespace machine_tests

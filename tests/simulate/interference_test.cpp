#include "simulate/three_tasks.hpp"
#include <shardweave/cost/shared_links.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate_machine.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace interference_tests {
namespace {

namespace sw = shardweave;
using namespace small_steps;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("interference") {
  TEST_CASE("two pieces of work that start together end as the contention model says") {
    for (const std::int64_t work : {1000, 880, 700, 1}) {
      const sw::task_graph g = three_tasks(0, work, 800);
      const auto run = sw::simulate(g, in_order_of(g), sw::machine({}, sw::uniform_interference{}));
      // both run slowed until one ends; the other then goes on at full speed
      const double slow_work = 1.2 * static_cast<double>(work), slow_collective = 1.1 * 800;
      const bool is_work_first = slow_work <= slow_collective;
      const double work_end =
          is_work_first ? slow_work : slow_collective + static_cast<double>(work) - slow_collective / 1.2;
      const double collective_end = is_work_first ? slow_work + 800 - slow_work / 1.1 : slow_collective;
      CHECK(std::abs(static_cast<double>(run.line.end[2].count()) - work_end) < 1);
      CHECK(std::abs(static_cast<double>(run.line.end[1].count()) - collective_end) < 1);
      CHECK(static_cast<double>(run.line.end[1].count()) >= collective_end - 1e-6);
    }
    // 132 blocks under 24 channels need two waves instead of one
    sw::modelled_interference model;
    model.model.counts_memory = false;
    model.kernels.assign(3, {.blocks = 132});
    model.collectives = {{.channels = 24, .wire_bandwidth = 0}};
    const sw::task_graph g = three_tasks(0, 100, 800);
    CHECK(sw::simulate(g, in_order_of(g), sw::machine({}, model)).line.end[2] == ns(200));
    model.kernels.clear();  // unknown: 132 / 108 of 100, and what is not whole ends on the next nanosecond
    CHECK(sw::simulate(g, in_order_of(g), sw::machine({}, model)).line.end[2] == ns(123));
    model.collectives.clear();
    CHECK(sw::simulate(g, in_order_of(g), sw::machine({}, model)).line.end[2] == ns(100));
  }

  TEST_CASE("groups on one tier share its links, those on two do not") {
    for (const auto second : {sw::link_tier::inside, sw::link_tier::between}) {
      sw::task_graph_builder b;
      std::vector<sw::collective_in_flight> all;
      for (const std::uint32_t group : {0U, 1U}) {
        b.add_group({});
        const sw::collective_record record{
            sw::collective::all_gather, group, sw::bytes(8), sw::bytes(16), "f32", "none"};
        b.add_task({.name = "ag",
                    .op = "all_gather",
                    .kind = sw::task_kind::collective,
                    .duration = ns(group == 0 ? 300 : 500),
                    .collective = record});
        sw::collective_in_flight c;
        c.tier = group == 0 ? sw::link_tier::inside : second;
        c.alone.latency_us = 40;
        c.alone.time_us = 40 + (group == 0 ? 300 : 500);
        all.push_back(c);
      }
      const sw::task_graph g = std::move(b).build();
      sw::modelled_interference model;
      model.tiers = {sw::link_tier::inside, second};
      const auto run = sw::simulate(g, in_order_of(g), sw::machine(sw::launch_costs{{}, {}, {}, ns(40)}, model));
      const std::vector<double> ends = sw::ends_on_shared_links(all);
      CHECK(static_cast<double>(run.line.end[0].count()) == doctest::Approx(ends[0]));
      CHECK(static_cast<double>(run.line.end[1].count()) == doctest::Approx(ends[1]));
      CHECK(run.line.end[0] == ns(second == sw::link_tier::inside ? 640 : 340));
    }
  }

  TEST_CASE("a policy that speeds work up is refused") {
    const sw::task_graph g = three_tasks(1, 40, 8);
    const sw::machine faster({}, sw::uniform_interference{.compute = {0.5}});
    CHECK(shardweave_test::refusal_of([&] { return sw::simulate(g, in_order_of(g), faster); }) ==
          "the interference policy slows task 2 (mm) by 0.5, expected a finite factor of 1 or more");
  }

  TEST_CASE("uniform figures are by the number of busy channels, the last for more, and nothing alone is slower") {
    const sw::uniform_interference two{.compute = {1.5, 3}, .collective = 1.25};
    const std::vector<sw::busy_channel> busy{{0, 4}, {1, 5}, {2, 6}};
    const auto now = [&](sw::task_index computing, std::size_t channels) {
      return sw::running_work{computing, std::span(busy).first(channels)};
    };
    CHECK(two.compute_slowdown(now(7, 0)) == 1);
    CHECK(two.compute_slowdown(now(7, 1)) == 1.5);
    CHECK(two.compute_slowdown(now(7, 2)) == 3);
    CHECK(two.compute_slowdown(now(7, 3)) == 3);
    CHECK(two.collective_slowdown(now(7, 2), 1) == 1.25);
    CHECK(two.collective_slowdown(now(sw::no_index, 3), 1) == 1);  // collectives do not disturb each other
    CHECK(sw::uniform_interference{.compute = {}}.compute_slowdown(now(7, 2)) == 1);
    CHECK(sw::no_interference{}.compute_slowdown(now(7, 3)) == 1);
    CHECK(sw::no_interference{}.collective_slowdown(now(7, 3), 0) == 1);
  }

  TEST_CASE("collectives beside each other take the sum of what they take from computation") {
    sw::modelled_interference model;
    model.model.processors = 100;
    model.model.counts_memory = false;
    model.collectives = {{.channels = 10, .wire_bandwidth = 0}, {.channels = 40, .wire_bandwidth = 0}};
    const std::vector<sw::busy_channel> busy{{0, 4}, {1, 5}, {9, 6}};  // of the last nothing is known
    CHECK(model.compute_slowdown({2, std::span(busy).first(1)}) == doctest::Approx(100.0 / 90));
    CHECK(model.compute_slowdown({2, std::span(busy).first(2)}) == doctest::Approx(100.0 / 50));
    CHECK(model.compute_slowdown({2, std::span(busy)}) == doctest::Approx(100.0 / 50));
    CHECK(model.compute_slowdown({2, {}}) == 1);
    // links: alone on a tier, with another one, beside computation
    model.tiers = {sw::link_tier::inside, sw::link_tier::inside};
    CHECK(model.collective_slowdown({sw::no_index, std::span(busy)}, 0) == 2);
    CHECK(model.collective_slowdown({sw::no_index, std::span(busy)}, 2) == 1);
    CHECK(model.collective_slowdown({2, std::span(busy)}, 0) == doctest::Approx(2 * model.model.collective_slowdown()));
  }

  TEST_CASE("a slowdown that makes work longer than times may be is refused") {
    const sw::task_graph g = three_tasks(0, 1000, 800);
    struct slow {
      [[nodiscard]] double compute_slowdown(const sw::running_work&) const { return 1e300; }
      [[nodiscard]] double collective_slowdown(const sw::running_work&, std::size_t) const { return 1; }
    };
    CHECK(refusal_of([&] { static_cast<void>(sw::simulate(g, in_order_of(g), sw::machine<slow>({}, {}))); }) ==
          "work that takes 1e+300 times as long takes more than 2^61 ns, what times are kept below");
  }
}

}  // namespace interference_tests

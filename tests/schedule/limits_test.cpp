#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sw = shardweave;
using small_tasks::gather;
using small_tasks::wait_for;
using small_tasks::work;
using ns = sw::nanoseconds;

namespace limits_tests {
namespace {

/// `layers` gathers of 10 bytes to 40, each with a wait and a product that needs the product before.
struct layered {
  sw::task_graph g;
  std::vector<sw::task_index> gathers = {}, products = {};
  layered(int layers, std::int64_t communication, std::int64_t computation) {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    for (int i = 0; i < layers; ++i) {
      gathers.push_back(b.add_task(gather("c", communication, {}, 10)));
      const auto w = b.add_task(wait_for("w", gathers.back()));
      std::vector<sw::task_index> inputs = {w};
      if (i > 0) inputs.push_back(products.back());
      products.push_back(b.add_task(work("m", computation, inputs)));
    }
    g = std::move(b).build();
  }
  /// At each launch, how many launched gathers have not been waited for, itself included.
  [[nodiscard]] std::size_t most_in_flight(const sw::schedule& s) const {
    std::size_t now = 0, most = 0;
    for (const sw::task_index t : s.order) {
      if (g.is_collective(t)) most = std::max(most, ++now);
      if (g.completes(t) != sw::no_index) --now;
    }
    return most;
  }
  /// The most products that lie between a launch and the product that needs it.
  [[nodiscard]] std::size_t farthest(const sw::schedule& s) const {
    std::vector<std::size_t> at(g.size());
    for (std::size_t i = 0; i < s.order.size(); ++i) at[s.order[i]] = i;
    std::size_t most = 0;
    for (std::size_t i = 0; i < gathers.size(); ++i) {
      std::size_t between = 0;
      for (std::size_t j = 0; j < i; ++j) between += at[products[j]] > at[gathers[i]];
      most = std::max(most, between);
    }
    return most;
  }
};

bool has(const sw::schedule& s, sw::decision_reason reason) {
  return std::any_of(s.decisions.begin(), s.decisions.end(), [&](const auto& d) { return d.reason == reason; });
}

}  // namespace

TEST_SUITE("prefetch") {
  TEST_CASE("exactly as many bytes are in flight as allowed, and one collective always") {
    const layered l(8, 1, 50);  // 50 bytes each: in and out
    for (const std::int64_t limit : {0, 49, 50, 99, 100, 149, 150, 199, 200}) {
      CAPTURE(limit);
      const auto s = sw::prefetch{.in_flight = sw::bytes(limit)}(l.g, {});
      const auto allowed = static_cast<std::size_t>(std::max<std::int64_t>(1, limit / 50));
      CHECK(l.most_in_flight(s) == allowed);
      CHECK(has(s, sw::decision_reason::in_flight_limit));
      // even one at a time hides all but the first, if it may be launched a product ahead
      if (allowed > 1) CHECK(sw::simulate(l.g, s).exposed == ns(1));
    }
  }

  TEST_CASE("exactly as many computations lie ahead as allowed") {
    const layered l(10, 1, 50);
    for (const std::size_t limit : {1U, 2U, 3U, 5U}) {
      CAPTURE(limit);
      const auto s = sw::prefetch{.compute_ahead = limit}(l.g, {});
      CHECK(l.farthest(s) == limit);
      CHECK(has(s, sw::decision_reason::distance_limit));
    }
    CHECK_FALSE(has(sw::prefetch{}(l.g, {}), sw::decision_reason::distance_limit));
  }

  TEST_CASE("a budget that its own peak meets changes nothing, one byte less does") {
    std::size_t changed = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(60U, 15U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 25});
      const auto free = sw::prefetch{}(g, {});
      const sw::bytes peak = sw::simulate(g, free).peak;
      const auto less = sw::prefetch{.memory = peak - sw::bytes(1)}(g, {});
      const sw::bytes reached = sw::simulate(g, less).peak;
      CHECK(less.within_memory == (reached <= peak - sw::bytes(1)));
      // where nothing smaller was found, it is at least no larger than either order that was there before
      CHECK(reached <= peak);
      CHECK(reached <= std::max(peak - sw::bytes(1), sw::simulate(g).peak));
      changed += reached < peak;
      const auto within = sw::prefetch{.memory = peak}(g, {});
      CHECK(within.within_memory);
      CHECK(sw::simulate(g, within).peak <= peak);
    }
    CHECK(changed > shardweave_test::sized(10U, 2U));
  }

  TEST_CASE("hiding records and decisions speak of tasks of the graph, buckets under their first members") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(40U, 10U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 30});
      const auto buckets = sw::greedy{.fsdp_only = false, .needs_gain = false}(g);
      const auto s = sw::prefetch{}(g, buckets);
      const auto line = sw::simulate(g, s);
      CHECK(s.hides.size() == line.collectives);
      ns exposed;
      for (const auto& h : s.hides) {
        exposed += h.exposed;
        CHECK(g.is_collective(h.collective));
        for (const sw::bucket& b : s.buckets)
          for (std::size_t i = 1; i < b.members.size(); ++i) CHECK(h.collective != b.members[i]);
        // by the clock: the overlap of the two spans
        ns hidden;
        for (const auto t : h.behind) {
          const ns shared =
              std::min(line.end[t], line.end[h.collective]) - std::max(line.start[t], line.start[h.collective]);
          CHECK((shared > ns(0) || line.start[h.collective] == line.end[h.collective]));
          hidden += shared;
        }
        CHECK(hidden == h.hidden);
      }
      CHECK(exposed == line.exposed);
      for (const auto& d : s.decisions) CHECK(d.subject < g.size());
    }
  }
}

TEST_SUITE("makespan_bound") {
  TEST_CASE("where there is but one order, the bound is its time, copies included") {
    // two gathers as a bucket, then a product: pack 2 * 20 / 2, merged 70, unpack 2 * 80 / 2, product 9
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = 2;
    b.add_group({.id = 0, .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {ns(70)}));
    const auto c0 = b.add_task(gather("c0", 50, {}, 10)), c1 = b.add_task(gather("c1", 50, {}, 10));
    const auto w0 = b.add_task(wait_for("w0", c0)), w1 = b.add_task(wait_for("w1", c1));
    b.add_task(work("m", 9, {w0, w1}));
    const sw::task_graph g = std::move(b).build();
    const std::vector<sw::bucket> buckets = {sw::make_bucket(g, {c0, c1})};
    const sw::schedule s{.order = {0, 1, 2, 3, 4}, .buckets = buckets};
    CHECK(sw::simulate(g, s).end_to_end == ns(20 + 70 + 80 + 9));
    CHECK(sw::makespan_bound(g, buckets).critical_path == ns(179));
    CHECK(sw::makespan_bound(g, buckets).value() == ns(179));
    CHECK(sw::makespan_bound(g).critical_path == ns(59));
    CHECK(sw::makespan_bound(g).channel == ns(100));
    CHECK(sw::makespan_bound(g).value() == ns(109));  // both gathers one after the other, then the product
  }

  TEST_CASE("what must run after a launch, and not after its end, counts from the launch") {
    // `after` orders m behind the launch of c alone
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    const auto a = b.add_task(work("a", 5));
    const auto c = b.add_task(gather("c", 3, {a}, 10));
    sw::task_record m = work("m", 40);
    m.after = {c};
    b.add_task(m);
    b.add_task(wait_for("w", c));
    const sw::task_graph g = std::move(b).build();
    CHECK(sw::makespan_bound(g).critical_path == ns(45));
    CHECK(sw::simulate(g).end_to_end == ns(45));
  }
}

}  // namespace limits_tests

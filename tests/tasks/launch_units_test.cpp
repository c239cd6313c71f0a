#include <shardweave/tasks/launch_units.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace launch_units_tests {
namespace {

struct two_gathers {
  overlap_tasks p;
  sw::task_index x = p.input(), a = p.launch("ag", x), product = p.mm({x, x}, 70), b = p.launch("ag", x);
  sw::task_index wa = p.wait(a), wb = p.wait(b), end = p.output({wa, wb, product});
};
std::string refusal(const sw::task_graph& g, const std::vector<sw::bucket>& buckets) {
  return shardweave_test::refusal_of([&] { return sw::launch_units(g, buckets); });
}

}  // namespace

TEST_SUITE("launch_units") {
  TEST_CASE("without buckets units are tasks, with the numbers of the tasks") {
    two_gathers t;
    const sw::task_graph g = t.p.graph();
    const sw::launch_units units(g, {});
    REQUIRE(units.size() == g.size());
    for (sw::task_index i = 0; i < g.size(); ++i) {
      CHECK(units.unit_of(i) == i);
      CHECK(units.first(i) == i);
      CHECK_FALSE(units.is_bucket(i));
      CHECK(units.order()[i] == i);
      CHECK(units.graph().in(i).size() == g.dependencies().in(i).size());
    }
    CHECK(units.costs(t.product).duration == sw::nanoseconds(70));
    CHECK(units.costs(t.a).duration == sw::nanoseconds(1000));
    CHECK(units.costs(t.wa).duration == sw::nanoseconds(0));
  }
  TEST_CASE("a bucket is one unit at the place of its first member, with its costs and all that its members need") {
    two_gathers t;
    t.p.b.device.dram_bytes_per_ns = 2;
    const sw::task_graph g = t.p.graph();
    const std::vector<sw::bucket> buckets = {sw::make_bucket(g, {t.b, t.a})};
    const sw::launch_units units(g, buckets);
    REQUIRE(units.size() == g.size() - 1);
    const std::uint32_t u = units.unit_of(t.a);
    CHECK(units.unit_of(t.b) == u);
    CHECK(units.first(u) == t.a);
    CHECK(units.is_bucket(u));
    CHECK(units.is_collective(u));
    CHECK(std::vector<sw::task_index>(units.tasks(u).begin(), units.tasks(u).end()) ==
          std::vector<sw::task_index>{t.b, t.a});
    CHECK(units.costs(u).pack == sw::nanoseconds(128));  // 128 bytes read and written
    CHECK(units.costs(u).duration == sw::nanoseconds(1000));
    CHECK(units.graph().out(u).size() == 2);
    for (const auto& e : units.graph().out(u)) CHECK(units.is_completion(e));
    for (const auto& e : units.graph().in(u)) CHECK_FALSE(units.is_completion(e));
  }
  TEST_CASE("buckets that share a member, or hold what does not exist or depends on each other, are refused") {
    two_gathers t;
    const sw::task_graph g = t.p.graph();
    const sw::bucket both = sw::make_bucket(g, {t.a, t.b});
    CHECK(refusal(g, {both, both}) == "bucket 1 names task 1, which is in bucket 0");
    sw::bucket lost = both;
    lost.members[1] = 99;
    CHECK(refusal(g, {lost}) == "bucket 0 names task 99, but there are only " + std::to_string(g.size()));
    std::reverse(lost.members.begin(), lost.members.end());
    CHECK(refusal(g, {lost}) == "bucket 0 names task 99, but there are only " + std::to_string(g.size()));
    overlap_tasks p;
    const auto first = p.ag(p.input()), second = p.ag(first.wait);
    p.output({second.wait});
    const sw::task_graph chain = p.graph();
    CHECK(refusal(chain, {sw::make_bucket(chain, {first.start, second.start})}).find("cycle") != std::string::npos);
  }
  TEST_CASE("units of random graphs keep every dependency, and their order is topological") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 20, .groups = 2});
      const sw::launch_units units(g, {});
      std::vector<std::size_t> place(units.size());
      for (std::size_t i = 0; i < units.size(); ++i) place[units.order()[i]] = i;
      REQUIRE(units.graph().all_edges().size() == g.dependencies().all_edges().size());
      for (std::size_t i = 0; i < g.dependencies().all_edges().size(); ++i) {
        const auto& e = g.dependencies().all_edges()[i];
        const auto& u = units.graph().all_edges()[i];
        REQUIRE(u.source == units.unit_of(e.source));
        REQUIRE(u.target == units.unit_of(e.target));
        REQUIRE(place[u.source] < place[u.target]);
        REQUIRE(units.is_completion(u) == (g.completes(e.target) == e.source));
      }
    }
  }
}

}  // namespace launch_units_tests

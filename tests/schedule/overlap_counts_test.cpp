#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/overlap_counts.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

namespace overlap_counts_tests {
namespace {

/// Which units a unit leads to, itself included, one walk for each.
std::vector<std::vector<bool>> reached(const sw::launch_units& units) {
  std::vector<std::vector<bool>> all;
  for (std::uint32_t from = 0; from < units.size(); ++from) {
    std::vector<bool> seen(units.size());
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
      const std::uint32_t u = open.back();
      open.pop_back();
      if (seen[u]) continue;
      seen[u] = true;
      for (const auto& e : units.graph().out(u)) open.push_back(e.target);
    }
    all.push_back(std::move(seen));
  }
  return all;
}

}  // namespace

TEST_SUITE("overlap_counts") {
  TEST_CASE("what could hide is what some computation is unrelated to, as walks from everything tell") {
    std::size_t could = 0, could_not = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const bool large = seed % 20 == 0;  // more than one block of 64 computations
      const sw::task_graph g = random_tasks(seed, {.blocks = large ? 200 : 1 + seed % (seed % 2 == 0 ? 3 : 15)});
      const auto buckets =
          seed % 2 == 0 ? sw::greedy{.fsdp_only = false, .needs_gain = false}(g) : sw::bucketing_result{};
      const sw::launch_units units(g, buckets.buckets);
      const auto to = reached(units);
      const std::vector<bool> found = sw::potentially_hidden(g, units);
      for (std::uint32_t u = 0; u < units.size(); ++u) {
        bool expected = false;
        for (std::uint32_t c = 0; c < units.size(); ++c)
          expected = expected || (units.is_collective(u) && g.kind(units.first(c)) == sw::task_kind::compute &&
                                  !to[u][c] && !to[c][u]);
        CAPTURE(seed);
        REQUIRE(found[u] == expected);
        could += expected;
        could_not += units.is_collective(u) && !expected;
      }
      const sw::schedule s = sw::prefetch{}(g, buckets);
      const sw::timeline line = sw::simulate(g, s);
      const sw::overlap_counts counts = sw::counts_of_overlap(g, s);
      CHECK(counts.collectives == line.collectives);
      CHECK(counts.fully_hidden == line.hidden_count);
      CHECK(counts.exposed == line.exposed);
      CHECK(counts.potentially_hidden == static_cast<std::size_t>(std::count(found.begin(), found.end(), true)));
      CHECK(counts.missed <= std::min(counts.fully_exposed, counts.potentially_hidden));
      CHECK(counts.hideable_exposed <= counts.exposed);
    }
    CHECK(could > 50);
    CHECK(could_not >= shardweave_test::sized<std::size_t>(1, 0));
  }

  TEST_CASE("a collective that all computations need or give cannot hide, one beside them can") {
    overlap_tasks p;
    const auto x = p.input();
    const auto first = p.mm({x, x});
    const auto between = p.launch("rs", first);
    const auto w = p.wait(between);
    const auto beside = p.launch("ag", x);
    const auto last = p.mm({w, w});
    p.output({last, p.wait(beside)});
    const sw::task_graph g = p.graph();
    const std::vector<bool> found = sw::potentially_hidden(g, sw::launch_units(g, {}));
    CHECK(!found[between]);
    CHECK(found[beside]);
    CHECK(std::count(found.begin(), found.end(), true) == 1);
    for (const auto& [name, value] : sw::account_of_overlap(g, {}).statistics)
      if (name == "potentially_hidden") CHECK(value == 1);
  }

  TEST_CASE("computations in a row are counted between launches of scatters, those of a bucket at its last member") {
    overlap_tasks p;
    std::vector<sw::task_index> scatters, ends;
    for (int i = 0; i < 12; ++i) {
      const auto x = p.input();
      scatters.push_back(p.launch("rs", p.mm({x, x})));
      ends.push_back(p.wait(scatters.back()));
    }
    p.output(ends);
    const sw::task_graph g = p.graph();
    sw::schedule given, late;
    for (sw::task_index t = 0; t < g.size(); ++t) given.order.push_back(t);
    for (const auto kind : {sw::task_kind::input, sw::task_kind::compute, sw::task_kind::collective,
                            sw::task_kind::wait, sw::task_kind::output})
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (g.kind(t) == kind) late.order.push_back(t);
    CHECK(sw::computations_between_scatters(g, given) == 1);
    CHECK(sw::computations_between_scatters(g, late) == 12);
    given.buckets = {sw::make_bucket(g, {scatters[3], scatters[4], scatters[5]})};
    CHECK(sw::computations_between_scatters(g, given) == 3);
  }
}

}  // namespace overlap_counts_tests

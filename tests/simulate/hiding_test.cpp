#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <set>

namespace sw = shardweave;

TEST_SUITE("hiding_records") {
  TEST_CASE("records name the tasks that run meanwhile, and account for all exposed time") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 14});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      const auto line = sw::simulate(g, s);
      const auto records = sw::hiding_records(g, s, line);
      CHECK(records.size() == line.collectives);
      sw::nanoseconds exposed;
      for (const auto& r : records) {
        exposed += r.exposed;
        sw::nanoseconds hidden;
        std::set<sw::task_index> behind;
        for (sw::task_index t = 0; t < g.size(); ++t) {
          if (g.is_collective(t) || g.kind(t) == sw::task_kind::wait) continue;
          const auto from = std::max(line.start[t], line.start[r.collective]),
                     to = std::min(line.end[t], line.end[r.collective]);
          if (to <= from) continue;
          hidden += to - from;
          behind.insert(t);
        }
        CHECK(r.hidden == hidden);
        CHECK(std::set<sw::task_index>(r.behind.begin(), r.behind.end()) == behind);
        CHECK(r.hidden + r.exposed <= line.end[r.collective] - line.start[r.collective] +
                                          (r.exposed > sw::nanoseconds(0) ? line.exposed : sw::nanoseconds(0)));
      }
      CHECK(exposed == line.exposed);
    }
  }
  TEST_CASE("with what hides as dependencies no order that keeps them exposes more") {
    std::size_t added = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 14});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      s.hides = sw::hiding_records(g, s, sw::simulate(g, s));
      s.after = sw::hiding_dependencies(g, s);
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      added += s.after.size();
      std::set<std::pair<sw::task_index, sw::task_index>> kept(s.after.begin(), s.after.end());
      for (const auto& r : s.hides)
        for (sw::task_index w = 0; w < g.size(); ++w)
          if (g.completes(w) == r.collective)
            for (const auto t : r.behind) CHECK((kept.count({r.collective, t}) == 1 && kept.count({t, w}) == 1));
    }
    CHECK(added > shardweave_test::at_scale(500));
  }
}

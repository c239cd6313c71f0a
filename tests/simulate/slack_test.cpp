#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/slack.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace slack_tests {
namespace {
using ns = sw::nanoseconds;

sw::schedule slack_schedule(const sw::task_graph& g, std::uint64_t seed, bool buckets) {
  sw::schedule s;
  if (buckets) s.buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
  sw::random_source random(seed + 900);
  s.order = random_order(g, s.buckets, random);
  return s;
}

/// The end of the step by the reference rule, where the launch of a bucket takes longer.
ns end_with_longer_bucket(const sw::task_graph& g, const sw::schedule& s, std::size_t longer, ns more) {
  std::vector<ns> over(g.size()), channel(g.groups().size());
  std::vector<std::size_t> open;
  std::vector<bool> unpacked(s.buckets.size());
  for (const sw::bucket& b : s.buckets) open.push_back(b.members.size());
  const auto bucket_of = [&](sw::task_index c) {
    std::size_t b = 0;
    while (b < s.buckets.size() && std::ranges::find(s.buckets[b].members, c) == s.buckets[b].members.end()) ++b;
    return b;
  };
  ns now;
  for (const sw::task_index t : s.order) {
    if (g.is_collective(t)) {
      const std::size_t b = bucket_of(t);
      if (b < s.buckets.size() && --open[b] > 0) continue;
      const auto costs = b < s.buckets.size() ? sw::costs_of(g, s.buckets[b]) : sw::bucket_costs{{}, g.duration(t), {}};
      now += costs.pack;
      ns& clock = channel[g.collective(t).group];
      clock = std::max(now, clock) + costs.duration + (b == longer ? more : ns());
      const std::vector<sw::task_index> alone{t};
      for (const sw::task_index m : b < s.buckets.size() ? s.buckets[b].members : alone) over[m] = clock;
    } else if (const sw::task_index c = g.completes(t); c != sw::no_index) {
      now = std::max(now, over[c]);
      const std::size_t b = bucket_of(c);
      if (b == s.buckets.size() || unpacked[b]) continue;
      unpacked[b] = true;
      now += sw::costs_of(g, s.buckets[b]).unpack;
    } else {
      now += g.duration(t);
    }
  }
  for (const ns clock : channel) now = std::max(now, clock);
  return now;
}
}  // namespace

TEST_SUITE("slack") {
  TEST_CASE("what takes longer makes the step longer by what is above its slack") {
    std::size_t tight = 0, loose = 0, launches = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 16, .groups = 1 + seed % 3});
      const sw::schedule s = slack_schedule(g, seed, seed % 2 == 1);
      const sw::timeline line = sw::simulate(g, s);
      const std::vector<ns> slack = sw::slacks_of(g, s, line);
      std::vector<ns> usual;
      for (sw::task_index t = 0; t < g.size(); ++t) usual.push_back(g.duration(t));
      const auto later = [&](sw::task_index t, ns more) { return line.end_to_end + std::max(ns(), more - slack[t]); };
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const bool in_bucket = std::ranges::any_of(
            s.buckets, [&](const sw::bucket& b) { return std::ranges::find(b.members, t) != b.members.end(); });
        CHECK(slack[t] >= ns());
        (slack[t] == ns() ? tight : loose) += 1;
        if (in_bucket || g.completes(t) != sw::no_index) continue;
        for (const std::int64_t more : {1, 7, 60}) {
          std::vector<ns> longer = usual;
          longer[t] += ns(more);
          CHECK(sw::simulate(g.with_durations(longer), s).end_to_end == later(t, ns(more)));
        }
      }
      CHECK(end_with_longer_bucket(g, s, s.buckets.size() + 1, ns()) == line.end_to_end);
      for (std::size_t b = 0; b < s.buckets.size(); ++b)
        for (const std::int64_t more : {1, 7, 60}) {
          ++launches;
          for (const sw::task_index t : s.buckets[b].members)
            CHECK(end_with_longer_bucket(g, s, b, ns(more)) == later(t, ns(more)));
        }
    }
    CHECK(tight > shardweave_test::at_scale(100));
    CHECK(loose > shardweave_test::at_scale(100));
    CHECK(launches > shardweave_test::at_scale(20));
  }

  TEST_CASE("a wait that completes nothing takes no time, whatever duration it states") {
    sw::task_graph_builder b;
    b.add_task({.name = "a", .kind = sw::task_kind::compute, .duration = ns(10)});
    b.add_task({.name = "w", .kind = sw::task_kind::wait, .duration = ns(5), .inputs = {0}});
    b.add_task({.name = "z", .kind = sw::task_kind::compute, .duration = ns(3), .inputs = {1}});
    const sw::task_graph g = std::move(b).build();
    const sw::schedule s{.order = {0, 1, 2}};
    const sw::timeline line = sw::simulate(g, s);
    CHECK(line.end_to_end == ns(13));
    CHECK(sw::slacks_of(g, s, line) == std::vector<ns>(3));
  }
}

}  // namespace slack_tests

#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace topological_span_tests {
namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib;

std::vector<std::size_t> sizes(const sw::bucketing_result& r) {
  std::vector<std::size_t> all;
  for (const auto& b : r.buckets) all.push_back(b.members.size());
  return all;
}
std::size_t times(const sw::bucketing_result& r, sw::decision_reason reason) {
  return static_cast<std::size_t>(
      std::count_if(r.decisions.begin(), r.decisions.end(), [&](const auto& d) { return d.reason == reason; }));
}
/// Parameters that are gathered one after the other, with other work behind each.
sw::task_graph gathers(int count, std::int64_t size, int work_behind = 0) {
  overlap_tasks p;
  std::vector<sw::task_index> ends, weights;
  for (int i = 0; i < count; ++i) weights.push_back(p.input());
  for (const auto weight : weights) {
    auto value = p.ag(weight, 0, size).wait;
    for (int k = 0; k < work_behind; ++k) value = p.other("mul", {value});
    ends.push_back(value);
  }
  p.output(ends);
  return p.graph();
}

}  // namespace

TEST_SUITE("saturation_size") {
  TEST_CASE("grows with the ranks, and has a floor between nodes") {
    const auto mb = [](std::int64_t ranks) { return static_cast<double>(sw::saturation_size(ranks).count()) / mib; };
    CHECK(mb(1) == 0);
    CHECK(mb(8) == doctest::Approx(89.6).epsilon(0.001));
    CHECK(mb(16) == 100);
    CHECK(mb(64) == doctest::Approx(148.4).epsilon(0.001));
    CHECK(mb(128) == doctest::Approx(293.4).epsilon(0.001));
    CHECK(mb(256) == doctest::Approx(583.5).epsilon(0.001));
    CHECK(sw::saturation_size(16, 16) > sw::saturation_size(8, 16));
  }
}

TEST_SUITE("sharding_channels") {
  TEST_CASE("the channel with most gathers of parameters stands in front") {
    overlap_tasks p;
    std::vector<sw::task_index> waits;
    for (const std::uint32_t group : {1U, 0U, 0U, 1U, 0U, 0U, 0U}) waits.push_back(p.ag(p.input(), group).wait);
    waits.push_back(p.ag(p.other("add", {waits[0], waits[1]}), 2).wait);  // gathers no parameter
    p.output(waits);
    const sw::task_graph g = p.graph();
    CHECK(sw::sharding_channels(g, sw::fsdp_tags(g)) == std::vector<std::uint32_t>{0, 1});
    CHECK(sw::sharding_channels(g, std::vector<bool>(g.size())).empty());
    overlap_tasks tie;
    for (const std::uint32_t group : {2U, 1U, 1U, 2U}) tie.ag(tie.input(), group);
    const sw::task_graph equal = tie.graph();
    CHECK(sw::sharding_channels(equal, sw::fsdp_tags(equal)).front() == 2);
  }
}

// Figures that the tests of AutoParallel and PyTorch state.
TEST_SUITE("topological_span") {
  TEST_CASE("small gathers share a bucket, and the cap splits large ones") {
    CHECK(sizes(sw::topological_span{.cap = sw::mebibytes(10)}(gathers(4, kib))) == std::vector<std::size_t>{4});
    const auto r = sw::topological_span{.cap = sw::mebibytes(10)}(gathers(6, 5 * mib));
    CHECK(sizes(r) == std::vector<std::size_t>{2, 2, 2});
    REQUIRE(times(r, sw::decision_reason::byte_cap) == 2);
    CHECK(r.decisions[0].found == 15 * mib);
    CHECK(r.decisions[0].limit == 10 * mib);
  }
  TEST_CASE("a bucket does not span more tasks than it may") {
    const sw::task_graph g = gathers(4, kib, 50);
    const auto r = sw::topological_span{.cap = sw::mebibytes(10), .span = 80}(g);
    CHECK(sizes(r) == std::vector<std::size_t>{2, 2});
    REQUIRE(times(r, sw::decision_reason::distance_limit) == 1);
    CHECK(r.decisions[0].limit == 80);
    CHECK(r.decisions[0].found == 104);
    CHECK(sizes(sw::topological_span{.cap = sw::mebibytes(10), .span = std::nullopt}(g)) ==
          std::vector<std::size_t>{4});
  }
  TEST_CASE("what depends on a member stays out") {
    overlap_tasks p;
    const auto first = p.ag(p.input());
    const auto second = p.ag(p.view({first.wait})), third = p.ag(p.input());
    p.output({second.wait, third.wait});
    const auto r = sw::topological_span{}(p.graph());
    REQUIRE(r.buckets.size() == 1);
    CHECK(r.buckets[0].members == std::vector<sw::task_index>{first.start, third.start});
    REQUIRE(times(r, sw::decision_reason::dependency) == 1);
    CHECK(r.decisions[0].subject == second.start);
  }
  TEST_CASE("gathers of parameters, also behind casts, are merged and those of values are not") {
    for (const bool casts : {false, true}) {
      overlap_tasks p;
      const auto a = p.input(), b = p.input();
      const auto first = p.ag(casts ? p.other("cast", {a}) : a), second = p.ag(casts ? p.other("cast", {b}) : b);
      const auto third = p.ag(p.other("add", {first.wait, second.wait}), 1);
      p.output({third.wait});
      const auto r = sw::topological_span{}(p.graph());
      REQUIRE(r.buckets.size() == 1);
      CHECK(r.buckets[0].members == std::vector<sw::task_index>{first.start, second.start});
    }
  }
  TEST_CASE("adjacent ones only, if so asked: a candidate of another key between two waits ends a bucket") {
    overlap_tasks p;
    std::vector<sw::task_index> waits;
    for (const char* dtype : {"bf16", "bf16", "f32", "bf16", "bf16", "bf16"}) {
      p.dtype = dtype;
      waits.push_back(p.ag(p.input()).wait);
    }
    p.output(waits);
    const sw::task_graph g = p.graph();
    CHECK(sizes(sw::topological_span{.adjacent = true}(g)) == std::vector<std::size_t>{2, 3});
    CHECK(sizes(sw::topological_span{}(g)) == std::vector<std::size_t>{5});
  }
  TEST_CASE("reductions are merged on the channels that gather parameters") {
    overlap_tasks p;
    std::vector<sw::task_index> ends = {p.ag(p.input(), 0).wait, p.ag(p.input(), 0).wait, p.ag(p.input(), 1).wait};
    for (const std::uint32_t group : {0U, 0U, 1U, 1U, 2U, 2U})
      ends.push_back(p.ar(p.other("mul", {ends[0]}), group).wait);
    p.output(ends);
    const sw::task_graph g = p.graph();
    const auto channels = [&](const sw::topological_span& policy) {
      std::vector<std::uint32_t> found;
      for (const auto& b : policy(g).buckets)
        if (g.collective(b.members.front()).op == sw::collective::all_reduce) found.push_back(b.channel);
      return found;
    };
    CHECK(channels({}) == std::vector<std::uint32_t>{0});
    CHECK(channels({.groups = sw::bucket_groups::all}) == std::vector<std::uint32_t>{0, 1});
    CHECK(channels({.groups = sw::bucket_groups::primary}) == std::vector<std::uint32_t>{0});
  }
  TEST_CASE("of the primary group alone, if so asked: the other's collectives are refused one by one") {
    overlap_tasks p;
    std::vector<sw::task_index> ends;
    for (const std::uint32_t group : {1U, 0U, 0U, 1U, 0U}) ends.push_back(p.ag(p.input(), group).wait);
    for (const std::uint32_t group : {0U, 1U, 0U, 1U}) ends.push_back(p.rs(p.other("mul", {ends[0]}), group).wait);
    p.output(ends);
    const sw::task_graph g = p.graph();
    for (const sw::bucket_groups groups : {sw::bucket_groups::all, sw::bucket_groups::primary_reductions}) {
      const auto r = sw::topological_span{.groups = groups}(g);
      CHECK(sizes(r) == std::vector<std::size_t>{2, 3, 2, 2});
      CHECK(times(r, sw::decision_reason::other_group) == 0);
    }
    const auto r = sw::topological_span{.groups = sw::bucket_groups::primary}(g);
    CHECK(sizes(r) == std::vector<std::size_t>{3, 2});
    for (const auto& b : r.buckets) CHECK(b.channel == 0);
    CHECK(times(r, sw::decision_reason::other_group) == 4);
    overlap_tasks none;  // no group gathers a parameter: none is the primary one
    const auto scatter = none.rs(none.other("mul", {none.input()})), more = none.rs(none.other("mul", {none.input()}));
    none.output({scatter.wait, more.wait});
    CHECK(sw::topological_span{.groups = sw::bucket_groups::primary}(none.graph()).buckets.empty());
  }
  TEST_CASE("an absent cap is that of the first group, and caps may be stated by group") {
    overlap_tasks p(0);
    for (const std::int64_t ranks : {64, 8}) {
      const auto group = p.b.add_group({.id = ranks, .size = ranks});
      p.b.add_table(sw::duration_table(sw::collective::all_gather, group, {sw::bytes(0)}, {sw::nanoseconds(1)}));
    }
    std::vector<sw::task_index> waits;
    for (int i = 0; i < 12; ++i) waits.push_back(p.ag(p.input(), i < 6 ? 0 : 1, 40 * mib).wait);
    p.output(waits);
    const sw::task_graph g = p.graph();  // saturated at 148 MiB and at 90 MiB
    CHECK(sizes(sw::topological_span{}(g)) == std::vector<std::size_t>{3, 3, 3, 3});
    CHECK(sizes(sw::topological_span{.cap = sw::mebibytes(200)}(g)) == std::vector<std::size_t>{5, 5});
    CHECK(sizes(sw::topological_span{.cap_of_group = {{1, sw::saturation_size(8)}}}(g)) ==
          std::vector<std::size_t>{3, 3, 2, 2, 2});
    CHECK(sizes(sw::topological_span{.cap_of_group = {{1, sw::mebibytes(240)}}}(g)) ==
          std::vector<std::size_t>{3, 3, 6});
  }
  TEST_CASE("every collective is in a bucket or refused for a reason") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 24, .groups = 1 + seed % 3, .communicates = 0.9});
      const auto groups = static_cast<sw::bucket_groups>(seed % 3);
      const auto members = seed % 2 == 0 ? sw::bucket_members::sharded : sw::bucket_members::derived;
      const auto r = sw::topological_span{.groups = groups, .members = members}(g);
      std::vector<bool> told(g.size());
      for (const auto& b : r.buckets)
        for (const auto t : b.members) told[t] = true;
      for (const auto& d : r.decisions) told[d.subject] = true;
      for (sw::task_index t = 0; t < g.size(); ++t) REQUIRE(told[t] == g.is_collective(t));
    }
  }
  TEST_CASE("the cap follows the group whose parameters are gathered") {
    for (const auto& [ranks, expected] : {std::pair<std::int64_t, std::size_t>{8, 2}, {64, 3}, {256, 6}}) {
      overlap_tasks p(0);
      p.b.add_group({.id = 0, .size = ranks});
      p.b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0)}, {sw::nanoseconds(1)}));
      std::vector<sw::task_index> waits;
      for (int i = 0; i < 6; ++i) waits.push_back(p.ag(p.input(), 0, 40 * mib).wait);
      p.output(waits);
      CHECK(sizes(sw::topological_span{}(p.graph())).front() == expected);
    }
  }
  TEST_CASE("buckets of random graphs are disjoint, within their limits, and some order launches them all") {
    std::size_t buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(500); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 24, .groups = 1 + seed % 2, .communicates = 0.9});
      const sw::topological_span policy{.cap = sw::bytes(20 + static_cast<std::int64_t>(seed % 60)),
                                        .span = 10 + static_cast<std::uint32_t>(seed % 40),
                                        .adjacent = seed % 4 == 0};
      const auto r = policy(g);
      CHECK(r == policy(g));
      for (const auto& b : r.buckets) {
        sw::bytes total;
        for (const auto t : b.members) total += std::max(g.collective(t).bytes_in, g.collective(t).bytes_out);
        CHECK(total <= *policy.cap);
        CHECK(b.members.back() - b.members.front() <= *policy.span);
      }
      sw::random_source random(seed);
      sw::schedule s{.order = random_order(g, r.buckets, random), .buckets = r.buckets};
      REQUIRE(s.order.size() == g.size());  // empty if the buckets close a cycle
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      buckets += r.buckets.size();
    }
    CHECK(buckets > shardweave_test::at_scale(300));
  }
}

}  // namespace topological_span_tests

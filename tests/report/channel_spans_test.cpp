#include "report/small_timeline.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/report/channel_spans.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <map>
#include <string>
#include <vector>

namespace sw = shardweave;
using kind = sw::span_kind;

TEST_SUITE("channel_spans") {
  TEST_CASE("a small schedule gives the spans that one finds by hand") {
    const small_timeline all = two_products();
    const auto span = [](std::uint32_t channel, kind what, sw::task_index t, std::uint32_t bucket, std::int64_t start,
                         std::int64_t end) {
      return sw::channel_span{channel, what, t, bucket, sw::nanoseconds(start), sw::nanoseconds(end)};
    };
    const std::uint32_t none = sw::no_index;
    const std::vector<sw::channel_span> expected = {
        span(0, kind::work, 0, none, 0, 0),         span(0, kind::launch, 1, 0, 0, 0),
        span(0, kind::launch, 2, 0, 0, 0),          span(0, kind::pack, 1, 0, 0, 20),
        span(1, kind::collective, 1, 0, 20, 2020),  span(0, kind::work, 3, none, 20, 1020),
        span(0, kind::wait, 4, 0, 1020, 2020),      span(0, kind::unpack, 1, 0, 2020, 2060),
        span(0, kind::launch, 5, none, 2060, 2060), span(2, kind::collective, 5, none, 2060, 3360),
        span(0, kind::wait, 6, 0, 2060, 2060),      span(0, kind::work, 7, none, 2060, 3060),
        span(0, kind::wait, 8, none, 3060, 3360),   span(0, kind::work, 9, none, 3360, 3360)};
    const std::vector<sw::channel_span> found = sw::channel_spans(all.graph, all.schedule, all.line);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i] == expected[i]);
    }
  }

  TEST_CASE("of random schedules: channels never overlap, the compute stream has no gap, sums are the timeline's") {
    std::size_t bucketed = 0, stalled = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::at_scale(200); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 20});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      if (s.order.empty()) continue;
      bucketed += !s.buckets.empty();
      const sw::timeline line = sw::simulate(g, s);
      std::map<std::uint32_t, sw::nanoseconds> last;
      std::map<kind, sw::nanoseconds> sum;
      std::vector<sw::nanoseconds> busy(g.groups().size());
      std::size_t launches = 0;
      for (const sw::channel_span& span : sw::channel_spans(g, s, line)) {
        REQUIRE(span.start >= last[span.channel]);
        REQUIRE(span.end >= span.start);
        if (span.channel == sw::compute_channel) {
          REQUIRE(span.start == last[span.channel]);
        } else {
          busy[span.channel - 1] += span.end - span.start;
        }
        last[span.channel] = span.end;
        sum[span.kind] += span.end - span.start;
        launches += span.kind == kind::collective;
      }
      CHECK(sum[kind::work] == line.compute);
      CHECK(sum[kind::wait] == line.exposed);
      CHECK(sum[kind::pack] + sum[kind::unpack] == line.packing);
      CHECK(sum[kind::collective] == line.communication);
      CHECK(sum[kind::launch] == sw::nanoseconds(0));
      CHECK(busy == line.channel_busy);
      CHECK(launches == line.collectives);
      CHECK(last[sw::compute_channel] + line.tail == line.end_to_end);
      stalled += line.exposed > sw::nanoseconds(0);
    }
    CHECK(bucketed > shardweave_test::at_scale(20));
    CHECK(stalled > shardweave_test::at_scale(100));
  }

  TEST_CASE("channels are named by dimension and group") {
    sw::task_graph_builder b;
    b.add_group({.id = 3, .name = "", .dim = ""});
    b.add_group({.id = 3, .name = "513", .dim = ""});
    b.add_group({.id = 3, .name = "experts", .dim = ""});
    b.add_group({.id = 3, .name = "513", .dim = "dp"});
    b.add_group({.id = 3, .name = "tp", .dim = "tp"});
    const sw::task_graph g = std::move(b).build();
    std::string names;
    for (std::uint32_t c = 0; c < 6; ++c) names += sw::channel_name(g, c) + "; ";
    CHECK(names == "compute; group 3; group 513; experts; dp (group 513); tp; ");
  }

  TEST_CASE("a timeline of another graph or schedule is refused") {
    small_timeline all = two_products();
    const auto message = [&](auto change) {
      small_timeline other = all;
      change(other);
      return shardweave_test::refusal_of([&] { return sw::channel_spans(other.graph, other.schedule, other.line); });
    };
    CHECK(message([](auto& o) { o.line.start.pop_back(); }) ==
          "the timeline has 9 start times, expected one for each of 10 tasks");
    CHECK(message([](auto& o) { o.line.end.clear(); }) ==
          "the timeline has 0 end times, expected one for each of 10 tasks");
    CHECK(message([](auto& o) { o.line.buckets.clear(); }) ==
          "the timeline has 0 times of buckets, expected one for each of 1 buckets");
    CHECK(message([](auto& o) { o.schedule.order[0] = 10; }) == "the order names task 10, but there are only 10");
    CHECK(message([](auto& o) { o.schedule.buckets[0].members[1] = 11; }) ==
          "a bucket names task 11, but there are only 10");
    CHECK(message([](auto& o) { o.schedule.buckets[0].members.clear(); }) == "a bucket has no members");
    CHECK(message([](auto& o) { o.schedule.buckets[0].channel = 2; }) ==
          "a bucket names group 2, but there are only 2");
    CHECK(message([](auto&) {}).empty());
  }
}

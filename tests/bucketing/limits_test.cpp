#include <shardweave/bucketing/greedy.hpp>

#include <doctest/doctest.h>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sw = shardweave;
using small_tasks::gather;
using small_tasks::scatter;
using small_tasks::wait_for;
using small_tasks::work;

namespace limits_tests {
namespace {

/// A group whose merged collectives take `merged` ns whatever their size; copies are free.
sw::task_graph_builder priced(std::int64_t merged) {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter})
    b.add_table(sw::duration_table(op, 0, {sw::bytes(0)}, {sw::nanoseconds(merged)}));
  return b;
}
/// Two independent collectives with their waits.
template <class Collective>
sw::task_graph pair_of(Collective collective, std::int64_t in, std::int64_t merged, std::int64_t each = 100) {
  sw::task_graph_builder b = priced(merged);
  for (int i = 0; i < 2; ++i) b.add_task(wait_for("w", b.add_task(collective("c", each, {}, in, 0))));
  return std::move(b).build();
}
const sw::greedy any{.fsdp_only = false};

}  // namespace

TEST_SUITE("greedy") {
  TEST_CASE("the cap is the most that a bucket may hold, by the larger of its two buffers") {
    // out of a gather: 2 * 40 bytes; into a scatter: 2 * 10
    const sw::task_graph gathers = pair_of(gather, 10, 150), scatters = pair_of(scatter, 10, 150);
    const auto merged = [&](const sw::task_graph& g, std::int64_t cap) {
      sw::greedy policy = any;
      policy.cap = sw::bytes(cap);
      return policy(g);
    };
    CHECK(merged(gathers, 80).buckets.size() == 1);
    CHECK(merged(scatters, 20).buckets.size() == 1);
    for (const auto* g : {&gathers, &scatters}) {
      const std::int64_t cap = g == &gathers ? 79 : 19;
      const auto r = merged(*g, cap);
      CHECK(r.buckets.empty());
      REQUIRE(!r.decisions.empty());
      CHECK(r.decisions[0] ==
            sw::decision{
                .reason = sw::decision_reason::byte_cap, .subject = 2, .other = 0, .found = cap + 1, .limit = cap});
    }
  }

  TEST_CASE("a merge must gain a nanosecond, unless gain is not asked for") {
    CHECK(any(pair_of(gather, 10, 199)).buckets.size() == 1);
    const auto none = any(pair_of(gather, 10, 200));
    CHECK(none.buckets.empty());
    CHECK(std::any_of(none.decisions.begin(), none.decisions.end(),
                      [](const auto& d) { return d.reason == sw::decision_reason::no_gain && d.subject == 2; }));
    CHECK(sw::greedy{.fsdp_only = false, .needs_gain = false}(pair_of(gather, 10, 300)).buckets.size() == 1);
  }

  TEST_CASE("packing and unpacking are paid for by the gain") {
    // packing 2 * 20 / 1 ns, unpacking 2 * 80 / 1 ns, so 200 ns of copies: 400 - merged must exceed them
    for (const std::int64_t merged : {199, 200}) {
      sw::task_graph_builder b = priced(merged);
      b.device.dram_bytes_per_ns = 1;
      for (int i = 0; i < 2; ++i) b.add_task(wait_for("w", b.add_task(gather("c", 200, {}, 10))));
      CHECK(any(std::move(b).build()).buckets.size() == (merged == 199 ? 1 : 0));
    }
  }

  TEST_CASE("a bucket is closed after twenty refusals in a row, and not one before") {
    for (const int refused : {19, 20}) {
      CAPTURE(refused);
      // so many gathers need the first one's result; the last needs nothing
      sw::task_graph_builder b = priced(150);
      const auto first = b.add_task(gather("first", 100, {}, 10));
      const auto w = b.add_task(wait_for("w", first));
      for (int i = 0; i < refused; ++i) b.add_task(wait_for("w", b.add_task(gather("needs it", 100, {w}, 10))));
      const auto last = b.add_task(gather("last", 100, {}, 10));
      b.add_task(wait_for("w", last));
      const sw::task_graph g = std::move(b).build();
      const auto r = sw::greedy{.fsdp_only = false, .needs_gain = false}(g);
      const bool together = std::any_of(r.buckets.begin(), r.buckets.end(), [&](const sw::bucket& one) {
        return one.members == std::vector<sw::task_index>{first, last};
      });
      CHECK(together == (refused == 19));
      CHECK(std::count_if(r.decisions.begin(), r.decisions.end(), [&](const sw::decision& d) {
              return d.reason == sw::decision_reason::dependency && d.other == first;
            }) == refused);
    }
  }

  TEST_CASE("a refusal tells a dependency from a cycle through other buckets") {
    // a0 -> b1 and b0 -> a1 on two groups: either pair may merge, not both
    sw::task_graph_builder b;
    for (std::uint32_t group = 0; group < 2; ++group) {
      b.add_group({.id = group, .size = 4});
      b.add_table(sw::duration_table(sw::collective::all_gather, group, {sw::bytes(0)}, {sw::nanoseconds(150)}));
    }
    const auto a0 = b.add_task(gather("a0", 100, {}, 10, 0)), b0 = b.add_task(gather("b0", 100, {}, 10, 1));
    const auto wa = b.add_task(wait_for("wa", a0)), wb = b.add_task(wait_for("wb", b0));
    const auto a1 = b.add_task(gather("a1", 100, {wb}, 10, 0)), b1 = b.add_task(gather("b1", 100, {wa}, 10, 1));
    b.add_task(wait_for("w", a1));
    b.add_task(wait_for("w", b1));
    const auto r = any(std::move(b).build());
    REQUIRE(r.buckets.size() == 1);
    CHECK(r.buckets[0].members == std::vector<sw::task_index>{a0, a1});
    CHECK(std::count(r.decisions.begin(), r.decisions.end(),
                     sw::decision{.reason = sw::decision_reason::cycle, .subject = b1, .other = b0}) == 1);
    CHECK(std::none_of(r.decisions.begin(), r.decisions.end(),
                       [](const auto& d) { return d.reason == sw::decision_reason::dependency; }));
  }
}

}  // namespace limits_tests

#include <shardweave/io/read_tasks.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;
using small_tasks::gather;
using small_tasks::wait_for;
using small_tasks::work;

namespace benefit_tests {
namespace {

/// Gathers of 10 bytes for products in a chain; a merged launch of any size takes `merged`.
sw::task_graph chain(int layers, std::int64_t alone, std::int64_t merged, std::int64_t product, double speed) {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  b.device.dram_bytes_per_ns = speed;
  b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(1)}, {sw::nanoseconds(merged)}));
  sw::task_index last = b.add_task({.name = "x", .kind = sw::task_kind::input});
  for (int i = 0; i < layers; ++i) {
    const auto p = b.add_task({.name = "primals", .kind = sw::task_kind::input, .is_param = true});
    auto c = gather("c", alone, {p}, 10);
    c.is_fsdp = true;
    const auto w = b.add_task(wait_for("w", b.add_task(c)));
    last = b.add_task(work("m", product, {last, w}));
  }
  b.add_task({.name = "output", .kind = sw::task_kind::output, .inputs = {last}});
  return std::move(b).build();
}

/// What the passes of others gave on a captured graph, from its page of figures: the lowest end to end time of
/// PyTorch's and AutoParallel's passes, be it as recorded or with packing by the rule, in ns.
struct captured {
  const char* name;
  std::int64_t best_peer;
};
constexpr captured graphs[] = {{"llama3-8b-fw-64-1d", 392'077'225},
                               {"llama3-8b-fw-64-2d", 111'005'853},
                               {"llama3-8b-bw-64-2d", 117'940'000},
                               {"llama3-8b-bw-256-2d", 222'590'000},
                               {"deepseek-v3-fw-64", 218'195'270}};

/// `prefetch` that tells how often it was asked.
struct counted {
  static constexpr std::string_view name = "counted";
  int* asked = nullptr;
  sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& buckets,
                          const sw::solve_control& control) const {
    ++*asked;
    return sw::prefetch{}(g, buckets, control);
  }
};

}  // namespace

TEST_SUITE("benefit") {
  TEST_CASE("buckets that several sizes give are scheduled once") {
    const sw::task_graph g = chain(8, 100, 110, 10, 0);
    int asked = 0;
    sw::benefit<counted> policy{.order = {&asked}};
    const auto all = policy(g).buckets;
    CHECK(all.size() == 1);
    CHECK(asked == 2);  // without buckets, and with the one that each size gives
    asked = 0;
    policy.caps = {sw::bytes(60), sw::bytes(120), sw::bytes(1000)};
    CHECK(policy(g).buckets == all);
    CHECK(asked == 3);  // 120 and 1000 give the same
  }
  TEST_CASE("launches are merged where the channel is what takes long") {
    const sw::task_graph g = chain(8, 100, 110, 10, 0);
    const auto buckets = sw::benefit<>{}(g);
    CHECK(buckets.buckets.size() == 1);
    CHECK(sw::simulate(g, sw::prefetch{}(g, buckets)).end_to_end == sw::nanoseconds(110 + 8 * 10));
  }
  TEST_CASE("they are not where the copies cost more than what is hidden anyway") {
    // each launch hides behind a product: one bucket would save channel time that nobody waits for
    const sw::task_graph g = chain(8, 100, 110, 200, 2);
    const sw::greedy merges;
    CHECK(!merges(g).buckets.empty());
    const auto buckets = sw::benefit<>{}(g);
    CHECK(buckets.buckets.empty());
    CHECK(std::any_of(buckets.decisions.begin(), buckets.decisions.end(),
                      [](const auto& d) { return d.reason == sw::decision_reason::no_gain; }));
  }
  TEST_CASE("it is never worse than no buckets or the middle one of its sizes, and repeatable") {
    std::size_t merged = 0;
    const std::uint64_t first = shardweave_test::sized(1U, 21U);  // few are worth a bucket; some of these are
    for (std::uint64_t seed = first; seed < first + shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % shardweave_test::sized(24U, 12U)});
      sw::benefit<> policy{.caps = {sw::bytes(30), sw::bytes(60), sw::bytes(1000)}};
      policy.merge.fsdp_only = policy.merge.needs_gain = false;
      if (seed % 3 == 0) policy.memory = policy.order.memory = sw::simulate(g).peak;
      const auto chosen = policy(g);
      CHECK(chosen == policy(g));
      merged += !chosen.buckets.empty();
      const auto price = sw::price_of(g, policy.order(g, chosen), policy.memory);
      CHECK_FALSE(sw::price_of(g, policy.order(g, {}), policy.memory) < price);
      sw::greedy sized = policy.merge;
      sized.cap = policy.caps[1];
      CHECK_FALSE(sw::price_of(g, policy.order(g, sized(g)), policy.memory) < price);
      CHECK_NOTHROW(sw::validate_schedule(g, policy.order(g, chosen)));
    }
    CHECK(merged > 0);
  }
  TEST_CASE("captured graphs end before the best of the passes of others, in the memory of the original order") {
    for (const captured& one : graphs) {
      const auto file = shared_data(std::string("tasks/") + one.name + ".json.gz");
      if (!file) continue;
      if (shardweave_test::is_small_scale && one.name != graphs[0].name) continue;
      const sw::task_graph g = sw::read_task_graph(*file);
      const sw::bytes memory = sw::simulate(g).peak;
      sw::benefit<> policy;
      policy.memory = policy.order.memory = memory;
      const auto s = policy.order(g, policy(g));
      const auto line = sw::simulate(g, s);
      CAPTURE(one.name);
      CHECK(s.within_memory);
      CHECK(line.peak <= memory);
      CHECK(line.end_to_end.count() <= one.best_peer);
      CHECK(sw::bound_of_all_bucketings(g).value() <= line.end_to_end);
    }
  }
}

}  // namespace benefit_tests

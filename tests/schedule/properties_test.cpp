#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace properties_tests {
namespace {

/// What holds of every schedule, whoever made it; told as one answer so that thousands are quick.
const char* what_is_wrong(const sw::task_graph& g, const sw::bucketing_result& buckets, const sw::schedule& s,
                          sw::nanoseconds any, const std::optional<sw::bytes>& memory) {
  sw::validate_schedule(g, s);  // throws
  if (s.buckets != buckets.buckets) return "other buckets than it was given";
  const sw::timeline line = sw::simulate(g, s, {.validate = false});
  if (line.end_to_end < any) return "ends before the bound of all bucketings";
  if (line.end_to_end < sw::makespan_bound(g, s.buckets, {.reach = 8}).value()) return "ends before its own bound";
  if (memory && s.within_memory && line.peak > *memory) return "says it keeps the budget and does not";
  if (memory && !s.within_memory && line.peak <= *memory) return "says it breaks the budget and does not";
  // launches of a channel run one after the other, in the order of the schedule
  std::vector<sw::nanoseconds> free(g.groups().size());
  std::vector<bool> bucketed(g.size());
  for (const sw::bucket& b : s.buckets)
    for (const sw::task_index t : b.members) bucketed[t] = true;
  for (const sw::task_index t : s.order) {
    if (!g.is_collective(t) || bucketed[t]) continue;
    sw::nanoseconds& clock = free[g.collective(t).group];
    if (line.start[t] < clock) return "two launches of a channel at the same time";
    clock = line.end[t];
  }
  sw::nanoseconds exposed;
  for (const sw::hiding_record& h : s.hides) {
    if (h.exposed < sw::nanoseconds(0) || h.hidden < sw::nanoseconds(0)) return "less than nothing hidden or exposed";
    if (h.hidden > line.end[h.collective] - line.start[h.collective]) return "more hidden than there is";
    exposed += h.exposed;
  }
  if (exposed != line.exposed) return "records of what hides what do not add up to the exposed time";
  return "";
}

/// What holds of exposure-driven scheduling by its own account; `line` told in launch order.
const char* what_is_wrong_in_account(const sw::task_graph& g, const sw::schedule& s,
                                     const sw::overlap_settings& settings) {
  sw::validate_schedule(g, s);  // throws
  std::vector<std::size_t> place(g.size());
  for (std::size_t i = 0; i < s.order.size(); ++i) place[s.order[i]] = i;
  sw::task_index last = sw::no_index;
  for (const sw::task_index t : s.order) {
    if (g.kind(t) != sw::task_kind::compute || !s.buckets.empty()) continue;  // buckets pull what they need
    if (last != sw::no_index && last > t) return "computations out of their order";
    last = t;
  }
  std::vector<bool> bucketed(g.size());
  for (const sw::bucket& b : s.buckets)
    for (const sw::task_index t : b.members) bucketed[t] = true;
  std::vector<std::vector<sw::nanoseconds>> used(g.groups().size(), std::vector<sw::nanoseconds>(g.size()));
  for (const sw::hiding_record& r : s.hides) {
    if (r.exposed < sw::nanoseconds(0) || r.hidden < sw::nanoseconds(0)) return "less than nothing hidden or exposed";
    if (bucketed[r.collective]) continue;
    if (r.hidden + r.exposed != g.duration(r.collective)) return "hidden and exposed do not add up";
    // latency that merging saves, and what runs while a bucket is unpacked, is hidden without a task
    if (settings.merging_saves_latency || !s.buckets.empty()) continue;
    if (r.hidden > sw::nanoseconds(0) && r.behind.empty()) return "hidden behind nothing";
    sw::nanoseconds most;
    for (const sw::task_index h : r.behind) {
      if (place[h] < place[r.collective]) return "hidden behind what comes before";
      if (g.kind(h) == sw::task_kind::wait) return "";  // a stall has no duration of its own
      most += g.duration(h);
    }
    if (r.hidden > most) return "more hidden than there is";
    // the last of them may be shared with the next collective of the channel, the others are used up
    for (std::size_t i = 0; i + 1 < r.behind.size(); ++i) {
      sw::nanoseconds& spent = used[g.collective(r.collective).group][r.behind[i]];
      if (i > 0 && spent > sw::nanoseconds(0)) return "computation counted twice on a channel";
      if (i > 0) spent = g.duration(r.behind[i]);
    }
  }
  return "";
}

}  // namespace

TEST_SUITE("schedulers") {
  TEST_CASE("what is promised of exposure-driven scheduling and its buckets holds on ten thousand random graphs") {
    const std::size_t graphs = shardweave_test::sized<std::size_t>(10'000, 300);
    std::size_t merged = 0, limited = 0, hidden = 0;
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 2 + seed % 12, .groups = 1 + seed % 3});
      sw::bucketing_result buckets;
      if (seed % 3 == 0) buckets = sw::topological_span{.cap = sw::bytes(60), .span = 30, .adjacent = seed % 2 == 0}(g);
      sw::overlap_settings settings{.in_flight = sw::bytes(seed % 4 == 0 ? 40 : 1000),
                                    .compute_ahead = 1 + seed % 7,
                                    .candidates = 1 + seed % 5,
                                    .memory_increase = std::nullopt,
                                    .memory_ratio = std::nullopt,
                                    .group_by_key = seed % 2 == 0,
                                    .merging_saves_latency = seed % 5 == 0,
                                    .exact_batches = seed % 7 == 0};
      if (seed % 2 == 0) settings.memory_increase = sw::bytes(static_cast<std::int64_t>(seed % 20));
      if (seed % 3 == 0) settings.off_path_batch = std::nullopt;
      const sw::schedule s = sw::account_of_overlap(g, buckets, settings);
      CAPTURE(seed);
      REQUIRE(std::string_view(what_is_wrong_in_account(g, s, settings)) == "");
      REQUIRE(s.buckets == buckets.buckets);
      if (seed % 10 == 0) REQUIRE(s == sw::account_of_overlap(g, buckets, settings));
      for (const auto& r : s.hides) hidden += r.exposed == sw::nanoseconds(0);
      limited += settings.in_flight < sw::bytes(100);
      if (seed % 2 != 0) continue;
      sw::schedule both = sw::merge_preserving_overlap(g, s);
      sw::validate_schedule(g, both);
      merged += both.buckets.size() > s.buckets.size();
      // ranks that order the same launches on each channel alike cannot wait for each other: told by the graph alone
      if (seed % 10 == 0) REQUIRE(both == sw::merge_preserving_overlap(g, s));
    }
    CHECK(merged > graphs / 20);
    CHECK(limited > graphs / 5);
    CHECK(hidden > graphs / 2);
  }

  TEST_CASE("what is promised of every schedule holds on ten thousand random graphs") {
    const std::size_t graphs = shardweave_test::sized<std::size_t>(10'000, 250);
    std::size_t bucketed = 0, limited = 0, faster = 0, rebucketed = 0;
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
      const sw::task_graph g = random_tasks(
          seed,
          {.blocks = 2 + seed % 11, .groups = 1 + seed % 3, .longest = 10 + 20 * static_cast<std::int64_t>(seed % 4)});
      sw::bucketing_result buckets;
      if (seed % 3 != 0)
        buckets = sw::greedy{.cap = sw::bytes(40 + 20 * static_cast<std::int64_t>(seed % 5)),
                             .fsdp_only = false,
                             .needs_gain = seed % 2 == 0}(g);
      bucketed += !buckets.buckets.empty();
      const sw::timeline given = sw::simulate(g);
      std::optional<sw::bytes> memory;
      if (seed % 4 != 0) memory = given.peak - sw::bytes(seed % 4 == 3 ? 5 : 0);
      const sw::nanoseconds any = sw::bound_of_all_bucketings(g, {.reach = 16}).value();
      const sw::prefetch quick{.memory = memory};
      const sw::schedule soon = quick(g, buckets);
      CAPTURE(seed);
      REQUIRE(std::string_view(what_is_wrong(g, buckets, soon, any, memory)) == "");
      if (memory && buckets.buckets.empty() && *memory == given.peak) {
        // the original order always fits
        ++limited;
        REQUIRE(soon.within_memory);
      }
      faster += sw::simulate(g, soon).end_to_end < given.end_to_end;
      if (seed % 5 != 0) continue;
      const sw::search<> policy{.start = quick, .memory = memory, .changes = 60, .rebucket = seed % 2 == 0};
      const sw::schedule found = policy(g, buckets, {.seed = seed});
      REQUIRE(std::string_view(what_is_wrong(g, policy.rebucket ? sw::bucketing_result{found.buckets} : buckets, found,
                                             any, memory)) == "");
      REQUIRE_FALSE(sw::price_of(g, soon, memory) < sw::price_of(g, found, memory));
      rebucketed += found.buckets != buckets.buckets;
      const sw::schedule plain = sw::in_order{}(g, buckets);
      REQUIRE(std::string_view(what_is_wrong(g, buckets, plain, any, std::nullopt)) == "");
    }
    CHECK(bucketed > graphs / 10);
    CHECK(limited > graphs / 10);
    CHECK(faster > graphs / 2);
    CHECK(rebucketed > graphs / 200);
  }
  TEST_CASE("a change that is not kept leaves order, buckets, price and stalls as they were") {
    std::size_t refused = 0, of_buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 60, .groups = 2});
      const auto buckets = sw::greedy{.cap = sw::bytes(40), .fsdp_only = false, .needs_gain = false}(g);
      const sw::schedule start = sw::in_order{}(g, buckets);
      const sw::storage_uses uses(g);
      sw::detail::order_walk walk(g, uses, {g, buckets.buckets, start.order}, sw::simulate(g, start).peak);
      const auto all_buckets = [&] {
        std::vector<std::vector<sw::task_index>> all;
        for (const sw::bucket& b : walk.order().buckets())
          if (!b.members.empty()) all.push_back(b.members);
        return all;
      };
      sw::detail::order_edits edits(g, walk.edit(), 30);
      sw::random_source random(seed);
      for (int i = 0; i < 40; ++i) {
        const sw::detail::bucketed_order& order = walk.order();
        const std::vector<sw::task_index> tasks(order.tasks().begin(), order.tasks().end());
        const auto before = all_buckets();
        const auto price = walk.price();
        const std::size_t stalls = walk.stalls().size();
        const auto a = static_cast<std::uint32_t>(random.below(g.size()));
        const auto b = static_cast<std::uint32_t>(random.below(g.size()));
        random.chance(0.5) ? edits.pull(std::max(a, b), std::min(a, b)) : edits.push(std::min(a, b), std::max(a, b));
        if (!before.empty()) {
          const auto& some = before[random.below(before.size())];
          of_buckets += edits.divide(order.bucket_of(some.front()), some, random.below(some.size()));
          const auto& others = before[random.below(before.size())];
          edits.join(some.front(), some.back(), random.chance(0.5));
          if (g.collective(some.front()).op == g.collective(others.front()).op && buckets.buckets.size() > 3 &&
              g.collective(some.front()).group == g.collective(others.front()).group)
            edits.join(some.back(), others.back(), random.chance(0.5));
        }
        if (walk.settle()) {
          REQUIRE(walk.price() <= price);
          continue;
        }
        ++refused;
        REQUIRE(std::equal(tasks.begin(), tasks.end(), order.tasks().begin()));
        REQUIRE(all_buckets() == before);
        for (const auto& members : before)
          for (const sw::task_index t : members) REQUIRE(order.is_together(t, members.front()));
        REQUIRE(walk.price() == price);
        REQUIRE(walk.stalls().size() == stalls);
        for (std::uint32_t p = 0; p < tasks.size(); ++p) REQUIRE(order.place_of(tasks[p]) == p);
      }
    }
    CHECK(refused > shardweave_test::at_scale(500));
    CHECK(of_buckets > shardweave_test::at_scale(500));
  }
}

}  // namespace properties_tests

// Any buckets and any scheduler with any settings, on any tiny task graph: the order is valid, takes what a second
// simulator says, and no bound, proof or exact answer is contradicted by any order that was tried.
#include "choices.hpp"
#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>

#include <support/random_order_certificate.hpp>
#include <support/random_tasks.hpp>
#include <support/slow_timeline.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace orders_fuzz {
namespace {

using fuzz::choices;

void expect(bool holds, const std::string& who, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", who.c_str(), what);
  std::abort();
}
sw::bytes some_bytes(choices& from) { return sw::bytes(static_cast<std::int64_t>(from.below(128))); }

/// Valid orders with some buckets, one after the other. Inputs come first: where they stand changes neither time nor
/// memory.
class all_orders {
 public:
  all_orders(const sw::task_graph& g, std::span<const sw::bucket> buckets)
      : g_(&g), owner_(sw::bucket_of_tasks(g.size(), buckets)), done_(g.size()) {
    for (const sw::bucket& b : buckets) missing_.push_back(b.members.size());
  }
  /// \returns whether those were all
  template <class Call>
  bool for_each(std::size_t most, const Call& f) {
    left_ = most;
    return extend(f);
  }

 private:
  [[nodiscard]] bool may_be_next(sw::task_index t) const {
    const auto in = g_->dependencies().in(t);
    if (done_[t] || std::ranges::any_of(in, [&](const auto& e) { return !done_[e.source]; })) return false;
    const sw::task_index c = g_->completes(t);
    return c == sw::no_index || owner_[c] == sw::no_index || missing_[owner_[c]] == 0;
  }
  template <class Call>
  bool extend(const Call& f) {
    if (order_.size() == g_->size()) {
      f(order_);
      return --left_ > 0;
    }
    for (sw::task_index t = 0; t < g_->size(); ++t) {
      if (!may_be_next(t)) continue;
      const bool is_input = g_->kind(t) == sw::task_kind::input;
      const auto step = [&](bool forth) {
        done_[t] = forth;
        if (owner_[t] != sw::no_index) missing_[owner_[t]] += forth ? ~std::size_t{0} : 1;
        forth ? order_.push_back(t) : order_.pop_back();
      };
      step(true);
      const bool goes_on = extend(f);
      step(false);
      if (!goes_on) return false;
      if (is_input) break;
    }
    return true;
  }

  const sw::task_graph* g_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::size_t> missing_;
  std::vector<bool> done_;
  std::vector<sw::task_index> order_;
  std::size_t left_ = 0;
};

/// Buckets as they are chosen collective by collective; none where they close a cycle.
sw::bucketing_result any_buckets(choices& from, const sw::task_graph& g) {
  const auto keys = sw::bucket_keys(g);
  const auto fit = sw::fit_for_buckets(g);
  std::vector<std::vector<sw::task_index>> parts;
  for (sw::task_index t = 0; t < g.size(); ++t) {
    if (!fit[t]) continue;
    const std::size_t at = from.below(parts.size() + 1);
    if (at < parts.size() && keys[parts[at].front()] == keys[t])
      parts[at].push_back(t);
    else
      parts.push_back({t});
  }
  sw::bucketing_result all;
  for (const auto& part : parts)
    if (part.size() > 1) all.buckets.push_back(sw::make_bucket(g, part));
  sw::random_source random(1);
  return random_order(g, all.buckets, random).empty() ? sw::bucketing_result() : all;
}
sw::greedy some_greedy(choices& from) {
  sw::greedy policy{.cap = some_bytes(from), .needs_gain = from.maybe()};
  if (from.maybe()) policy.fsdp_only = from.maybe();
  return policy;
}
sw::topological_span some_span(choices& from) {
  sw::topological_span policy;
  if (from.maybe()) policy.cap = some_bytes(from);
  policy.span = from.maybe() ? std::nullopt : std::optional(static_cast<std::uint32_t>(from.below(12)));
  policy.adjacent = from.maybe();
  policy.groups = static_cast<sw::bucket_groups>(from.below(3));
  policy.members = static_cast<sw::bucket_members>(from.below(2));
  return policy;
}
sw::bucketing_result some_buckets(choices& from, const sw::task_graph& g) {
  switch (from.below(5)) {
    case 0:
      return {};
    case 1:
      return any_buckets(from, g);
    case 2:
      return some_greedy(from)(g);
    case 3:
      return some_span(from)(g);
    default:
      return sw::after_split<>{.policy = some_greedy(from), .roles_before = from.maybe()}(g);
  }
}

sw::overlap_settings some_settings(choices& from) {
  sw::overlap_settings s;
  s.in_flight = some_bytes(from);
  s.compute_ahead = from.below(6);
  s.candidates = from.below(5);
  s.compute_share = from.maybe() ? 0.5 : 1;
  s.memory_increase = from.maybe() ? std::optional(some_bytes(from)) : std::nullopt;
  s.memory_ratio = from.maybe() ? std::optional(0.05) : std::nullopt;
  s.group_by_key = from.maybe();
  s.off_path_batch = from.maybe() ? std::optional(some_bytes(from)) : std::nullopt;
  s.merging_saves_latency = from.maybe();
  s.exact_batches = from.maybe();
  return s;
}

struct planned {
  std::string name;
  sw::schedule order;
  bool heeds_memory = true, keeps_buckets = true, is_proven = false;
};
planned some_plan(choices& from, const sw::task_graph& g, const sw::bucketing_result& buckets,
                  std::optional<sw::bytes> memory) {
  const sw::solve_control control{.seed = 1 + from.below(4)};
  sw::prefetch quick{.memory = memory};
  const std::size_t policy = from.below(7);
  if (policy != 0 && from.maybe()) {
    quick.in_flight = some_bytes(from);
    quick.compute_ahead = from.below(6);
  }
  switch (policy) {
    case 0:
      return {"in_order", sw::in_order{}(g, buckets), false};
    case 1:
      return {"prefetch", quick(g, buckets, control)};
    case 2: {
      const sw::search<> by{.start = quick,
                            .memory = memory,
                            .changes = from.below(200),
                            .runs = from.below(5),
                            .rebucket = from.maybe()};
      planned result{"search", by(g, buckets, control), true, !by.rebucket};
      expect(!(sw::price_of(g, quick(g, buckets, control), memory) < sw::price_of(g, result.order, memory)), "search",
             "worse than its start");
      return result;
    }
    case 3: {
      const sw::exact by{.memory = memory, .states = from.maybe() ? from.below(200) : 200'000};
      planned result{"exact", by(g, buckets, control)};
      for (const sw::statistic& s : result.order.statistics) result.is_proven |= s.name == "proven" && s.value == 1;
      return result;
    }
    case 4:
      return {"overlap", sw::overlap_scheduler{some_settings(from)}(g, buckets, control), false};
    case 5: {
      const sw::overlap_preserving merge{.cap = some_bytes(from),
                                         .distance = from.below(6),
                                         .patience = from.below(4),
                                         .exposed_first = from.maybe(),
                                         .nearby = static_cast<std::uint32_t>(from.below(20))};
      return {"overlap_preserving",
              sw::merge_preserving_overlap(g, sw::account_of_overlap(g, buckets, some_settings(from)), merge), false,
              false};
    }
    default:
      return {"best_known", sw::best_known{.memory = memory, .changes = from.below(60)}(g, buckets, control), true,
              false};
  }
}

/// \returns what it takes
sw::timeline checked(const sw::task_graph& g, const std::string& who, const sw::schedule& s) {
  sw::validate_schedule(g, s);
  const sw::timeline line = sw::simulate(g, s);
  shardweave_test::by_events other{g, s};
  other.run();
  expect(line.end_to_end.count() == other.last, who, "it ends at another time");
  expect(line.exposed.count() == other.exposed, who, "more or less is exposed");
  expect(line.collectives == other.launches, who, "more or fewer launches");
  expect(line.hidden_count == other.launches - other.stalled_launches.size(), who, "more or fewer are hidden");
  expect(line.peak.count() == shardweave_test::peak_by_counting(g, s), who, "another peak");
  for (const sw::hiding_record& h : s.hides)
    expect(h.exposed >= sw::nanoseconds(0) && h.hidden >= sw::nanoseconds(0), who, "less than nothing is hidden");
  return line;
}

void try_graph(choices& from) {
  const std::size_t blocks = 1 + from.below(4), groups = 1 + from.below(2);
  const sw::task_graph g = tasks_drawn_by(from, {.blocks = blocks, .groups = groups, .communicates = 0.7}, "fuzzed");
  const sw::bucketing_result buckets = some_buckets(from, g);
  std::optional<sw::bytes> memory;
  const sw::timeline plain = checked(g, "in_order", sw::in_order{}(g, buckets));
  if (from.maybe()) memory = plain.peak + sw::bytes(8) - sw::bytes(static_cast<std::int64_t>(from.below(24)));
  const planned plan = some_plan(from, g, buckets, memory);
  const sw::timeline line = checked(g, plan.name, plan.order);
  if (plan.keeps_buckets) expect(plan.order.buckets == buckets.buckets, plan.name, "other buckets than it was given");
  if (plan.heeds_memory && memory)
    expect(plan.order.within_memory == (line.peak <= *memory), plan.name, "memory is not as it says");

  sw::nanoseconds least = line.end_to_end, least_within(std::numeric_limits<std::int64_t>::max());
  sw::schedule one{.order = {}, .buckets = plan.order.buckets};
  const bool are_all = all_orders(g, one.buckets).for_each(120, [&](const std::vector<sw::task_index>& order) {
    one.order = order;
    const sw::timeline tried = sw::simulate(g, one);
    least = std::min(least, tried.end_to_end);
    if (!memory || tried.peak <= *memory) least_within = std::min(least_within, tried.end_to_end);
  });
  if (plan.is_proven) {
    expect(!plan.order.within_memory || line.end_to_end <= least_within, plan.name, "called best, and is not");
    expect(plan.order.within_memory || least_within.count() == std::numeric_limits<std::int64_t>::max(), plan.name,
           "an order within memory was missed");
    if (are_all && plan.order.within_memory) expect(line.end_to_end == least_within, plan.name, "better than the best");
  }
  constexpr std::array<std::size_t, 4> reaches{192, 0, 2, 8};
  const sw::makespan_bound_options options{.reach = from.one_of(reaches)};
  const sw::nanoseconds own = sw::makespan_bound(g, one.buckets, options).value();
  const sw::nanoseconds any = sw::bound_of_all_bucketings(g, options).value();
  expect(own <= least, "makespan_bound", "above an order");
  expect(any <= least, "bound_of_all_bucketings", "above an order");
  for (sw::order_certificate proof :
       {sw::certify_order(g, one.buckets, options), sw::certify_all_bucketings(g, options)}) {
    expect(proof.lower_bound == (proof.buckets ? own : any), "certify_order", "another bound than was said");
    expect(sw::check_certificate(g, proof).accepted, "check_certificate", "refuses a proof");
    proof.lower_bound = least + sw::nanoseconds(1);
    expect(!sw::check_certificate(g, proof).accepted, "check_certificate", "accepts what an order contradicts");
    shardweave_test::spoil(proof, from.below(256));
    if (!proof.buckets || *proof.buckets == one.buckets)
      expect(!sw::check_certificate(g, proof).accepted, "check_certificate", "accepts a spoiled proof of too much");
  }
  sw::order_certificate drawn = shardweave_test::draw_order_certificate(g, from.below(256));
  if (drawn.buckets) *drawn.buckets = one.buckets;
  expect(sw::check_certificate(g, drawn).bound <= least, "check_certificate", "takes too much for proven");
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  choices from(data, size);
  try_graph(from);
  return 0;
}

}  // namespace orders_fuzz

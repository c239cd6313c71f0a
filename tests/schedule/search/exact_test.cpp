#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;
using small_tasks::gather;
using small_tasks::scatter;
using small_tasks::wait_for;
using small_tasks::work;

namespace exact_tests {
namespace {

/// Tasks by name, to state small problems in one line each.
struct problem {
  sw::task_graph_builder b;
  problem() {
    b.add_group({.id = 0, .size = 4});
    b.add_group({.id = 1, .size = 4});
  }
  sw::task_index mm(std::int64_t duration, std::vector<sw::task_index> inputs = {}) {
    return b.add_task(work("mm", duration, std::move(inputs)));
  }
  /// A gather that holds `held` bytes until its wait, which it returns.
  sw::task_index ag(std::int64_t duration, std::vector<sw::task_index> inputs, std::uint32_t group = 0,
                    std::int64_t held = 0) {
    auto c = gather("ag", duration, std::move(inputs), 1, group);
    c.outputs = {{.size = sw::bytes(held), .storage = b.add_storage(sw::bytes(held))}};
    return b.add_task(wait_for("wait", b.add_task(c)));
  }
  sw::task_graph graph() { return std::move(b).build(); }
};
std::int64_t best(const sw::task_graph& g, const sw::exact& policy = {}) {
  const auto s = policy(g, {});
  REQUIRE(s.statistics.front().name == "proven");
  CHECK(s.statistics.front().value == 1);
  return sw::simulate(g, s).end_to_end.count();
}
std::int64_t soon(const sw::task_graph& g) { return sw::simulate(g, sw::prefetch{}(g, {})).end_to_end.count(); }

/// The best of all valid orders, by trying every one.
std::int64_t best_by_trial(const sw::task_graph& g, const std::vector<sw::bucket>& buckets, std::int64_t memory,
                           std::vector<sw::task_index>& order, std::vector<bool>& done) {
  if (order.size() == g.size()) {
    const auto line = sw::simulate(g, sw::schedule{.order = order, .buckets = buckets});
    return line.peak.count() <= memory ? line.end_to_end.count() : std::numeric_limits<std::int64_t>::max();
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (sw::task_index t = 0; t < g.size(); ++t) {
    const auto in = g.dependencies().in(t);
    if (done[t] || std::any_of(in.begin(), in.end(), [&](const auto& e) { return !done[e.source]; })) continue;
    done[t] = true;
    order.push_back(t);
    least = std::min(least, best_by_trial(g, buckets, memory, order, done));
    order.pop_back();
    done[t] = false;
  }
  return least;
}

/// Calls `f` with all ways to bucket the collectives from `t` on, given those of the others, that close no cycle.
template <class Call>
void for_each_bucketing(const sw::task_graph& g, const std::vector<std::uint32_t>& keys, const std::vector<bool>& fit,
                        sw::task_index t, std::vector<std::vector<sw::task_index>>& parts, const Call& f) {
  while (t < g.size() && !fit[t]) ++t;
  if (t == g.size()) {
    sw::bucketing_result all;
    for (const auto& part : parts)
      if (part.size() > 1) all.buckets.push_back(sw::make_bucket(g, part));
    sw::random_source random(1);
    if (!random_order(g, all.buckets, random).empty()) f(all);
    return;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (keys[parts[i].front()] != keys[t]) continue;
    parts[i].push_back(t);
    for_each_bucketing(g, keys, fit, t + 1, parts, f);
    parts[i].pop_back();
  }
  parts.push_back({t});
  for_each_bucketing(g, keys, fit, t + 1, parts, f);
  parts.pop_back();
}

}  // namespace

TEST_SUITE("exact") {
  // Durations and answers of small problems that other makespan solvers are tested with; times in tenths there.
  TEST_CASE("small problems with known answers") {
    SUBCASE("a gather beside a product") {
      problem p;
      const auto c1 = p.mm(5);
      p.mm(3, {p.ag(10, {c1}), p.mm(8, {c1})});
      const auto g = p.graph();
      CHECK(best(g) == 18);
      CHECK(soon(g) == 18);
    }
    SUBCASE("two groups run at the same time") {
      problem p;
      const auto c0 = p.mm(2);
      p.mm(1, {p.ag(6, {c0}, 0), p.ag(8, {c0}, 1), p.mm(10, {c0})});
      const auto g = p.graph();
      CHECK(best(g) == 13);
      CHECK(soon(g) == 13);
    }
    SUBCASE("a gather that nothing can hide") {
      problem p;
      const auto c0 = p.mm(2);
      p.mm(1, {p.ag(20, {c0}), p.mm(5, {c0})});
      const auto g = p.graph();
      CHECK(best(g) == 23);
      CHECK(soon(g) == 23);
      CHECK(sw::simulate(g, sw::exact{}(g, {})).exposed == sw::nanoseconds(15));
    }
    SUBCASE("a chain") {
      problem p;
      p.mm(4, {p.ag(5, {p.mm(3)})});
      CHECK(best(p.graph()) == 12);
    }
    SUBCASE("one group runs one after the other") {
      problem p;
      const auto c0 = p.mm(1);
      p.mm(1, {p.ag(5, {c0}), p.ag(5, {c0}), p.mm(12, {c0})});
      const auto g = p.graph();
      CHECK(best(g) == 14);
      CHECK(soon(g) == 14);
    }
    SUBCASE("memory for one of two gathers") {
      problem p;
      const auto c0 = p.mm(1);
      p.mm(1, {p.ag(3, {c0}, 0, 100), p.ag(3, {c0}, 0, 100), p.mm(2, {p.mm(2, {c0})})});
      const auto g = p.graph();
      CHECK(best(g) == 8);
      const auto s = sw::exact{.memory = sw::bytes(150)}(g, {});
      CHECK(s.within_memory);
      CHECK(sw::simulate(g, s).peak <= sw::bytes(150));
      CHECK(sw::simulate(g, s).end_to_end >= sw::nanoseconds(8));
      CHECK(!sw::exact{.memory = sw::bytes(50)}(g, {}).within_memory);
    }
    SUBCASE("a shorter gather than the product beside it") {
      problem p;
      const auto c0 = p.mm(3);
      p.mm(2, {p.ag(4, {c0}), p.mm(5, {c0})});
      const auto g = p.graph();
      CHECK(best(g) == 10);
      CHECK(soon(g) == 10);
    }
    SUBCASE("the large product stands before both waits") {
      problem p;
      const auto a = p.mm(20), w0 = p.ag(60, {a}, 0), w1 = p.ag(80, {a}, 1), big = p.mm(100, {a});
      p.mm(15, {w0, w1, big});
      const auto g = p.graph();
      CHECK(best(g) == 135);
      const auto order = sw::exact{}(g, {}).order;
      const auto place = [&](sw::task_index t) { return std::find(order.begin(), order.end(), t) - order.begin(); };
      CHECK(place(big) < place(w0));
      CHECK(place(big) < place(w1));
    }
    SUBCASE("work that a second reduction does not need is kept to hide it") {
      problem p;  // what it needs runs beside the first reduction, the rest beside it
      const auto first = p.ag(10, {}), rest = p.mm(10), d = p.mm(10), w = p.ag(10, {p.mm(0, {d, first})});
      p.mm(10, {d, first, w, rest});
      const auto g = p.graph();
      CHECK(best(g) == 30);
      CHECK(soon(g) <= 40);
      const auto order = sw::exact{}(g, {}).order;
      const auto place = [&](sw::task_index t) { return std::find(order.begin(), order.end(), t) - order.begin(); };
      CHECK(place(d) < place(first));
      CHECK(place(first) < place(rest));
      CHECK(place(rest) < place(w));
    }
    SUBCASE("what leads to a gather goes before heavy work") {
      problem p;
      const auto heavy = p.mm(100, {p.mm(100)});
      auto reshape = work("reshape", 1);
      reshape.kind = sw::task_kind::other;
      const auto w = p.ag(150, {p.b.add_task(reshape)});
      p.mm(20, {heavy, w});
      const auto g = p.graph();
      CHECK(sw::simulate(g).end_to_end == sw::nanoseconds(371));
      CHECK(best(g) == 221);
      CHECK(soon(g) <= 271);
    }
  }
  TEST_CASE("it finds what trying every order finds, with and without buckets and budgets") {
    std::size_t bucketed = 0, tight = 0;
    const std::uint64_t first = shardweave_test::sized(1U, 36U);  // few have buckets; two of these nine do
    for (std::uint64_t seed = first; seed < first + shardweave_test::sized(150U, 9U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 2, .groups = 1 + seed % 2, .chained_wait = 0});
      const auto buckets =
          seed % 2 == 0 ? sw::greedy{.fsdp_only = false, .needs_gain = false}(g) : sw::bucketing_result{};
      bucketed += !buckets.buckets.empty();
      std::vector<sw::task_index> order;
      std::vector<bool> done(g.size());
      const bool limited = seed % 3 == 0;
      const sw::bytes memory = sw::simulate(g).peak - sw::bytes(limited ? 1 : 0);
      const std::int64_t allowed = limited ? memory.count() : std::numeric_limits<std::int64_t>::max();
      // a member has to be launched before the waits: orders that break this are refused by the simulator
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      if (buckets.buckets.empty()) {
        least = best_by_trial(g, {}, allowed, order, done);
      } else {
        sw::random_source random(seed);
        for (int i = 0; i < shardweave_test::sized(300, 100); ++i) {
          const auto line =
              sw::simulate(g, {.order = random_order(g, buckets.buckets, random), .buckets = buckets.buckets});
          if (line.peak.count() <= allowed) least = std::min(least, line.end_to_end.count());
        }
      }
      sw::exact policy;
      if (limited) policy.memory = memory;
      const auto s = policy(g, buckets);
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      CHECK(s.statistics.front().value == 1);
      CHECK(s.within_memory == (least < std::numeric_limits<std::int64_t>::max()));
      if (!s.within_memory) continue;
      tight += limited;
      const auto line = sw::simulate(g, s);
      CHECK(line.peak.count() <= allowed);
      if (buckets.buckets.empty())
        CHECK(line.end_to_end.count() == least);
      else
        CHECK(line.end_to_end.count() <= least);
      CHECK(sw::makespan_bound(g, s.buckets).value() <= line.end_to_end);
    }
    CHECK(bucketed > shardweave_test::sized(5U, 0U));
    CHECK(tight > shardweave_test::sized(5U, 0U));
  }
  TEST_CASE("a task that takes no time does not go before the output where that keeps what both use") {
    problem p;
    const auto kept = [&] {
      return std::vector<sw::output_record>{{.size = sw::bytes(10), .storage = p.b.add_storage(sw::bytes(10))}};
    };
    sw::task_record value = work("value", 1), large = work("large", 5);
    value.outputs = kept();
    const auto v = p.b.add_task(value);
    large.inputs = {p.mm(0, {v})};
    large.outputs = kept();
    p.b.add_task(large);
    p.b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {v}});
    const sw::task_graph g = p.graph();
    const auto s = sw::exact{.memory = sw::bytes(10)}(g, {});
    CHECK(s.within_memory);
    CHECK(sw::simulate(g, s).peak == sw::bytes(10));
    CHECK(!sw::exact{.memory = sw::bytes(9)}(g, {}).within_memory);
  }
  TEST_CASE("a search that is cut off says so and returns the order it began with") {
    const sw::task_graph g = random_tasks(7, {.blocks = 30});
    const auto s = sw::exact{.states = 3}(g, {});
    CHECK(s.statistics.front().value == 0);
    CHECK(s.order == sw::prefetch{}(g, {}).order);
  }
}

TEST_SUITE("search") {
  TEST_CASE(
      "it is never worse than its start, keeps the budget, and buckets unless told otherwise, and is repeatable") {
    std::size_t better = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(150); ++seed) {
      const sw::task_graph g =
          random_tasks(seed, {.blocks = 4 + seed % shardweave_test::sized(40U, 16U), .groups = 1 + seed % 3});
      const auto buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g);
      sw::search<> policy{.changes = shardweave_test::sized<std::size_t>(400, 200)};
      if (seed % 2 == 0) policy.memory = policy.start.memory = sw::simulate(g, sw::in_order{}(g, buckets)).peak;
      policy.rebucket = seed % 3 == 0;
      const auto s = policy(g, buckets);
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      if (!policy.rebucket) CHECK(s.buckets == buckets.buckets);
      CHECK(s == policy(g, buckets));
      const auto before = sw::simulate(g, policy.start(g, buckets)), after = sw::simulate(g, s);
      CHECK(after.end_to_end <= before.end_to_end);
      CHECK(after.peak <= std::max(before.peak, policy.memory.value_or(after.peak)));
      CHECK(s.within_memory == (!policy.memory || after.peak <= *policy.memory));
      CHECK(sw::makespan_bound(g, s.buckets).value() <= after.end_to_end);
      better += after.end_to_end < before.end_to_end;
    }
    CHECK(better > shardweave_test::at_scale(20));
  }
  TEST_CASE("work that hides nothing where it stands is put off behind the last launch, as far as memory allows") {
    // twelve layers: a product, and beside it work for a small scatter; the last product's scatter is long
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    const auto kept = [&](std::int64_t size) {
      return std::vector<sw::output_record>{{sw::bytes(size), b.add_storage(sw::bytes(size)), "bf16", {}}};
    };
    std::vector<sw::task_index> ends;
    auto value = b.add_task(work("x", 1));
    for (int i = 0; i < 12; ++i) {
      sw::task_record product = work("product", 20, {value});
      product.outputs = kept(100);
      value = b.add_task(product);
      // in two steps, of other operations, as element-wise work that could go anywhere
      sw::task_record half = work("half", 3, {value}), rest = work("rest", 3);
      half.kind = rest.kind = sw::task_kind::other;
      half.outputs = kept(10);
      rest.inputs = {b.add_task(half)};
      ends.push_back(b.add_task(wait_for("w", b.add_task(scatter("small", 1, {b.add_task(rest)}, 1)))));
    }
    ends.push_back(b.add_task(wait_for("w", b.add_task(scatter("large", 60, {value}, 1)))));
    b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = ends});
    const sw::task_graph g = std::move(b).build();
    const auto end = [&](const auto& policy) { return sw::simulate(g, policy(g, {})).end_to_end.count(); };
    const std::int64_t work_in_all = 1 + 12 * 26, plain = end(sw::prefetch{});
    CHECK(plain >= work_in_all - 6 + 60);
    const std::int64_t put_off = end(sw::search<>{.changes = 0});
    CHECK(put_off <= work_in_all + 1);
    CHECK(put_off >= sw::makespan_bound(g).value().count());
    // what is put off keeps its product alive: with memory for a few of them it is less
    const sw::bytes memory = sw::simulate(g).peak + sw::bytes(350);
    sw::search<> tight{.memory = memory, .changes = 0};
    tight.start.memory = memory;
    const sw::schedule kept_small = tight(g, {});
    const sw::timeline line = sw::simulate(g, kept_small);
    CHECK(line.end_to_end.count() < plain);
    CHECK(line.end_to_end.count() > put_off);
    CHECK(line.peak <= memory);
    CHECK(kept_small.within_memory);
  }
  TEST_CASE("on tiny graphs it mostly finds the best buckets and order of all, and never better ones") {
    std::size_t met = 0, merged = 0, all = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(60U, 4U); ++seed) {
      const sw::task_graph g =
          random_tasks(seed, {.blocks = 5, .groups = 1, .communicates = 0.9, .chained_wait = 0, .longest = 60});
      const std::vector<std::uint32_t> keys = sw::bucket_keys(g);
      const std::vector<bool> fit = sw::fit_for_buckets(g);
      std::vector<std::vector<sw::task_index>> parts;
      sw::nanoseconds least(std::numeric_limits<std::int64_t>::max());
      bool best_is_merged = false;
      for_each_bucketing(g, keys, fit, 0, parts, [&](const sw::bucketing_result& buckets) {
        const auto end = sw::simulate(g, sw::exact{}(g, buckets)).end_to_end;
        if (end < least) best_is_merged = !buckets.buckets.empty();
        least = std::min(least, end);
      });
      sw::search<> policy{.changes = 2000, .rebucket = true};
      const sw::schedule s = policy(g, {});
      sw::validate_schedule(g, s);
      const auto found = sw::simulate(g, s).end_to_end;
      CAPTURE(seed);
      CHECK(least <= found);
      met += least == found;
      merged += best_is_merged && least == found;
      ++all;
    }
    CHECK(met * 5 > all * 4);
    CHECK((shardweave_test::is_small_scale || merged > 5));
  }
  TEST_CASE("on tiny graphs it mostly finds the best order, and never a better one") {
    std::size_t met = 0;
    const std::size_t all = shardweave_test::at_scale(100);
    for (std::uint64_t seed = 1; seed <= all; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 5, .groups = 2});
      const auto proven = sw::simulate(g, sw::exact{}(g, {})).end_to_end;
      const auto found = sw::simulate(g, sw::search<>{.changes = 300}(g, {})).end_to_end;
      CHECK(proven <= found);
      met += proven == found;
    }
    CHECK(met * 10 > all * 9);
  }
  TEST_CASE("work that stands far behind a stall fills it where it needs nothing of what stands between") {
    // a forward part of short work that waits for a gather each time, a long chain behind it, and at its end work that
    // needs one value of the forward part each and nothing of the chain
    constexpr int layers = 20, distance = shardweave_test::sized(2000, 700);
    problem p;
    std::vector<sw::task_index> values;
    sw::task_index value = p.mm(1);
    for (int i = 0; i < layers; ++i) {
      value = p.mm(1, {p.ag(10, {value})});
      values.push_back(value);
    }
    for (int i = 0; i < distance; ++i) value = p.mm(1, {value});
    for (const sw::task_index v : values) p.mm(5, {v, p.mm(5, {v})});
    const sw::task_graph g = p.graph();
    const std::int64_t in_all = 1 + layers * 11 + distance;
    const auto end = [&](const sw::search<sw::in_order>& policy) {
      return sw::simulate(g, policy(g, {})).end_to_end.count();
    };
    CHECK(end({.changes = 0, .runs = 0}) == in_all + layers * 10);
    const std::int64_t filled = end({.changes = 10'000, .runs = 0, .fills = true});
    CHECK(end({.changes = 10'000, .runs = 0}) > filled);
    CHECK(filled >= in_all + 10);  // at the first gather there is nothing yet
    CHECK(filled <= in_all + 50);
    // all of a stall is filled, or as much as there is; what begins too soon, launches and waits stay
    const sw::storage_uses uses(g);
    sw::detail::order_walk walk(g, uses, {g, {}, sw::in_order{}(g, {}).order}, std::nullopt);
    sw::detail::order_edits edits(g, walk.edit(), 60);
    const std::uint32_t second = walk.stalls()[1].place, size = walk.order().size();
    CHECK_FALSE(edits.fill(second, sw::nanoseconds(4), second));
    CHECK_FALSE(edits.fill(second, sw::nanoseconds(10), size - 1));  // needs what stands before it
    REQUIRE(edits.fill(second, sw::nanoseconds(10), second));
    REQUIRE(walk.settle());
    CHECK(walk.price().end_to_end.count() == in_all + (layers - 1) * 10);
    CHECK(walk.stalls()[1].place > second + 2);
    CHECK_FALSE(edits.fill(second + 2, sw::nanoseconds(10), second));  // of the first layer nothing is left
  }
  TEST_CASE("a change is judged by what the buckets behind it cost now, not by what they cost once") {
    // 300 independent products, then two gathers that are packed for 100 and hidden behind the last product
    problem p;
    p.b.device.dram_bytes_per_ns = 1;
    p.b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(1), sw::bytes(1000)},
                                     {sw::nanoseconds(10), sw::nanoseconds(10)}));
    for (int i = 0; i < 300; ++i) p.mm(10);
    std::vector<sw::task_index> gathers;
    for (int i = 0; i < 2; ++i) gathers.push_back(p.b.add_task(gather("ag", 10, {}, 50)));
    p.mm(1000);
    for (const sw::task_index c : gathers) p.b.add_task(wait_for("wait", c));
    const sw::task_graph g = p.graph();
    const sw::storage_uses uses(g);
    const std::vector<sw::bucket> buckets = {sw::make_bucket(g, gathers)};
    sw::detail::order_walk walk(g, uses, {g, buckets, sw::in_order{}(g, {buckets}).order}, std::nullopt);
    sw::detail::order_edits edits(g, walk.edit(), 60);
    REQUIRE(walk.price().end_to_end > sw::nanoseconds(300 * 10 + 1000));
    REQUIRE(edits.divide(0, gathers, 0));
    REQUIRE(walk.settle());
    REQUIRE(walk.price().end_to_end == sw::nanoseconds(300 * 10 + 1000));
    REQUIRE(edits.pull(20, 10));
    CHECK(walk.settle());  // as good as before
    CHECK(walk.price().end_to_end == sw::nanoseconds(300 * 10 + 1000));
  }
  TEST_CASE("the price of changed order and buckets is the simulator's, from whatever checkpoint it was walked") {
    std::size_t joined = 0, parted = 0, filled = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(4U, 2U); ++seed) {
      const std::size_t blocks = shardweave_test::sized<std::size_t>(900, 300);
      const sw::task_graph g = random_tasks(seed, {.blocks = blocks, .groups = 2, .longest = 90});
      const auto buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g);
      const sw::storage_uses uses(g);
      const sw::schedule start = sw::in_order{}(g, buckets);
      const sw::bytes memory = sw::simulate(g, start).peak - sw::bytes(seed % 2 == 0 ? 10 : 0);
      sw::detail::order_walk walk(g, uses, {g, buckets.buckets, start.order}, memory);
      const std::vector<std::uint32_t> keys = sw::bucket_keys(g);
      const std::vector<bool> may_join = sw::fit_for_buckets(g);
      std::vector<sw::task_index> fit;
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (may_join[t]) fit.push_back(t);
      sw::detail::order_edits edits(g, walk.edit(), 60);
      sw::random_source random(seed);
      std::size_t kept = 0;
      for (int i = 0; i < shardweave_test::sized(300, 150); ++i) {
        const sw::detail::bucketed_order& order = walk.order();
        const std::size_t together = 1 + random.below(3);
        for (std::size_t e = 0; e < together; ++e) {
          const auto a = static_cast<std::uint32_t>(random.below(g.size()));
          const auto b = static_cast<std::uint32_t>(random.below(g.size()));
          const sw::task_index t = order[std::min(a, b)];
          if (seed % 3 != 0 && random.chance(0.4)) {
            const sw::task_index one = fit[random.below(fit.size())], other = fit[random.below(fit.size())];
            joined += keys[one] == keys[other] && edits.join(one, other, random.chance(0.5));
          } else if (seed % 3 != 0 && order.bucket_of(t) != sw::no_index && random.chance(0.5)) {
            const auto members = order.together(t);
            parted +=
                edits.divide(order.bucket_of(t), {members.rbegin(), members.rend()}, random.below(members.size()));
          } else {
            const auto takes = sw::nanoseconds(static_cast<std::int64_t>(random.below(200)));
            switch (random.below(3)) {
              case 0:
                edits.pull(std::max(a, b), std::min(a, b));
                break;
              case 1:
                edits.push(std::min(a, b), std::max(a, b));
                break;
              default:
                filled += edits.fill(std::min(a, b), takes, random.chance(0.5) ? std::max(a, b) : 0);
            }
          }
        }
        // what makes it worse for now, too, so that there is something to change
        sw::detail::walk_price limit = walk.price();
        if (random.chance(0.5)) limit.end_to_end += sw::nanoseconds(100);
        if (random.chance(0.5)) limit.excess += sw::bytes(10);
        kept += walk.settle(limit);
        if (i % 10 != 0) continue;
        sw::schedule s{.order = {walk.order().tasks().begin(), walk.order().tasks().end()}};
        for (const sw::bucket& b : walk.order().buckets())
          if (!b.members.empty()) s.buckets.push_back(b);
        const auto line = sw::simulate(g, s);
        REQUIRE(line.end_to_end == walk.price().end_to_end);
        REQUIRE(std::max(line.peak - memory, sw::bytes(0)) == walk.price().excess);
        sw::nanoseconds stalls;
        for (const auto& stall : walk.stalls()) stalls += stall.lasts;
        REQUIRE(stalls == line.exposed);
      }
      CHECK(kept > 5);
    }
    CHECK(joined > 10);
    CHECK(parted > 10);
    CHECK(filled > 10);
  }
}

}  // namespace exact_tests

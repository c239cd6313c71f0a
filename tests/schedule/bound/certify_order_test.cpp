#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>

#include <doctest/doctest.h>
#include <support/random_order_certificate.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;

using small_tasks::gather;
using small_tasks::wait_for;
using small_tasks::work;

namespace certify_order_tests {
namespace {

/// How many random graphs; SHARDWEAVE_PROOFS asks for more.
std::uint64_t graphs_to_try() {
  const char* told = std::getenv("SHARDWEAVE_PROOFS");
  return told != nullptr ? static_cast<std::uint64_t>(std::atoi(told)) : shardweave_test::at_scale(400);
}

/// A step whose last collective is long, and random graphs: so that each argument leads at times.
sw::task_graph draw(std::uint64_t seed) {
  if (seed % 2 == 0) return random_tasks(seed, {.blocks = 4 + seed % 16, .groups = 1 + seed % 3});
  sw::random_source random(seed);
  const auto number = [&](std::size_t n) { return static_cast<std::int64_t>(1 + random.below(n)); };
  sw::task_graph_builder b;
  b.device.dram_bytes_per_ns = 3;
  for (std::uint32_t c = 0; c < 2; ++c) {
    b.add_group({.id = c, .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, c, {sw::bytes(2), sw::bytes(9), sw::bytes(20)},
                                   {sw::nanoseconds(12), sw::nanoseconds(20), sw::nanoseconds(70)}));
  }
  const bool from_the_end = random.chance(0.5);
  auto value = b.add_task(work("x", number(5)));
  if (from_the_end) {
    const auto first = b.add_task(gather("first", 10 + number(60), {}, 5, 0));
    value = b.add_task(work("y", number(5), {b.add_task(wait_for("w", first)), value}));
  }
  for (int i = 0; i < 3; ++i) {
    const auto before = value;
    value = b.add_task(work("m", number(8), {before}));
    for (int k = 0; k < 3; ++k) {
      const auto side = b.add_task(work("s", number(12), {before}));
      const auto c =
          b.add_task(gather("c", number(30), {side}, number(6), static_cast<std::uint32_t>(random.below(2))));
      const auto w = b.add_task(wait_for("w", c));
      if (random.chance(0.5)) b.add_task(work("u", number(12), {w}));
    }
  }
  if (!from_the_end) b.add_task(wait_for("w", b.add_task(gather("last", number(60), {value}, 5, 0))));
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("certify_order") {
  TEST_CASE("after a stop less is proven, and that is a proof") {
    std::stop_source source;
    source.request_stop();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = draw(seed);
      const sw::order_certificate c = sw::certify_order(g, {}, {.stop = source.get_token()});
      CHECK(sw::check_certificate(g, c).accepted);
      CHECK(c.lower_bound <= sw::certify_order(g, {}).lower_bound);
    }
  }
  TEST_CASE("every bound of every argument is proven, and what claims more is refused") {
    std::vector<std::string> by;
    std::size_t spoiled = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= graphs_to_try(); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = draw(seed);
      sw::nanoseconds best = sw::simulate(g).end_to_end;  // of any buckets
      sw::random_source random(seed);
      const auto buckets =
          sw::greedy{
              .cap = sw::bytes(static_cast<std::int64_t>(10 + seed % 50)), .fsdp_only = false, .needs_gain = false}(g)
              .buckets;
      const auto try_orders = [&](const std::vector<sw::bucket>& with) {
        sw::nanoseconds end = sw::simulate(g, sw::prefetch{}(g, {.buckets = with})).end_to_end;
        for (int i = 0; i < 5; ++i)
          end = std::min(end, sw::simulate(g, {.order = random_order(g, with, random), .buckets = with}).end_to_end);
        best = std::min(best, end);
        return end;
      };
      const sw::nanoseconds with_none = try_orders({}), with_some = try_orders(buckets);
      const auto check = [&](const sw::order_certificate& proof, const sw::makespan_bounds& bounds,
                             sw::nanoseconds found) {
        CHECK(proof.lower_bound == bounds.value());
        const sw::order_verdict verdict = sw::check_certificate(g, proof);
        CHECK_MESSAGE(verdict.accepted, verdict.failure);
        CHECK(verdict.bound >= bounds.value());
        CHECK(verdict.bound <= found);
        by.emplace_back(bounds.limited_by());
        sw::order_certificate wrong = proof;
        wrong.lower_bound = found + sw::nanoseconds(1);
        CHECK(!sw::check_certificate(g, wrong).accepted);
        for (std::uint64_t k = 0; k < 5; ++k) {
          wrong = proof;
          shardweave_test::spoil(wrong, 10 * seed + k);
          const bool same_buckets = wrong.buckets == proof.buckets;  // else it is a proof about others
          const sw::order_verdict of_wrong = sw::check_certificate(g, wrong);
          if (of_wrong.bound > sw::nanoseconds(0) && same_buckets) CHECK(of_wrong.bound <= found);
          if (!same_buckets) continue;
          wrong.lower_bound = found + sw::nanoseconds(1);
          ++spoiled;
          refused += !sw::check_certificate(g, wrong).accepted;
        }
      };
      check(sw::certify_all_bucketings(g), sw::bound_of_all_bucketings(g), best);
      check(sw::certify_order(g, {}), sw::makespan_bound(g), with_none);
      check(sw::certify_order(g, buckets), sw::makespan_bound(g, buckets), with_some);
    }
    MESSAGE(by.size() << " proofs accepted, " << refused << " of " << spoiled << " wrong ones refused");
    CHECK(refused == spoiled);
    CHECK(spoiled > 2 * graphs_to_try());
    for (const char* name : {"compute", "critical_path", "released", "in_a_row"})
      CHECK(std::count(by.begin(), by.end(), name) > 0);
  }
  TEST_CASE("what waits for a bucket that is unpacked in no time follows its unpacking") {  // found by tests/soak.sh
    const sw::task_graph g = draw(18968);
    const std::vector<sw::bucket> buckets = {sw::make_bucket(g, {6, 28})};
    REQUIRE(sw::costs_of(g, buckets[0]).unpack == sw::nanoseconds(0));
    const sw::order_certificate c = sw::certify_order(g, buckets);
    REQUIRE(c.row);
    const sw::order_verdict verdict = sw::check_certificate(g, c);
    CHECK_MESSAGE(verdict.accepted, verdict.failure);
    CHECK(verdict.bound == sw::nanoseconds(221));
  }
  TEST_CASE("a graph without tasks is bounded by nothing") {
    const sw::order_certificate c = sw::certify_all_bucketings(sw::task_graph_builder().build());
    CHECK(c.lower_bound == sw::nanoseconds(0));
    CHECK(sw::check_certificate(sw::task_graph_builder().build(), c).accepted);
  }
  TEST_CASE("what only has to come after a member of a bucket may come before its launch") {
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = 2;
    for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(1)}, {sw::nanoseconds(7)}));
    const auto one = b.add_task(gather("one", 7, {}, 10));
    sw::task_record other = work("other", 20);
    other.after = {one};
    const auto t = b.add_task(other);
    const auto late = b.add_task(work("late", 5));
    const auto two = b.add_task(gather("two", 7, {late}, 10));
    const auto long_one = b.add_task(gather("long", 200, {t}, 10, 1));
    for (const auto c : {one, two, long_one}) b.add_task(wait_for("w", c));
    const sw::task_graph g = std::move(b).build();
    const std::vector<sw::bucket> buckets{sw::make_bucket(g, {one, two})};
    const sw::schedule s{.order = {one, t, long_one, late, two, 5, 6, 7}, .buckets = buckets};
    CHECK(sw::simulate(g, s).end_to_end == sw::nanoseconds(220));  // packed from 25 on, when the long one is on its way
    CHECK(sw::makespan_bound(g, buckets).value() == sw::nanoseconds(220));
    CHECK(sw::check_certificate(g, sw::certify_order(g, buckets)).accepted);
  }
}

}  // namespace certify_order_tests

#include "order_refusal.hpp"
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/order_certificate.hpp>

#include <doctest/doctest.h>
#include <support/random_order_certificate.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

using small_tasks::gather;
using small_tasks::scatter;
using small_tasks::wait_for;
using small_tasks::work;

namespace check_order_certificate_tests {
namespace {

using order_proofs::none;
using order_proofs::refusal_of;

/// a (5 ns) -> {p, q, r} (10, 11, 12) -> s (2); s -> c (20, channel 0) -> wait -> z (3)
sw::task_graph diamond() {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  const auto a = b.add_task(work("a", 5));
  const auto p = b.add_task(work("p", 10, {a})), q = b.add_task(work("q", 11, {a})), r = b.add_task(work("r", 12, {a}));
  const auto s = b.add_task(work("s", 2, {p, q, r}));
  const auto c = b.add_task(scatter("c", 20, {s}, 1, 0));
  b.add_task(work("z", 3, {b.add_task(wait_for("w", c))}));
  return std::move(b).build();
}
constexpr sw::activity_number of_a = 0, of_p = 3, of_q = 6, of_r = 9, of_s = 12, launch_of_c = 15, run_of_c = 16;

}  // namespace

TEST_SUITE("check_certificate (orders)") {
  TEST_CASE("chains, joins and one machine's work prove what they prove, and no more") {
    const sw::task_graph g = diamond();
    sw::order_certificate c = none();
    c.together = {of_s};
    const auto proves = [&](std::int64_t bound) {
      c.lower_bound = sw::nanoseconds(bound);
      CHECK(sw::check_certificate(g, c).accepted);
      CHECK(sw::check_certificate(g, c).bound == c.lower_bound);
      c.lower_bound += sw::nanoseconds(1);
      CHECK(refusal_of(g, c) == "proves " + std::to_string(bound) + " ns, expected no less than " +
                                    std::to_string(bound + 1) + ", which is claimed");
    };
    proves(5 + 12 + 2 + 20 + 3);  // a chain
    c.heads = {{of_s, {of_p, of_q, of_r}}};
    proves(5 + 33 + 2 + 20 + 3);
    c.heads = {{of_s, {of_p, of_r}}};
    proves(5 + 22 + 2 + 20 + 3);
    c.heads = {{run_of_c, {of_p, of_q, of_r}}};  // what follows them is no less than s
    c.together = {run_of_c};
    proves(5 + 33 + 2 + 20 + 3);
    c.heads = {};
    c.tails = {{of_a, {of_p, of_q, of_r}}};
    c.together = {of_a};
    proves(5 + 33 + 2 + 20 + 3);
    c.together = {of_p, of_q, of_r};
    proves(5 + 33 + 2 + 20 + 3);
    c.tails = {};
    c.together = {};
    proves(0);
    CHECK(sw::simulate(g).end_to_end == sw::nanoseconds(5 + 33 + 2 + 20 + 3));
  }
  TEST_CASE("of ways from joined work the shortest counts: what is done last may be what nothing else follows") {
    sw::task_graph_builder b;  // a (20) and, through x (11), b (7) lead to v (3)
    const auto a = b.add_task(work("a", 20)), early = b.add_task(work("b", 7));
    const auto x = b.add_task(work("x", 11, {early})), v = b.add_task(work("v", 3, {a, x}));
    const sw::task_graph g = std::move(b).build();
    sw::order_certificate c = none();
    c.heads = {{3 * v, {3 * a, 3 * early}}};
    c.together = {3 * v};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(20 + 7 + 3));
    c.heads = {};
    c.tails = {{3 * early, {3 * x, 3 * v}}};  // after b: x, then v
    c.together = {3 * early};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(7 + 11 + 3));
  }
  TEST_CASE("each step that does not hold is named") {
    const sw::task_graph g = diamond();
    sw::order_certificate c = none();
    c.together = {of_p, run_of_c};
    CHECK(refusal_of(g, c) ==
          "together: activity 16, run of task 5 (c), is of another machine than activity 3, task 1 (p),");
    c.together = {of_p, of_p};
    CHECK(refusal_of(g, c) == "together: activity 3, task 1 (p), is there twice");
    c.together = {1000};
    CHECK(refusal_of(g, c) == "together: activity 1000 is not there");
    c.together = {1};  // no collective: it has no run
    CHECK(refusal_of(g, c) == "together: activity 1 is not there");
    c.together = {of_s};
    c.row.emplace();
    CHECK(refusal_of(g, c) == "has together and row, expected one of them");
    c.row.reset();
    c.heads = {{of_p, {of_q, of_r}}};
    CHECK(refusal_of(g, c) == "heads[0]: activity 6, task 2 (q), does not come before activity 3, task 1 (p),");
    c.heads = {{of_p, {of_p}}};
    CHECK(refusal_of(g, c) == "heads[0]: activity 3, task 1 (p), does not come before activity 3, task 1 (p),");
    c.heads = {{of_s, {}}};
    CHECK(refusal_of(g, c) == "heads[0]: there is no work");
    c.heads = {{77, {of_p}}};
    CHECK(refusal_of(g, c) == "heads[0]: activity 77 is not there");
    c.heads = {};
    c.tails = {{of_p, {of_s}}, {of_s, {of_p}}};
    CHECK(refusal_of(g, c) == "tails[1]: activity 3, task 1 (p), does not come after activity 12, task 4 (s),");
    c.tails = {{of_p, {launch_of_c, run_of_c}}};
    CHECK(refusal_of(g, c).find("is of another machine") != std::string::npos);
    c.tails = {};
    c.buckets = std::vector<sw::bucket>{{.members = {5}}};
    CHECK(refusal_of(g, c) == "buckets[0] has fewer than two members");
    c.buckets = std::vector<sw::bucket>{{.members = {5, 5}}};
    CHECK(refusal_of(g, c) == "buckets[0]: task 5 (c) is a member twice");
    c.buckets = std::vector<sw::bucket>{{.members = {5, 1}}};
    CHECK(refusal_of(g, c) == "buckets[0]: task 1 is no collective of the graph");
  }
  TEST_CASE("buckets that cannot be launched as one are named, and those that can take what the rule says") {
    // two gathers of 10 and 20 bytes, a third of another dtype, one without a table, an all-to-all; all on one channel
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = 2;
    b.add_group({.id = 0, .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(10), sw::bytes(30)},
                                   {sw::nanoseconds(100), sw::nanoseconds(140)}));
    const auto one = b.add_task(gather("one", 100, {}, 10)), w = b.add_task(wait_for("w", one));
    const auto x = b.add_task(work("x", 3, {w}));
    const auto two = b.add_task(gather("two", 120, {}, 20)), after_x = b.add_task(gather("after x", 100, {x}, 10));
    sw::task_record other = gather("other", 100, {}, 10);
    other.collective->dtype = "f32";
    const auto third = b.add_task(other);
    const auto unpriced = b.add_task(scatter("s", 9, {}, 8)), unpriced_too = b.add_task(scatter("t", 9, {}, 8));
    other.collective->op = sw::collective::all_to_all;
    const auto all_to_all = b.add_task(other), another = b.add_task(other);
    b.add_task(wait_for("w", two));
    const sw::task_graph g = std::move(b).build();
    sw::order_certificate c = none();
    const auto with = [&](std::vector<sw::bucket> buckets) {
      c.buckets = std::move(buckets);
      return sw::check_certificate(g, c);
    };
    CHECK(with({{.members = {one, third}}}).failure == "buckets[0]: task 5 (other) cannot be merged with task 0 (one)");
    CHECK(with({{.members = {all_to_all, another}}}).failure.find("cannot be merged") != std::string::npos);
    CHECK(with({{.members = {unpriced, unpriced_too}}}).failure == "buckets[0]: no table prices it");
    CHECK(with({{.members = {one, 1'000}}}).failure == "buckets[0]: task 1000 is no collective of the graph");
    CHECK(with({{.members = {one, two}}, {.members = {two, after_x}}}).failure ==
          "buckets[1]: task 3 (two) is a member twice");
    CHECK(with({{.members = {one, after_x}}}).failure == "the buckets close a cycle");
    c.together = {3 * one, 3 * one + 2};  // packing and unpacking, and the run between them
    c.heads = {};
    CHECK(with({{.members = {two, one}}}).bound ==
          sw::nanoseconds(30 + 120 + 3 + 100));  // after x comes the last gather
    c.together = {3 * one + 1};
    CHECK(with({{.members = {two, one}}}).bound == sw::nanoseconds(30 + 140 + 120 + 3 + 100));
    CHECK(with({{.members = {two, one}, .coalesced = true}}).bound == sw::nanoseconds(140 + 3 + 100));
    c.together = {3 * two + 1};
    CHECK(with({{.members = {two, one}}}).failure == "together: activity 10 is not there");
    c.together = {};
    c.row.emplace().collective = two;
    CHECK(with({{.members = {two, one}}}).failure == "row: task 3 launches nothing");
    // with any buckets each is part of 160 ns for all 40 bytes: of 1 ns less a quarter, and a half, rounded down
    c.buckets.reset();
    c.row.reset();
    c.together = {3 * one + 1, 3 * two + 1};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(39 + 79));
  }
  TEST_CASE("whatever a proof says, no order ends before what it proves") {
    std::size_t accepted = 0, rows = 0, tight = 0, joined = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(400); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 3 + seed % 8, .groups = 1 + seed % 3});
      sw::random_source random(seed);
      sw::nanoseconds best = sw::simulate(g).end_to_end;
      for (int i = 0; i < 20; ++i)
        best = std::min(best, sw::simulate(g, sw::schedule{.order = random_order(g, {}, random)}).end_to_end);
      for (std::uint64_t k = 0; k < 10; ++k) {
        const sw::order_certificate c = shardweave_test::draw_order_certificate(g, 10 * seed + k);
        const sw::order_verdict verdict = sw::check_certificate(g, c);
        if (!verdict.accepted) {
          CHECK(verdict.failure.find("s[") != std::string::npos);  // a join with what does not come before
          continue;
        }
        CHECK(verdict.bound <= best);
        ++accepted;
        rows += c.row.has_value();
        joined += !c.heads.empty() || !c.tails.empty();
        tight += verdict.bound == best;
      }
    }
    CHECK(accepted > shardweave_test::at_scale(3500));
    CHECK(rows > shardweave_test::at_scale(1000));
    CHECK(joined > shardweave_test::at_scale(2000));
    CHECK(tight > shardweave_test::at_scale(100));
  }
}

}  // namespace check_order_certificate_tests

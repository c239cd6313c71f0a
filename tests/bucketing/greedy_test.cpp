#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace greedy_tests {
namespace {

/// Parameters, each gathered and multiplied into a running value.
struct layers {
  sw::task_graph_builder b;
  sw::task_index value = 0;
  std::vector<sw::task_index> gathers = {};
  explicit layers(std::vector<sw::nanoseconds> time = {sw::nanoseconds(100), sw::nanoseconds(101)}) {
    b.device.dram_bytes_per_ns = 1000;
    b.add_group({.id = 0, .name = "dp", .size = 4});
    b.add_group({.id = 1, .name = "tp", .size = 4});
    for (std::uint32_t g = 0; g < 2; ++g)
      b.add_table(sw::duration_table(sw::collective::all_gather, g, {sw::bytes(0), sw::bytes(1 << 20)}, time));
    value = b.add_task({.name = "x", .op = "input", .kind = sw::task_kind::input});
  }
  /// A layer whose gather has this key; its input is a parameter, or the running value.
  sw::task_index add(std::int64_t kib, std::uint32_t group = 0, const char* dtype = "bf16", bool of_value = false) {
    sw::task_index from = value;
    if (!of_value) from = b.add_task({.name = "primals", .op = "input", .kind = sw::task_kind::input});
    const auto c =
        b.add_task({.name = "ag",
                    .op = "ag",
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(100),
                    .inputs = {from},
                    .collective = sw::collective_record{sw::collective::all_gather, group, sw::bytes(kib << 8),
                                                        sw::bytes(kib << 10), dtype, "none"},
                    .is_fsdp = !of_value});
    const auto w = b.add_task({.name = "w", .op = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
    value = b.add_task({.name = "mm",
                        .op = "mm",
                        .kind = sw::task_kind::compute,
                        .duration = sw::nanoseconds(5),
                        .inputs = {value, w}});
    gathers.push_back(c);
    return c;
  }
  sw::task_graph graph() {
    b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {value}});
    return std::move(b).build();
  }
};

std::size_t count(const sw::bucketing_result& r, sw::decision_reason reason) {
  return static_cast<std::size_t>(
      std::count_if(r.decisions.begin(), r.decisions.end(), [&](const auto& d) { return d.reason == reason; }));
}

}  // namespace

TEST_SUITE("greedy") {
  TEST_CASE("small independent gathers go into one bucket") {
    layers l;
    for (int i = 0; i < 4; ++i) l.add(1);
    const auto r = sw::greedy{.cap = sw::mebibytes(10)}(l.graph());
    REQUIRE(r.buckets.size() == 1);
    CHECK(r.buckets[0].members == l.gathers);
    CHECK(r.buckets[0].bytes_out == sw::kibibytes(4));
    CHECK(r.buckets[0].bytes_in == sw::kibibytes(1));
    CHECK(r.decisions.empty());
  }
  TEST_CASE("the cap holds: six of 5 MiB under 10 MiB make buckets of two") {
    layers l;
    for (int i = 0; i < 6; ++i) l.add(5 << 10);
    const auto r = sw::greedy{.cap = sw::mebibytes(10), .needs_gain = false}(l.graph());
    REQUIRE(r.buckets.size() == 3);
    for (const auto& b : r.buckets) CHECK(b.members.size() == 2);
    REQUIRE(count(r, sw::decision_reason::byte_cap) == 2);
    CHECK(r.decisions[0] ==
          sw::decision{sw::decision_reason::byte_cap, l.gathers[2], l.gathers[0], 15 << 20, 10 << 20});
  }
  TEST_CASE("keys do not mix, and tensor-parallel gathers are left alone unless asked for") {
    layers l;
    l.add(1), l.add(1, 0, "f32"), l.add(1), l.add(1, 0, "f32"), l.add(1, 1, "bf16", true), l.add(1, 1);
    const sw::task_graph g = l.graph();
    const auto r = sw::greedy{}(g);
    CHECK(r.decisions[0] == sw::decision{.reason = sw::decision_reason::other_role, .subject = l.gathers[4]});
    REQUIRE(r.buckets.size() == 2);
    CHECK(r.buckets[0].members == std::vector<sw::task_index>{l.gathers[0], l.gathers[2]});
    CHECK(r.buckets[1].members == std::vector<sw::task_index>{l.gathers[1], l.gathers[3]});
    CHECK(count(r, sw::decision_reason::alone) == 1);
    const auto all = sw::greedy{.fsdp_only = false}(g);
    REQUIRE(all.buckets.size() == 3);
    CHECK(all.buckets[2].channel == 1);
  }
  TEST_CASE("by default everything is merged where nothing is known, and nothing where no parameter is gathered") {
    const auto two = [](sw::task_role role, std::optional<bool> fsdp) {
      sw::task_graph_builder b;
      b.add_group({});
      b.add_table(sw::duration_table(sw::collective::all_reduce, 0, {sw::bytes(0)}, {sw::nanoseconds(10)}));
      for (int i = 0; i < 2; ++i) {
        const auto c = b.add_task({.name = "c",
                                   .kind = sw::task_kind::collective,
                                   .duration = sw::nanoseconds(10),
                                   .collective = sw::collective_record{.op = sw::collective::all_reduce},
                                   .is_fsdp = fsdp,
                                   .role = role});
        b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
      }
      return std::move(b).build();
    };
    CHECK(sw::greedy{}(two(sw::task_role::none, std::nullopt)).buckets.size() == 1);
    CHECK(sw::greedy{}(two(sw::task_role::none, true)).buckets.size() == 1);
    for (const sw::task_graph& g : {two(sw::task_role::activation, std::nullopt), two(sw::task_role::none, false)}) {
      const auto r = sw::greedy{}(g);
      CHECK(r.buckets.empty());
      CHECK(count(r, sw::decision_reason::other_role) == 2);
      CHECK(sw::greedy{.fsdp_only = false}(g).buckets.size() == 1);
    }
  }
  TEST_CASE("what cannot be merged says so") {
    const sw::task_graph g = random_tasks(3, {.blocks = 60, .communicates = 1});
    std::size_t exchanges = 0;
    for (sw::task_index t = 0; t < g.size(); ++t)
      exchanges += g.is_collective(t) && g.collective(t).op == sw::collective::all_to_all;
    CHECK(exchanges > 0);
    CHECK(count(sw::greedy{}(g), sw::decision_reason::not_mergeable) == exchanges);
  }
  TEST_CASE("a gather that needs another's result is refused and told so") {
    layers l;
    l.add(1, 1, "bf16", true), l.add(1, 1, "bf16", true);
    const auto r = sw::greedy{.fsdp_only = false}(l.graph());
    CHECK(r.buckets.empty());
    REQUIRE(count(r, sw::decision_reason::dependency) == 1);
    CHECK(r.decisions[0] == sw::decision{sw::decision_reason::dependency, l.gathers[1], l.gathers[0], 0, 0});
    CHECK(count(r, sw::decision_reason::alone) == 2);
  }
  TEST_CASE("a refused gather is taken up again by a later bucket") {
    layers l;
    const auto a = l.add(1), b = l.add(1, 0, "bf16", true), c = l.add(1);
    (void)a, (void)c;
    const auto late = l.add(1);
    const auto r = sw::greedy{.cap = sw::kibibytes(3), .fsdp_only = false}(l.graph());
    REQUIRE(r.buckets.size() == 2);  // b needs a: {a, c} and {b, late}
    CHECK(r.buckets[1].members == std::vector<sw::task_index>{b, late});
  }
  TEST_CASE("two buckets that would close a cycle together are not both made") {
    // s0 -> r0, s1 -> r1 with keys in the order s0 r1 | s1 r0: {s0, r1} and {s1, r0} wait for each other
    sw::task_graph_builder b;
    b.add_group({});
    for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter})
      b.add_table(sw::duration_table(op, 0, {sw::bytes(0)}, {sw::nanoseconds(10)}));
    const auto x = b.add_task({.name = "x", .kind = sw::task_kind::input});
    const auto launch = [&](sw::collective op, sw::task_index from) {
      const auto c = b.add_task({.name = std::string(sw::name_of(op)),
                                 .kind = sw::task_kind::collective,
                                 .duration = sw::nanoseconds(10),
                                 .inputs = {from},
                                 .collective = sw::collective_record{op, 0, sw::bytes(1), sw::bytes(1), "f32", "sum"}});
      return std::pair(c, b.add_task({.name = "w", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c}));
    };
    const auto [s0, w0] = launch(sw::collective::all_gather, x);
    const auto [r0, v0] = launch(sw::collective::reduce_scatter, w0);
    const auto [r1, v1] = launch(sw::collective::reduce_scatter, x);
    const auto [s1, w1] = launch(sw::collective::all_gather, v1);
    (void)v0, (void)w1;
    const sw::task_graph g = std::move(b).build();
    const auto r = sw::greedy{.fsdp_only = false}(g);
    REQUIRE(r.buckets.size() == 1);
    CHECK(r.buckets[0].members == std::vector<sw::task_index>{s0, s1});
    REQUIRE(count(r, sw::decision_reason::cycle) == 1);
    CHECK(r.decisions[0] == sw::decision{sw::decision_reason::cycle, r1, r0, 0, 0});
  }
  TEST_CASE("where copies cost more than a merge saves, nothing is merged") {
    // time grows with size as fast as if launched one by one
    layers l({sw::nanoseconds(0), sw::nanoseconds(400)});
    for (int i = 0; i < 3; ++i) l.add(1 << 10);
    const sw::task_graph g = l.graph();
    const auto r = sw::greedy{}(g);
    CHECK(r.buckets.empty());
    CHECK(count(r, sw::decision_reason::no_gain) == 2);
    CHECK(sw::greedy{.needs_gain = false}(g).buckets.size() == 1);
  }
  TEST_CASE("a collective that another task uses, or nothing waits for, stays out") {
    layers l;
    const auto a = l.add(1), b = l.add(1);
    const auto peek = l.b.add_task({.name = "peek", .inputs = {a}});
    const auto lost =
        l.b.add_task({.name = "lost",
                      .kind = sw::task_kind::collective,
                      .inputs = {0},
                      .collective = sw::collective_record{sw::collective::all_gather, 0, {}, {}, "bf16", "none"},
                      .is_fsdp = true});
    const auto r = sw::greedy{}(l.graph());
    CHECK(r.buckets.empty());
    REQUIRE(r.decisions.size() == 3);
    CHECK(r.decisions[0] == sw::decision{sw::decision_reason::foreign_user, a, peek, 0, 0});
    CHECK(r.decisions[1] == sw::decision{sw::decision_reason::no_wait, lost, sw::no_index, 0, 0});
    CHECK(r.decisions[2] == sw::decision{sw::decision_reason::alone, b, sw::no_index, 0, 0});
  }
  TEST_CASE("buckets of random graphs are disjoint, within the cap, and some order launches them all") {
    std::size_t buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(300U, 60U); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 24, .groups = 1 + seed % 2, .communicates = 0.9});
      const sw::greedy policy{.cap = sw::bytes(20 + static_cast<std::int64_t>(seed % 60)),
                              .fsdp_only = seed % 3 == 0,
                              .needs_gain = seed % 2 == 0};
      const auto r = policy(g);
      CHECK(r == policy(g));
      std::set<sw::task_index> seen;
      for (const auto& b : r.buckets) {
        CHECK(std::max(b.bytes_in, b.bytes_out) <= policy.cap);
        for (const auto t : b.members) {
          CHECK(seen.insert(t).second);
          if (*policy.fsdp_only) CHECK(g.is_fsdp(t) == std::optional<bool>(true));
        }
      }
      sw::random_source random(seed);
      sw::schedule s{.order = random_order(g, r.buckets, random), .buckets = r.buckets};
      REQUIRE(s.order.size() == g.size());  // empty if the buckets close a cycle
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      buckets += r.buckets.size();
      // whoever is in no bucket was refused for a reason
      std::set<sw::task_index> told = seen;
      for (const auto& d : r.decisions) told.insert(d.subject);
      for (sw::task_index t = 0; t < g.size(); ++t) CHECK(told.count(t) == (g.is_collective(t) ? 1 : 0));
      for (const auto& d : r.decisions)
        if (d.reason == sw::decision_reason::alone) CHECK(seen.count(d.subject) == 0);
    }
    CHECK(buckets > shardweave_test::sized(300U, 60U));
  }
}

}  // namespace greedy_tests

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace overlap_scheduler_tests {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// As the scenarios were stated: no optimism about latency, time counted `share` times.
sw::overlap_settings plain(double share = 1) { return {.compute_share = share, .merging_saves_latency = false}; }

double figure(const sw::schedule& s, std::string_view name) {
  for (const auto& f : s.statistics)
    if (f.name == name) return f.value;
  return -1;
}

/// Order by the account, and how many collectives it leaves fully exposed.
struct outcome {
  std::string order;
  double exposed;
};
outcome scheduled(const sw::task_graph& g, const sw::overlap_settings& settings = plain()) {
  sw::schedule s = sw::account_of_overlap(g, {}, settings);
  sw::inputs_first(g, s.order);
  sw::validate_schedule(g, s);
  return {told(g, s), figure(s, "fully_exposed")};
}
/// The same with buckets after it.
std::string merged(const sw::task_graph& g, const sw::overlap_settings& settings = plain()) {
  const sw::schedule s = sw::overlap_passes{std::nullopt, settings, sw::overlap_preserving{}}.plan(g);
  sw::validate_schedule(g, s);
  return told(g, s);
}
/// How many launches are left.
std::size_t launches(const sw::task_graph& g) {
  const sw::schedule s = sw::overlap_passes{std::nullopt, plain(), sw::overlap_preserving{}}.plan(g);
  return sw::simulate(g, s).collectives;
}
const sw::hiding_record& record(const sw::schedule& s, sw::task_index collective) {
  return *std::find_if(s.hides.begin(), s.hides.end(), [&](const auto& r) { return r.collective == collective; });
}

}  // namespace

// Graphs and outcomes that PyTorch's own tests state; a collective and a product last one unit.
TEST_SUITE("overlap_scheduler") {
  TEST_CASE("a wait sinks below a product that does not need it") {
    overlap_tasks p;
    const auto a = p.input(), w = p.ar(a).wait, b = p.mm({a, a});
    p.output({p.mm({w, b})});
    const auto [order, exposed] = scheduled(p.graph());
    CHECK(order == "ar mm w mm");
    CHECK(exposed == 0);
  }
  TEST_CASE("the whole pass by its users' name sinks the wait, too, however often it is asked") {
    overlap_tasks p;
    const auto a = p.input(), w = p.ar(a).wait, b = p.mm({a, a});
    p.output({p.mm({w, p.other("relu", {b})})});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::torch_overlap_only::passes().plan(g);
    CHECK(told(g, s) == "ar mm relu w mm");
    CHECK(s == sw::torch_overlap_only::passes().plan(g));
    CHECK(sw::simulate(g, s).exposed == sw::nanoseconds(0));
  }
  TEST_CASE("a collective rises above a product that does not lead to it") {
    overlap_tasks p;
    const auto a = p.input(), b = p.mm({a, a}), c = p.other("relu", {b}), d = p.mm({c, c});
    const auto w = p.ar(p.other("add", {b})).wait;
    p.output({p.mm({d, w})});
    const auto [order, exposed] = scheduled(p.graph());
    const auto ar = order.find("ar"), second = order.find("mm", order.find("mm") + 1);
    CHECK(ar < second);
    CHECK(order.find(" w") > second);
    CHECK(order.find(" w") < order.rfind("mm"));
    CHECK(exposed == 0);
  }
  TEST_CASE("both at once, task by task") {
    overlap_tasks p;
    const auto a = p.input(), b = p.mm({a, a}), c = p.other("relu", {b}), d = p.mm({c, c}), w = p.ar(b).wait;
    const auto f = p.other("relu", {d}), g = p.mm({f, f});
    p.output({p.mm({w, g})});
    const auto [order, exposed] = scheduled(p.graph());
    CHECK(order == "mm relu ar mm relu mm w mm");
    CHECK(exposed == 0);
  }
  TEST_CASE("a collective that a wait leads to is left exposed when no product is free") {
    overlap_tasks p;
    const auto a = p.input(), w1 = p.ar(a).wait, g = p.mm({a, a}), c = p.other("relu", {a}), d = p.mm({c, c});
    const auto f = p.other("mul", {p.other("mul", {d, c}), w1}), w2 = p.ar(f).wait;
    p.output({p.mm({p.other("add", {d, w1, w2}), g})});
    const auto [order, exposed] = scheduled(p.graph());
    CHECK(order == "ar mm relu mm mul w mul ar w add mm");
    CHECK(exposed == 1);
  }
  TEST_CASE("where nothing can be hidden launches keep their order") {
    overlap_tasks p;
    const auto g1 = p.input(), g2 = p.input(), g3 = p.input();
    const auto a = p.launch("ar1", g1), b = p.launch("ar2", g2), c = p.launch("ar3", g3);
    const auto w3 = p.wait(c), w2 = p.wait(b), w1 = p.wait(a);
    p.output({w1, w2, w3});
    const auto [order, exposed] = scheduled(p.graph());
    CHECK(order.starts_with("ar1 ar2 ar3 w"));
    CHECK(exposed == 3);
  }
  TEST_CASE("three of a kind become one launch") {
    for (const char* kind : {"ag", "rs", "ar"}) {
      overlap_tasks p;
      std::vector<sw::task_index> parts;
      for (int i = 0; i < 3; ++i) parts.push_back(p.other("add", {p.wait(p.launch(kind, p.input()))}));
      p.output({p.other("sum", parts)});
      CHECK(launches(p.graph()) == 1);
    }
  }
  TEST_CASE("a launch stays alone when what hides it needs the other, or it needs what hides the other") {
    overlap_tasks p;
    const auto a = p.input(), b = p.input(), w1 = p.ag(a).wait, mm1 = p.mm({a, a});
    const auto mm2 = p.mm({p.view({w1}), b}), w2 = p.ag(b).wait;
    p.output({w1, mm1, mm2, w2});
    CHECK(launches(p.graph()) == 2);
    overlap_tasks q;
    const auto x = q.input(), v1 = q.ag(x).wait, product = q.mm({x, x}), v2 = q.ag(q.other("mul", {product})).wait;
    q.output({v1, v2, product});
    CHECK(launches(q.graph()) == 2);
  }
  TEST_CASE("four gathers behind two products become one launch") {
    overlap_tasks p;
    std::vector<sw::task_index> launched, parts;
    const auto e = p.input(), f = p.input();
    for (int i = 0; i < 4; ++i) {
      const auto from = p.input();
      launched.push_back(p.launch("ag", i < 2 ? from : p.view({from})));
    }
    for (const auto l : launched) parts.push_back(p.wait(l));
    parts.push_back(p.mm({e, e}));
    parts.push_back(p.mm({f, f}));
    p.output({p.other("sum", parts)});
    CHECK(merged(p.graph(), plain(2)) == "4ag mm mm w sum");
  }
  TEST_CASE("what is exposed joins what is hidden") {
    overlap_tasks p;
    std::vector<sw::task_index> parts;
    for (int i = 0; i < 3; ++i) parts.push_back(p.ag(p.input()).wait);
    const auto e = p.input();
    parts.push_back(p.mm({e, e}));
    p.output({p.other("sum", parts)});
    CHECK(merged(p.graph()) == "3ag mm w sum");
  }
  TEST_CASE("buckets are no larger than what hides them allows") {
    overlap_tasks p;
    std::vector<sw::task_index> waits;
    for (int i = 0; i < 4; ++i) waits.push_back(p.ag(p.input()).wait);
    const auto e = p.input(), f = p.input(), mm1 = p.mm({e, e}), pad = p.other("cat", {waits[0], waits[1]});
    const auto mm2 = p.mm({f, pad});
    p.output({p.other("sum", {waits[0], waits[1], waits[2], waits[3], mm1, mm2})});
    const std::string order = merged(p.graph(), plain(2));
    CHECK(order.starts_with("2ag mm "));
    CHECK(order.find("2ag", 1) < order.find("mm", order.find("mm") + 1));
    CHECK(order.find("4ag") == std::string::npos);
  }

  TEST_CASE("what hides what may be kept as dependencies: each launch before its product, that before the waits") {
    overlap_tasks p;
    std::vector<sw::task_index> gathers, waits;
    for (int i = 0; i < 4; ++i) gathers.push_back(p.launch("ag", p.input()));
    for (const auto l : gathers) waits.push_back(p.wait(l));
    const auto e = p.input(), f = p.input(), mm1 = p.mm({e, e});
    const auto pad = p.view({waits[0]}), other_pad = p.view({waits[1]}), mm2 = p.mm({f, mm1, pad, other_pad});
    p.output({p.other("sum", {waits[0], waits[1], waits[2], waits[3], mm1, mm2})});
    const sw::task_graph g = p.graph();
    sw::overlap_passes passes{std::nullopt, plain(2), sw::overlap_preserving{}, true};
    const sw::schedule s = passes.plan(g);
    CHECK_NOTHROW(sw::validate_schedule(g, s));
    CHECK(told(g, s) == "2ag mm w 2ag mm w sum");
    using pairs = std::vector<std::pair<sw::task_index, sw::task_index>>;
    pairs expected;
    for (const std::size_t i : {0U, 1U}) expected.insert(expected.end(), {{gathers[i], mm1}, {mm1, waits[i]}});
    for (const std::size_t i : {2U, 3U}) expected.insert(expected.end(), {{gathers[i], mm2}, {mm2, waits[i]}});
    std::sort(expected.begin(), expected.end());
    CHECK(s.after == expected);
    passes.keep_hidden = false;
    CHECK(passes.plan(g).after.empty());
  }
  TEST_CASE("gathers behind casts, with work between, are merged without a cycle, dependencies of hiding included") {
    for (const bool chains : {false, true}) {
      overlap_tasks p;
      std::vector<sw::task_index> ends;
      const auto x = p.input();
      for (int i = 0; i < 4; ++i) {
        const auto cast = p.other("convert_element_type", {p.input()}, i % 2 == 0 ? 0 : 100);
        ends.push_back(p.ag(cast).wait);
        ends.push_back(p.mm({x, x}));
        if (chains) ends.push_back(p.other("mul", {p.other("add", {p.input()}, 300)}, 300));
      }
      p.output({p.other("sum", ends)});
      const sw::task_graph g = p.graph();
      for (const bool before : {false, true}) {
        sw::overlap_passes passes{std::nullopt, {}, sw::overlap_preserving{}, true};
        if (before) passes.before = sw::topological_span{};
        const sw::schedule s = passes.plan(g);
        CHECK_NOTHROW(sw::validate_schedule(g, s));
        CHECK(!s.after.empty());
        CHECK(sw::simulate(g, s).collectives < 4);
        const sw::schedule again = sw::merge_preserving_overlap(g, s);
        CHECK_NOTHROW(sw::validate_schedule(g, again));
      }
    }
  }
  TEST_CASE("an operation with a state that hides a gather is kept between launch and wait") {
    overlap_tasks p;
    const auto gather = p.launch("ag", p.input());
    const auto random = p.other("run_with_rng_state", {p.input("state")}, 1000), w = p.wait(gather);
    p.output({w, random});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::overlap_passes{std::nullopt, plain(), sw::overlap_preserving{}, true}.plan(g);
    using pairs = std::vector<std::pair<sw::task_index, sw::task_index>>;
    CHECK(s.after == pairs{{gather, random}, {random, w}});
  }
  TEST_CASE("two groups of reductions whose users stand between them end as one launch each") {
    overlap_tasks p;
    const auto a = p.ar(p.input());
    p.dtype = "bf16";
    const auto b = p.ar(p.input());
    const auto used_a = p.other("relu", {a.wait}), used_b = p.other("relu", {b.wait});
    const auto d = p.ar(p.input());
    p.dtype = "f32";
    const auto c = p.ar(p.input());
    p.output({used_a, used_b, p.other("add", {c.wait, used_a}), p.other("add", {d.wait, used_b})});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::overlap_passes{std::nullopt, plain(), sw::overlap_preserving{}}.plan(g);
    CHECK_NOTHROW(sw::validate_schedule(g, s));
    CHECK(sw::simulate(g, s).collectives == 2);
    CHECK(sw::merge_preserving_overlap(g, s).order == s.order);
  }
  TEST_CASE("gathers of three dtypes become one launch where they move bytes") {
    overlap_tasks p;
    std::vector<sw::task_index> waits;
    for (const char* dtype : {"f32", "bf16", "f16"}) {
      p.dtype = dtype;
      waits.push_back(p.ag(p.input()).wait);
    }
    p.output({p.other("sum", waits)});
    const sw::task_graph g = p.graph();
    CHECK(launches(g) == 3);
    CHECK(launches(sw::with_gathers_of_bytes(g)) == 1);
  }
  TEST_CASE("one gather of several tensors is one collective with a wait for each of them") {
    overlap_tasks p;
    const auto x = p.input();
    const auto [start, waits] = p.ag_of_several({p.input(), p.input(), p.input(), p.input()});
    const auto product = p.mm({x, x}, 600);
    std::vector<sw::task_index> ends = waits;
    ends.push_back(product);
    const auto alone = p.ag(p.input());
    ends.push_back(alone.wait);
    p.output({p.other("sum", ends)});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::account_of_overlap(g, {}, plain());
    CHECK_NOTHROW(sw::validate_schedule(g, s));
    REQUIRE(s.hides.size() == 2);  // the duration is counted once
    CHECK(record(s, start).behind == std::vector<sw::task_index>{product});
    CHECK(record(s, start).exposed == sw::nanoseconds(400));
    CHECK(g.collective(start).bytes_in + g.collective(start).bytes_out == sw::bytes(512));
    const sw::schedule merged = sw::overlap_passes{std::nullopt, plain(), sw::overlap_preserving{}}.plan(g);
    CHECK(merged.buckets.empty());
    CHECK(sw::simulate(g, merged).collectives == 2);
    const std::string order = told(g, merged);
    CHECK(std::count(order.begin(), order.end(), 'w') == 5);
    CHECK(order.find("ag_coalesced") < order.find("mm"));
    CHECK(order.find("mm") < order.find(" w"));
  }
  TEST_CASE("a stall on one channel hides what is launched on another") {
    overlap_tasks p;
    p.collective = 10;
    const auto a = p.input(), b = p.input();
    const auto first = p.ag(a, 1);
    p.mm({first.wait}, 0);
    const auto second = p.ag(b, 2);
    p.output({p.mm({second.wait}, 0)});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::account_of_overlap(g, {}, plain());
    const auto place = [&](auto t) { return std::find(s.order.begin(), s.order.end(), t) - s.order.begin(); };
    CHECK(place(second.start) < place(first.wait));
    CHECK(figure(s, "fully_exposed") == 1);
    CHECK(record(s, second.start).exposed == sw::nanoseconds(0));
    CHECK(record(s, second.start).behind == std::vector<sw::task_index>{first.wait});
  }
  TEST_CASE("waits that wait for each other's channels come to an end") {
    for (const bool swapped : {false, true}) {
      overlap_tasks p;
      p.collective = 3;
      const auto a = p.input(), b = p.input(), sa = p.launch("ag", a, 1), sb = p.launch("ag", b, 1);
      const auto first = p.wait(swapped ? sb : sa), second = p.wait(swapped ? sa : sb);
      const auto sc = p.ag(p.other("neg", {swapped ? first : second}), 2);
      p.output({first, second, sc.wait});
      CHECK(scheduled(p.graph()).order.size() > 0);
    }
  }
  TEST_CASE("what leads to a scatter is not left for the end") {
    overlap_tasks p;
    const auto a = p.input(), b = p.input(), c = p.input();
    const auto mm1 = p.mm({p.ag(a).wait}, 0);
    const auto rs1 = p.launch("rs", mm1), mm2 = p.mm({b, b}, 0), rs2 = p.launch("rs", mm2), mm3 = p.mm({c, c}, 0);
    p.output({p.wait(rs1), p.wait(rs2), mm3});
    sw::overlap_settings settings = plain();
    settings.off_path_batch = std::nullopt;
    const std::string order = scheduled(p.graph(), settings).order;
    CHECK(order.find("rs") < order.rfind("mm"));
  }
  TEST_CASE("of two that would be hidden the one with more to hide goes first") {
    overlap_tasks p;
    const auto a = p.input(), b = p.input(), e = p.input(), product = p.mm({e, e}, 8 * ms);
    p.collective = 1 * ms;
    const auto small = p.ag(a, 0, 64);
    p.collective = 8 * ms;
    const auto large = p.ag(b, 0, 64);
    p.output({product, small.wait, large.wait});
    sw::overlap_settings settings = plain();
    settings.in_flight = sw::bytes(200);  // one gather
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::account_of_overlap(g, {}, settings);
    CHECK(record(s, large.start).exposed == sw::nanoseconds(0));
    CHECK(record(s, small.start).exposed == sw::nanoseconds(1 * ms));
    CHECK(figure(s, "exposed_ns") == 1 * ms);
  }
  TEST_CASE("without limits on memory everything is allowed") {
    overlap_tasks p;
    const auto w = p.ag(p.input()).wait;
    p.output({p.mm({w})});
    sw::overlap_settings settings = plain();
    settings.memory_increase = std::nullopt;
    settings.memory_ratio = std::nullopt;
    CHECK(scheduled(p.graph(), settings).exposed == 1);
  }
  TEST_CASE("a gather is pulled across several products") {
    overlap_tasks p;
    const auto a = p.input(), b = p.input(), weight = p.input(), gather = p.launch("ag", a);
    const auto first = p.mm({b, weight}, 600), second = p.mm({first, weight}, 600), w = p.wait(gather);
    p.output({p.mm({w, weight}), second});
    sw::overlap_settings settings = plain();
    settings.memory_increase = std::nullopt;
    settings.memory_ratio = std::nullopt;
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::account_of_overlap(g, {}, settings);
    CHECK(record(s, gather).behind == std::vector<sw::task_index>{first, second});
    CHECK(record(s, gather).exposed == sw::nanoseconds(0));
  }
  TEST_CASE("work that is no product hides, too") {
    overlap_tasks p;
    const auto a = p.input(), b = p.input(), gather = p.launch("ag", a);
    const auto x = p.other("add", {b}, 400), y = p.other("mul", {x}, 400), z = p.other("sub", {y}, 400);
    p.output({z, p.wait(gather)});
    const sw::task_graph g = p.graph();
    const sw::schedule s = sw::account_of_overlap(g, {}, plain());
    CHECK(told(g, s) == "ag add mul sub w");
    CHECK(record(s, gather).behind == std::vector<sw::task_index>{x, y, z});
  }
  TEST_CASE("optimism about latency never makes exposed time negative") {
    // in flight with one of its key, a gather counts as launched with it: its latency is the table's at size 0
    overlap_tasks p;
    p.collective = 3;  // less than the 1000 ns of the table
    const auto a = p.input(), b = p.input(), e = p.input();
    const auto x = p.ag(a), y = p.ag(b);
    p.output({p.mm({e, e}, 5), x.wait, y.wait});
    const sw::task_graph g = p.graph();
    for (const auto& r : sw::account_of_overlap(g, {}, {}).hides) CHECK(r.exposed >= sw::nanoseconds(0));
  }
  TEST_CASE("launches beyond the distance wait for their turn") {
    overlap_tasks p;
    auto value = p.input();
    std::vector<sw::task_index> gathers;
    for (int i = 0; i < 6; ++i) {
      const auto l = p.ag(p.input());
      gathers.push_back(l.start);
      value = p.mm({value, l.wait}, 3000);
    }
    p.output({value});
    const sw::task_graph g = p.graph();
    for (const std::size_t ahead : {1U, 2U, 4U}) {
      sw::overlap_settings settings = plain();
      settings.compute_ahead = ahead;
      const sw::schedule s = sw::account_of_overlap(g, {}, settings);
      std::size_t computed = 0;
      for (const auto t : s.order) {
        computed += g.kind(t) == sw::task_kind::compute;
        const auto at = std::find(gathers.begin(), gathers.end(), t) - gathers.begin();
        if (at < 6) CHECK(static_cast<std::size_t>(at) <= computed + ahead);
      }
    }
  }
}

TEST_SUITE("compatible passes") {
  TEST_CASE("a pass is a bucketing and a scheduler that agree with each other") {
    overlap_tasks p;
    std::vector<sw::task_index> parts;
    for (int i = 0; i < 3; ++i) parts.push_back(p.ag(p.input()).wait);
    const auto e = p.input();
    parts.push_back(p.mm({e, e}));
    p.output({p.other("sum", parts)});
    const sw::task_graph g = p.graph();
    const auto check = [&](const auto& pass, const char* name, std::size_t expected) {
      CAPTURE(name);
      CHECK(pass.name == name);
      const sw::bucketing_result buckets = pass(g);
      CHECK(buckets.buckets.size() == expected);
      const sw::schedule s = pass(g, buckets);
      CHECK(s.order == pass.passes().plan(g).order);
      const sw::schedule other = pass(g, sw::bucketing_result{});
      CHECK(other.buckets.empty());
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      CHECK_NOTHROW(sw::validate_schedule(g, other));
    };
    check(sw::torch_default{}, "torch_default", 1);
    check(sw::torch_overlap_only{}, "torch_overlap_only", 0);
    check(sw::torch_no_prebucket{}, "torch_no_prebucket", 1);
    check(sw::autoparallel_span_buckets{}, "autoparallel_span_buckets", 1);
    check(sw::autoparallel_size_buckets{}, "autoparallel_size_buckets", 1);  // what a gather has alone above it
  }
}

}  // namespace overlap_scheduler_tests

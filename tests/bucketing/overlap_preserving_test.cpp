#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace overlap_preserving_tests {
namespace {

using launched = overlap_tasks::launched;

/// A graph in its original order, and what hides what in it.
struct annotated {
  overlap_tasks p;
  std::vector<sw::hiding_record> hides = {};
  /// Each of the collectives is hidden behind these tasks and nothing of it exposed.
  void hidden(launched c, std::vector<sw::task_index> behind) {
    hides.push_back({.collective = c.start, .behind = std::move(behind), .hidden = sw::nanoseconds(1000)});
  }
  void exposed(launched c) { hides.push_back({.collective = c.start, .exposed = sw::nanoseconds(1000)}); }
  sw::schedule merged(const sw::task_graph& g, const sw::overlap_preserving& options = {}) const {
    sw::schedule s{.order = std::vector<sw::task_index>(g.size()), .hides = hides};
    std::iota(s.order.begin(), s.order.end(), 0U);
    sw::schedule found = sw::merge_preserving_overlap(g, s, options);
    sw::validate_schedule(g, found);
    return found;
  }
  std::string told_merged() {
    const sw::task_graph g = p.graph();
    return told(g, merged(g));
  }
};

}  // namespace

// Graphs and outcomes that PyTorch's own tests state.
TEST_SUITE("merge_preserving_overlap") {
  TEST_CASE("two launches with a product each between launch and wait are merged") {
    for (const char* kind : {"ag", "ar"}) {
      annotated t;
      const auto a = t.p.input(), b = t.p.input();
      const auto c1 = t.p.launch(kind, a), c2 = t.p.launch(kind, b);
      const auto mm1 = t.p.mm({a, a}), mm2 = t.p.mm({b, b}), w1 = t.p.wait(c1), w2 = t.p.wait(c2);
      t.p.output({t.p.other("sum", {w1, w2, mm1, mm2})});
      t.hidden({c1, w1}, {mm1});
      t.hidden({c2, w2}, {mm2});
      CHECK(t.told_merged() == "2" + std::string(kind) + " mm mm w sum");
    }
  }
  TEST_CASE("one within the other stays apart") {
    annotated t;
    const auto a = t.p.input(), b = t.p.input();
    const auto c1 = t.p.launch("ag", a), c2 = t.p.launch("ag", b), mm2 = t.p.mm({b, b}), w2 = t.p.wait(c2);
    const auto mm1 = t.p.mm({a, w2}), w1 = t.p.wait(c1);
    t.p.output({t.p.other("sum", {w1, mm1, mm2})});
    t.hidden({c1, w1}, {mm1});
    t.hidden({c2, w2}, {mm2});
    CHECK(t.told_merged() == "ag ag mm w mm w sum");
  }
  TEST_CASE("what a third one hides keeps two apart, and what it does not hide does not") {
    for (const bool hides : {true, false}) {
      annotated t;
      const auto a = t.p.input(), b = t.p.input(), c = t.p.input();
      const auto c1 = t.p.launch("ag", a), mm1 = t.p.mm({a, a}), w1 = t.p.wait(c1);
      const auto r = t.p.launch("rs", b), mm2 = t.p.mm({b, b}), wr = t.p.wait(r);
      const auto c2 = t.p.launch("ag", c), mm3 = t.p.mm({c, c}), w2 = t.p.wait(c2);
      t.p.output({t.p.other("sum", {w1, wr, w2, mm1, mm2, mm3})});
      t.hidden({c1, w1}, {mm1});
      hides ? t.hidden({r, wr}, {mm2}) : t.exposed({r, wr});
      t.hidden({c2, w2}, {mm3});
      const sw::task_graph g = t.p.graph();
      const sw::schedule s = t.merged(g);
      CHECK(s.buckets.size() == (hides ? 0 : 1));
      // products keep their order
      const auto place = [&](auto task) { return std::find(s.order.begin(), s.order.end(), task) - s.order.begin(); };
      CHECK(place(mm1) < place(mm2));
      CHECK(place(mm2) < place(mm3));
    }
  }
  TEST_CASE("reductions that lead to each other are merged in pairs") {
    annotated t;
    const auto a = t.p.input(), b = t.p.input();
    const auto s0 = t.p.ar(a), s1 = t.p.ar(b), r0 = t.p.ar(s0.wait), r1 = t.p.ar(s1.wait);
    t.p.output({r0.wait, r1.wait});
    for (const auto& c : {s0, s1, r0, r1}) t.exposed(c);
    const sw::task_graph g = t.p.graph();
    const sw::schedule s = t.merged(g);
    REQUIRE(s.buckets.size() == 2);
    CHECK(s.buckets[0].members == std::vector<sw::task_index>{s0.start, s1.start});
    CHECK(s.buckets[1].members == std::vector<sw::task_index>{r0.start, r1.start});
  }
  TEST_CASE("a reduction and a scatter are never one launch") {
    annotated t;
    std::vector<sw::task_index> waits;
    for (const char* kind : {"ar", "rs", "ar", "rs"}) {
      const auto c = t.p.launch(kind, t.p.input());
      waits.push_back(t.p.wait(c));
      t.exposed({c, waits.back()});
    }
    t.p.output(waits);
    const sw::task_graph g = t.p.graph();
    const sw::schedule s = t.merged(g);
    REQUIRE(s.buckets.size() == 2);
    for (const auto& b : s.buckets) CHECK(b.members.size() == 2);
  }
  TEST_CASE("scatters may be a group of calls without copies, gathers and lone ones are what they were") {
    for (const char* kind : {"rs", "ag"}) {
      for (const int count : {1, 2}) {
        annotated t;
        t.p.b.device.dram_bytes_per_ns = 1;
        std::vector<sw::task_index> waits;
        for (int i = 0; i < count; ++i) {
          const auto c = t.p.launch(kind, t.p.input());
          waits.push_back(t.p.wait(c));
          t.exposed({c, waits.back()});
        }
        t.p.output(waits);
        const sw::task_graph g = t.p.graph();
        const sw::schedule s = t.merged(g, {.coalesce_scatters = true});
        REQUIRE(s.buckets.size() == (count == 2 ? 1 : 0));
        const bool scatters = std::string(kind) == "rs";
        if (count == 2) CHECK(s.buckets[0].coalesced == scatters);
        const sw::timeline line = sw::simulate(g, s);
        CHECK(line.collectives == 1);
        CHECK(line.packing == sw::nanoseconds(count == 1 || scatters ? 0 : 2 * 128 + 2 * 128));
        // without buffers, and with the results alive from the launch on
        CHECK((t.merged(g) == s) == (count == 1 || !scatters));
      }
    }
  }
  TEST_CASE("gathers of several dtypes are one launch where they are told to move bytes") {
    annotated t;
    const auto a = t.p.input(), b = t.p.input();
    const auto c1 = t.p.launch("ag", a);
    t.p.dtype = "bf16";
    const auto c2 = t.p.launch("ag", b);
    const auto mm1 = t.p.mm({a, a}), mm2 = t.p.mm({b, b}), w1 = t.p.wait(c1), w2 = t.p.wait(c2);
    t.p.output({t.p.other("sum", {w1, w2, mm1, mm2})});
    t.hidden({c1, w1}, {mm1});
    t.hidden({c2, w2}, {mm2});
    const sw::task_graph g = t.p.graph(), of_bytes = sw::with_gathers_of_bytes(g);
    CHECK(told(g, t.merged(g)) == "ag ag mm mm w w sum");
    const sw::schedule s = t.merged(of_bytes);
    CHECK(told(of_bytes, s) == "2ag mm mm w sum");
    CHECK(of_bytes.collective(c2).dtype == "u8");
    CHECK_THROWS_AS(sw::validate_schedule(g, s),
                    sw::error);  // such a bucket is none of the graph that tells them apart
  }
  TEST_CASE("several products may hide one launch, and one product several") {
    annotated t;
    const auto a = t.p.input(), b = t.p.input();
    const auto c1 = t.p.launch("ag", a), c2 = t.p.launch("ag", b);
    const auto mm1 = t.p.mm({a, a}), mm2 = t.p.mm({b, b}), mm3 = t.p.mm({a, b}), w1 = t.p.wait(c1), w2 = t.p.wait(c2);
    t.p.output({t.p.other("sum", {w1, w2, mm1, mm2, mm3})});
    t.hidden({c1, w1}, {mm1, mm2});
    t.hidden({c2, w2}, {mm2, mm3});
    CHECK(t.told_merged() == "2ag mm mm mm w sum");
  }
  TEST_CASE("a cast that hides a launch leads to the next bucket") {
    annotated t;
    const auto a = t.p.input(), b = t.p.input(), c = t.p.input();
    const auto c1 = t.p.launch("ag", a), cast = t.p.other("cast", {b}), w1 = t.p.wait(c1);
    const auto c2 = t.p.launch("ag", cast), c3 = t.p.launch("ag", c), mm = t.p.mm({w1, w1});
    const auto w2 = t.p.wait(c2), w3 = t.p.wait(c3);
    t.p.output({t.p.other("sum", {mm, w2, w3})});
    t.hidden({c1, w1}, {cast});
    t.hidden({c2, w2}, {mm});
    t.hidden({c3, w3}, {mm});
    CHECK(t.told_merged() == "ag cast w 2ag mm w sum");
  }
  TEST_CASE("the cap holds, and so do distance and the number of members") {
    annotated t;
    std::vector<sw::task_index> waits;
    for (int i = 0; i < 6; ++i) {
      const auto c = t.p.launch("ag", t.p.input(), 0, 100);
      waits.push_back(t.p.wait(c));
      t.exposed({c, waits.back()});
    }
    t.p.output(waits);
    const sw::task_graph g = t.p.graph();
    const auto sizes = [&](const sw::overlap_preserving& options) {
      std::vector<std::size_t> all;
      for (const auto& b : t.merged(g, options).buckets) all.push_back(b.members.size());
      return all;
    };
    CHECK(sizes({}) == std::vector<std::size_t>{6});
    CHECK(sizes({.cap = sw::bytes(500)}) == std::vector<std::size_t>{2, 2, 2});
    CHECK(sizes({.distance = 2}) == std::vector<std::size_t>{3, 3});
    CHECK(sizes({.exposed_first = true, .nearby = 6}) == std::vector<std::size_t>{3, 3});
    const auto decisions = t.merged(g, {.cap = sw::bytes(500)}).decisions;
    REQUIRE(!decisions.empty());
    CHECK(decisions[0].reason == sw::decision_reason::byte_cap);
    CHECK(decisions[0].found == 600);
    CHECK(decisions[0].limit == 500);
  }
  TEST_CASE("what is least hidden begins where that is asked for") {
    annotated t;
    std::vector<launched> c;
    for (int i = 0; i < 4; ++i) {
      const auto start = t.p.launch("ag", t.p.input(), 0, 100);
      c.push_back({start, 0});
    }
    std::vector<sw::task_index> ends;
    for (int i = 0; i < 2; ++i) {
      const auto from = t.p.input();
      ends.push_back(t.p.mm({from, from}));
    }
    for (auto& l : c) ends.push_back(l.wait = t.p.wait(l.start));
    t.p.output(ends);
    t.hidden(c[0], {ends[0]});
    t.exposed(c[1]);
    t.hidden(c[2], {ends[1]});
    t.exposed(c[3]);
    const sw::task_graph g = t.p.graph();
    const auto first = [&](bool exposed_first) {
      return t.merged(g, {.cap = sw::bytes(400), .exposed_first = exposed_first}).buckets.front().members;
    };
    CHECK(first(false) == std::vector<sw::task_index>{c[0].start, c[1].start});
    CHECK(first(true) == std::vector<sw::task_index>{c[1].start, c[3].start});
  }
  TEST_CASE("on random graphs what is hidden stays between launch and wait") {
    std::size_t merged = 0, kept = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(3000); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 20, .groups = 1 + seed % 3});
      const sw::schedule s = sw::account_of_overlap(g, {}, {.merging_saves_latency = seed % 2 == 0});
      const sw::schedule found = sw::merge_preserving_overlap(g, s, {.exposed_first = seed % 3 == 0});
      CAPTURE(seed);
      REQUIRE_NOTHROW(sw::validate_schedule(g, found));
      REQUIRE(found == sw::merge_preserving_overlap(g, s, {.exposed_first = seed % 3 == 0}));
      std::vector<std::size_t> place(g.size()), launch(g.size()), first_wait(g.size(), g.size());
      for (std::size_t i = 0; i < found.order.size(); ++i) place[found.order[i]] = i;
      for (sw::task_index t = 0; t < g.size(); ++t) launch[t] = place[t];
      for (const auto& b : found.buckets) {
        std::size_t last = 0;
        for (const auto t : b.members) last = std::max(last, place[t]);
        for (const auto t : b.members) launch[t] = last;
      }
      for (const auto t : found.order)
        if (const auto c = g.completes(t); c != sw::no_index) first_wait[c] = std::min(first_wait[c], place[t]);
      for (const auto& r : s.hides)
        if (r.exposed == sw::nanoseconds(0))
          for (const auto h : r.behind) {
            REQUIRE(launch[r.collective] < place[h]);
            REQUIRE(place[h] < first_wait[r.collective]);
            ++kept;
          }
      merged += found.buckets.size();
    }
    CHECK(merged > shardweave_test::at_scale(1000));
    CHECK(kept > shardweave_test::at_scale(3000));
  }
}

}  // namespace overlap_preserving_tests

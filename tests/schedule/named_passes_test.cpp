#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace sw = shardweave;

/// The figures of PyTorch's and AutoParallel's passes, each by a graph on which one less or one more shows:
/// tests/mutate.sh changes them one at a time.
namespace named_passes_tests {
namespace {

constexpr std::int64_t mib = 1 << 20, gib = 1 << 30;

sw::task_index with_storage(overlap_tasks& p, const char* name, std::vector<sw::task_index> inputs, std::int64_t size) {
  sw::task_record t{.name = name, .op = name, .kind = sw::task_kind::other, .inputs = std::move(inputs)};
  t.outputs.push_back({.size = sw::bytes(size), .storage = p.b.add_storage(sw::bytes(size))});
  return p.b.add_task(t);
}
sw::task_index parameter(overlap_tasks& p) {
  return p.b.add_task({.name = "primals", .op = "input", .kind = sw::task_kind::input, .is_param = true});
}

/// A product that hides all of so many gathers, of `size` bytes in and out together, and one that needs them all.
/// \param before, after  bytes that are alive for a moment before the first product, and after the last one
sw::task_graph many_gathers(int count, std::int64_t size, std::int64_t before = 0, std::int64_t after = 0) {
  overlap_tasks p;
  const auto x = p.input();
  const auto start = p.other("use", {with_storage(p, "before", {x}, before)});
  std::vector<sw::task_index> weights;
  for (int i = 0; i < count; ++i) weights.push_back(p.input());
  const auto first = p.mm({start, x}, 10'000'000);
  std::vector<sw::task_index> needed = {first};
  for (const auto w : weights) needed.push_back(p.ag(w, 0, size / 2).wait);
  p.output({with_storage(p, "after", {p.mm(needed)}, after)});
  return p.graph();
}
/// Launches before the first product.
std::size_t launched_first(const sw::task_graph& g, const sw::overlap_settings& settings) {
  std::size_t count = 0;
  for (const sw::task_index t : sw::account_of_overlap(g, {}, settings).order) {
    if (g.kind(t) == sw::task_kind::compute) break;
    count += g.is_collective(t);
  }
  return count;
}
/// Products before the launch numbered `which`, from 0.
std::size_t products_before(const sw::task_graph& g, const sw::overlap_settings& settings, std::size_t which) {
  std::size_t count = 0;
  for (const sw::task_index t : sw::account_of_overlap(g, {}, settings).order) {
    if (g.is_collective(t) && which-- == 0) break;
    count += g.kind(t) == sw::task_kind::compute;
  }
  return count;
}
double exposed_ns(const sw::task_graph& g, const sw::overlap_settings& settings) {
  for (const auto& f : sw::account_of_overlap(g, {}, settings).statistics)
    if (f.name == "exposed_ns") return f.value;
  return -1;
}
/// Products one after the other, of which the one numbered `need`, from 0, needs a gather.
sw::task_graph late_gather(std::size_t need) {
  overlap_tasks p;
  const auto x = p.input(), w = p.ag(p.input()).wait;
  auto value = p.mm({x, x});
  for (std::size_t i = 1; i <= need; ++i) value = i == need ? p.mm({value, w}) : p.mm({value, x});
  p.output({value});
  return p.graph();
}
/// Products of no duration, each with a scatter, of `size` bytes in and out together, that nothing computes with.
sw::task_graph scatters_at_the_side(std::int64_t size, std::int64_t second_lasts = 0) {
  overlap_tasks p;
  std::vector<sw::task_index> ends;
  auto value = p.input();
  for (int i = 0; i < 20; ++i) {
    value = p.mm({value, value}, i == 1 ? second_lasts : 0);
    ends.push_back(p.rs(value, 0, size / 2).wait);
  }
  ends.push_back(value);
  p.output(ends);
  return p.graph();
}

/// Members of the bucket that holds the launch; 1: none does.
std::size_t size_of_bucket_with(const std::vector<sw::bucket>& buckets, sw::task_index launch) {
  for (const sw::bucket& b : buckets)
    if (std::find(b.members.begin(), b.members.end(), launch) != b.members.end()) return b.members.size();
  return 1;
}
bool share_a_bucket(const std::vector<sw::bucket>& buckets, sw::task_index one, sw::task_index other) {
  for (const sw::bucket& b : buckets)
    if (std::find(b.members.begin(), b.members.end(), one) != b.members.end())
      return std::find(b.members.begin(), b.members.end(), other) != b.members.end();
  return false;
}
/// Buckets of the original order, in which everything is exposed but for these.
std::vector<sw::bucket> merged_after(const sw::task_graph& g, const sw::overlap_preserving& options,
                                     std::vector<sw::hiding_record> partly = {}) {
  sw::schedule s{.order = std::vector<sw::task_index>(g.size()), .hides = std::move(partly)};
  std::iota(s.order.begin(), s.order.end(), 0U);
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t) &&
        std::none_of(s.hides.begin(), s.hides.end(), [&](const auto& r) { return r.collective == t; }))
      s.hides.push_back({.collective = t, .exposed = g.duration(t)});
  return sw::merge_preserving_overlap(g, s, options).buckets;
}
/// Two launches of a kind with other tasks between.
struct two_apart {
  two_apart(const char* kind, int between, std::int64_t size = 64, std::int64_t ranks = 8) : p(0) {
    p.b.add_group({.id = 0, .size = ranks});
    for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter})
      p.b.add_table(sw::duration_table(op, 0, {sw::bytes(0)}, {sw::nanoseconds(1000)}));
    const auto a = parameter(p), b = parameter(p);
    first = p.start(kind, a, 0, size);
    std::vector<sw::task_index> ends = {first + 1};
    for (int i = 0; i < between; ++i) ends.push_back(p.other("mul", {a}));
    second = p.start(kind, b, 0, size);
    ends.push_back(second + 1);
    p.output(ends);
    graph = p.graph();
  }
  bool are_merged(const sw::topological_span& policy) const {
    return share_a_bucket(policy(graph).buckets, first, second);
  }
  bool are_merged(const sw::overlap_preserving& policy) const {
    return share_a_bucket(merged_after(graph, policy), first, second);
  }
  overlap_tasks p;
  sw::task_graph graph;
  sw::task_index first = 0, second = 0;
};

const std::vector<sw::overlap_settings> torchs = {sw::torch_default::passes().settings,
                                                  sw::torch_overlap_only::passes().settings,
                                                  sw::torch_no_prebucket::passes().settings};
const std::vector<sw::overlap_settings> autoparallels = {sw::autoparallel_span_buckets::passes().settings,
                                                         sw::autoparallel_size_buckets::passes().settings};
std::vector<sw::overlap_settings> all_settings() {
  std::vector<sw::overlap_settings> all = torchs;
  all.insert(all.end(), autoparallels.begin(), autoparallels.end());
  return all;
}

}  // namespace

TEST_SUITE("figures of the named passes") {
  TEST_CASE("buckets before and after scheduling, or only one of them, or none") {
    const auto parts = [](const sw::overlap_passes& p) {
      return std::vector{p.before.has_value(), p.after.has_value(), p.keep_hidden};
    };
    CHECK(parts(sw::torch_default::passes()) == std::vector{true, true, false});
    CHECK(parts(sw::torch_overlap_only::passes()) == std::vector{false, false, false});
    CHECK(parts(sw::torch_no_prebucket::passes()) == std::vector{false, true, false});
    CHECK(parts(sw::autoparallel_span_buckets::passes()) == std::vector{true, false, false});
    CHECK(parts(sw::autoparallel_size_buckets::passes()) == std::vector{true, false, false});
  }

  TEST_CASE("5 GiB are in flight with PyTorch, 2 GiB with AutoParallel") {
    for (const auto& [passes, limit] : {std::pair(torchs, 5), std::pair(autoparallels, 2)})
      for (const sw::overlap_settings& settings : passes) {
        const auto fit = static_cast<std::size_t>(16 * limit);  // of 64 MiB
        CHECK(launched_first(many_gathers(90, 64 * mib, 0, 400 * gib), settings) == fit);
        CHECK(launched_first(many_gathers(90, 64 * mib + 2, 0, 400 * gib), settings) == fit - 1);
      }
  }
  TEST_CASE("what is needed 200 products later is launched ahead with PyTorch, 50 with AutoParallel") {
    for (const auto& [passes, ahead] : {std::pair(torchs, 200U), std::pair(autoparallels, 50U)})
      for (const sw::overlap_settings& settings : passes) {
        CHECK(products_before(late_gather(ahead), settings, 0) == 0);
        CHECK(products_before(late_gather(ahead + 1), settings, 0) == 1);
      }
  }
  TEST_CASE("a window looks at 200 collectives with PyTorch, at 100 with AutoParallel") {
    for (const auto& [passes, looked_at] : {std::pair(torchs, 200U), std::pair(autoparallels, 100U)})
      for (const sw::overlap_settings& settings : passes)
        CHECK(launched_first(many_gathers(250, 64), settings) == looked_at);
  }
  TEST_CASE("the peak may grow by 1 GiB, or by 5 % where that is more") {
    for (const sw::overlap_settings& settings : all_settings()) {
      CHECK(launched_first(many_gathers(60, 32 * mib), settings) == 32);
      CHECK(launched_first(many_gathers(60, 32 * mib + 2), settings) == 31);
      CHECK(launched_first(many_gathers(60, 64 * mib, 30 * gib), settings) == 24);  // 1.5 GiB
      CHECK(launched_first(many_gathers(60, 64 * mib + 2, 30 * gib), settings) == 23);
    }
  }
  TEST_CASE("scatters that nothing computes with are launched once 512 MiB of them are ready, launched ones included") {
    for (const sw::overlap_settings& settings : all_settings()) {
      CHECK(products_before(scatters_at_the_side(64 * mib), settings, 0) == 8);
      CHECK(products_before(scatters_at_the_side(64 * mib - 2), settings, 0) == 9);
      // the second product hides the first scatter, which counts as ready all the same
      const sw::task_graph g = scatters_at_the_side(256 * mib, 1000);
      CHECK(products_before(g, settings, 0) == 1);
      CHECK(products_before(g, settings, 1) == 2);
      sw::overlap_settings exact = settings;
      exact.exact_batches = true;
      CHECK(products_before(g, exact, 1) == 3);
    }
  }
  TEST_CASE("launches that may be merged follow each other") {
    for (const sw::overlap_settings& settings : all_settings()) {
      overlap_tasks p;
      const auto x = p.input();
      std::vector<sw::task_index> needed = {p.mm({x, x}, 100'000)};
      for (const char* dtype : {"f32", "bf16", "f32", "bf16"}) {
        p.dtype = dtype;
        needed.push_back(p.start("ag_" + p.dtype, p.input()) + 1);
      }
      p.output({p.mm(needed)});
      const sw::task_graph g = p.graph();
      CHECK(told(g, sw::account_of_overlap(g, {}, settings)).starts_with("ag_f32 ag_f32 ag_bf16 ag_bf16 mm"));
    }
  }
  TEST_CASE("all of a product's time hides, and of two gathers in flight one has no latency") {
    for (const sw::overlap_settings& settings : all_settings())
      for (const std::int64_t missing : {0, 1}) {
        overlap_tasks p;  // 1000 ns of latency
        p.collective = 1500;
        const auto x = p.input(), product = p.mm({x, x}, 2000 - missing);
        p.output({p.mm({product, p.ag(p.input()).wait, p.ag(p.input()).wait}, 0)});
        CHECK(exposed_ns(p.graph(), settings) == static_cast<double>(missing));
      }
  }

  TEST_CASE("before scheduling: members stand up to 1500 tasks apart, or any number") {
    for (const int apart : {1500, 1501}) {
      const two_apart two("ag", apart - 2);
      CHECK(two.second - two.first == static_cast<sw::task_index>(apart));
      CHECK(two.are_merged(*sw::autoparallel_span_buckets::passes().before) == (apart == 1500));
      CHECK(two.are_merged(*sw::torch_default::passes().before));
      CHECK(two.are_merged(*sw::autoparallel_size_buckets::passes().before));
    }
  }
  TEST_CASE("before scheduling: a bucket holds 25 MiB, or what saturates the channel, from 50 to 2000 MiB") {
    for (const int more : {0, 1}) {
      CHECK(two_apart("ag", 0, 25 * mib / 2 + more).are_merged(*sw::autoparallel_size_buckets::passes().before) ==
            (more == 0));
      for (const auto& before :
           {*sw::autoparallel_span_buckets::passes().before, *sw::torch_default::passes().before}) {
        CHECK(two_apart("ag", 0, 25 * mib + more, 2).are_merged(before) == (more == 0));
        CHECK(two_apart("ag", 0, 1000 * mib + more, 4096).are_merged(before) == (more == 0));
        CHECK(two_apart("rs", 0, 250 * mib + more).are_merged(before) ==
              (more == 0));  // no gather tells what saturates
        const std::int64_t saturates = sw::saturation_size(64).count();
        CHECK(two_apart("ag", 0, saturates / 2 + more, 64).are_merged(before) == (more == 0));
      }
    }
  }
  TEST_CASE("before scheduling: which collectives may be members") {
    // another key between two waits
    overlap_tasks p;
    std::vector<sw::task_index> waits;
    for (const char* dtype : {"bf16", "bf16", "f32", "bf16", "bf16", "bf16"}) {
      p.dtype = dtype;
      waits.push_back(p.ag(parameter(p)).wait);
    }
    p.output(waits);
    const sw::task_graph keys = p.graph();
    const auto first_bucket = [&](const auto& before) {
      return size_of_bucket_with((*before)(keys).buckets, waits[0] - 1);
    };
    CHECK(first_bucket(sw::torch_default::passes().before) == 2);
    CHECK(first_bucket(sw::autoparallel_span_buckets::passes().before) == 5);
    CHECK(first_bucket(sw::autoparallel_size_buckets::passes().before) == 5);

    // reductions on a channel that gathers parameters, but not as many as another one
    overlap_tasks q;
    std::vector<sw::task_index> ends = {q.ag(q.input(), 0).wait, q.ag(q.input(), 0).wait, q.ag(q.input(), 1).wait};
    const auto one = q.ar(q.other("mul", {ends[0]}), 1), other = q.ar(q.other("mul", {ends[0]}), 1);
    ends.insert(ends.end(), {one.wait, other.wait});
    q.output(ends);
    const sw::task_graph channels = q.graph();
    const auto merges = [&](const auto& before) {
      return share_a_bucket((*before)(channels).buckets, one.start, other.start);
    };
    CHECK(merges(sw::torch_default::passes().before));
    CHECK_FALSE(merges(sw::autoparallel_span_buckets::passes().before));

    // gathers of a channel that is not the one with most of them
    overlap_tasks t;
    const auto first = t.ag(parameter(t), 1), second = t.ag(parameter(t), 1);
    ends = {first.wait, second.wait};
    for (int i = 0; i < 3; ++i) ends.push_back(t.ag(parameter(t), 0).wait);
    t.output(ends);
    const sw::task_graph sides = t.graph();
    for (const auto& before : {sw::torch_default::passes().before, sw::autoparallel_span_buckets::passes().before,
                               sw::autoparallel_size_buckets::passes().before})
      CHECK(share_a_bucket((*before)(sides).buckets, first.start, second.start));

    // a gather of two parameters at once is no gather of one, but comes from parameters alone
    overlap_tasks r;
    const auto both = r.ag(r.other("cat", {parameter(r), parameter(r)})), lone = r.ag(parameter(r));
    r.output({both.wait, lone.wait});
    const sw::task_graph joined = r.graph();
    const auto takes_both = [&](const auto& before) {
      return share_a_bucket((*before)(joined).buckets, both.start, lone.start);
    };
    CHECK_FALSE(takes_both(sw::torch_default::passes().before));
    CHECK_FALSE(takes_both(sw::autoparallel_span_buckets::passes().before));
    CHECK(takes_both(sw::autoparallel_size_buckets::passes().before));
  }

  TEST_CASE("after scheduling: a bucket holds 2 GiB, in and out, and its scatters are packed") {
    for (const auto& after : {*sw::torch_default::passes().after, *sw::torch_no_prebucket::passes().after})
      for (const char* kind : {"ag", "rs"}) {
        CHECK(two_apart(kind, 0, 512 * mib).are_merged(after));
        CHECK_FALSE(two_apart(kind, 0, 512 * mib + 1).are_merged(after));
        for (const sw::bucket& b : merged_after(two_apart(kind, 0).graph, after)) CHECK_FALSE(b.coalesced);
      }
  }
  TEST_CASE("after scheduling: gathers of parameters are merged with what stands within 20 places, others with any") {
    for (const auto& after : {*sw::torch_default::passes().after, *sw::torch_no_prebucket::passes().after}) {
      CHECK(two_apart("ag", 18).are_merged(after));
      CHECK_FALSE(two_apart("ag", 19).are_merged(after));
      CHECK(two_apart("rs", 19).are_merged(after));
      CHECK(two_apart("rs", 300).are_merged(after));
    }
  }
  TEST_CASE("after scheduling: 20 refusals in a row close a bucket") {
    for (const auto& after : {*sw::torch_default::passes().after, *sw::torch_no_prebucket::passes().after})
      for (const int refused : {19, 20}) {
        overlap_tasks p;
        const auto x = p.input();
        const auto seed = p.rs(p.input());
        std::vector<sw::task_index> ends = {x};
        for (int i = 0; i < refused; ++i) ends.push_back(p.rs(p.other("add", {seed.wait, x})).wait);
        const auto last = p.rs(x);
        ends.push_back(last.wait);
        p.output(ends);
        CHECK(share_a_bucket(merged_after(p.graph(), after), seed.start, last.start) == (refused < 20));
      }
  }
  TEST_CASE("after scheduling: 200 collectives after the first member are looked at, the least hidden first") {
    for (const auto& after : {*sw::torch_default::passes().after, *sw::torch_no_prebucket::passes().after})
      for (const int between : {199, 200}) {
        overlap_tasks p;
        const auto x = p.input();
        const auto seed = p.ag(p.input()), last = p.ag(p.input());  // half of it hidden, so it comes last
        std::vector<sw::task_index> ends = {seed.wait, last.wait};
        for (int i = 0; i < 21; ++i) ends.push_back(p.other("mul", {x}));
        for (int i = 0; i < between; ++i) ends.push_back(p.ag(p.input()).wait);
        p.output(ends);
        const sw::hiding_record half{
            .collective = last.start, .hidden = sw::nanoseconds(500), .exposed = sw::nanoseconds(500)};
        const auto buckets = merged_after(p.graph(), after, {half});
        CHECK(share_a_bucket(buckets, seed.start, last.start) == (between < 200));
      }
  }
}

}  // namespace named_passes_tests

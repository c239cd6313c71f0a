#include <shardweave/core/random.hpp>
#include <shardweave/tasks/profiled_run.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace profiled_run_tests {
namespace {

namespace sw = shardweave;

/// Products, sums, views and gathers of tensors of few shapes, so that several tasks look alike.
sw::task_graph drawn_tasks(sw::random_source& random) {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .size = 4});
  b.add_group({.id = 1, .size = 8});
  std::vector<sw::task_index> values;
  const auto output = [&] {
    sw::output_record out{sw::bytes(8), b.add_storage(sw::bytes(8)), "bf16", {}};
    for (std::size_t d = random.below(3); d > 0; --d)
      out.shape.push_back(static_cast<std::int64_t>(1 + random.below(2)));
    return out;
  };
  values.push_back(b.add_task({.op = "input", .kind = sw::task_kind::input, .outputs = {output()}}));
  values.push_back(b.add_task({.op = "input", .kind = sw::task_kind::input, .outputs = {output()}}));
  const auto any = [&] { return values[random.below(values.size())]; };
  const char* ops[] = {"aten.mm.default", "aten.add.Tensor", "prims.sum.default", "own::rope"};
  for (std::size_t i = 0; i < 12; ++i) {
    const auto before = sw::nanoseconds(static_cast<std::int64_t>(random.below(3)));
    if (random.chance(0.3)) {
      const auto group = static_cast<std::uint32_t>(random.below(2));
      const auto size = static_cast<std::int64_t>(1 + random.below(2));
      sw::task_record c{.op = "gather", .kind = sw::task_kind::collective, .duration = before, .inputs = {any()}};
      const auto op = random.chance(0.5) ? sw::collective::all_gather : sw::collective::all_reduce;
      c.collective = sw::collective_record{op, group, sw::bytes(size), sw::bytes(size), "bf16", "none"};
      const auto launched = b.add_task(std::move(c));
      sw::task_record wait{.op = "wait", .kind = sw::task_kind::wait, .inputs = {launched}, .outputs = {output()}};
      wait.completes = launched;
      values.push_back(b.add_task(std::move(wait)));
    } else {
      const auto kind = random.chance(0.7) ? sw::task_kind::compute : sw::task_kind::other;
      std::vector<sw::task_index> inputs{any()};
      if (random.chance(0.5)) inputs.push_back(any());
      values.push_back(b.add_task({.op = ops[random.below(4)],
                                   .kind = kind,
                                   .duration = before,
                                   .inputs = std::move(inputs),
                                   .outputs = {output()}}));
    }
  }
  return std::move(b).build();
}

sw::profiled_run drawn_run(sw::random_source& random) {
  sw::profiled_run run;
  const char* ops[] = {"aten::mm", "aten::add", "sum", "own::rope", "aten.mm.out"};
  const auto time = [&] { return sw::nanoseconds(static_cast<std::int64_t>(100 + random.below(50))); };
  for (std::size_t i = random.below(30); i > 0; --i) {
    sw::profiled_call call{.op = ops[random.below(5)], .duration = time()};
    for (std::size_t j = random.below(3); j > 0; --j) {
      call.inputs.emplace_back();
      for (std::size_t d = 1 + random.below(2); d > 0; --d)
        call.inputs.back().push_back(static_cast<std::int64_t>(1 + random.below(2)));
    }
    run.calls.push_back(std::move(call));
  }
  for (std::size_t i = random.below(12); i > 0; --i)
    run.collectives.push_back({random.chance(0.5) ? sw::collective::all_gather : sw::collective::all_reduce,
                               random.chance(0.5) ? 4 : 8, sw::bytes(static_cast<std::int64_t>(1 + random.below(2))),
                               time()});
  return run;
}

/// The operators of this file without namespace and overload, by a list.
std::string bare(const std::string& op) {
  if (op.find("mm") != std::string::npos) return "mm";
  if (op.find("add") != std::string::npos) return "add";
  if (op.find("sum") != std::string::npos) return "sum";
  return "rope";
}

/// The times of a profile that match a task: every call is looked at for every task.
std::vector<sw::nanoseconds> matching(const sw::task_graph& g, sw::task_index t, const sw::profiled_run& run) {
  std::vector<sw::nanoseconds> times;
  if (g.is_collective(t)) {
    const auto c = g.collective(t);
    for (const auto& seen : run.collectives)
      if (seen.op == c.op && seen.group_size == g.groups()[c.group].size && seen.bytes_in == c.bytes_in)
        times.push_back(seen.duration);
    return times;
  }
  sw::tensor_shapes shapes;
  for (const sw::task_index p : g.inputs(t))
    if (const auto shape = g.output(p, 0).shape; !shape.empty()) shapes.emplace_back(shape.begin(), shape.end());
  for (const auto& seen : run.calls)
    if (bare(seen.op) == bare(std::string(g.op(t))) && seen.inputs == shapes) times.push_back(seen.duration);
  return times;
}

}  // namespace

TEST_SUITE("profiled_run") {
  TEST_CASE("a task takes the lower median of the calls that match it, and keeps what it had where none does") {
    std::size_t matched = 0, unmatched = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      const sw::task_graph g = drawn_tasks(random);
      const sw::profiled_run run = drawn_run(random);
      const auto told = sw::durations_by(g, run);
      REQUIRE(told.durations.size() == g.size());
      std::vector<sw::task_index> unknown;
      std::set<std::string> used, unused;
      std::size_t known = 0;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const bool works = g.is_collective(t) || g.kind(t) == sw::task_kind::compute ||
                           (g.kind(t) == sw::task_kind::other && g.duration(t) > sw::nanoseconds(0));
        auto times = works ? matching(g, t, run) : std::vector<sw::nanoseconds>{};
        if (times.empty()) {
          CHECK(told.durations[t] == g.duration(t));
          if (works) unknown.push_back(t);
          continue;
        }
        std::sort(times.begin(), times.end());
        CHECK(told.durations[t] == times[(times.size() - 1) / 2]);
        ++known;
      }
      CHECK(told.matched == known);
      CHECK(told.unmatched == unknown);
      matched += known;
      unmatched += unknown.size();
      // an operator is unused if calls of one signature match nothing
      for (const auto& call : run.calls) {
        bool any = false;
        for (sw::task_index t = 0; t < g.size(); ++t) {
          const bool works = g.kind(t) == sw::task_kind::compute ||
                             (g.kind(t) == sw::task_kind::other && g.duration(t) > sw::nanoseconds(0));
          if (!works) continue;
          sw::profiled_run alone;
          alone.calls = {call};
          any = any || !matching(g, t, alone).empty();
        }
        if (!any) unused.insert(bare(call.op));
      }
      CHECK(std::set<std::string>(told.unused.begin(), told.unused.end()) == unused);
      CHECK(told.unused.size() == unused.size());
    }
    CHECK(matched > shardweave_test::at_scale(300));
    CHECK(unmatched > shardweave_test::at_scale(300));
  }
}

}  // namespace profiled_run_tests

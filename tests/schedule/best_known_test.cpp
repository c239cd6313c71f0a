#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/best_of.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace best_known_tests {
namespace {

sw::timeline played(const sw::task_graph& g, const sw::schedule& s) { return sw::simulate(g, s); }

/// What others make of the graph, each by itself, and the order as given.
std::vector<sw::schedule> others(const sw::task_graph& g) {
  std::vector<sw::schedule> all;
  for (const sw::overlap_passes& passes :
       {sw::torch_default::passes(), sw::torch_no_prebucket::passes(), sw::torch_overlap_only::passes(),
        sw::autoparallel_span_buckets::passes(), sw::autoparallel_size_buckets::passes()})
    all.push_back(passes.plan(g));
  const sw::bytes peak = sw::simulate(g, sw::in_order{}(g, {})).peak;
  const sw::prefetch early{.memory = peak};
  all.push_back(early(g, sw::benefit<>{.order = early, .memory = peak}(g)));
  all.push_back(sw::in_order{}(g, {}));
  return all;
}

/// The name of who ends before, by his place in `others`; empty if nobody does.
std::string undercut(const sw::task_graph& g, const sw::schedule& s) {
  const sw::nanoseconds end = played(g, s).end_to_end;
  const auto all = others(g);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (played(g, all[i]).end_to_end < end) return std::to_string(i);
  return {};
}

/// The same where communication weighs more or less.
sw::task_graph with_communication(const sw::task_graph& g, std::int64_t numerator, std::int64_t denominator) {
  std::vector<sw::nanoseconds> durations;
  for (sw::task_index t = 0; t < g.size(); ++t)
    durations.push_back(g.is_collective(t) ? g.duration(t) * numerator / denominator : g.duration(t));
  return g.with_durations(durations);
}

}  // namespace

TEST_SUITE("best_known") {
  TEST_CASE("nobody whose name it knows ends before, on random graphs whose communication weighs more or less") {
    std::size_t better = 0;
    const std::size_t graphs = shardweave_test::sized<std::size_t>(300, 6);
    for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = with_communication(random_tasks(seed, {.blocks = 5 + seed % 40, .groups = 1 + seed % 3}),
                                                  1 + static_cast<std::int64_t>(seed % 5), 2);
      const sw::schedule s = sw::best_known{}.plan(g);
      REQUIRE_NOTHROW(sw::validate_schedule(g, s));
      REQUIRE(undercut(g, s) == "");
      sw::nanoseconds least = played(g, others(g).front()).end_to_end;
      for (const sw::schedule& other : others(g)) least = std::min(least, played(g, other).end_to_end);
      better += played(g, s).end_to_end < least;
      if (seed % 10 == 0) REQUIRE(sw::best_known{}.plan(g) == s);
      REQUIRE(sw::best_known{}(g).buckets == s.buckets);
    }
    CHECK(better > graphs / 4);
  }

  TEST_CASE("as a scheduler it is no worse than prefetch with the buckets it is given") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(40); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 30});
      const sw::bucketing_result given = sw::greedy{.fsdp_only = false, .needs_gain = false}(g);
      const sw::schedule s = sw::best_known{}(g, given);
      REQUIRE_NOTHROW(sw::validate_schedule(g, s));
      CHECK(undercut(g, s) == "");
      const sw::prefetch early{.memory = sw::simulate(g).peak};
      CHECK(played(g, s).end_to_end <= played(g, early(g, given)).end_to_end);
    }
  }

  TEST_CASE("a budget is kept where the original order keeps it, and else the least peak that was seen is told") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(60); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 25});
      const sw::bytes peak = sw::simulate(g).peak;
      const sw::schedule s = sw::best_known{.memory = peak}.plan(g);
      CHECK(s.within_memory);
      CHECK(played(g, s).peak <= peak);
      const sw::schedule none = sw::best_known{.memory = sw::bytes(0)}.plan(g);
      CHECK(none.within_memory == (played(g, none).peak == sw::bytes(0)));
      CHECK(played(g, none).peak <= peak);
    }
  }

  TEST_CASE("nobody ends before on the captured graphs, as measured, fused, or with more communication" *
            doctest::skip(shardweave_test::is_small_scale)) {  // minutes there
    const auto folder = shared_data("tasks");
    if (!folder) return;
    for (const auto& file : std::filesystem::directory_iterator(*folder)) {
      const std::string name = file.path().filename().string();
      if (name.find(".json") == std::string::npos || name.find("derived") != std::string::npos) continue;
      if (shardweave_test::is_small_scale && name.find("fw-64-1d") == std::string::npos) continue;
      CAPTURE(name);
      const sw::task_graph g = sw::read_task_graph(file.path());
      CHECK(undercut(g, sw::best_known{}.plan(g)) == "");
      CHECK(undercut(g.with_durations(g.fused_durations()),
                     sw::best_known{}.plan(g.with_durations(g.fused_durations()))) == "");
      // one mesh dimension over more devices: communication that computation just does not hide
      const sw::task_graph wider = with_communication(g, 5, 4);
      CHECK(undercut(wider, sw::best_known{}.plan(wider)) == "");
    }
  }
}

}  // namespace best_known_tests

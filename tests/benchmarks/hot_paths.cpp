// The inner loops, on inputs drawn from fixed seeds: for comparing two builds, run each twice in turn.
#include "support/random_tasks.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

/// A grid of vertices with a handful of shared tables, one entry in five forbidden.
std::shared_ptr<const sw::placement_description<double>> grid(std::size_t side, std::size_t strategies) {
  sw::random_source random(7);
  const auto cost = [&] { return static_cast<double>(random.below(1000)); };
  auto d = std::make_shared<sw::placement_description<double>>();
  for (std::size_t t = 0; t < 8; ++t) {
    std::vector<double> entries;
    for (std::size_t i = 0; i < strategies * strategies; ++i)
      entries.push_back(i % (strategies + 1) != 0 && random.chance(0.2) ? sw::forbidden<double> : cost());
    d->tables.push_back(std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(strategies, strategies, entries)));
  }
  for (std::uint32_t v = 0; v < side * side; ++v) {
    sw::described_vertex<double> vertex;
    for (std::size_t s = 0; s < strategies; ++s) vertex.compute.push_back(cost());
    d->vertices.push_back(std::move(vertex));
    const auto join = [&](std::size_t from) {
      d->edges.push_back({.from = static_cast<std::uint32_t>(from),
                          .to = v,
                          .communication = static_cast<std::uint32_t>(random.below(d->tables.size()))});
    };
    if (v % side != 0) join(v - 1);
    if (v >= side) join(v - side);
  }
  return d;
}

void compile(benchmark::State& state) {
  const auto d = grid(static_cast<std::size_t>(state.range(0)), 16);
  for (auto _ : state) benchmark::DoNotOptimize(sw::compile(d, {}));
}
BENCHMARK(compile)->Arg(30)->Arg(100)->Unit(benchmark::kMillisecond);

void evaluate(benchmark::State& state) {
  const auto d = grid(static_cast<std::size_t>(state.range(0)), 16);
  const sw::assignment choice(d->vertices.size(), 3);
  for (auto _ : state) benchmark::DoNotOptimize(sw::evaluate(*d, choice));
}
BENCHMARK(evaluate)->Arg(100)->Unit(benchmark::kMicrosecond);

template <class Solver>
void solve(benchmark::State& state, const Solver& solver, std::size_t iterations) {
  const auto problem = sw::compile(grid(static_cast<std::size_t>(state.range(0)), 16), {});
  double gap = 0;
  for (auto _ : state) {
    const auto answer = solver.solve(problem, {.iterations = iterations, .seed = 7});
    gap = answer.gap();
    benchmark::DoNotOptimize(answer);
  }
  state.counters["gap"] = gap;
}
BENCHMARK_CAPTURE(solve, trws, sw::trws{}, 50)->Arg(30)->Arg(60)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve, reduced_trws, sw::reduced(sw::trws{}), 50)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve, local_search, sw::local_search{}, 20)->Arg(30)->Unit(benchmark::kMillisecond);

sw::task_graph tasks(const benchmark::State& state) {
  return random_tasks(7, {.blocks = static_cast<std::size_t>(state.range(0)), .groups = 3});
}

void simulate(benchmark::State& state) {
  const sw::task_graph g = tasks(state);
  for (auto _ : state) benchmark::DoNotOptimize(sw::simulate(g));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(g.size()));
}
BENCHMARK(simulate)->Arg(1000)->Arg(10000)->Unit(benchmark::kMicrosecond);

void bucket_greedily(benchmark::State& state) {
  const sw::task_graph g = tasks(state);
  for (auto _ : state) benchmark::DoNotOptimize(sw::greedy{.fsdp_only = false, .needs_gain = false}(g));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(g.size()));
}
BENCHMARK(bucket_greedily)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void prefetch(benchmark::State& state) {
  const sw::task_graph g = tasks(state);
  for (auto _ : state) benchmark::DoNotOptimize(sw::prefetch{}(g, {}));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(g.size()));
}
BENCHMARK(prefetch)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void bound(benchmark::State& state) {
  const sw::task_graph g = tasks(state);
  for (auto _ : state) benchmark::DoNotOptimize(sw::makespan_bound(g, {}));
}
BENCHMARK(bound)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace

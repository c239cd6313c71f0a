// What one estimate of a collective costs: distinct questions, drawn from a fixed seed. An item is one estimate.
#include <shardweave/core/random.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/residual.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace sw = shardweave;

namespace {

struct question {
  sw::collective kind;
  sw::bytes size;
  sw::group_shape group;
};

/// Questions about every collective, 1 to 131072 ranks, 1 byte to 64 GiB.
std::vector<question> questions(std::size_t count, std::uint64_t seed, bool reduce_only, std::int64_t most_nodes) {
  sw::random_source random(seed);
  std::vector<question> out;
  while (out.size() < count) {
    const auto kind = reduce_only ? sw::collective::all_reduce : static_cast<sw::collective>(random.below(4));
    const auto size = static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(36))));
    const auto nodes = 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_nodes)));
    out.push_back({kind, sw::bytes(1 + size), {1 + static_cast<std::int64_t>(random.below(8)), nodes}});
  }
  return out;
}

template <class Model>
double ask(const Model& model, const std::vector<question>& all) {
  double sum = 0;
  for (const question& q : all) sum += model.estimate(q.kind, q.size, q.group).time_us;
  return sum;
}

template <class Model>
void estimate(benchmark::State& state, bool reduce_only, std::int64_t most_nodes) {
  const Model model(sw::find_device("h100"));
  const auto all = questions(1 << 14, 3, reduce_only, most_nodes);
  for (auto _ : state) benchmark::DoNotOptimize(ask(model, all));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}
void smooth(benchmark::State& state, bool reduce_only, std::int64_t nodes) {
  estimate<sw::nccl_smooth>(state, reduce_only, nodes);
}
void exact(benchmark::State& state, bool reduce_only, std::int64_t nodes) {
  estimate<sw::nccl_tuner>(state, reduce_only, nodes);
}
void symmetric(benchmark::State& state) { estimate<sw::nccl_symmetric<>>(state, false, 1); }
void by_table(benchmark::State& state) { estimate<sw::node_table<>>(state, false, 16384); }
BENCHMARK_CAPTURE(smooth, any, false, 16384);
BENCHMARK_CAPTURE(smooth, all_reduce_one_node, true, 1);
BENCHMARK_CAPTURE(smooth, all_reduce_many_nodes, true, 16384);
BENCHMARK_CAPTURE(exact, any, false, 16384);
BENCHMARK_CAPTURE(exact, all_reduce_many_nodes, true, 16384);
BENCHMARK(symmetric);
BENCHMARK(by_table);

/// NCCL's model corrected by times of 2, 4 and 8 ranks: in a node, where groups lie between those, and over nodes.
void calibrated(benchmark::State& state, std::int64_t nodes) {
  const sw::nccl_smooth nccl(sw::find_device("h100"));
  std::vector<sw::collective_measurement> measured;
  for (int kind = 0; kind < 4; ++kind)
    for (const std::int64_t ranks : {2, 4, 8})
      for (int p = 10; p < 32; ++p) {
        const sw::bytes size(std::int64_t{1} << p);
        const auto which = static_cast<sw::collective>(kind);
        measured.push_back({which, {ranks, 1}, size, 15 + 1.1 * nccl.estimate(which, size, {ranks, 1}).time_us});
      }
  const sw::residual model(nccl, measured);
  const auto all = questions(1 << 14, 3, false, nodes);
  for (auto _ : state) benchmark::DoNotOptimize(ask(model, all));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}
void lines(benchmark::State& state) {
  const auto model = sw::find_preset("h100").collectives();
  const auto all = questions(1 << 14, 3, false, 1);
  for (auto _ : state) benchmark::DoNotOptimize(ask(model, all));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}
BENCHMARK_CAPTURE(calibrated, one_node, 1);
BENCHMARK_CAPTURE(calibrated, any, 16384);
BENCHMARK(lines);

/// A million distinct questions on two threads that share a model.
void million(benchmark::State& state) {
  const sw::nccl_smooth model(sw::find_device("h100"));
  const std::vector<question> halves[] = {questions(500'000, 5, false, 16384), questions(500'000, 6, false, 16384)};
  for (auto _ : state) {
    double sums[2] = {};
    std::thread other([&] { sums[1] = ask(model, halves[1]); });
    sums[0] = ask(model, halves[0]);
    other.join();
    benchmark::DoNotOptimize(sums[0] + sums[1]);
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(million)->Unit(benchmark::kMillisecond)->UseRealTime();

void make(benchmark::State& state, const char* device) {
  for (auto _ : state) benchmark::DoNotOptimize(sw::nccl_smooth(sw::find_device(device)));
}
BENCHMARK_CAPTURE(make, h100, "h100")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(make, gb200, "gb200")->Unit(benchmark::kMicrosecond);

}  // namespace

// What one estimate of a collective costs: distinct questions, drawn from a fixed seed. An item is one estimate.
#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/residual.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/torch_formula.hpp>

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
void estimate(benchmark::State& state, const Model& model, bool reduce_only, std::int64_t most_nodes) {
  const auto all = questions(1 << 14, 3, reduce_only, most_nodes);
  for (auto _ : state) benchmark::DoNotOptimize(ask(model, all));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}
void smooth(benchmark::State& state, bool reduce_only, std::int64_t nodes) {
  estimate(state, sw::nccl_smooth(sw::find_device("h100")), reduce_only, nodes);
}
void exact(benchmark::State& state, bool reduce_only, std::int64_t nodes) {
  estimate(state, sw::nccl_tuner(sw::find_device("h100")), reduce_only, nodes);
}
void symmetric(benchmark::State& state, std::int64_t nodes) {
  estimate(state, sw::nccl_symmetric<>(sw::find_device("h100")), false, nodes);
}
BENCHMARK_CAPTURE(smooth, any, false, 16384);
BENCHMARK_CAPTURE(smooth, all_reduce_one_node, true, 1);
BENCHMARK_CAPTURE(smooth, all_reduce_many_nodes, true, 16384);
BENCHMARK_CAPTURE(exact, any, false, 16384);
BENCHMARK_CAPTURE(exact, all_reduce_many_nodes, true, 16384);
BENCHMARK_CAPTURE(symmetric, one_node, 1);
BENCHMARK_CAPTURE(symmetric, any, 16384);

/// Times of 2, 4 and 8 ranks: in a node groups lie between those, over nodes nothing was measured.
std::vector<sw::collective_measurement> measured() {
  const sw::nccl_smooth nccl(sw::find_device("h100"));
  std::vector<sw::collective_measurement> rows;
  for (int kind = 0; kind < 4; ++kind)
    for (const std::int64_t ranks : {2, 4, 8})
      for (int p = 10; p < 32; ++p) {
        const sw::bytes size(std::int64_t{1} << p);
        const auto which = static_cast<sw::collective>(kind);
        rows.push_back({which, {ranks, 1}, size, 15 + 1.1 * nccl.estimate(which, size, {ranks, 1}).time_us});
      }
  return rows;
}
void calibrated(benchmark::State& state, std::int64_t nodes) {
  estimate(state, sw::residual(sw::nccl_smooth(sw::find_device("h100")), measured()), false, nodes);
}
void table(benchmark::State& state, std::int64_t nodes) {
  estimate(state, sw::collective_table<>(measured()), false, nodes);
}
void lines(benchmark::State& state, std::int64_t nodes) {
  estimate(state, sw::find_preset("h100").collectives(), false, nodes);
}
void shares(benchmark::State& state) {
  std::vector<sw::link_share> rows;
  for (const auto path : {sw::shared_path::inside, sw::shared_path::network, sw::shared_path::all_to_all})
    for (const std::int64_t nodes : {1, 2, 4, 8, 16, 32, 64, 128})
      for (int p = 10; p < 32; ++p)
        rows.push_back({path, nodes, sw::bytes(std::int64_t{1} << p), .02 * static_cast<double>(p)});
  estimate(state, sw::link_shares<>(rows), false, 16384);
}
/// Times on 1 and on 20000 nodes: whatever lies between was not measured, and is far too much to be prepared.
std::vector<sw::collective_measurement> far_apart() {
  const sw::nccl_smooth nccl(sw::find_device("h100"));
  std::vector<sw::collective_measurement> rows;
  for (int kind = 0; kind < 4; ++kind)
    for (std::int64_t ranks = 1; ranks <= 8; ++ranks)
      for (const std::int64_t nodes : {std::int64_t{ranks == 1 ? 2 : 1}, std::int64_t{20000}})
        for (int p = 10; p < 32; ++p) {
          const sw::bytes size(std::int64_t{1} << p);
          const auto which = static_cast<sw::collective>(kind);
          rows.push_back({which, {ranks, nodes}, size, 15 + 1.1 * nccl.estimate(which, size, {ranks, nodes}).time_us});
        }
  return rows;
}
void calibrated_far(benchmark::State& state, bool reduce_only) {
  estimate(state, sw::residual(sw::nccl_smooth(sw::find_device("h100")), far_apart()), reduce_only, 16384);
}
void table_far(benchmark::State& state) { estimate(state, sw::collective_table<>(far_apart()), false, 16384); }
void lines_far(benchmark::State& state) {
  std::vector<sw::fitted_line> ends;
  for (const auto& m : far_apart())
    if (m.size == sw::mebibytes(1)) ends.push_back({m.kind, m.group, {m.time_us, 100, 1e6, .5}});
  estimate(state, sw::fitted_lines<>(ends), false, 16384);
}
BENCHMARK_CAPTURE(calibrated_far, any, false);
BENCHMARK_CAPTURE(calibrated_far, all_reduce, true);
BENCHMARK(table_far);
BENCHMARK(lines_far);
BENCHMARK_CAPTURE(calibrated, one_node, 1);
BENCHMARK_CAPTURE(calibrated, any, 16384);
BENCHMARK_CAPTURE(table, one_node, 1);
BENCHMARK_CAPTURE(table, any, 16384);
BENCHMARK_CAPTURE(lines, one_node, 1);
BENCHMARK_CAPTURE(lines, any, 16384);
BENCHMARK(shares);

/// What is a formula of a device's figures alone.
template <class Model>
void formula(benchmark::State& state) {
  estimate(state, Model(sw::find_device("h100")), false, 16384);
}
void torch(benchmark::State& state, sw::torch_edition edition) {
  estimate(state, sw::torch_formula(sw::find_device("h100"), edition), false, 16384);
}
void saturating(benchmark::State& state) {
  estimate(state, sw::saturating(sw::alpha_beta(sw::find_device("h100")), 2e7), false, 16384);
}
BENCHMARK(formula<sw::node_table<>>)->Name("node_table");
BENCHMARK(formula<sw::alpha_beta>)->Name("alpha_beta");
BENCHMARK(formula<sw::autoparallel_formula>)->Name("autoparallel");
BENCHMARK_CAPTURE(torch, until_2025, sw::torch_edition::ring_ll);
BENCHMARK_CAPTURE(torch, since_2026, sw::torch_edition::tuner);
BENCHMARK(saturating);

/// A million distinct questions on two threads that share a model.
template <class Model>
void million(benchmark::State& state, const Model& model) {
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
void million_smooth(benchmark::State& state) { million(state, sw::nccl_smooth(sw::find_device("h100"))); }
void million_calibrated(benchmark::State& state) {
  million(state, sw::residual(sw::nccl_smooth(sw::find_device("h100")), measured()));
}
BENCHMARK(million_smooth)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(million_calibrated)->Unit(benchmark::kMillisecond)->UseRealTime();

void make(benchmark::State& state, const char* device) {
  for (auto _ : state) benchmark::DoNotOptimize(sw::nccl_smooth(sw::find_device(device)));
}
BENCHMARK_CAPTURE(make, h100, "h100")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(make, gb200, "gb200")->Unit(benchmark::kMicrosecond);

}  // namespace

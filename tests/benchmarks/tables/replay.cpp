// A small LLaMA plan on four ranks of this machine: what the simulator predicts by a calibration of the same machine,
// and what the replay takes, for each way to merge and to order. Rank 0 prints. Runs under mpirun:
//
//   mpirun -np 4 table_replay [--markdown]
//   mpirun -np 4 table_replay random [FIRST LAST]    1 000 random schedules of the plan, with every value checked
#include "benchmarks/tables/table.hpp"
#include "engine/random_schedule.hpp"
#include "examples/support/schedulers.hpp"
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/engine/mpi_calibration.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/rank_correlation.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/reprice.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

/// The end of the slowest rank and the stalls of the one that stalls longest, in ms, of the fastest of several
/// replays: whatever else the machine does makes them slower.
struct measured {
  double end = std::numeric_limits<double>::infinity();
  double exposed = 0;
};

/// Replays all schedules by turns, so that what a machine does for a while slows them all.
std::vector<measured> measure(const sw::task_graph& g, const std::vector<sw::schedule>& schedules,
                              sw::mpi_engine& engine) {
  constexpr std::size_t repetitions = 60;
  std::vector<measured> fastest(schedules.size());
  for (std::size_t i = 0; i <= repetitions; ++i) {
    engine.check(i == 0);
    for (std::size_t k = 0; k < schedules.size(); ++k) {
      const sw::timeline line = sw::replay(g, schedules[k], engine);
      const double mine[] = {ms(line.end_to_end), ms(line.exposed)};
      double all[2] = {};
      sw::check_mpi(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, engine.world().get()), "MPI_Allreduce");
      if (i > 0 && all[0] < fastest[k].end) fastest[k] = {all[0], all[1]};
    }
  }
  return fastest;
}

/// Four layers on two by two ranks: small enough for hosts, with gathers, scatters and reductions on both dimensions.
/// \param parts  its widths and the sequence are divided by that; what communicates with whom stays
sw::task_graph small_plan(std::int64_t parts = 1) {
  const sw::llama_config config{.name = "llama-tiny",
                                .hidden_size = 256 / parts,
                                .num_hidden_layers = 4,
                                .num_attention_heads = 8,
                                .num_key_value_heads = 4,
                                .intermediate_size = 1024 / parts,
                                .vocab_size = 2048 / parts};
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 4, .sequence = 256 / parts}),
                                  sw::device_mesh({2, 2}), sw::roofline{device}, sw::node_table<>(device));
  const auto constraints = sw::training_constraints(
      model, {.inputs = sw::sharding::parse("S(0)R"), .results = sw::sharding::parse("S(0)S(2)")});
  const sw::pipeline way(sw::auto_solver{}, sw::no_bucketing{}, sw::in_order{});
  return way.run(model, constraints, {.seconds = 60, .threads = 1}).lowered->tasks;
}

void print(bool markdown, const std::vector<std::string>& cells) {
  std::string line = markdown ? "| " : "";
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? (markdown ? " | " : ",") : "") + cells[i];
  std::printf("%s%s\n", line.c_str(), markdown ? " |" : "");
  std::fflush(stdout);
}

/// Replays the plan in random orders, with random buckets, while each rank is late somewhere else. What does not end
/// in time, or ends with a wrong value, ends the run.
void replay_at_random(const sw::mpi_session& session, std::uint64_t first, std::uint64_t last) {
  const sw::task_graph stated = small_plan(8);  // comparing values is what takes time
  sw::mpi_engine engine(MPI_COMM_WORLD, {.work = sw::host_work::time, .timeout_seconds = 60});
  std::size_t buckets = 0;
  for (std::uint64_t i = first - 1; i < last; ++i) {
    sw::random_source random(i + 1), own(1000 * i + static_cast<std::uint64_t>(session.rank()));
    const sw::schedule s = random_schedule(stated, random);
    buckets += s.buckets.size();
    std::vector<sw::nanoseconds> durations;
    for (sw::task_index t = 0; t < stated.size(); ++t)
      durations.emplace_back(
          stated.is_collective(t) ? 0 : static_cast<std::int64_t>(own.below(own.chance(0.02) ? 200'000 : 2'000)));
    static_cast<void>(sw::replay(stated.with_durations(durations), s, engine));
    if (session.rank() == 0 && ((i + 1) % 100 == 0 || i + 1 == last))
      std::fprintf(stderr, "schedules %ju to %ju of %zu tasks with %zu buckets, %zu values right on rank 0\n",
                   static_cast<std::uintmax_t>(first), static_cast<std::uintmax_t>(i + 1), stated.size(), buckets,
                   engine.checked());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const sw::mpi_session session;
  try {
    const tables::request asked(argc, argv);
    if (!asked.only.empty() && asked.only[0] == "random") {
      const auto number = [&](std::size_t at, std::uint64_t otherwise) {
        return asked.only.size() > at ? std::strtoull(asked.only[at].c_str(), nullptr, 10) : otherwise;
      };
      replay_at_random(session, std::max<std::uint64_t>(1, number(1, 1)), number(2, 1000));
      return 0;
    }
    const bool speaks = session.rank() == 0;
    const auto say = [&](const std::vector<std::string>& cells) {
      if (speaks) print(asked.markdown, cells);
    };
    say({"computation", "compute / communication", "pass", "launched", "predicted ms", "measured ms", "error %",
         "predicted exposed ms", "measured exposed ms"});
    if (asked.markdown) say(std::vector<std::string>(9, "---"));
    const sw::task_graph stated = small_plan();
    const auto shapes = sw::shapes_of(stated.groups(), session.size(), sw::ranks_on_node(MPI_COMM_WORLD));
    for (const sw::host_work work : {sw::host_work::time, sw::host_work::arithmetic}) {
      const std::string way = work == sw::host_work::time ? "time passes" : "arithmetic";
      const sw::mpi_calibration here = sw::calibrate_mpi(MPI_COMM_WORLD, {.work = work});
      const sw::collective_table<> model(here.device.collectives);
      if (speaks)
        std::fprintf(stderr, "%s: a collective slows computation %.2f times, computation a collective %.2f times\n",
                     way.c_str(), here.device.under_load->compute_factor, here.device.under_load->collective_factor);
      sw::mpi_engine engine(MPI_COMM_WORLD, {.work = work});
      for (const double ratio : {0.5, 1.0, 3.0}) {
        // computation is stretched until it takes `ratio` times what all collectives take here, one after the other
        const sw::timeline plain = sw::simulate(sw::reprice(stated, model, shapes));
        const double scale = ratio * ms(plain.communication) / ms(plain.compute);
        const sw::task_graph g =
            sw::reprice(stated, model, shapes, {.compute_scale = scale, .dram_bytes_per_ns = here.dram_bytes_per_ns});
        std::vector<std::string> names;
        std::vector<sw::schedule> schedules;
        for (const char* bucketing : {"none", "benefit", "greedy"})
          for (const char* scheduler : {"in_order", "prefetch", "overlap", "search"}) {
            names.push_back(bucketing + std::string(" + ") + scheduler);
            const auto buckets = programs::by_name(programs::bucketings(), bucketing).run(g, {});
            const auto order = programs::by_name(programs::schedulers(), scheduler);
            schedules.push_back(order.run(g, buckets, {}, std::nullopt));
          }
        const std::vector<measured> runs = measure(g, schedules, engine);
        std::vector<double> predicted, found;
        double error = 0;
        for (std::size_t k = 0; k < schedules.size(); ++k) {
          const sw::timeline line = sw::simulate(g, schedules[k]);
          predicted.push_back(ms(line.end_to_end));
          found.push_back(runs[k].end);
          const double percent = 100 * (found.back() / predicted.back() - 1);
          error += std::abs(percent);
          say({way, tables::number(ratio, 1), names[k], std::to_string(line.collectives),
               tables::number(predicted.back()), tables::number(found.back()), tables::number(percent, 1),
               tables::number(ms(line.exposed)), tables::number(runs[k].exposed)});
        }
        if (speaks)
          std::fprintf(stderr, "%s, ratio %.1f: rank correlation %.2f, mean absolute error %.1f %%\n", way.c_str(),
                       ratio, sw::rank_correlation(predicted, found), error / static_cast<double>(predicted.size()));
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "table_replay: rank %d: %s\n", session.rank(), e.what());
    sw::mpi_session::abort(2);
  }
}

// Executes a schedule on an engine, and tells how far that is from what the simulator predicts.
//
//   replay_schedule tasks.json.gz schedule.json --engine threads --scale 10
//   mpirun -np 4 replay_schedule tasks.json schedule.json --engine mpi --calibrate host.json
//   mpirun -np 8 replay_schedule tasks.json schedule.json --engine nccl --calibrate devices.json
#include "support/distinct_files.hpp"
#include "support/program.hpp"
#include "support/report_file.hpp"
#include "support/report_option.hpp"
#include "support/task_input.hpp"
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#ifdef SHARDWEAVE_HAS_MPI
#include <shardweave/engine/mpi_calibration.hpp>
#include <shardweave/engine/mpi_engine.hpp>
#include <shardweave/engine/mpi_meeting.hpp>
#endif
#ifdef SHARDWEAVE_HAS_NCCL
#include <shardweave/engine/folder_meeting.hpp>
#include <shardweave/engine/nccl_calibration.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CUBLAS
#include <shardweave/engine/cublas_products.hpp>
#endif
#if defined(SHARDWEAVE_HAS_MPI) || defined(SHARDWEAVE_HAS_NCCL)
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/engine/reprice.hpp>
#include <shardweave/io/device_file.hpp>
#endif
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/svg_comparison.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  programs::task_input tasks;
  std::string schedule;
  std::string engine = "simulate";
  std::int64_t scale = 1;
  std::int64_t stall_tolerance = 0;
  std::string calibration;
  std::string calibrate;
  std::string work;
  double timeout = 30;
  std::size_t repeat = 3;
  std::string buckets = "packed";
  std::string rendezvous;
  int rank = 0;
  int ranks = 1;
  int ranks_per_node = 0;
  int device = -1;
  std::string picture;
  programs::report_option report;
  programs::common_options common;
};

const std::vector<std::string> known = {"simulate", "threads", "mpi", "nccl"};
/// Those of this build.
const std::vector<std::string> engines = {
    "simulate",
    "threads",
#ifdef SHARDWEAVE_HAS_MPI
    "mpi",
#endif
#ifdef SHARDWEAVE_HAS_NCCL
    "nccl",
#endif
};

/// Prediction and measurement above each other.
void draw(const options& chosen, const sw::task_graph& g, const sw::schedule& s, const sw::timeline& predicted,
          const sw::timeline& measured) {
  if (chosen.picture.empty()) return;
  sw::atomic_file file(chosen.picture);
  file.write(sw::svg_comparison(g, s, predicted, measured, {.title = g.name + " on engine " + chosen.engine}));
  file.commit();
}

/// What was measured beside what was predicted; the last line of the text for people.
std::string write_report(const options& chosen, const sw::task_graph& g, const sw::schedule& s,
                         const sw::timeline& predicted, const sw::timeline& measured) {
  const std::vector<sw::html_plan> both = {
      {.name = "measured", .graph = &g, .order = &s, .line = &measured, .is_simulated = false},
      {.name = "predicted", .graph = &g, .order = &s, .line = &predicted}};
  return programs::report_file(chosen.report.file(chosen.common.json ? "" : "replay_report.html"),
                               chosen.report.told.has_value(), both,
                               {.title = g.name + " on engine " + chosen.engine,
                                .subtitle = "What the engine measured beside what the simulator predicts, on one "
                                            "device."})
      .commit();
}

double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

sw::timeline measure(const options& chosen, const sw::task_graph& g, const sw::schedule& s) {
  const sw::replay_options tolerant{.stall_tolerance = sw::nanoseconds(chosen.stall_tolerance)};
  if (chosen.engine == "threads") {
    sw::thread_engine engine({.scale = chosen.scale});
    return sw::replay(g, s, engine, tolerant);
  }
  sw::virtual_engine engine;
  return sw::replay(g, s, engine, tolerant);
}

void print_row(const char* what, const sw::compared_time& t) {
  std::printf("%-24s %13.3f ms %13.3f ms %+9.3f %%\n", what, ms(t.predicted), ms(t.measured), 100 * t.relative_error());
}

void print_summary(const options& chosen, const sw::task_graph& g, const sw::timeline_comparison& c) {
  std::printf("%s on engine %s: %s\n\n", g.name.c_str(), chosen.engine.c_str(),
              sw::count_text(g.size(), "task").c_str());
  std::printf("%-24s %16s %16s %11s\n", "", "predicted", "measured", "error");
  print_row("end to end", c.end_to_end);
  print_row("computation", c.compute);
  print_row("packing", c.packing);
  print_row("communication", c.communication);
  print_row("exposed", c.exposed);
  print_row("tail", c.tail);
  for (std::size_t i = 0; i < c.channels.size(); ++i)
    print_row(("channel of group " + std::to_string(g.groups()[i].id)).c_str(), c.channels[i]);
  if (c.worst != sw::no_index)
    std::printf("\nfarthest off: %s, predicted to end at %.3f ms, ended at %.3f ms\n", g.label(c.worst).c_str(),
                ms(c.worst_end.predicted), ms(c.worst_end.measured));
}

/// What only a run of several ranks can tell.
struct ranks_report {
  int ranks = 1;
  sw::nanoseconds slowest = {};  ///< end to end
  std::size_t checked = 0;       ///< results compared with what they must be, on all ranks
};

std::string json_line(const options& chosen, const sw::task_graph& g, const sw::timeline& measured,
                      const sw::timeline_comparison& c, const ranks_report& ranks = {}) {
  // JSON has no infinity: an error relative to nothing is left out
  const auto error = [](sw::json_writer& out, const sw::compared_time& t) {
    if (std::isfinite(t.relative_error())) out.member("relative_error", t.relative_error());
  };
  return sw::json_string([&](sw::json_writer& out) {
    out.begin_object().member("graph", g.name).member("tasks", g.size()).member("engine", chosen.engine);
    out.member("end_to_end_ns", c.end_to_end.measured.count()).member("predicted_ns", c.end_to_end.predicted.count());
    error(out, c.end_to_end);
    out.member("exposed_ns", c.exposed.measured.count()).member("predicted_exposed_ns", c.exposed.predicted.count());
    out.member("tail_ns", c.tail.measured.count()).member("predicted_tail_ns", c.tail.predicted.count());
    out.member("hidden_ns", measured.hidden.count()).member("hidden_count", measured.hidden_count);
    out.member("collectives", measured.collectives).member("peak_bytes", measured.peak.count());
    out.key("channels").begin_list();
    for (std::size_t i = 0; i < c.channels.size(); ++i) {
      out.begin_object().member("group", g.groups()[i].id).member("name", g.groups()[i].name);
      out.member("busy_ns", c.channels[i].measured.count());
      out.member("predicted_busy_ns", c.channels[i].predicted.count());
      error(out, c.channels[i]);
      out.end_object();
    }
    out.end_list();
    if (chosen.engine == "mpi" || chosen.engine == "nccl") {
      out.member("ranks", ranks.ranks).member("slowest_rank_end_to_end_ns", ranks.slowest.count());
      out.member("checked", ranks.checked).member("repetitions", chosen.repeat);
    }
    out.member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
  });
}

#if defined(SHARDWEAVE_HAS_MPI) || defined(SHARDWEAVE_HAS_NCCL)
/// A run of several ranks, whatever they communicate by. Every rank calls `largest` and `calibrate` alike.
struct ranked_run {
  int rank = 0;
  int size = 1;
  std::int64_t ranks_per_node = 1;
  std::function<double(double)> largest = {};  ///< of what the ranks say
};

/// The graph as this machine is expected to take it, by what was measured on it now or earlier.
sw::task_graph priced(const options& chosen, const sw::task_graph& g, const ranked_run& run,
                      const sw::device_calibration& device) {
  const auto scale = static_cast<double>(chosen.scale);
  const double copies = device.under_load ? device.under_load->memory_bandwidth : 0;
  if (!device.collectives.empty())
    return sw::reprice(g, sw::collective_table<>(device.collectives),
                       sw::shapes_of(g.groups(), run.size, run.ranks_per_node),
                       {.compute_scale = scale, .dram_bytes_per_ns = copies});
  std::vector<sw::nanoseconds> durations;
  for (sw::task_index t = 0; t < g.size(); ++t)
    durations.push_back(g.is_collective(t) ? g.duration(t) : g.duration(t) * chosen.scale);
  return g.with_durations(durations);
}

/// Every rank runs this; rank 0 tells.
template <class Engine, class Calibrate>
int replay_on_ranks(const options& chosen, const ranked_run& run, Engine& engine, Calibrate calibrate) {
  const sw::task_graph stated = chosen.tasks.read();
  const sw::schedule s = sw::read_schedule(chosen.schedule, stated);
  sw::device_calibration device;
  if (!chosen.calibrate.empty()) {
    device = calibrate();
    if (run.rank == 0) sw::write_device(chosen.calibrate, device);
  } else if (!chosen.calibration.empty()) {
    device = sw::read_device(chosen.calibration);
  }
  // ranks that measured other durations would predict other times
  const sw::task_graph g = sw::agreed_durations(priced(chosen, stated, run, device), engine);
  const sw::timeline predicted =
      programs::about(chosen.schedule, [&] { return sw::simulate(g, s, {.memory_samples = true}); });

  engine.check(true);
  static_cast<void>(sw::replay(g, s, engine));  // checks every value, and warms up
  engine.check(false);
  std::vector<std::pair<double, sw::timeline>> runs;  // by the end of the slowest rank, which all ranks know
  for (std::size_t i = 0; i < chosen.repeat; ++i) {
    sw::timeline mine = sw::replay(g, s, engine, {.stall_tolerance = sw::nanoseconds(chosen.stall_tolerance)});
    const double slowest = run.largest(static_cast<double>(mine.end_to_end.count()));
    runs.emplace_back(slowest, std::move(mine));
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto& [slowest, measured] = runs[runs.size() / 2];
  const double least = -run.largest(-static_cast<double>(engine.checked()));  // every rank checks as many
  if (run.rank != 0) return programs::done;

  draw(chosen, g, s, predicted, measured);
  const std::string report = write_report(chosen, g, s, predicted, measured);
  const sw::timeline_comparison c = sw::compare(predicted, measured);
  const ranks_report ranks{run.size, sw::nanoseconds(static_cast<std::int64_t>(slowest)),
                           static_cast<std::size_t>(run.size) * static_cast<std::size_t>(least)};
  if (chosen.common.json) {
    std::fputs(json_line(chosen, g, measured, c, ranks).c_str(), stdout);
    return programs::done;
  }
  print_summary(chosen, g, c);
  std::printf("\nthe slowest of %d ranks took %.3f ms, the median of %s; %s right\n", ranks.ranks, ms(ranks.slowest),
              sw::count_text(runs.size(), "run").c_str(),
              sw::count_text(ranks.checked, "result was", "results were").c_str());
  std::fputs(report.c_str(), stdout);
  return programs::done;
}
#endif

#ifdef SHARDWEAVE_HAS_MPI
/// What goes wrong on one rank ends all of them. Rank 0 speaks, if it can: what is wrong with files is wrong on all.
template <class Body>
int under_mpi(Body body) {
  const sw::mpi_session session;
  try {
    return body(session);
  } catch (const std::exception& e) {
    if (session.rank() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    std::fprintf(stderr, "replay_schedule: %s\n", e.what());
    std::fflush(stderr);
    sw::mpi_session::abort(programs::wrong_input);
  }
}

int replay_on_mpi(const options& chosen) {
  return under_mpi([&](const sw::mpi_session& session) {
    const sw::mpi_engine_options settings{
        .work = chosen.work == "time" ? sw::host_work::time : sw::host_work::arithmetic,
        .timeout_seconds = chosen.timeout};
    sw::mpi_engine engine(MPI_COMM_WORLD, settings);
    const auto largest = [&](double mine) {
      double all = 0;
      sw::check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, engine.world().get()), "MPI_Allreduce");
      return all;
    };
    return replay_on_ranks(chosen, {session.rank(), session.size(), sw::ranks_on_node(MPI_COMM_WORLD), largest}, engine,
                           [&] { return sw::calibrate_mpi(MPI_COMM_WORLD, settings).device; });
  });
}
#endif

#ifdef SHARDWEAVE_HAS_NCCL
int replay_on_devices(const options& chosen, const sw::rank_meeting& meeting, std::int64_t ranks_per_node) {
  sw::nccl_engine engine(meeting,
                         {.device = chosen.device,
                          .buckets = chosen.buckets == "grouped" ? sw::nccl_bucket::grouped : sw::nccl_bucket::packed,
                          .timeout_seconds = chosen.timeout});
  const ranked_run run{meeting.rank, meeting.size, ranks_per_node, [&](double mine) { return engine.largest(mine); }};
#ifdef SHARDWEAVE_HAS_CUBLAS
  std::optional<sw::cublas_products> products;
  if (chosen.work == "products" || !chosen.calibrate.empty()) products.emplace();
  if (chosen.work == "products") engine.compute_by(products->stand_in());
#endif
  return replay_on_ranks(chosen, run, engine, [&] {
    sw::machine_calibration found = sw::calibrate_nccl(engine, {}, ranks_per_node);
    std::string copies_alone = "this version has no cuBLAS";
#ifdef SHARDWEAVE_HAS_CUBLAS
    if (const auto peaks = sw::known_device_here()) {
      sw::calibrate_products(found, engine, *products, *peaks);
      copies_alone.clear();
    } else {
      copies_alone = "the peaks of this device are not known";
    }
#endif
    if (run.rank == 0 && !copies_alone.empty())
      std::fprintf(stderr, "replay_schedule: computation is calibrated by copies alone: %s\n", copies_alone.c_str());
    return found.device;
  });
}

int replay_on_nccl(const options& chosen) {
  if (const std::string why = sw::no_device_because(); !why.empty()) sw::refuse(sw::error_category::backend, why);
  const std::int64_t per_node = chosen.ranks_per_node > 0 ? chosen.ranks_per_node : chosen.ranks;
  if (!chosen.rendezvous.empty())
    return replay_on_devices(chosen, sw::meet_in_folder(chosen.rendezvous, chosen.rank, chosen.ranks), per_node);
#ifdef SHARDWEAVE_HAS_MPI
  return under_mpi([&](const sw::mpi_session&) {
    return replay_on_devices(chosen, sw::meet_over_mpi(), sw::ranks_on_node(MPI_COMM_WORLD));
  });
#else
  return replay_on_devices(chosen, sw::meet_alone(), 1);
#endif
}
#endif

/// What stands in for computation, by engine; the first unless told otherwise.
std::vector<std::string> works_of(const std::string& engine) {
  if (engine == "mpi") return {"arithmetic", "time"};
#ifdef SHARDWEAVE_HAS_CUBLAS
  if (engine == "nccl") return {"copies", "products"};
#else
  if (engine == "nccl") return {"copies"};
#endif
  return {"time"};
}

int replay(const options& chosen) {
  if (std::find(engines.begin(), engines.end(), chosen.engine) == engines.end())
    sw::refuse(sw::error_category::backend,
               "engine " + chosen.engine + " is not part of this version, which has " + programs::joined(engines));
  if (const auto works = works_of(chosen.engine);
      !chosen.work.empty() && std::find(works.begin(), works.end(), chosen.work) == works.end())
    sw::refuse(sw::error_category::input, "work " + chosen.work + " is not for engine " + chosen.engine +
                                              ", which has " + programs::joined(works));
#ifdef SHARDWEAVE_HAS_MPI
  if (chosen.engine == "mpi") return replay_on_mpi(chosen);
#endif
#ifdef SHARDWEAVE_HAS_NCCL
  if (chosen.engine == "nccl") return replay_on_nccl(chosen);
#endif
  const sw::task_graph g = chosen.tasks.read();
  const sw::schedule s = sw::read_schedule(chosen.schedule, g);
  const sw::timeline predicted =
      programs::about(chosen.schedule, [&] { return sw::simulate(g, s, {.memory_samples = true}); });
  const sw::timeline measured = measure(chosen, g, s);
  draw(chosen, g, s, predicted, measured);
  const std::string report = write_report(chosen, g, s, predicted, measured);
  const sw::timeline_comparison c = sw::compare(predicted, measured);
  if (chosen.common.json) {
    std::fputs(json_line(chosen, g, measured, c).c_str(), stdout);
  } else {
    print_summary(chosen, g, c);
    std::fputs(report.c_str(), stdout);
  }
  return programs::done;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Executes a schedule and compares what is measured with what the simulator predicts.",
               "replay_schedule");
  chosen.tasks.add_to(app);
  app.add_option("schedule", chosen.schedule, "SCHEDULE.json[.gz]: shardweave.schedule of that graph")->required();
  app.add_option(
         "--engine", chosen.engine,
         "simulate: a clock moved by the durations; threads: durations pass on a thread per channel; mpi: real "
         "collectives between the ranks that mpirun starts; nccl: the same on GPUs, one for each rank; those that "
         "this build has not are refused")
      ->check(programs::one_of(known))
      ->capture_default_str();
  // options that mean nothing to other engines
  std::vector<std::pair<CLI::Option*, std::vector<std::string>>> of_engines;
  const auto only_for = [&](std::vector<std::string> of, CLI::Option* option) {
    of_engines.emplace_back(option, std::move(of));
    return option;
  };
  const std::vector<std::string> ranked = {"mpi", "nccl"}, gpus = {"nccl"};
  only_for({"threads", "mpi", "nccl"},
           app.add_option("--scale", chosen.scale,
                          "threads: wall time for each nanosecond of duration; mpi, nccl: of a computation"))
      ->check(programs::whole_within(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--stall-tolerance", chosen.stall_tolerance, "NS: a stall no longer than this hides its collective")
      ->check(programs::whole_from(0))
      ->capture_default_str();
  CLI::Option* const calibrate = only_for(
      ranked, app.add_option("--calibrate", chosen.calibrate,
                             "mpi, nccl: FILE: measure this machine first, write shardweave.device, predict by it"));
  only_for(ranked, app.add_option("--calibration", chosen.calibration,
                                  "mpi, nccl: FILE: predict by this shardweave.device, measured earlier"))
      ->excludes(calibrate);
  app.add_option("--work", chosen.work,
                 "what stands in for computation; mpi: arithmetic (default), which keeps the core busy, or time, which "
                 "only passes, as beside an accelerator; nccl: copies (default) in the device's memory, or products of "
                 "matrices by cuBLAS")
      ->check(programs::one_of({"arithmetic", "time", "copies", "products"}));
  only_for(ranked,
           app.add_option("--timeout", chosen.timeout, "mpi, nccl: seconds after which a collective has failed"))
      ->check(programs::positive())
      ->capture_default_str();
  only_for(ranked,
           app.add_option("--repeat", chosen.repeat, "mpi, nccl: replays that are measured; the median is told"))
      ->check(programs::whole_from(1))
      ->capture_default_str();
  only_for(gpus,
           app.add_option(
               "--buckets", chosen.buckets,
               "nccl: packed into one buffer, as the simulator prices them, or grouped into one launch without copies"))
      ->check(programs::one_of({"packed", "grouped"}))
      ->capture_default_str();
  CLI::Option* const rendezvous =
      only_for(gpus, app.add_option("--rendezvous", chosen.rendezvous,
                                    "nccl: FOLDER that all ranks see and no other run has used, in place of mpirun"));
  app.add_option("--rank", chosen.rank, "nccl, with --rendezvous: of this process")
      ->needs(rendezvous)
      ->check(programs::whole_from(0))
      ->capture_default_str();
  app.add_option("--ranks", chosen.ranks, "nccl, with --rendezvous: of the run")
      ->needs(rendezvous)
      ->check(programs::whole_from(1))
      ->capture_default_str();
  app.add_option("--ranks-per-node", chosen.ranks_per_node, "nccl, with --rendezvous (default: all)")
      ->needs(rendezvous)
      ->check(programs::whole_from(1));
  only_for(gpus, app.add_option("--device", chosen.device,
                                "nccl: of this process (default: the rank modulo the devices it sees)"))
      ->check(programs::whole_from(0));
  app.add_option("--picture", chosen.picture, "FILE.svg: prediction and measurement, on one time axis");
  chosen.report.add_to(app, "replay_report.html, or none with --json");
  chosen.common.add_to(app, nullptr);
  return programs::run(app, argc, argv, [&] {
    for (const auto& [option, of] : of_engines)
      if (option->count() > 0 && std::find(of.begin(), of.end(), chosen.engine) == of.end())
        sw::refuse(sw::error_category::input, option->get_name() + " is not for engine " + chosen.engine +
                                                  ", expected --engine " + programs::joined(of));
    programs::require_distinct({{"the tasks", chosen.tasks.file},
                                {"the schedule", chosen.schedule},
                                {"--calibrate", chosen.calibrate},
                                {"--picture", chosen.picture},
                                {"--report", chosen.report.file("")}});
    return replay(chosen);
  });
}

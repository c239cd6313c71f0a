// Executes a schedule on an engine, and tells how far that is from what the simulator predicts.
//
//   replay_schedule tasks.json.gz schedule.json --engine threads --scale 10
#include "support/program.hpp"
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::string tasks;
  std::string schedule;
  std::string engine = "simulate";
  std::int64_t scale = 1;
  std::int64_t stall_tolerance = 0;
  programs::common_options common;
};

/// Engines of this build, then those that the command line knows and this build lacks.
const std::vector<std::string> engines = {"simulate", "threads"};
const std::vector<std::string> absent = {"mpi", "nccl"};

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
  std::printf("%s on engine %s: %zu tasks\n\n", g.name.c_str(), chosen.engine.c_str(), g.size());
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

std::string json_line(const options& chosen, const sw::task_graph& g, const sw::timeline& measured,
                      const sw::timeline_comparison& c) {
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
    out.end_list().member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
  });
}

int replay(const options& chosen) {
  if (std::find(absent.begin(), absent.end(), chosen.engine) != absent.end())
    sw::refuse(sw::error_category::backend,
               "engine " + chosen.engine + " is not part of this version, which has " + programs::joined(engines));
  const sw::task_graph g = sw::read_task_graph(chosen.tasks);
  const sw::schedule s = sw::read_schedule(chosen.schedule, g);
  const sw::timeline predicted = programs::about(chosen.schedule, [&] { return sw::simulate(g, s); });
  const sw::timeline measured = measure(chosen, g, s);
  const sw::timeline_comparison c = sw::compare(predicted, measured);
  if (chosen.common.json)
    std::fputs(json_line(chosen, g, measured, c).c_str(), stdout);
  else
    print_summary(chosen, g, c);
  return programs::done;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Executes a schedule and compares what is measured with what the simulator predicts.",
               "replay_schedule");
  app.add_option("tasks", chosen.tasks, "TASKS.json[.gz]: shardweave.tasks")->required();
  app.add_option("schedule", chosen.schedule, "SCHEDULE.json[.gz]: shardweave.schedule of that graph")->required();
  std::vector<std::string> known = engines;
  known.insert(known.end(), absent.begin(), absent.end());
  app.add_option("--engine", chosen.engine,
                 "simulate: a clock moved by the durations; threads: durations pass on a thread per channel; mpi and "
                 "nccl are not part of this version")
      ->check(CLI::IsMember(known))
      ->capture_default_str();
  app.add_option("--scale", chosen.scale, "threads: wall time for each nanosecond of duration")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--stall-tolerance", chosen.stall_tolerance, "NS: a stall no longer than this hides its collective")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  chosen.common.add_to(app, nullptr);
  return programs::run(app, argc, argv, [&] { return replay(chosen); });
}

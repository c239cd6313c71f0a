// Buckets and schedules a task graph from a file, and tells what the order gains.
//
//   schedule_tasks tasks.json.gz --bucketing greedy --scheduler prefetch --schedule schedule.json
#include "support/program.hpp"
#include "support/progress_line.hpp"
#include "support/schedulers.hpp"
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace sw = shardweave;

namespace {

struct options {
  std::string tasks;
  std::string bucketing = programs::bucketings().front().name;
  std::string scheduler = programs::schedulers().front().name;
  std::optional<std::int64_t> memory;
  std::string schedule;
  programs::common_options common;
};

double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }
double gib(sw::bytes size) { return static_cast<double>(size.count()) / (1 << 30); }

std::size_t collectives_in(const sw::task_graph& g) {
  std::size_t count = 0;
  for (sw::task_index t = 0; t < g.size(); ++t) if (g.is_collective(t)) ++count;
  return count;
}

void print_row(const char* what, const sw::timeline& line) {
  std::printf("%-10s %12zu %13zu %10.2f ms %10.2f ms %8.2f GiB\n", what, line.collectives, line.hidden_count,
              ms(line.end_to_end), ms(line.exposed), gib(line.peak));
}

void print_summary(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& before,
                   const sw::timeline& after, sw::nanoseconds bound, double seconds) {
  std::printf("%s: %zu tasks, %zu process groups, %zu buckets\n\n", g.name.c_str(), g.size(), g.groups().size(),
              s.buckets.size());
  std::printf("%-10s %12s %13s %13s %13s %12s\n", "", "collectives", "fully hidden", "end to end", "exposed", "peak");
  print_row("as given", before);
  print_row("scheduled", after);
  std::printf("\nno order with these buckets ends before %.2f ms (gap %.2f %%); scheduled in %.3f s\n", ms(bound),
              bound.count() > 0 ? 100 * (ms(after.end_to_end) / ms(bound) - 1) : 0.0, seconds);
}

std::string json_line(const sw::task_graph& g, const sw::timeline& after, sw::nanoseconds bound, double seconds) {
  return sw::json_string([&](sw::json_writer& out) {
    out.begin_object().member("graph", g.name).member("tasks", g.size());
    out.member("collectives_before", collectives_in(g)).member("collectives_after", after.collectives);
    out.member("hidden_ns", after.hidden.count()).member("hidden_count", after.hidden_count);
    out.member("tail_ns", after.tail.count()).member("exposed_ns", after.exposed.count());
    out.member("end_to_end_ns", after.end_to_end.count()).member("makespan_bound_ns", bound.count());
    out.member("peak_bytes", after.peak.count()).member("seconds", seconds);
    out.member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
  });
}

int schedule(const options& chosen) {
  const sw::task_graph g = sw::read_task_graph(chosen.tasks);
  programs::progress_line progress;
  sw::solve_control control = chosen.common.control();
  control.progress = [&](const sw::progress_report& report) { progress(report); };
  const std::optional<sw::bytes> memory = chosen.memory ? std::optional(sw::bytes(*chosen.memory)) : std::nullopt;

  const auto start = std::chrono::steady_clock::now();
  const sw::schedule s = programs::about(chosen.tasks, [&] {
    const auto buckets = programs::by_name(programs::bucketings(), chosen.bucketing).run(g, control);
    return programs::by_name(programs::schedulers(), chosen.scheduler).run(g, buckets, control, memory);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.clear();

  const sw::timeline after = sw::simulate(g, s);
  const sw::nanoseconds bound = sw::makespan_bound(g, s.buckets).value();
  if (!chosen.schedule.empty()) sw::write_schedule(chosen.schedule, g, s);
  if (chosen.common.json) {
    std::fputs(json_line(g, after, bound, seconds).c_str(), stdout);
  } else {
    print_summary(g, s, sw::simulate(g), after, bound, seconds);
  }
  if (!memory || after.peak <= *memory) return programs::done;
  std::fprintf(stderr, "schedule_tasks: %s: no order within %lld bytes was found; the best one needs %lld\n",
               chosen.tasks.c_str(), static_cast<long long>(memory->count()),
               static_cast<long long>(after.peak.count()));
  return programs::no_answer;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Merges collectives and orders tasks so that communication hides behind computation.", "schedule_tasks");
  app.add_option("tasks", chosen.tasks, "TASKS.json[.gz]: shardweave.tasks")->required();
  const auto bucketings = programs::names_of(programs::bucketings());
  const auto schedulers = programs::names_of(programs::schedulers());
  app.add_option("--bucketing", chosen.bucketing, "which collectives are launched as one")
      ->check(CLI::IsMember(bucketings))
      ->capture_default_str();
  app.add_option("--scheduler", chosen.scheduler, "how tasks are ordered")
      ->check(CLI::IsMember(schedulers))
      ->capture_default_str();
  app.add_option("--memory", chosen.memory, "BYTES that must suffice, inputs included")->check(CLI::NonNegativeNumber);
  app.add_option("--schedule", chosen.schedule, "file for the schedule");
  chosen.common.add_to(app, "scheduling");
  return programs::run(app, argc, argv, [&] { return schedule(chosen); });
}

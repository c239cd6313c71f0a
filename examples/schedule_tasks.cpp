// Buckets and schedules a task graph from a file, and tells what the order gains.
//
//   schedule_tasks tasks.json.gz --bucketing greedy --scheduler prefetch --schedule schedule.json
#include "support/distinct_files.hpp"
#include "support/overlap_flags.hpp"
#include "support/program.hpp"
#include "support/report_file.hpp"
#include "support/report_option.hpp"
#include "support/schedulers.hpp"
#include "support/task_input.hpp"
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/read_profiled_run.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/reason_text.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/overlap_counts.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  programs::task_input tasks;
  std::string bucketing;  ///< empty: as `programs::way_of` says
  std::string scheduler;
  std::string durations = "measured";
  std::optional<std::int64_t> memory;
  std::string schedule;
  std::string trace;
  std::string certificate;
  programs::report_option report;
  programs::overlap_changes settings;
  programs::common_options common;
};

std::size_t collectives_in(const sw::task_graph& g) {
  std::size_t count = 0;
  for (sw::task_index t = 0; t < g.size(); ++t) count += g.is_collective(t) ? 1U : 0U;
  return count;
}

/// What no schedule undercuts: with any buckets, and with those chosen.
struct bounds_of_orders {
  sw::makespan_bounds any;
  sw::makespan_bounds chosen;
};

/// By how much the schedule exceeds what no order undercuts, in per cent; 0 of nothing.
double makespan_gap(const sw::timeline& line, sw::nanoseconds bound) {
  if (bound.count() <= 0) return 0;
  return 100 * (static_cast<double>(line.end_to_end.count()) / static_cast<double>(bound.count()) - 1);
}

/// How often something was refused, and for how many collectives, by reason.
std::string decision_summary(const std::vector<sw::decision>& decisions) {
  std::map<sw::decision_reason, std::pair<std::size_t, std::vector<sw::task_index>>> reasons;
  for (const sw::decision& d : decisions) {
    ++reasons[d.reason].first;
    reasons[d.reason].second.push_back(d.subject);
  }
  sw::text_table table(
      {{"refused"}, {"times", sw::text_side::right}, {"collectives", sw::text_side::right}, {"because"}});
  for (auto& [reason, found] : reasons) {
    auto& [times, subjects] = found;
    std::sort(subjects.begin(), subjects.end());
    const auto distinct = std::unique(subjects.begin(), subjects.end()) - subjects.begin();
    table.row({std::string(sw::to_string(reason)), sw::count_text(times),
               sw::count_text(static_cast<std::int64_t>(distinct)), std::string(sw::reason_text(reason))});
  }
  return table.empty() ? "" : "\n" + table.text();
}

/// Collectives whose waits stall, the worst first.
std::string exposed_summary(const sw::task_graph& g, const sw::schedule& s) {
  std::vector<const sw::hiding_record*> stalled;
  for (const sw::hiding_record& h : s.hides)
    if (h.exposed > sw::nanoseconds(0)) stalled.push_back(&h);
  if (stalled.empty()) return {};
  std::stable_sort(stalled.begin(), stalled.end(), [](auto* a, auto* b) { return a->exposed > b->exposed; });
  constexpr std::size_t shown = 5;
  sw::text_table table(
      {{"most exposed"}, {"group"}, {"hidden", sw::text_side::right}, {"exposed", sw::text_side::right}});
  for (std::size_t i = 0; i < std::min(shown, stalled.size()); ++i) {
    const sw::hiding_record& h = *stalled[i];
    table.row({std::string(g.name_of(h.collective)), sw::channel_name(g, g.collective(h.collective).group + 1),
               sw::time_text(h.hidden), sw::time_text(h.exposed)});
  }
  std::string text = "\n" + table.text();
  if (stalled.size() > shown) text += "and " + sw::count_text(stalled.size() - shown) + " more\n";
  return text;
}

/// When the schedules of the passes end that were compared, by name; in the order in which they were tried.
std::vector<std::pair<std::string, double>> compared_ends(const sw::schedule& s) {
  constexpr std::string_view suffix = "_end_ns";
  std::vector<std::pair<std::string, double>> ends;
  for (const sw::statistic& x : s.statistics)
    if (x.name.ends_with(suffix)) ends.emplace_back(x.name.substr(0, x.name.size() - suffix.size()), x.value);
  return ends;
}

/// "compared: benefit 170.15 ms, ...": what the schedule was chosen from.
std::string compared_summary(const sw::schedule& s) {
  std::string text;
  for (const auto& [name, end] : compared_ends(s))
    text += (text.empty() ? "Compared, and the best searched further: " : ", ") + name + " " +
            sw::time_text(sw::nanoseconds(static_cast<std::int64_t>(end)));
  return text.empty() ? text : text + ".\n\n";
}

/// "253 of 320 collectives could hide ...": what an order can do at all.
std::string hiding_summary(const sw::task_graph& g, const sw::schedule& s) {
  const sw::overlap_counts counts = sw::counts_of_overlap(g, s);
  return sw::count_text(counts.potentially_hidden) + " of " + sw::count_text(counts.collectives) +
         " launches could hide, since some computation is unrelated to them; " +
         sw::count_text(counts.potentially_hidden - counts.missed) + " of these do at least in part. " +
         sw::time_text(counts.hideable_exposed) + " of them is left exposed.\n\n";
}

void print_summary(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& before,
                   const sw::timeline& after, const bounds_of_orders& bounds, double seconds) {
  const std::array<sw::named_timeline, 2> lines{{{"as given", &before}, {"scheduled", &after}}};
  const std::string text =
      g.name + ": " + sw::count_text(g.size(), "task") + ", " + sw::count_text(g.groups().size(), "process group") +
      "\n\n" + sw::timeline_summary(lines) + "\nNo order with any buckets ends before " +
      sw::time_text(bounds.any.value()) + " (" + std::string(bounds.any.limited_by()) + "), none with these before " +
      sw::time_text(bounds.chosen.value()) + ": this one is at most " +
      sw::fixed_text(makespan_gap(after, bounds.any.value())) + " % above the best. Scheduled in " +
      sw::seconds_text(seconds) + ".\n\n" + compared_summary(s) + hiding_summary(g, s) +
      sw::collective_summary(g, s.buckets) + exposed_summary(g, s) + decision_summary(s.decisions);
  std::fputs(text.c_str(), stdout);
}

/// The graph that is scheduled, and what a profiler's trace knew of it.
struct timed_graph {
  sw::task_graph graph;
  std::optional<sw::profiled_durations> profiled = std::nullopt;
};

/// As stated, with its other durations, or with those of a trace.
timed_graph timed(const sw::task_graph& stated, const options& chosen) {
  if (chosen.durations == "measured") return {stated};
  if (chosen.durations != "fused") {
    if (!std::filesystem::exists(chosen.durations))
      sw::refuse(sw::error_category::input,
                 "--durations " + chosen.durations + ": neither measured nor fused, and no file of that name is there");
    sw::profiled_durations found = sw::durations_by(stated, sw::read_profiled_run(chosen.durations));
    if (found.matched == 0)
      sw::refuse(sw::error_category::input, chosen.durations + ": has no call of an operator of " + chosen.tasks.file +
                                                " with the shapes that it has there, and no collective of it");
    return {stated.with_durations(found.durations), std::move(found)};
  }
  if (stated.fused_durations().empty())
    sw::refuse(sw::error_category::input,
               chosen.tasks.file + ": alternatives.duration_fused is missing, which --durations fused asks for");
  return {stated.with_durations(stated.fused_durations())};
}

/// "640 tasks take what TRACE says, 27 it does not know: aten.cat.default (20), ...".
std::string profiled_summary(const sw::task_graph& g, const sw::profiled_durations& found, const std::string& trace) {
  std::map<std::string, std::size_t> unknown;
  for (const sw::task_index t : found.unmatched) ++unknown[std::string(g.op(t))];
  std::string text = sw::count_text(found.matched, "task takes", "tasks take") + " what " + trace + " says";
  if (!unknown.empty())
    text += "; " + sw::count_text(found.unmatched.size()) + " are not in it and keep what they had: ";
  std::size_t told = 0;
  for (const auto& [op, count] : unknown) {
    if (told == 5) {
      text += " and others";
      break;
    }
    text += (told++ > 0 ? ", " : "") + op + " (" + sw::count_text(count) + ")";
  }
  return text + ".\n\n";
}

std::string json_line(const timed_graph& of, const sw::schedule& s, const sw::timeline& after,
                      const bounds_of_orders& bounds, double seconds, bool interrupted) {
  const sw::task_graph& g = of.graph;
  return sw::json_string([&](sw::json_writer& out) {
    out.begin_object().member("graph", g.name).member("tasks", g.size());
    out.member("collectives_before", collectives_in(g)).member("collectives_after", after.collectives);
    out.member("hidden_ns", after.hidden.count()).member("hidden_count", after.hidden_count);
    const sw::overlap_counts counts = sw::counts_of_overlap(g, s);
    out.member("potentially_hidden", counts.potentially_hidden).member("missed", counts.missed);
    out.member("hideable_exposed_ns", counts.hideable_exposed.count());
    out.member("tail_ns", after.tail.count()).member("exposed_ns", after.exposed.count());
    out.member("end_to_end_ns", after.end_to_end.count()).member("makespan_bound_ns", bounds.any.value().count());
    out.member("makespan_gap_percent", makespan_gap(after, bounds.any.value()));
    out.member("makespan_bound_by", bounds.any.limited_by());
    out.member("makespan_bound_of_buckets_ns", bounds.chosen.value().count());
    out.member("peak_bytes", after.peak.count()).member("interrupted", interrupted).member("seconds", seconds);
    out.key("refused").begin_object();
    std::map<std::string_view, std::size_t> refused;
    for (const sw::decision& d : s.decisions) ++refused[sw::to_string(d.reason)];
    for (const auto& [reason, times] : refused) out.member(reason, times);
    out.end_object();
    if (of.profiled)
      out.member("durations_matched", of.profiled->matched)
          .member("durations_unmatched", of.profiled->unmatched.size());
    out.key("compared_end_ns").begin_object();
    for (const auto& [name, end] : compared_ends(s)) out.member(name, end);
    out.end_object();
    out.member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
  });
}

/// Proofs of both bounds, as a file.
void write_proofs(const options& chosen, const sw::task_graph& g, const sw::schedule& s, const sw::stop_token& stop) {
  sw::write_certificate(chosen.certificate, {.problem = g.name,
                                             .of_fused_durations = chosen.durations == "fused",
                                             .proofs = {sw::certify_all_bucketings(g, {.stop = stop}),
                                                        sw::certify_order(g, s.buckets, {.stop = stop})}});
}

/// The schedule beside the order as given; the last line of the text for people.
std::string write_report(const options& chosen, const sw::task_graph& g, const sw::schedule& s,
                         const sw::timeline& after, const bounds_of_orders& bounds) {
  const char* usual = chosen.common.json ? "" : "schedule_report.html";
  if (chosen.report.file(usual).empty()) return {};
  const sw::schedule given = sw::in_order{}(g, {});
  const sw::timeline before = sw::simulate(g, given, {.memory_samples = true});
  const std::vector<sw::html_plan> both = {{.name = "scheduled", .graph = &g, .order = &s, .line = &after},
                                           {.name = "as given", .graph = &g, .order = &given, .line = &before}};
  return programs::report_file(
             chosen.report.file(usual), chosen.report.told.has_value(), both,
             {.subtitle = sw::count_text(g.size(), "task") + ", " + sw::count_text(g.groups().size(), "process group"),
              .bounds = {{"any order with these buckets", bounds.chosen.value()},
                         {"any order with any buckets (" + std::string(bounds.any.limited_by()) + ")",
                          bounds.any.value()}}})
      .commit();
}

int schedule(const options& chosen) {
  programs::require_distinct({{"the tasks", chosen.tasks.file},
                              {"--schedule", chosen.schedule},
                              {"--certificate", chosen.certificate},
                              {"--trace", chosen.trace},
                              {"--report", chosen.report.file("")}});
  if (!chosen.certificate.empty() && chosen.durations != "measured" && chosen.durations != "fused")
    sw::refuse(sw::error_category::input, "--certificate is about the durations of " + chosen.tasks.file +
                                              ", expected --durations measured or fused, found " + chosen.durations);
  const sw::task_graph stated = chosen.tasks.read();
  const timed_graph timed_by = timed(stated, chosen);
  const sw::task_graph& g = timed_by.graph;
  programs::long_work work("schedule_tasks", chosen.common, "ns");
  const sw::timeline before = programs::about(chosen.tasks.file, [&] { return sw::simulate(g); });
  std::optional<sw::bytes> budget;
  if (chosen.memory) budget = sw::bytes(*chosen.memory);

  const auto start = std::chrono::steady_clock::now();
  const sw::schedule s = programs::about(chosen.tasks.file, [&] {
    const programs::way by = programs::way_of(chosen.bucketing, chosen.scheduler, "best_known");
    if (!chosen.settings.empty()) return programs::planned_with(chosen.settings, by, g, work.control(), budget);
    return programs::planned(by, g, work.control(), budget, before.peak);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  work.progress.clear();
  const bool interrupted = work.is_interrupted();

  const sw::timeline after = sw::simulate(g, s, {.memory_samples = true});
  const bool fits = !budget || after.peak <= *budget;
  const bounds_of_orders bounds{sw::bound_of_all_bucketings(g, {.stop = work.control().stop}),
                                sw::makespan_bound(g, s.buckets, {.stop = work.control().stop})};
  if (fits && !chosen.schedule.empty()) sw::write_schedule(chosen.schedule, stated, s);
  if (fits && !chosen.certificate.empty()) write_proofs(chosen, g, s, work.control().stop);
  if (fits && !chosen.trace.empty()) {
    sw::atomic_file trace(chosen.trace);
    sw::write_chrome_trace([&](std::string_view piece) { trace.write(piece); }, g, s, after);
    trace.commit();
  }
  const std::string report = fits ? write_report(chosen, g, s, after, bounds) : "";
  if (chosen.common.json) {
    std::fputs(json_line(timed_by, s, after, bounds, seconds, interrupted).c_str(), stdout);
  } else {
    if (timed_by.profiled) std::fputs(profiled_summary(g, *timed_by.profiled, chosen.durations).c_str(), stdout);
    print_summary(g, s, before, after, bounds, seconds);
    std::fputs(report.c_str(), stdout);
  }
  if (fits) return programs::ended(interrupted ? programs::interrupted : programs::done, work);
  std::fprintf(stderr, "schedule_tasks: %s: no order within the %s of --memory was found: the best one needs %s\n",
               chosen.tasks.file.c_str(), sw::size_text(*budget).c_str(), sw::size_text(after.peak).c_str());
  return programs::no_answer;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Merges collectives and orders tasks so that communication hides behind computation.", "schedule_tasks");
  chosen.tasks.add_to(app);
  app.add_option("--bucketing", chosen.bucketing,
                 "which collectives are launched as one (default: benefit where a scheduler is named, else best_known)")
      ->check(programs::one_of(programs::names_of(programs::bucketings())));
  app.add_option(
         "--scheduler", chosen.scheduler,
         "how tasks are ordered (default: prefetch where a bucketing is named, else best_known); a name that is "
         "a bucketing, too, stands for both")
      ->check(programs::one_of(programs::names_of(programs::schedulers())));
  app.add_option(
         "--durations", chosen.durations,
         "how long tasks take: measured (as the file says), fused (with fused operations), or a TRACE.json[.gz] "
         "that PyTorch's profiler exported, recorded with shapes")
      ->capture_default_str();
  programs::add_size(app, "--memory", chosen.memory,
                     "of a device, such as 80GiB or 500MB: the peak must stay within it, inputs included; no answer if "
                     "no such order is found (default: what the original order needs is aimed at)");
  app.add_option("--schedule", chosen.schedule, "file for the schedule");
  app.add_option("--certificate", chosen.certificate,
                 "file for proofs of both bounds on the end, which check_certificate TASKS FILE checks");
  app.add_option("--trace", chosen.trace, "file for the timeline; opens in https://ui.perfetto.dev");
  chosen.report.add_to(app, "schedule_report.html, or none with --json");
  programs::add_overlap_flags(app, chosen.settings);
  app.footer(programs::help_section("Bucketings", programs::bucketings()) +
             programs::help_section("Schedulers", programs::schedulers()));
  chosen.common.add_to(app, "scheduling");
  return programs::run(app, argc, argv, [&] { return schedule(chosen); });
}

// Predicts measured training steps from first principles, and tells how far off it is.
//
//   predict_training TABLE.csv
//   predict_training TABLE.csv --device-file rack.json --json
//   predict_training TABLE.csv --hold-out series
#include "support/distinct_files.hpp"
#include "support/held_out.hpp"
#include "support/measured_steps.hpp"
#include "support/program.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/engine/rank_correlation.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/report/svg_agreement.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/step/predict_step.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::string table;
  std::string device_file;
  std::string plot;
  bool each = false;
  std::string hold_out;
  programs::fitted_figures fitted;
  programs::common_options common;
};

struct prediction {
  const sw::training_run* row = nullptr;
  sw::predicted_step step;
  [[nodiscard]] double seconds() const { return static_cast<double>(step.step.count()) / 1e9; }
  [[nodiscard]] double gib() const { return static_cast<double>(step.memory.count()) / sw::detail::binary_giga; }
  [[nodiscard]] double step_error() const { return 100 * (seconds() / row->step_seconds - 1); }
  [[nodiscard]] double memory_error() const { return 100 * (gib() / row->memory_gib - 1); }
};

struct series_figures {
  std::vector<double> predicted, measured, step, memory;
};

void write_errors(sw::json_writer& out, const char* name, const sw::error_figures& e) {
  out.key(name).begin_object().member("count", e.count).member("median", e.median).member("p90", e.p90);
  out.member("signed_median", e.signed_median).end_object();
}

/// "series" is 0; else a number of parts.
std::size_t parts_of(const std::string& hold_out) {
  std::size_t parts = 0;
  if (hold_out == "series") return parts;
  const auto [end, code] = std::from_chars(hold_out.data(), hold_out.data() + hold_out.size(), parts);
  if (code != std::errc{} || end != hold_out.data() + hold_out.size() || parts < 2 || parts > 1000)
    sw::refuse(sw::error_category::input,
               "--hold-out is '" + hold_out + "', expected series or a whole number from 2 to 1000");
  return parts;
}

int predict(const options& chosen) {
  programs::require_distinct(
      {{"the table", chosen.table}, {"--device-file", chosen.device_file}, {"--plot", chosen.plot}});
  const std::size_t parts = chosen.hold_out.empty() ? 0 : parts_of(chosen.hold_out);
  const std::vector<sw::training_run> rows =
      programs::about(chosen.table, [&] { return sw::read_training_runs(std::filesystem::path(chosen.table)); });
  std::optional<sw::device_calibration> measured;
  if (!chosen.device_file.empty()) measured = sw::read_device(chosen.device_file);
  std::size_t corrected = 0;  // rows of the device that was measured
  programs::long_work work("predict_training", chosen.common, "");

  std::map<std::string, std::size_t> skipped, places;
  std::vector<programs::stated_row> stated;
  for (const sw::training_run& row : rows) {
    const programs::read_step s = programs::step_of(row, chosen.fitted);
    if (!row.fault.empty()) std::fprintf(stderr, "predict_training: %s: %s\n", row.id.c_str(), row.fault.c_str());
    if (!s.step) {
      ++skipped[s.why_not];
      continue;
    }
    stated.push_back({&row, s.device, places[row.series()]++});
    corrected += measured && measured->device == s.device ? 1U : 0U;
  }
  programs::row_predictor predictor(measured, chosen.common.threads, work.control().stop);
  std::vector<programs::held_out_part> held;
  std::vector<programs::row_answer> made(stated.size());
  if (chosen.hold_out.empty()) {
    made = predictor(stated, chosen.fitted);
  } else {
    held = programs::hold_out(stated, parts, predictor);
    for (const programs::held_out_part& part : held)
      for (std::size_t i = 0; i < part.rows.size(); ++i) made[part.rows[i]] = part.answers[i];
  }
  std::vector<prediction> predictions;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].step) {
      predictions.push_back({stated[i].row, *made[i].step});
    } else if (made[i].failed.empty()) {
      ++skipped["not reached"];
    } else {
      ++skipped["cannot be placed"];
      std::fprintf(stderr, "predict_training: %s: %s\n", stated[i].row->id.c_str(), made[i].failed.c_str());
    }
  }

  work.progress.clear();
  const bool interrupted = work.is_interrupted();
  if (interrupted && predictions.empty())
    sw::refuse(sw::error_category::stopped, chosen.table + ": stopped before any row was predicted");
  const int status = interrupted ? programs::interrupted : programs::done;

  std::map<std::string, series_figures> by_series;
  std::vector<double> step_errors, memory_errors;
  for (const prediction& p : predictions) {
    series_figures& s = by_series[p.row->series()];
    s.predicted.push_back(p.seconds());
    s.measured.push_back(p.row->step_seconds);
    s.step.push_back(p.step_error());
    step_errors.push_back(p.step_error());
    if (p.row->memory_gib > 0) {
      s.memory.push_back(p.memory_error());
      memory_errors.push_back(p.memory_error());
    }
  }
  const sw::error_figures step = sw::error_figures::of(step_errors), memory = sw::error_figures::of(memory_errors);
  if (!chosen.plot.empty()) {
    std::vector<sw::agreement_series> drawn;
    for (const auto& [name, s] : by_series) drawn.push_back({name, s.measured, s.predicted});
    sw::atomic_file file(chosen.plot);
    file.write(sw::svg_agreement(drawn, {.title = "seconds of a training step, predicted over measured"}));
    file.commit();
  }
  if (chosen.common.json) {
    std::fputs(sw::json_string([&](sw::json_writer& out) {
                 out.begin_object().member("rows", rows.size()).member("predicted", predictions.size());
                 out.member("interrupted", interrupted);
                 if (measured) out.member("corrected", corrected);
                 out.key("skipped").begin_object();
                 for (const auto& [why, count] : skipped) out.member(why, count);
                 out.end_object();
                 write_errors(out, "step_error", step);
                 write_errors(out, "memory_error", memory);
                 out.key("rank_correlation").begin_object();
                 for (const auto& [name, s] : by_series)
                   out.member(name, sw::place_correlation(s.predicted, s.measured));
                 out.end_object();
                 if (!held.empty()) {
                   out.key("held_out").begin_list();
                   for (const programs::held_out_part& part : held)
                     out.begin_object()
                         .member("rows", part.name)
                         .member("count", part.rows.size())
                         .member("slowdown", part.figures.slowdown)
                         .member("reserved", part.figures.reserved)
                         .end_object();
                   out.end_list();
                 }
                 out.key("predictions").begin_list();
                 for (const prediction& p : predictions)
                   out.begin_object()
                       .member("id", p.row->id)
                       .member("step_s", p.seconds())
                       .member("memory_gib", p.gib())
                       .end_object();
                 out.end_list().end_object().line();
               }).c_str(),
               stdout);
    return status;
  }
  using enum sw::text_side;
  if (chosen.each) {
    sw::text_table each({{"row"},
                         {"model"},
                         {"measured", right},
                         {"predicted", right},
                         {"off", right},
                         {"exposed", right},
                         {"starved", right},
                         {"optimizer", right},
                         {"memory", right},
                         {"measured", right}});
    const auto s = [](double seconds) { return sw::fixed_text(seconds, 3); };
    const auto ns = [&](sw::nanoseconds t) { return s(static_cast<double>(t.count()) / 1e9); };
    for (const prediction& p : predictions)
      each.row({p.row->id, p.row->model, s(p.row->step_seconds), s(p.seconds()),
                sw::fixed_text(p.step_error(), 1) + " %", ns(p.step.exposed), ns(p.step.starved),
                ns(p.step.optimizer.all()), sw::fixed_text(p.gib(), 1),
                p.row->memory_gib > 0 ? sw::fixed_text(p.row->memory_gib, 1) : ""});
    std::printf("%s\n", each.text().c_str());
  }
  sw::text_table table({{"series"},
                        {"rows", right},
                        {"median", right},
                        {"p90", right},
                        {"signed", right},
                        {"rank", right},
                        {"memory", right},
                        {"median", right},
                        {"p90", right},
                        {"signed", right}});
  const auto percent = [](double p) { return sw::fixed_text(p, 1) + " %"; };
  const auto row_of = [&](const std::string& name, const sw::error_figures& t, const std::string& rank,
                          const sw::error_figures& m) {
    std::vector<std::string> cells{name,           std::to_string(t.count),  percent(t.median),
                                   percent(t.p90), percent(t.signed_median), rank};
    if (m.count > 0)
      for (std::string cell : {std::to_string(m.count), percent(m.median), percent(m.p90), percent(m.signed_median)})
        cells.push_back(std::move(cell));
    table.row(std::move(cells));
  };
  for (const auto& [name, s] : by_series)
    row_of(name, sw::error_figures::of(s.step),
           s.step.size() >= 5 ? sw::fixed_text(sw::place_correlation(s.predicted, s.measured), 2) : "",
           sw::error_figures::of(s.memory));
  table.rule();
  row_of("all", step, "", memory);
  std::printf("%s", table.text().c_str());
  if (held.empty()) std::printf("Fitted to rows like these: %s", chosen.fitted.text().c_str());
  if (!held.empty()) std::printf("No row was seen by the figures that predict it. Fitted without them:\n");
  for (const programs::held_out_part& part : held)
    std::printf("%s (%zu): %s", part.name.c_str(), part.rows.size(), part.figures.text().c_str());
  std::printf("%zu of %s predicted\n", predictions.size(), sw::count_text(rows.size(), "row").c_str());
  if (measured)
    std::printf("%s of %s corrected by %s\n", sw::count_text(corrected, "row").c_str(), measured->device.c_str(),
                chosen.device_file.c_str());
  for (const auto& [why, count] : skipped) std::printf("%zu skipped: %s\n", count, why.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Predicts training steps that others measured, row by row of a table, and tells how far off it is.",
               "predict_training");
  app.add_option("table", chosen.table, "TABLE.csv: a measured configuration a row")->required();
  app.add_option("--device-file", chosen.device_file,
                 "FILE: measurements that correct what collectives cost, and shares that kernels reach, in rows of "
                 "its device");
  app.add_option("--plot", chosen.plot, "FILE.svg: a picture, predicted over measured");
  app.add_flag("--each", chosen.each, "print every row");
  app.add_option("--hold-out", chosen.hold_out,
                 "WHAT: predict each row by figures that were fitted without it: series (without all of its series) or "
                 "a number N (without every N-th row of each series)");
  const auto figure = [&](const char* name, double& value, const char* about) {
    app.add_option(name, value, about)->check(programs::not_negative_but_finite())->capture_default_str();
  };
  figure("--attention", chosen.fitted.attention,
         "share of the peak that attention of llm-foundry reaches forward, on A100");
  figure("--attention-backward", chosen.fitted.attention_backward, "the same backward");
  figure("--slowdown", chosen.fitted.slowdown, "how much longer computation of PyTorch takes in a step than alone");
  figure("--reserved", chosen.fitted.reserved, "what PyTorch's allocator reserves, times what is live");
  chosen.common.add_to(app, nullptr, true);
  return programs::run(app, argc, argv, [&] { return predict(chosen); });
}

// Measured collectives and kernels become a device file, with its error on sizes that were left out:
//
//   calibrate_device all_reduce.log all_gather.log --kernels kernels.csv --device h100 --out rack.json
//   collective_cost --device h100 --calibration rack.json --nodes 4
#include "support/collective_models.hpp"
#include "support/devices.hpp"
#include "support/distinct_files.hpp"
#include "support/program.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_kernels.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::vector<std::string> tables;
  std::string kernels;
  std::string device = "h100";
  std::string model = "nccl";
  std::string name = "calibrated";
  std::string source;
  std::string key;
  std::string out;
  programs::common_options common;
};

/// A kind of kernels of which some were measured.
struct kernel_row {
  std::string name;
  sw::error_figures held_out, before;
};
struct measured_kernels {
  std::vector<sw::measured_kernel> all;
  std::optional<sw::compute_profile> compute = std::nullopt;  ///< by all of them
  std::vector<kernel_row> rows = {};                          ///< every third one of a kind is predicted by the others
};

measured_kernels kernels_of(const options& chosen) {
  measured_kernels result;
  if (chosen.kernels.empty()) return result;
  result.all = sw::fastest_kernels(sw::read_kernels(chosen.kernels));
  const sw::compute_profile before = sw::find_preset(chosen.device).compute();
  result.compute = sw::calibrate_kernels(before, result.all);
  std::vector<sw::measured_kernel> seen, left_out;
  std::map<std::pair<sw::kernel_kind, sw::arithmetic>, std::size_t> place;
  for (const sw::measured_kernel& k : result.all)
    (++place[{k.kind, k.work.kind}] % 3 != 0 ? seen : left_out).push_back(k);
  const sw::compute_profile by_others = sw::calibrate_kernels(before, seen);
  using enum sw::kernel_kind;
  const auto row = [&](const char* name, sw::kernel_kind kind, sw::arithmetic type) {
    const sw::error_figures found = sw::kernel_errors(by_others, left_out, kind, type);
    if (found.count > 0) result.rows.push_back({name, found, sw::kernel_errors(before, left_out, kind, type)});
  };
  row("products", matrix_product, sw::arithmetic::f16);
  row("products in 8 bits", matrix_product, sw::arithmetic::f8);
  row("attention", attention, sw::arithmetic::f16);
  row("attention, backward", attention_backward, sw::arithmetic::f16);
  row("what moves data", memory_bound, sw::arithmetic::f16);
  return result;
}

struct measured_collectives {
  std::vector<sw::collective_measurement> all;
  sw::accuracy_report held_out = {}, before = {};
};

measured_collectives collectives_of(const options& chosen) {
  measured_collectives result;
  if (chosen.tables.empty()) return result;
  programs::collective_machine machine;
  machine.device = sw::find_device(chosen.device);
  machine.node = [&] { return sw::nccl_node_of(machine.device); };
  const programs::collective_model base = programs::make_collective_model(chosen.model, machine);

  sw::record_options open;
  open.device = chosen.key;
  open.devices_per_node = machine.device.devices_per_node;
  bool has_keys = false;
  for (const std::string& table : chosen.tables) {
    const std::vector<sw::measured_record> records = sw::read_collective_records(table, open);
    has_keys = has_keys || records.front().placement == "xla";
    for (const auto& m : sw::measurements_of(records)) result.all.push_back(m);
  }
  if (!chosen.key.empty() && !has_keys)
    sw::refuse(sw::error_category::input, "--key " + chosen.key + " is of a device in a table of XLA, but " +
                                              programs::joined(chosen.tables) + " is none");
  const sw::calibration<programs::collective_model> found = sw::calibrate(base, result.all);
  result.held_out = found.held_out;
  result.before = found.before;
  return result;
}

std::string text_of(const options& chosen, const measured_collectives& collectives, const measured_kernels& kernels) {
  using enum sw::text_side;
  std::string text;
  if (!collectives.all.empty()) {
    sw::text_table table(
        {{"sizes left out"}, {"rows", right}, {"median %", right}, {"p90 %", right}, {"median % before", right}});
    for (std::size_t b = 0; b < sw::size_bands.size(); ++b)
      if (collectives.held_out[b].count > 0)
        table.row({std::string(sw::size_bands[b].name), std::to_string(collectives.held_out[b].count),
                   sw::fixed_text(collectives.held_out[b].median, 1), sw::fixed_text(collectives.held_out[b].p90, 1),
                   sw::fixed_text(collectives.before[b].median, 1)});
    text += sw::count_text(collectives.all.size(), "measured time corrects", "measured times correct") + " model " +
            chosen.model + " of " + chosen.device + "\n\n" + table.text();
  }
  if (!kernels.all.empty()) {
    sw::text_table table(
        {{"kernels left out"}, {"rows", right}, {"median %", right}, {"p90 %", right}, {"median % before", right}});
    for (const kernel_row& r : kernels.rows)
      table.row({r.name, std::to_string(r.held_out.count), sw::fixed_text(r.held_out.median, 1),
                 sw::fixed_text(r.held_out.p90, 1), sw::fixed_text(r.before.median, 1)});
    text += (text.empty() ? "" : "\n") +
            sw::count_text(kernels.all.size(), "measured kernel corrects", "measured kernels correct") +
            " the shares of " + chosen.device + "\n\n" + table.text();
  }
  return text;
}

int answer(const options& chosen) {
  if (chosen.tables.empty() && chosen.kernels.empty())
    sw::refuse(sw::error_category::input, "nothing to calibrate by: expected tables of collectives, or --kernels");
  for (const std::string& table : chosen.tables)
    programs::require_distinct({{"a table", table}, {"--kernels", chosen.kernels}, {"--out", chosen.out}});
  programs::require_distinct({{"--kernels", chosen.kernels}, {"--out", chosen.out}});
  const measured_collectives collectives = collectives_of(chosen);
  const measured_kernels kernels = kernels_of(chosen);

  sw::device_calibration device;
  device.name = chosen.name;
  device.device = chosen.device;
  std::vector<std::string> sources = chosen.tables;
  if (!chosen.kernels.empty()) sources.push_back(chosen.kernels);
  device.source = chosen.source.empty() ? programs::joined(sources) : chosen.source;
  device.collectives = sw::condensed(collectives.all);
  device.compute = kernels.compute;
  if (!chosen.out.empty())
    sw::write_device(chosen.out, device, collectives.all.empty() ? nullptr : &collectives.held_out);

  if (chosen.common.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      const auto figures = [&](const sw::error_figures& f, const sw::error_figures& before) {
        out.member("rows", f.count).member("median_percent", f.median).member("p90_percent", f.p90);
        out.member("median_percent_before", before.median).end_object();
      };
      out.begin_object().member("device", chosen.device).member("model", chosen.model);
      out.member("rows", collectives.all.size()).member("kept", device.collectives.size());
      out.key("held_out").begin_list();
      for (std::size_t b = 0; b < sw::size_bands.size(); ++b) {
        if (collectives.held_out[b].count == 0) continue;
        out.begin_object().member("sizes", sw::size_bands[b].name);
        figures(collectives.held_out[b], collectives.before[b]);
      }
      out.end_list();
      if (!kernels.all.empty()) {
        out.member("kernels", kernels.all.size()).key("kernels_held_out").begin_list();
        for (const kernel_row& r : kernels.rows) {
          out.begin_object().member("kernels", r.name);
          figures(r.held_out, r.before);
        }
        out.end_list();
      }
      out.member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
    });
    std::fputs(line.c_str(), stdout);
    return programs::done;
  }
  std::string text = text_of(chosen, collectives, kernels);
  if (!chosen.out.empty()) {
    text += "\nwrote " + chosen.out + " (";
    if (!collectives.all.empty()) text += sw::count_text(device.collectives.size(), "time");
    if (kernels.compute) text += std::string(collectives.all.empty() ? "" : ", ") + "shares of kernels";
    text += ")\n";
  }
  std::fputs(text.c_str(), stdout);
  return programs::done;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app(
      "Makes a device file of measured collectives and kernels, and tells the error on some that are left out.",
      "calibrate_device");
  app.footer(programs::help_section("Models", programs::collective_models()) +
             programs::help_section("Devices", programs::devices()));
  app.add_option("tables", chosen.tables,
                 "measured times: CSV with columns collective, nodes, ranks, size_bytes, time_us; the output of "
                 "nccl-tests; a performance table of XLA");
  app.add_option("--kernels", chosen.kernels,
                 "FILE: CSV with columns kind, operations, bytes, time_us, as measure_kernels.py writes it");
  app.add_option("--device", chosen.device, "see below")->capture_default_str();
  app.add_option("--model", chosen.model, "that is corrected; see below")
      ->check(programs::one_of(programs::names_of(programs::collective_models())))
      ->capture_default_str();
  app.add_option("--name", chosen.name, "of the machine")->capture_default_str();
  app.add_option("--source", chosen.source, "who measured, when, with what (default: the names of the tables)");
  app.add_option("--key", chosen.key, "the device's key in a table of XLA that holds several");
  app.add_option("--out", chosen.out, "the device file");
  chosen.common.add_to(app, nullptr);
  return programs::run(app, argc, argv, [&] { return answer(chosen); });
}

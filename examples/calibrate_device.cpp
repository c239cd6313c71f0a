// Measured collectives become a device file, with its error on sizes that were left out:
//
//   calibrate_device all_reduce.log all_gather.log --device h100 --out rack.json
//   collective_cost --device h100 --calibration rack.json --nodes 4
#include "support/collective_models.hpp"
#include "support/devices.hpp"
#include "support/distinct_files.hpp"
#include "support/program.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::vector<std::string> tables;
  std::string device = "h100";
  std::string model = "nccl";
  std::string name = "calibrated";
  std::string source;
  std::string key;
  std::string out;
  programs::common_options common;
};

int answer(const options& chosen) {
  for (const std::string& table : chosen.tables)
    programs::require_distinct({{"a table", table}, {"--out", chosen.out}});
  programs::collective_machine machine;
  machine.device = sw::find_device(chosen.device);
  machine.node = [&] { return sw::nccl_node_of(machine.device); };
  const programs::collective_model base = programs::make_collective_model(chosen.model, machine);

  sw::record_options open;
  open.device = chosen.key;
  open.devices_per_node = machine.device.devices_per_node;
  std::vector<sw::collective_measurement> measured;
  bool has_keys = false;
  for (const std::string& table : chosen.tables) {
    const std::vector<sw::measured_record> records = sw::read_collective_records(table, open);
    has_keys = has_keys || records.front().placement == "xla";
    for (const auto& m : sw::measurements_of(records)) measured.push_back(m);
  }
  if (!chosen.key.empty() && !has_keys)
    sw::refuse(sw::error_category::input, "--key " + chosen.key + " is of a device in a table of XLA, but " +
                                              programs::joined(chosen.tables) + " is none");
  const sw::calibration<programs::collective_model> found = sw::calibrate(base, measured);

  sw::device_calibration device;
  device.name = chosen.name;
  device.device = chosen.device;
  device.source = chosen.source.empty() ? programs::joined(chosen.tables) : chosen.source;
  device.collectives = sw::condensed(measured);
  if (!chosen.out.empty()) sw::write_device(chosen.out, device, &found.held_out);

  if (chosen.common.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("device", chosen.device).member("model", chosen.model);
      out.member("rows", measured.size()).member("kept", device.collectives.size()).key("held_out").begin_list();
      for (std::size_t b = 0; b < sw::size_bands.size(); ++b) {
        if (found.held_out[b].count == 0) continue;
        out.begin_object().member("sizes", sw::size_bands[b].name).member("rows", found.held_out[b].count);
        out.member("median_percent", found.held_out[b].median).member("p90_percent", found.held_out[b].p90);
        out.member("median_percent_before", found.before[b].median).end_object();
      }
      out.end_list().member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
    });
    std::fputs(line.c_str(), stdout);
    return programs::done;
  }
  using enum sw::text_side;
  sw::text_table table(
      {{"sizes left out"}, {"rows", right}, {"median %", right}, {"p90 %", right}, {"median % before", right}});
  for (std::size_t b = 0; b < sw::size_bands.size(); ++b)
    if (found.held_out[b].count > 0)
      table.row({std::string(sw::size_bands[b].name), std::to_string(found.held_out[b].count),
                 sw::fixed_text(found.held_out[b].median, 1), sw::fixed_text(found.held_out[b].p90, 1),
                 sw::fixed_text(found.before[b].median, 1)});
  std::string text = sw::count_text(measured.size(), "measured time corrects", "measured times correct") + " model " +
                     chosen.model + " of " + chosen.device + "\n\n" + table.text();
  if (!chosen.out.empty())
    text += "\nwrote " + chosen.out + " (" + sw::count_text(device.collectives.size(), "time") + ")\n";
  std::fputs(text.c_str(), stdout);
  return programs::done;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Makes a device file of measured collectives and tells the error on every second size, left out.",
               "calibrate_device");
  app.footer(programs::help_section("Models", programs::collective_models()) +
             programs::help_section("Devices", programs::devices()));
  app.add_option("tables", chosen.tables,
                 "measured times: CSV with columns collective, nodes, ranks, size_bytes, time_us; the output of "
                 "nccl-tests; a performance table of XLA")
      ->required();
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

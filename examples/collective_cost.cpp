// What collectives cost on a machine by a model; why; and how far the model is from measurements.
//
//   collective_cost --device h100 --collective all_reduce --nodes 4 --bytes 1M,64M,1G --explain
//   collective_cost --device h100 --compare measured.csv
#include "support/collective_models.hpp"
#include "support/devices.hpp"
#include "support/program.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_link_shares.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::string device = "h100";
  std::string topology;
  std::string graphs;
  std::string rules;
  std::string algorithms;
  std::string protocols;
  std::optional<double> network_latency;
  std::optional<double> nic_bandwidth;
  std::optional<std::int64_t> nics;
  bool sharp = false;
  std::string collective = "all_reduce";
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> ranks_per_node;
  std::string sizes = "1K,64K,1M,16M,256M,1G";
  std::string model = programs::collective_models().front().name;
  std::string compare;
  std::string calibration;
  std::string shares;
  bool explain = false;
  programs::common_options common;
};

constexpr sw::collective kinds[] = {sw::collective::all_gather, sw::collective::reduce_scatter,
                                    sw::collective::all_reduce, sw::collective::all_to_all};

[[nodiscard]] std::string_view name_of(sw::estimate_quality quality) {
  switch (quality) {
    case sw::estimate_quality::formula:
      return "formula";
    case sw::estimate_quality::extrapolated:
      return "extrapolated";
    case sw::estimate_quality::fitted:
      return "fitted";
    case sw::estimate_quality::measured:
      return "measured";
  }
  return "";
}

/// "1K,64MiB,2GB": sizes as everywhere.
std::vector<sw::bytes> sizes_of(const std::string& text) {
  std::vector<sw::bytes> sizes;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const auto size = programs::size_of_text(word);
    if (!size)
      sw::refuse(sw::error_category::input,
                 "--bytes: '" + std::string(word) + "' is no size, expected sizes such as 4096, 64K, 500MB or 2GiB");
    sizes.emplace_back(*size);
  }
  if (sizes.empty()) sw::refuse(sw::error_category::input, "--bytes: there is no size");
  return sizes;
}

/// What the command line says of the machine.
sw::nccl_node node_of(const options& chosen, const sw::device_profile& device) {
  sw::nccl_node node = chosen.topology.empty() ? sw::nccl_node_of(device) : programs::about(chosen.topology, [&] {
    auto read = sw::nccl_node_of(sw::read_nccl_topology(chosen.topology));
    read.name = chosen.topology;
    return read;
  });
  if (chosen.network_latency) node.network_latency_us = *chosen.network_latency;
  if (chosen.nic_bandwidth) node.nic_bandwidth = *chosen.nic_bandwidth;
  if (chosen.nics) node.nics = *chosen.nics;
  node.has_sharp = node.has_sharp || chosen.sharp;
  return node;
}

/// What is said of NCCL means nothing to other models.
void refuse_options_of_nccl(const options& chosen) {
  const std::pair<const char*, bool> given[] = {{"--topology", !chosen.topology.empty()},
                                                {"--graphs", !chosen.graphs.empty()},
                                                {"--rules", !chosen.rules.empty()},
                                                {"--algo", !chosen.algorithms.empty()},
                                                {"--proto", !chosen.protocols.empty()},
                                                {"--network-latency", chosen.network_latency.has_value()},
                                                {"--nics", chosen.nics.has_value()},
                                                {"--nic-bandwidth", chosen.nic_bandwidth.has_value()},
                                                {"--sharp", chosen.sharp}};
  for (const auto& [option, is_given] : given)
    if (is_given)
      sw::refuse(sw::error_category::input, std::string(option) + ": model " + chosen.model +
                                                " does not look at it, expected one of NCCL's models, such as nccl");
}

double bus_factor(sw::collective kind, double ranks) {
  return (kind == sw::collective::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
}

int show_estimates(const options& chosen, const programs::collective_model& model, std::int64_t per_node) {
  const sw::group_shape group{per_node, chosen.nodes.value_or(1)};
  const std::vector<sw::bytes> sizes = sizes_of(chosen.sizes);
  std::vector<sw::collective> asked;
  for (const sw::collective kind : kinds)
    if (chosen.collective == "all" || sw::name_of(kind) == chosen.collective) asked.push_back(kind);
  if (chosen.explain && !model.explain)
    sw::refuse(sw::error_category::input, "--explain: model " + chosen.model + " has nothing to explain");

  std::vector<sw::collective_estimate> answers;
  for (const sw::collective kind : asked)
    for (const sw::bytes size : sizes) answers.push_back(model.estimate(kind, size, group));
  const auto ranks = static_cast<double>(group.ranks());
  const auto algorithm_bandwidth = [](sw::bytes size, double us) {
    return us > 0 ? static_cast<double>(size.count()) / us / 1e3 : 0;
  };
  if (chosen.common.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("device", chosen.device).member("model", chosen.model);
      out.member("nodes", group.nodes).member("ranks_per_node", group.ranks_per_node);
      out.key("estimates").begin_list();
      for (std::size_t i = 0; i < answers.size(); ++i) {
        const sw::collective kind = asked[i / sizes.size()];
        const sw::bytes size = sizes[i % sizes.size()];
        const sw::collective_estimate& e = answers[i];
        const double speed = algorithm_bandwidth(size, e.time_us);
        out.begin_object().member("collective", sw::name_of(kind)).member("bytes", size.count());
        out.member("time_us", e.time_us).member("latency_us", e.latency_us).member("bandwidth_us", e.bandwidth_us);
        out.member("algorithm_gbps", speed).member("bus_gbps", speed * bus_factor(kind, ranks));
        out.member("algorithm", e.algorithm).member("protocol", e.protocol).member("channels", e.channels);
        out.member("quality", name_of(e.quality)).end_object();
      }
      out.end_list().member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
    });
    std::fputs(line.c_str(), stdout);
    return programs::done;
  }
  using enum sw::text_side;
  sw::text_table table({{"collective"},
                        {"size", right},
                        {"time us", right},
                        {"latency us", right},
                        {"GB/s", right},
                        {"bus GB/s", right},
                        {"algorithm"},
                        {"protocol"},
                        {"channels", right}});
  std::string reasons;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const sw::collective kind = asked[i / sizes.size()];
    const sw::bytes size = sizes[i % sizes.size()];
    const sw::collective_estimate& e = answers[i];
    const double speed = algorithm_bandwidth(size, e.time_us);
    table.row({std::string(sw::name_of(kind)), sw::size_text(size), sw::fixed_text(e.time_us),
               sw::fixed_text(e.latency_us), sw::fixed_text(speed, 1),
               sw::fixed_text(speed * bus_factor(kind, ranks), 1), std::string(e.algorithm), std::string(e.protocol),
               e.channels > 0 ? std::to_string(e.channels) : ""});
    if (chosen.explain) reasons += "\n" + to_text(model.explain(kind, size, group));
  }
  const std::string text = std::to_string(group.ranks()) + " ranks on " + sw::count_text(group.nodes, "node") + " of " +
                           chosen.device + ", model " + chosen.model + "\n\n" + table.text() + reasons;
  std::fputs(text.c_str(), stdout);
  return programs::done;
}

/// The errors of one collective in one band of sizes; no band: all sizes.
struct band_error {
  std::string collective;
  const sw::size_band* band;
  sw::error_figures figures;
};

int show_comparison(const options& chosen, const programs::collective_model& model, std::int64_t per_node) {
  sw::record_options open;
  open.devices_per_node = per_node;
  if (chosen.nodes) open.group = {per_node, *chosen.nodes};
  const auto measured = sw::measurements_of(sw::read_collective_records(chosen.compare, open));
  std::vector<sw::collective_measurement> rows;
  std::vector<double> percent;
  std::string why;
  for (const sw::collective_measurement& m : measured) {
    try {
      percent.push_back(100 * (model.estimate(m.kind, m.size, m.group).time_us / m.time_us - 1));
      rows.push_back(m);
    } catch (const sw::error& e) {  // the machine cannot hold the group
      why = e.what();
    }
  }
  const std::size_t skipped = measured.size() - rows.size();
  if (rows.empty()) sw::refuse(sw::error_category::input, chosen.compare + ": no row can be compared: " + why);

  std::vector<band_error> errors;
  const auto add = [&](std::optional<sw::collective> kind) {
    const std::string name = kind ? std::string(sw::name_of(*kind)) : "all";
    const auto within = [&](const sw::size_band* band) {
      std::vector<double> some;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if ((!kind || rows[i].kind == *kind) && (band == nullptr || band->holds(rows[i].size)))
          some.push_back(percent[i]);
      if (!some.empty()) errors.push_back({name, band, sw::error_figures::of(std::move(some))});
    };
    for (const sw::size_band& band : sw::size_bands) within(&band);
    within(nullptr);
  };
  for (const sw::collective kind : sw::priced_collectives) add(kind);
  if (errors.back().figures.count < rows.size()) add(std::nullopt);

  if (chosen.common.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("device", chosen.device).member("model", chosen.model);
      out.member("table", chosen.compare).member("rows", rows.size()).member("skipped", skipped);
      out.key("errors").begin_list();
      for (const band_error& e : errors) {
        out.begin_object().member("collective", e.collective);
        out.member("sizes", e.band != nullptr ? e.band->name : "all");
        if (e.band != nullptr) out.member("from_bytes", e.band->from.count());
        if (e.band != nullptr && e.band != &sw::size_bands.back()) out.member("to_bytes", e.band->to.count());
        out.member("rows", e.figures.count).member("mean_percent", e.figures.mean);
        out.member("median_percent", e.figures.median).member("p90_percent", e.figures.p90);
        out.member("median_signed_percent", e.figures.signed_median).end_object();
      }
      out.end_list().member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
    });
    std::fputs(line.c_str(), stdout);
    return programs::done;
  }
  using enum sw::text_side;
  sw::text_table table({{"collective"},
                        {"sizes"},
                        {"rows", right},
                        {"mean %", right},
                        {"median %", right},
                        {"p90 %", right},
                        {"median signed %", right}});
  for (const band_error& e : errors)
    table.row({e.collective, e.band != nullptr ? std::string(e.band->name) : "all", std::to_string(e.figures.count),
               sw::fixed_text(e.figures.mean, 1), sw::fixed_text(e.figures.median, 1), sw::fixed_text(e.figures.p90, 1),
               sw::fixed_text(e.figures.signed_median, 1)});
  std::string text = chosen.compare + ": " + sw::count_text(rows.size(), "row") + " against model " + chosen.model +
                     " of " + chosen.device + "\n\n" + table.text();
  if (skipped > 0)
    text += "\n" + sw::count_text(skipped, "row was", "rows were") + " skipped, the last because " + why + "\n";
  std::fputs(text.c_str(), stdout);
  return programs::done;
}

int answer(options chosen) {
  programs::collective_machine machine;
  machine.device = sw::find_device(chosen.device);
  bool asks_for_node = false;
  machine.node = [&] {
    asks_for_node = true;
    return node_of(chosen, machine.device);
  };
  machine.tuner.filter = sw::nccl_filter(chosen.algorithms, chosen.protocols);
  if (!chosen.graphs.empty()) machine.tuner.layouts = {sw::read_nccl_graphs(chosen.graphs)};
  if (!chosen.rules.empty()) machine.tuner.rules = sw::read_nccl_rules(chosen.rules);
  programs::collective_model model = programs::make_collective_model(chosen.model, machine);
  if (!asks_for_node) refuse_options_of_nccl(chosen);
  if (!chosen.rules.empty() && (chosen.model == "nccl" || chosen.model == "nccl_symmetric"))
    sw::refuse(sw::error_category::input,
               "--rules: model " + chosen.model + " does not follow them, expected an exact one, such as nccl_2_30");
  if (!chosen.shares.empty())
    model = programs::detail::plain_model(sw::link_shares(sw::read_link_shares(chosen.shares), model));
  if (!chosen.calibration.empty()) {
    const sw::residual<programs::collective_model> corrected = programs::about(chosen.calibration, [&] {
      const sw::device_calibration measured = sw::read_device(chosen.calibration);
      programs::require_device(measured, machine.device.name);
      return measured.correct(model);
    });
    model = programs::detail::plain_model(corrected);
  }
  if (!chosen.topology.empty()) chosen.device = chosen.topology;
  std::int64_t per_node = chosen.ranks_per_node.value_or(0);
  if (!chosen.ranks_per_node)
    per_node = chosen.topology.empty() ? machine.device.devices_per_node : machine.node().devices;
  if (!chosen.compare.empty()) return show_comparison(chosen, model, per_node);
  return show_estimates(chosen, model, per_node);
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Tells what collectives cost, and how far a model is from measurements.", "collective_cost");
  std::vector<std::string> collectives{"all"};
  for (const sw::collective kind : kinds) collectives.emplace_back(sw::name_of(kind));
  app.footer(programs::help_section("Models", programs::collective_models()) +
             programs::help_section("Devices", programs::devices()));
  app.add_option("--device", chosen.device, "see below")->capture_default_str();
  CLI::Option* const collective = app.add_option("--collective", chosen.collective, "which, or all")
                                      ->check(programs::one_of(collectives))
                                      ->capture_default_str();
  app.add_option("--nodes", chosen.nodes,
                 "of the group (default: 1); with --compare, of groups whose nodes the table leaves open")
      ->check(programs::whole_from(1));
  app.add_option("--ranks-per-node", chosen.ranks_per_node, "of the group (default: all devices of a node)")
      ->check(programs::whole_from(1));
  CLI::Option* const sizes =
      app.add_option("--bytes", chosen.sizes,
                     "LIST of sizes, such as 4096,64K,500MB,2GiB: what the larger buffer of a rank holds")
          ->capture_default_str();
  app.add_option("--model", chosen.model, "how to estimate; see below")
      ->check(programs::one_of(programs::names_of(programs::collective_models())))
      ->capture_default_str();
  CLI::Option* const compare = app.add_option(
      "--compare", chosen.compare,
      "TABLE of measured times: CSV with columns collective, nodes, ranks, size_bytes, time_us; the output of "
      "nccl-tests; a performance table of XLA");
  app.add_option("--calibration", chosen.calibration, "device file, whose measurements correct the model");
  app.add_option("--shares", chosen.shares,
                 "CSV with columns kind (nvlink, nic, ata), nodes, size_bytes, efficiency: the share of the model's "
                 "bandwidth that is reached; for models without a ramp of their own, such as alpha_beta");
  CLI::Option* const explain = app.add_flag("--explain", chosen.explain, "tell why the model chose what it chose");
  app.add_option("--topology", chosen.topology, "NCCL topology XML of a node, in place of the device's own");
  app.add_option("--graphs", chosen.graphs, "NCCL graph XML: channels that NCCL found, in place of the closed form");
  app.add_option("--rules", chosen.rules, "NCCL tuner CSV that the exact models follow");
  app.add_option("--algo", chosen.algorithms, "as NCCL_ALGO, for example ^nvls or allreduce:ring,tree");
  app.add_option("--proto", chosen.protocols, "as NCCL_PROTO");
  app.add_option("--network-latency", chosen.network_latency, "US that the network plugin declares")
      ->check(programs::not_negative_but_finite());
  app.add_option("--nics", chosen.nics, "network devices per node")->check(programs::whole_from(0));
  app.add_option("--nic-bandwidth", chosen.nic_bandwidth, "GB/s of each")->check(programs::positive());
  app.add_flag("--sharp", chosen.sharp, "the network reduces (CollNet)");
  // a table says itself what it measured
  for (CLI::Option* const of_estimate : {collective, sizes, explain}) compare->excludes(of_estimate);
  chosen.common.add_to(app, nullptr);
  return programs::run(app, argc, argv, [&] { return answer(chosen); });
}

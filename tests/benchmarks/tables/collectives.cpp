// How far collective models are from measured tables, in percent, on sizes that no calibrated model saw: each size is
// left out once. "noise" is no model: it is what the times of a table deviate from the mean of their neighbours, which
// bounds what any model of a size can reach on it. With --plots FOLDER it draws model against measurement, one chart
// per machine and collective; there calibrated models saw every second size.
#include "benchmarks/tables/log_plot.hpp"
#include "benchmarks/tables/table.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/residual.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/torch_formula.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/collective_records.hpp>

#include <cmath>
#include <functional>
#include <span>
#include <utility>

namespace sw = shardweave;

namespace {

using measurements = std::vector<sw::collective_measurement>;
using estimator = std::function<double(const sw::collective_measurement&)>;
using tables::number;

template <class Model>
estimator answers(Model model) {
  return [model = std::move(model)](const sw::collective_measurement& m) {
    return model.estimate(m.kind, m.size, m.group).time_us;
  };
}

struct measured_file {
  const char* name;
  const char* title;
  const char* device;
  double network_latency_us = 0;  ///< what the network plugin declares
  std::int64_t nics = 0;          ///< of a node, where it is not the common board
  double nic_bandwidth = 0;
  bool sharp = false;  ///< the network reduces
};
constexpr measured_file files[] = {
    {"azure_nda100v4_allreduce", "8 A100, Azure", "a100"},
    {"aws_p4d_2node_allreduce", "2 x 8 A100, AWS p4d", "a100", 68, 4, 12.5},
    {"aws_p5_1node_allreduce", "8 H100, AWS p5", "h100"},
    {"azure_ndh100v5_allreduce", "8 H100, Azure", "h100"},
    {"aws_p5_2node_allreduce", "2 x 8 H100, AWS p5", "h100", 20},
    {"coreweave_h100_64_sharp_allreduce", "8 x 8 H100, SHARP, CoreWeave", "h100", 0, 0, 0, true},
    {"xla_h100_8gpu", "8 H100, XLA", "h100"},
    {"xla_b200_8gpu", "8 B200, XLA", "b200"},
    {"coreweave_gb200_nvl72_allreduce", "GB200, CoreWeave", "gb200"},
    {"xla_gb200_nvl72", "GB200, XLA", "gb200"}};

sw::nccl_smooth nccl_of(const measured_file& file) {
  sw::nccl_node node = sw::nccl_node_of(sw::find_device(file.device));
  node.network_latency_us = file.network_latency_us;
  node.has_sharp = file.sharp;
  if (file.nics > 0) node.nics = file.nics, node.nic_bandwidth = file.nic_bandwidth;
  return sw::nccl_smooth(node);
}

/// Models that see nothing, then models that see `seen`.
std::vector<std::pair<std::string, estimator>> models(const measured_file& file, const measurements& seen) {
  const sw::device_profile profile = sw::find_device(file.device);
  const sw::alpha_beta line(profile);
  const sw::nccl_smooth nccl = nccl_of(file);
  return {{"PyTorch until 2025", answers(sw::torch_formula(profile, sw::torch_edition::ring_ll))},
          {"PyTorch 2026", answers(sw::torch_formula(profile, sw::torch_edition::tuner))},
          {"AutoParallel", answers(sw::autoparallel_formula(profile))},
          {"alpha-beta", answers(line)},
          {"NCCL, smooth", answers(nccl)},
          {"table", answers(sw::collective_table<>(seen, line))},
          {"alpha-beta, calibrated", answers(sw::residual(line, seen))},
          {"NCCL, calibrated", answers(sw::residual(nccl, seen))}};
}

struct errors {
  std::vector<double> bands[sw::size_bands.size()];
  std::vector<double> from_mebibyte;
  void add(sw::bytes size, double percent) {
    for (std::size_t b = 0; b < sw::size_bands.size(); ++b)
      if (sw::size_bands[b].holds(size)) bands[b].push_back(percent);
    if (size >= sw::mebibytes(1)) from_mebibyte.push_back(percent);
  }
  void add(const estimator& model, const measurements& measured) {
    for (const auto& m : measured) add(m.size, (model(m) / m.time_us - 1) * 100);
  }
  [[nodiscard]] std::vector<std::string> cells() const {
    std::vector<double> below = bands[0];
    below.insert(below.end(), bands[1].begin(), bands[1].end());
    const auto figure = [](const std::vector<double>& of, double sw::error_figures::*which) {
      return of.empty() ? std::string("-") : number(sw::error_figures::of(of).*which, 1);
    };
    return {std::to_string(below.size() + from_mebibyte.size()), figure(below, &sw::error_figures::median),
            figure(from_mebibyte, &sw::error_figures::median),   figure(from_mebibyte, &sw::error_figures::p90),
            figure(bands[2], &sw::error_figures::mean),          figure(bands[3], &sw::error_figures::mean),
            figure(bands[4], &sw::error_figures::mean)};
  }
};

measurements read(const tables::request& asked, const measured_file& file) {
  return sw::measurements_of(
      sw::read_collective_records(asked.data / "collectives" / (std::string(file.name) + ".csv")));
}

/// What single times scatter by: second differences, in logarithms, of what a line fitted to the whole curve leaves.
/// Of independent errors a second difference has one and a half times the variance. What bends within two sizes (a
/// change of algorithm) counts as noise here, so that this is an estimate from above.
errors noise_of(const measurements& all) {
  errors result;
  const auto rows = sw::condensed(all);
  sw::detail::for_each_curve(rows, [&](std::span<const sw::collective_measurement> curve) {
    std::vector<sw::timed_size> points;
    for (const auto& m : curve) points.push_back({m.size, m.time_us});
    const sw::saturated_line line = sw::fit_saturated_line(points);
    std::vector<double> left;
    for (const auto& m : curve) left.push_back(std::log(m.time_us / line.at(static_cast<double>(m.size.count()))));
    for (std::size_t i = 1; i + 1 < left.size(); ++i)
      result.add(curve[i].size, 100 * (left[i] - (left[i - 1] + left[i + 1]) / 2) / std::sqrt(1.5));
  });
  return result;
}

/// Charts of the all-reduces and all-gathers in the largest group that was measured over a range of sizes.
void draw(const std::filesystem::path& folder, const measured_file& file, const measurements& all) {
  const sw::held_out parts = sw::every_second_size(all);
  const auto rows = sw::detail::sorted_measurements(all);
  sw::detail::for_each_curve(rows, [&](std::span<const sw::collective_measurement> curve) {
    const auto shape = curve.front().group;
    const bool is_largest = std::none_of(rows.begin(), rows.end(), [&](const auto& m) {
      return m.kind == curve.front().kind && m.group.ranks() > shape.ranks();
    });
    const bool is_drawn =
        curve.front().kind == sw::collective::all_reduce || curve.front().kind == sw::collective::all_gather;
    if (!is_largest || !is_drawn || curve.size() < 10) return;
    const std::string kind(sw::name_of(curve.front().kind));
    tables::log_plot plot(std::string(file.title) + ": " + kind + ", " + std::to_string(shape.nodes) + " x " +
                              std::to_string(shape.ranks_per_node) + " ranks",
                          "bytes", "microseconds");
    std::vector<tables::plotted_point> dots;
    for (const auto& m : curve) dots.push_back({static_cast<double>(m.size.count()), m.time_us});
    plot.dots("measured", dots);
    for (const auto& [name, model] : models(file, parts.seen)) {
      if (name != "PyTorch 2026" && name != "AutoParallel" && name != "NCCL, smooth" && name != "NCCL, calibrated")
        continue;
      std::vector<tables::plotted_point> line;
      const double from = std::log2(dots.front().x);
      const double to = std::log2(dots.back().x);
      for (int i = 0; i <= 120; ++i) {
        const double size = std::exp2(from + (to - from) * i / 120);
        const sw::collective_measurement m{curve.front().kind, shape, sw::bytes(static_cast<std::int64_t>(size)), 1};
        line.push_back({size, model(m)});
      }
      plot.line(name, line);
    }
    sw::atomic_file out(folder / (std::string(file.name) + "-" + kind + ".svg"));
    out.write(plot.svg());
    out.commit();
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path plots;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--plots" && i + 1 < argc) {
      plots = argv[++i];
    } else {
      rest.push_back(argv[i]);
    }
  }
  const tables::request asked(static_cast<int>(rest.size()), rest.data());
  if (!std::filesystem::exists(asked.data / "collectives")) {
    std::fprintf(stderr, "no data in %s\n", (asked.data / "collectives").c_str());
    return 0;
  }
  tables::table out(asked, {"measured: model", "times tested", "below 1 MiB, median", "from 1 MiB, median", "p90",
                            "1 to 32 MiB, mean", "32 to 512 MiB, mean", "from 512 MiB, mean"});
  std::vector<std::pair<std::string, errors>> total;
  for (const measured_file& file : files) {
    const measurements all = read(asked, file);
    if (!plots.empty()) draw(plots, file, all);
    std::vector<std::pair<std::string, errors>> here;
    for (const bool first_is_seen : {true, false}) {  // each size is left out once
      const sw::held_out parts = sw::every_second_size(all, first_is_seen);
      const auto offered = models(file, parts.seen);
      here.resize(offered.size());
      total.resize(offered.size());
      for (std::size_t i = 0; i < offered.size(); ++i) {
        here[i].first = total[i].first = offered[i].first;
        here[i].second.add(offered[i].second, parts.unseen);
        total[i].second.add(offered[i].second, parts.unseen);
      }
    }
    here.emplace_back("noise", noise_of(all));
    for (const auto& [name, e] : here) {
      const std::string row = std::string(file.name) + ": " + name;
      if (asked.asks_for(row)) out.row(row, [&] { return e.cells(); });
    }
  }
  for (const auto& [name, e] : total)
    if (asked.asks_for("all: " + name)) out.row("all: " + name, [&] { return e.cells(); });
}

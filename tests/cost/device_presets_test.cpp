#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include "cost/promises.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device_presets.hpp>

#include <doctest/doctest.h>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace device_presets_tests {
namespace {

using namespace shardweave;
using namespace measured_machine;
using namespace cost_promises;
using namespace flat_prices;

/// What one line of a preset was fitted to: times by size, at least half a mebibyte, where noise is small.
std::map<std::tuple<collective, std::int64_t, std::int64_t>, std::vector<timed_size>> published_table(
    const std::vector<const char*>& files) {
  std::map<std::tuple<collective, std::int64_t, std::int64_t>, std::vector<timed_size>> rows;
  const std::map<std::string, collective> kinds{{"allgather", collective::all_gather},
                                                {"reducescatter", collective::reduce_scatter},
                                                {"allreduce", collective::all_reduce},
                                                {"alltoall", collective::all_to_all}};
  for (const char* name : files) {
    const auto path = shared_data(std::string("collectives/") + name);
    if (!path) continue;
    std::ifstream file(*path);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#' || line.starts_with("system,")) continue;
      std::istringstream fields(line);
      std::vector<std::string> f;
      for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
      const std::int64_t ranks = std::stoll(f.at(3)), nodes = std::max(std::stoll(f.at(2)), 1LL);
      const bytes size(std::stoll(f.at(4)));
      if (size >= mebibytes(1) / 2)
        rows[{kinds.at(f.at(1)), nodes, ranks / nodes}].push_back({size, std::stod(f.at(5))});
    }
  }
  return rows;
}

}  // namespace

TEST_SUITE("device_presets") {
  TEST_CASE("every preset says where its figures come from and keeps the promises of a model") {
    CHECK(device_presets().size() == 7);
    for (const device_preset& preset : device_presets()) {
      CAPTURE(std::string(preset.profile.name));
      CHECK(&find_preset(preset.profile.name) == &preset);
      CHECK_FALSE(preset.source_of_peaks.empty());
      CHECK_FALSE(preset.source_of_links.empty());
      CHECK_FALSE(preset.source_of_lines.empty());
      CHECK_FALSE(preset.source_of_shares.empty());
      CHECK(preset.processors > 100);
      keeps_promises(preset.collectives(), {{2, 1}, {4, 1}, {6, 1}, {8, 1}, {8, 2}, {8, 16384}, {72, 1}});
      for (const std::int64_t size : {1LL << 10, 1LL << 20, 1LL << 30})
        for (const group_shape group : asked_groups)
          CHECK(preset.collectives().estimate(collective::all_reduce, bytes(size), group).time_us >=
                preset.collectives().estimate(collective::reduce_scatter, bytes(size), group).time_us);
      const compute_profile compute = preset.compute();
      const double at_peak = 1.073741824e15 / preset.profile.memory_bandwidth;
      CHECK(compute.memory_time(gibibytes(1)) > at_peak);
      CHECK(compute.memory_time(gibibytes(1)) < at_peak / 0.8);  // all were measured to do better than that
      CHECK(compute.compute_time({1, gibibytes(1), arithmetic::f32}) ==
            doctest::Approx(at_peak / 0.7));  // but products' own bound
      CHECK(preset.contention().processors == preset.processors);
    }
    CHECK(find_preset("GB200").profile.devices_per_node == 72);
    CHECK_THROWS_WITH_AS(find_preset("abacus"),
                         "no preset is called 'abacus'; known are a100, a100-40gb, h100, h100-96gb, h200, b200, gb200",
                         error);
  }

  TEST_CASE("a preset is near what was published of its machine") {
    // 8 GiB all-reduce on 8 ranks: 473.1 GB/s of bus bandwidth on H200, 840 on B200-class nodes (nccl-tests peaks)
    const auto bus = [](const char* name) {
      const double us = find_preset(name).collectives().estimate(collective::all_reduce, gibibytes(8), {8, 1}).time_us;
      return static_cast<double>(gibibytes(8).count()) / us / 1e3 * 14 / 8;
    };
    CHECK(bus("h200") > 0.8 * 473.1);
    CHECK(bus("h200") < 1.1 * 473.1);
    CHECK(bus("a100") > 0.8 * 240);
    CHECK(bus("a100") < 1.1 * 240);
  }

  TEST_CASE("every line is within a few percent of the published table that it was fitted to") {
    struct source {
      const char* preset;
      std::vector<const char*> files;
      std::size_t lines;
    };
    for (const source& s : {source{"h100", {"xla_h100_8gpu.csv", "aws_p5_2node_allreduce.csv"}, 13},
                            source{"b200", {"xla_b200_8gpu.csv"}, 12}, source{"gb200", {"xla_gb200_nvl72.csv"}, 24},
                            source{"a100", {"azure_nda100v4_allreduce.csv", "aws_p4d_2node_allreduce.csv"}, 2}}) {
      const device_preset& preset = find_preset(s.preset);
      CHECK(preset.lines.size() == s.lines);
      const auto table = published_table(s.files);
      if (table.empty()) continue;
      for (const fitted_line& l : preset.lines) {
        CAPTURE(std::string(s.preset));
        CAPTURE(std::string(name_of(l.kind)));
        CAPTURE(l.group.ranks_per_node);
        CAPTURE(l.group.nodes);
        const auto rows = table.find({l.kind, l.group.nodes, l.group.ranks_per_node});
        REQUIRE(rows != table.end());
        std::vector<double> errors;
        for (const timed_size& t : rows->second)
          errors.push_back((l.line.at(static_cast<double>(t.size.count())) / t.time_us - 1) * 100);
        CHECK(error_figures::of(errors).median < 7);
        CHECK(std::abs(error_figures::of(errors).signed_median) < 2.5);
      }
    }
  }

  TEST_CASE("attention takes what was published of fused kernels") {
    struct published {
      const char* preset;
      kernel_kind kernel;
      double length;                ///< of the first; each further one is twice as long
      std::vector<double> reached;  ///< TFLOP/s
      double tolerance;
    };
    using enum kernel_kind;
    for (const published& p :
         {published{"h100", attention, 512, {430.32, 517.099, 565.544, 590.233, 614.234, 620.73}, .016},
          published{"h100", attention_backward, 512, {316, 424, 501, 542, 559, 561}, .007},
          published{"b200", attention, 1024, {1205, 1279, 1328, 1358, 1362}, .0041},
          published{"b200", attention_backward, 8192, {1359.8}, .002}}) {
      const compute_profile profile = find_preset(p.preset).compute();
      const double queries = 16384, width = 16 * 128;  // in as many sequences as that takes, 16 heads of 128
      const bool back = p.kernel == attention_backward;
      double length = p.length;
      for (const double rate : p.reached) {
        // of queries, keys, values, results; backward of their gradients, and five products instead of two
        const auto moved = static_cast<std::int64_t>((back ? 8 : 4) * queries * width * 2);
        const device_work work{(back ? 10 : 4) * queries * length * width, bytes(moved), arithmetic::f16};
        CAPTURE(length);
        CHECK(std::abs(work.flops / profile.compute_time(work, p.kernel) / 1e6 / rate - 1) < p.tolerance);
        length *= 2;
      }
    }
    CHECK(find_preset("a100").compute().attention == compute_profile().attention);  // nothing was found
    for (const device_preset& preset : device_presets()) {
      const compute_profile profile = preset.compute();
      CHECK(profile.attention_backward[1] == compute_profile().attention_backward[1]);  // published for 16 bits only
    }
  }

  TEST_CASE("moving data takes as long as published of element-wise kernels") {
    struct published {
      const char* preset;
      double tolerance;
      std::vector<std::pair<std::int64_t, double>> times;  ///< bytes, us
    };
    const auto mib = [](std::int64_t n) { return n << 20; };
    for (const published& p :
         {published{"a100", .002, {{mib(48), 39.162}, {mib(768), 459.87}, {mib(12288), 7202}}},
          published{
              "h100",
              .002,
              {{mib(128), 48.9}, {mib(256), 93.2}, {mib(512), 180.806}, {mib(1024), 356.242}, {mib(2048), 708.114}}},
          published{"h200", .055, {{mib(48), 17.785}, {mib(768), 188.794}, {mib(12288), 2907}}},
          published{"b200",
                    .022,
                    {{mib(64), 18.446},
                     {mib(96), 23.033},
                     {mib(128), 27.046},
                     {mib(1024), 163.694},
                     {mib(1536), 239.643},
                     {mib(2048), 320.278}}}}) {
      const compute_profile profile = find_preset(p.preset).compute();
      for (const auto& [moved, us] : p.times) {
        CAPTURE(moved);
        CHECK(std::abs(profile.memory_time(bytes(moved)) / us - 1) < p.tolerance);
      }
      double last = 0;  // a share never rises so fast that more bytes take less time
      for (std::int64_t moved = 1; moved < mib(1 << 20); moved = moved * 5 / 4 + 1) {
        CHECK(profile.memory_time(bytes(moved)) >= last);
        last = profile.memory_time(bytes(moved));
      }
    }
  }

  TEST_CASE("peaks are those of the vendors' data sheets, in decimal units") {
    struct row {
      const char* name;
      double terabytes, f64, f32, f16, i8, links, network, processors;
      std::int64_t devices;
    };
    for (const row& r : {row{"a100", 2.039, 19.5, 156, 312, 624, 240, 25, 108, 8},
                         row{"h100", 3.35, 67, 494, 989, 1979, 370.8, 50, 132, 8},
                         row{"h200", 4.8, 67, 494, 989, 1979, 370.8, 50, 132, 8},
                         row{"b200", 8, 37, 1125, 2250, 4500, 721.8, 50, 148, 8},
                         row{"gb200", 8, 40, 1250, 2500, 5000, 721.8, 50, 148, 72}}) {
      const device_preset& p = find_preset(r.name);
      CAPTURE(std::string(r.name));
      CHECK(p.profile.memory_bandwidth == doctest::Approx(r.terabytes * 1e12));
      CHECK(p.profile.rate(arithmetic::f64) == doctest::Approx(r.f64 * 1e12));
      CHECK(p.profile.rate(arithmetic::f32) == doctest::Approx(r.f32 * 1e12));
      CHECK(p.profile.rate(arithmetic::f16) == doctest::Approx(r.f16 * 1e12));
      CHECK(p.profile.rate(arithmetic::i8) == doctest::Approx(r.i8 * 1e12));
      CHECK(p.profile.link_bandwidth == r.links);
      CHECK(p.profile.network_bandwidth == r.network);
      CHECK(p.processors == r.processors);
      CHECK(p.profile.devices_per_node == r.devices);
      CHECK(p.profile.has_switch);
      CHECK(p.contention().memory_bandwidth == doctest::Approx(r.terabytes * 1000));
    }
  }
}

}  // namespace device_presets_tests

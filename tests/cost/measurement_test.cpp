#include "support/shared_data.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/fitted_lines.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/residual.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

using namespace shardweave;

namespace measurement_tests {
namespace {

constexpr std::array measured_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                    collective::all_to_all};

collective_measurement measured(collective kind, group_shape group, std::int64_t size, double us) {
  return {kind, group, bytes(size), us};
}

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

struct flat_price {
  double us = 10;
  [[nodiscard]] collective_estimate estimate(collective, bytes size, group_shape group) const {
    collective_estimate e;
    if (group.ranks() == 1) return e;
    e.latency_us = us;
    e.bandwidth_us = static_cast<double>(size.count()) / 1e5;
    e.time_us = e.latency_us + e.bandwidth_us;
    return e;
  }
};

}  // namespace

TEST_SUITE("measurement") {
  TEST_CASE("rows are kept by collective, nodes, ranks per node, then size, repetitions in their order") {
    const std::vector<collective_measurement> given{
        measured(collective::all_reduce, {2, 1}, 8, 1),  measured(collective::all_gather, {8, 2}, 8, 2),
        measured(collective::all_gather, {4, 1}, 64, 3), measured(collective::all_gather, {4, 1}, 8, 5),
        measured(collective::all_gather, {4, 1}, 8, 4),  measured(collective::all_gather, {2, 2}, 8, 6),
        measured(collective::all_gather, {16, 1}, 1, 7)};
    std::vector<double> order;
    for (const auto& m : detail::sorted_measurements(given)) order.push_back(m.time_us);
    CHECK(order == std::vector<double>{5, 4, 3, 7, 6, 2, 1});
    std::vector<std::size_t> lengths;
    const auto sorted = detail::sorted_measurements(given);
    detail::for_each_curve(sorted, [&](std::span<const collective_measurement> c) { lengths.push_back(c.size()); });
    CHECK(lengths == std::vector<std::size_t>{3, 1, 1, 1, 1});
    CHECK(detail::sorted_measurements({}).empty());
  }

  TEST_CASE("a group of fewer than two ranks cannot be measured") {
    for (const group_shape group : {group_shape{1, 1}, {0, 2}, {2, 0}, {-2, -2}}) {
      const std::vector<collective_measurement> rows{measured(collective::reduce_scatter, group, 8, 1)};
      const std::string words = "a measured reduce_scatter of " + std::to_string(group.nodes) + " nodes with " +
                                std::to_string(group.ranks_per_node) + " ranks each: a collective needs two ranks";
      CHECK_THROWS_WITH_AS(detail::sorted_measurements(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(every_second_size(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(condensed(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(collective_table<>{std::span<const collective_measurement>(rows)}, words.c_str(), error);
      CHECK_THROWS_WITH_AS(residual(flat_price{}, rows), words.c_str(), error);
    }
  }

  TEST_CASE("seen and unseen sizes take turns in each curve, and together are all rows") {
    random_source random(3);
    for (int round = 0; round < 50; ++round) {
      std::vector<collective_measurement> rows;
      for (std::size_t i = 0; i < 1 + random.below(30); ++i)
        rows.push_back(measured(measured_kinds[random.below(4)],
                                {2 + 2 * static_cast<std::int64_t>(random.below(2)), 1}, 1 << random.below(6),
                                1 + static_cast<double>(random.below(100))));
      for (const bool first : {true, false}) {
        const held_out parts = every_second_size(rows, first);
        CHECK(parts.seen.size() + parts.unseen.size() == rows.size());
        std::map<std::tuple<collective, std::int64_t>, std::set<std::int64_t>> sizes;
        for (const auto& m : rows) sizes[{m.kind, m.group.ranks()}].insert(m.size.count());
        const auto place_of = [&](const collective_measurement& m) {
          const auto& known = sizes.at({m.kind, m.group.ranks()});
          return static_cast<std::size_t>(std::distance(known.begin(), known.find(m.size.count())));
        };
        for (const auto& m : parts.seen) CHECK((place_of(m) % 2 == 0) == first);
        for (const auto& m : parts.unseen) CHECK((place_of(m) % 2 == 1) == first);
      }
    }
  }

  TEST_CASE("a condensed log holds one row per curve and size, with the median time") {
    const auto small = condensed(
        std::vector{measured(collective::all_gather, {2, 1}, 8, 9), measured(collective::all_gather, {2, 1}, 8, 1),
                    measured(collective::all_gather, {2, 1}, 8, 2), measured(collective::all_gather, {2, 1}, 4, 3),
                    measured(collective::all_gather, {2, 1}, 4, 5), measured(collective::all_gather, {4, 1}, 8, 7)});
    CHECK(small == std::vector{measured(collective::all_gather, {2, 1}, 4, 4),
                               measured(collective::all_gather, {2, 1}, 8, 2),
                               measured(collective::all_gather, {4, 1}, 8, 7)});
    CHECK(condensed({}).empty());
  }
}

TEST_SUITE("accuracy") {
  TEST_CASE("bands cover every size once, under names that say from where to where") {
    const std::array<std::tuple<std::string, std::int64_t, std::int64_t>, 5> bands{{
        {"below 64 KiB", 0, 65535},
        {"64 KiB to 1 MiB", 65536, (1 << 20) - 1},
        {"1 to 32 MiB", 1 << 20, (1 << 25) - 1},
        {"32 to 512 MiB", 1 << 25, (1 << 29) - 1},
        {"from 512 MiB", 1 << 29, std::int64_t{1} << 62},
    }};
    REQUIRE(size_bands.size() == bands.size());
    for (std::size_t i = 0; i < bands.size(); ++i) {
      const auto& [name, first, last] = bands[i];
      CHECK(std::string(size_bands[i].name) == name);
      for (std::size_t j = 0; j < bands.size(); ++j) {
        CHECK(size_bands[j].holds(bytes(first)) == (i == j));
        CHECK(size_bands[j].holds(bytes(last)) == (i == j));
      }
    }
  }

  TEST_CASE("errors are signed shares of the measured time, band by band") {
    std::vector<collective_measurement> rows;
    // the flat price of 10 us and 100 GB/s is 25 % over, right, and 20 % under
    for (const auto& [size, factor] : {std::pair{1000, .8}, {100'000, 1.0}, {2'000'000, 1.25}, {3'000'000, 1.25}})
      rows.push_back(measured(collective::all_gather, {2, 1}, size, factor * (10 + size / 1e5)));
    const accuracy_report report = accuracy(flat_price{}, rows);
    CHECK(report[0].count == 1);
    CHECK(report[0].signed_median == doctest::Approx(25));
    CHECK(report[0].median == doctest::Approx(25));
    CHECK(report[1].mean == doctest::Approx(0));
    CHECK(report[2].count == 2);
    CHECK(report[2].signed_median == doctest::Approx(-20));
    CHECK(report[2].p90 == doctest::Approx(20));
    CHECK(report[3].count == 0);
    CHECK(report[4].count == 0);
    CHECK(signed_errors(flat_price{}, rows, size_bands[2]).size() == 2);
  }

  TEST_CASE("nine of ten errors are at most p90, whatever their number and order") {
    random_source random(4);
    for (std::size_t n = 1; n < 40; ++n) {
      std::vector<double> errors;
      for (std::size_t i = 0; i < n; ++i) errors.push_back(static_cast<double>(random.below(2001)) / 10 - 100);
      const error_figures f = error_figures::of(errors);
      std::size_t at_most = 0, below = 0;
      double sum = 0;
      for (const double e : errors) {
        at_most += std::abs(e) <= f.p90 ? 1U : 0U;
        below += std::abs(e) < f.p90 ? 1U : 0U;
        sum += std::abs(e);
      }
      CHECK(at_most * 10 >= n * 9);
      CHECK(below * 10 < n * 9);
      CHECK(f.mean == doctest::Approx(sum / static_cast<double>(n)));
      CHECK(f.median <= f.p90);
      CHECK(std::abs(f.signed_median) <= 100);
    }
  }
}

TEST_SUITE("fitted_lines") {
  const std::vector<fitted_line> two_lines{{collective::all_gather, {2, 1}, {10, 100, 0, .5}},
                                           {collective::all_gather, {8, 1}, {40, 400, 0, .5}},
                                           {collective::all_gather, {8, 4}, {160, 25, 1e6, .5}},
                                           {collective::all_gather, {8, 16}, {640, 25, 1e6, .9}}};

  TEST_CASE("a group with a line is priced by it") {
    const fitted_lines<flat_price> model(two_lines, flat_price{});
    const collective_estimate e = model.estimate(collective::all_gather, bytes(1'000'000), {8, 1});
    CHECK(e.time_us == doctest::Approx(40 + 2.5));
    CHECK(e.latency_us == doctest::Approx(40));
    CHECK(e.bandwidth_us == doctest::Approx(2.5));
    CHECK(e.algorithm == "fit");
    CHECK(e.quality == estimate_quality::fitted);
    // the half size: half of the bandwidth
    CHECK(model.estimate(collective::all_gather, bytes(1'000'000), {8, 4}).bandwidth_us == doctest::Approx(2 * 40));
    CHECK(model.estimate(collective::all_gather, mebibytes(64), {1, 1}).time_us == 0);
  }

  TEST_CASE("between two lines latency and bandwidth lie in logarithms, the power evenly") {
    const fitted_lines<flat_price> model(two_lines, flat_price{});
    // four ranks are half way from two to eight
    const collective_estimate e = model.estimate(collective::all_gather, bytes(1'000'000), {4, 1});
    CHECK(e.latency_us == doctest::Approx(20));
    CHECK(e.bandwidth_us == doctest::Approx(5));
    CHECK(model.estimate(collective::all_gather, bytes(0), {8, 2}).latency_us == doctest::Approx(80));
    // eight nodes are half way from four to sixteen
    const collective_estimate far = model.estimate(collective::all_gather, bytes(4'000'000), {8, 8});
    CHECK(far.latency_us == doctest::Approx(320));
    CHECK(far.bandwidth_us == doctest::Approx(160 * (1 + std::pow(.25, .7))));
    // no line on either side: the other model
    for (const group_shape group : {group_shape{16, 1}, {2, 2}, {4, 4}, {8, 32}})
      CHECK(model.estimate(collective::all_gather, bytes(1'000'000), group).time_us == doctest::Approx(20));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 1}).time_us == doctest::Approx(20));
  }

  TEST_CASE("an all-reduce is raised to its reduce-scatter where noise put it below") {
    const std::vector<fitted_line> lines{{collective::reduce_scatter, {8, 1}, {50, 100, 0, .5}},
                                         {collective::all_reduce, {8, 1}, {10, 50, 0, .5}}};
    const fitted_lines<flat_price> model(lines, flat_price{});
    const auto time = [&](collective kind, std::int64_t size) {
      return model.estimate(kind, bytes(size), {8, 1}).time_us;
    };
    CHECK(time(collective::all_reduce, 1000) == time(collective::reduce_scatter, 1000));
    CHECK(time(collective::all_reduce, 100'000'000) == doctest::Approx(10 + 2000));
    CHECK(time(collective::all_gather, 1000) == doctest::Approx(10.01));
    for (std::int64_t size = 1; size < std::int64_t{1} << 36; size *= 2)
      CHECK(time(collective::all_reduce, size) >= time(collective::reduce_scatter, size));
  }

  TEST_CASE("wide gaps are priced like narrow ones, only found when asked") {
    const std::vector<fitted_line> lines{{collective::all_gather, {8, 1}, {10, 100, 0, .5}},
                                         {collective::all_gather, {8, 4096}, {1000, 10, 0, .5}},
                                         {collective::all_to_all, {8, 1}, {10, 100, 1e5, .5}},
                                         {collective::all_to_all, {8, 4096}, {1000, 10, 1e7, .9}}};
    const fitted_lines<flat_price> model(lines, flat_price{});
    for (std::int64_t nodes = 1; nodes <= 4096; nodes *= 2) {
      const double weight = std::log2(static_cast<double>(nodes)) / 12;
      const collective_estimate e = model.estimate(collective::all_gather, bytes(0), {8, nodes});
      CHECK(e.latency_us == doctest::Approx(10 * std::pow(100, weight)));
      const saturated_line line{10 * std::pow(100, weight), 100 * std::pow(.1, weight), 1e5 * std::pow(100, weight),
                                .5 + .4 * weight};
      for (const double size : {0.0, 1.0, 3e4, 1e6, 7e9}) {
        const collective_estimate exchange =
            model.estimate(collective::all_to_all, bytes(static_cast<std::int64_t>(size)), {8, nodes});
        CHECK(exchange.time_us == doctest::Approx(line.at(size)));
      }
    }
  }
}

TEST_SUITE("device_presets") {
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

TEST_SUITE("device_calibration") {
  TEST_CASE("it makes models of what was measured, and the device's defaults of what was not") {
    device_calibration c;
    const device_profile h100 = find_device("h100");
    CHECK(c.correct(flat_price{}).estimate(collective::all_gather, bytes(8), {2, 1}).time_us ==
          flat_price{}.estimate(collective::all_gather, bytes(8), {2, 1}).time_us);
    CHECK(c.compute_on(h100).memory == compute_profile().memory);
    CHECK(c.compute_on(h100).device.memory_bandwidth == h100.memory_bandwidth);
    compute_profile measured_shares;
    measured_shares.memory = {.9, 1e5, 1};
    measured_shares.launch_us = 3;
    c.compute = measured_shares;
    CHECK(c.compute_on(h100).memory == saturation{.9, 1e5, 1});
    CHECK(c.compute_on(h100).memory_time(bytes(0)) == 3);
    CHECK(c.compute_on(h100).device.name == "h100");
    c.collectives = {measured(collective::all_gather, {2, 1}, 1000, 30)};
    CHECK(c.correct(flat_price{}).estimate(collective::all_gather, bytes(1000), {2, 1}).time_us == doctest::Approx(30));
  }
}

TEST_SUITE("residual") {
  TEST_CASE("beyond the measured sizes the last correction stays, within them it moves with the base") {
    // the base says 10 us + 1 us per 100 kB; measured are twice that at 1 MB and three times that at 4 MB
    const std::vector rows{measured(collective::all_gather, {8, 1}, 1'000'000, 40),
                           measured(collective::all_gather, {8, 1}, 4'000'000, 150)};
    const residual model(flat_price{}, rows);
    const auto time = [&](std::int64_t size) { return model.estimate(collective::all_gather, bytes(size), {8, 1}); };
    CHECK(time(100'000).time_us == doctest::Approx(2 * 11));
    CHECK(time(100'000).quality == estimate_quality::extrapolated);
    CHECK(time(40'000'000).time_us == doctest::Approx(3 * 410));
    CHECK(time(40'000'000).quality == estimate_quality::extrapolated);
    CHECK(time(2'500'000).time_us == doctest::Approx((40 + 150) / 2.0));
    CHECK(time(2'500'000).quality == estimate_quality::measured);
    CHECK(time(1'000'000).latency_us == doctest::Approx(20));
    CHECK(time(1'000'000).bandwidth_us == doctest::Approx(20));
  }

  TEST_CASE("where the base stands still, the logarithm of the size leads from one measurement to the next") {
    struct constant_price {
      [[nodiscard]] collective_estimate estimate(collective, bytes, group_shape) const { return {.time_us = 5}; }
    };
    const std::vector rows{measured(collective::all_gather, {8, 1}, 1 << 10, 10),
                           measured(collective::all_gather, {8, 1}, 1 << 20, 30)};
    const residual model(constant_price{}, rows);
    CHECK(model.estimate(collective::all_gather, bytes(1 << 15), {8, 1}).time_us == doctest::Approx(20));
    CHECK(model.estimate(collective::all_gather, bytes(1 << 19), {8, 1}).time_us == doctest::Approx(28));
  }

  TEST_CASE("a collective that was not measured is corrected like all that were, others by their own") {
    std::vector<collective_measurement> rows;
    for (const std::int64_t size : {1000, 1'000'000, 100'000'000}) {
      const double base = flat_price{}.estimate(collective::all_gather, bytes(size), {8, 1}).time_us;
      rows.push_back(measured(collective::all_gather, {8, 1}, size, 3 * base));
      rows.push_back(measured(collective::all_reduce, {8, 1}, size, 3 * base));
    }
    const residual model(flat_price{}, rows);
    for (const collective kind : measured_kinds) {
      CHECK(model.elsewhere(kind).scale == doctest::Approx(3));
      CHECK(model.elsewhere(kind).offset_us == doctest::Approx(0));
      const auto far = model.estimate(kind, bytes(500'000), {8, 7});
      CHECK(far.time_us == doctest::Approx(3 * 15));
      CHECK(far.quality == estimate_quality::extrapolated);
    }
    CHECK(model.estimate(collective::all_gather, bytes(5), {1, 1}).time_us == 0);
    CHECK(model.base().us == 10);
  }
}

TEST_SUITE("link_shares") {
  TEST_CASE("wrong shares, sizes and nodes are refused in words") {
    const auto message = [](link_share s) {
      return shardweave_test::refusal_of([&] { return link_shares<>(std::span<const link_share>(&s, 1)); });
    };
    const std::string end = " nodes: expected a share in (0, 1], and a size and nodes that are positive";
    CHECK(message({shared_path::inside, 1, bytes(1), 1}).empty());
    CHECK(message({shared_path::inside, 1, bytes(1), 0}) == "a share of 0 at 1 bytes on 1" + end);
    CHECK(message({shared_path::inside, 0, bytes(1), .5}) == "a share of 0.5 at 1 bytes on 0" + end);
    CHECK(message({shared_path::network, 2, bytes(0), .5}) == "a share of 0.5 at 0 bytes on 2" + end);
    CHECK(message({shared_path::inside, 1, bytes(1), std::nan("")}) == "a share of nan at 1 bytes on 1" + end);
  }

  TEST_CASE("the base's latency is only a floor, and each path has shares of its own") {
    const std::vector<link_share> rows{{shared_path::inside, 1, bytes(1'000'000), .5},
                                       {shared_path::network, 4, bytes(1'000'000), .25},
                                       {shared_path::all_to_all, 1, bytes(1'000'000), .1}};
    const link_shares<flat_price> model(rows);
    const auto e = model.estimate(collective::all_gather, bytes(1'000'000), {8, 1});
    CHECK(e.time_us == doctest::Approx(20));  // twice 10 us for the bytes, the latency of 10 us within
    CHECK(e.latency_us == 10);
    CHECK(e.quality == estimate_quality::fitted);
    // below the smallest measured size its time stays
    CHECK(model.estimate(collective::all_gather, bytes(1), {8, 1}).time_us == doctest::Approx(20));
    const std::vector<link_share> small{{shared_path::inside, 1, bytes(1000), .5}};
    CHECK(link_shares<flat_price>(small).estimate(collective::all_gather, bytes(1000), {8, 1}).time_us == 10);
    for (const std::int64_t nodes : {2, 4, 400})  // one measured number of nodes speaks for all
      CHECK(model.estimate(collective::all_reduce, bytes(1'000'000), {8, nodes}).time_us == doctest::Approx(40));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 1}).time_us == doctest::Approx(100));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 9}).time_us == doctest::Approx(100));
    CHECK(model.estimate(collective::all_gather, bytes(1'000'000), {1, 1}).time_us == 0);
  }
}

}  // namespace measurement_tests

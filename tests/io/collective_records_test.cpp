#include "io/refused.hpp"
#include "support/shared_data.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/residual.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/read_link_shares.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace collective_records_tests {
namespace {

std::vector<sw::measured_record> records_in(const std::string& text, const sw::record_options& options = {}) {
  sw::text_input input = sw::text_input::of_memory("t", text, 7);
  return sw::read_collective_records(input, options);
}

const std::string small_csv =
    "# a comment\n"
    "system,collective,nodes,ranks,size_bytes,time_us,note\n"
    "box,allreduce,2,16,1048576,61.5,\"quoted, with \"\"marks\"\"\"\n"
    "\n"
    "box,reduce_scatter,1,4,8,9.25,\r\n";

const std::string small_log =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20\n"
    "# Collective test starting: reduce_scatter_perf\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  101 on     host-a device  0 [0x53] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  102 on     host-a device  1 [0x64] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid  201 on     host-b device  0 [0x53] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid  202 on     host-b device  1 [0x64] NVIDIA H100 80GB HBM3\n"
    "host-a:101:101 [0] NCCL INFO Using network IB\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw\n"
    "           0             0     float     sum      -1     0.11    0.00    0.00      0     0.10    0.00    0.00   "
    "0\n"
    "        1024            64     float     sum      -1    21.30    0.05    0.04      0    20.75    0.05    0.04   "
    "0\n"
    "     1048576         65536     float     sum      -1    40.00   26.21   19.66    N/A    39.50   26.55   19.91   "
    "N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 9.9\n";

/// One entry of a table of XLA.
std::string xla_entry(const std::string& opcode, int elements, const std::string& groups, const std::string& speed) {
  return "    entries {\n      instruction {\n        name: \"_\"\n        opcode: \"" + opcode +
         "\"\n        shape {\n          element_type: F32\n          dimensions: " + std::to_string(elements) +
         "\n          layout { minor_to_major: 0 }\n        }\n        dimensions: 0\n        " + groups +
         "\n      }\n      network_throughput_bytes_per_sec: " + speed + "\n    }\n";
}
const std::string four_of_two = "iota_collective_device_list { num_replica_groups: 4 num_devices_per_group: 2 }";
const std::string small_xla =
    "# a table\nentries {\n  key: \"sm_90\"\n  value {\n" +
    xla_entry("reduce-scatter", 32768, four_of_two, "7111111111") +
    xla_entry("all-gather", 512, "replica_groups { replica_ids: [0, 1, 2, 3] } replica_groups { replica_ids: 4 }",
              "71111111") +
    xla_entry("collective-permute", 512, "source_target_pairs { target: 1 }", "71111111") + "  }\n}\n";

}  // namespace

TEST_SUITE("read_collective_records") {
  TEST_CASE("CSV is read by the names of its columns") {
    const auto records = records_in(small_csv);
    REQUIRE(records.size() == 2);
    CHECK(records[0].measurement ==
          sw::collective_measurement{sw::collective::all_reduce, {8, 2}, sw::mebibytes(1), 61.5});
    CHECK(records[0].system == "box");
    CHECK(records[0].note == "quoted, with \"marks\"");
    CHECK(records[0].placement.empty());
    CHECK(records[1].measurement ==
          sw::collective_measurement{sw::collective::reduce_scatter, {4, 1}, sw::bytes(8), 9.25});
    CHECK(sw::measurements_of(records).size() == 2);
  }

  TEST_CASE("the output of nccl-tests is read with both placements") {
    const auto records = records_in(small_log);
    REQUIRE(records.size() == 4);
    for (const auto& r : records) {
      CHECK(r.measurement.kind == sw::collective::reduce_scatter);
      CHECK(r.measurement.group == sw::group_shape{2, 2});
    }
    CHECK(records[0].measurement.size == sw::bytes(1024));
    CHECK(records[0].measurement.time_us == 21.30);
    CHECK(records[0].placement == "out");
    CHECK(records[1].measurement.time_us == 20.75);
    CHECK(records[1].placement == "in");
    CHECK(records[3].measurement.size == sw::mebibytes(1));
  }

  TEST_CASE("a table of XLA is read with full sizes") {
    const auto records = records_in(small_xla);
    REQUIRE(records.size() == 2);
    // a result of 128 KiB on each of two ranks is a reduce-scatter of 256 KiB
    CHECK(records[0].measurement.kind == sw::collective::reduce_scatter);
    CHECK(records[0].measurement.group == sw::group_shape{2, 1});
    CHECK(records[0].measurement.size == sw::kibibytes(256));
    CHECK(records[0].measurement.time_us == doctest::Approx(36.864));
    CHECK(records[0].system == "sm_90");
    CHECK(records[1].measurement.group == sw::group_shape{4, 1});
    CHECK(records[1].measurement.size == sw::bytes(2048));
    CHECK(records[1].measurement.time_us == doctest::Approx(28.8));
    // nodes of two devices
    CHECK(records_in(small_xla, {.devices_per_node = 2})[1].measurement.group == sw::group_shape{2, 2});
  }

  TEST_CASE("what is wrong is told with its line") {
    const auto csv = [](const std::string& from, const std::string& to) {
      return refused([&] { return records_in(changed(small_csv, from, to)); });
    };
    CHECK(csv("time_us", "us") == "t: line 2: no column is called 'time_us'");
    CHECK(csv("allreduce", "gossip") ==
          "t: line 3: collective is 'gossip', expected all_gather, reduce_scatter, all_reduce, all_to_all or shift");
    CHECK(csv(",2,16,", ",3,16,") == "t: line 3: 16 ranks on 3 nodes: expected two or more, and as many on each node");
    CHECK(csv(",2,16,", ",-1,16,") == "t: line 3: nodes is -1, not stated: say how many nodes the groups span");
    CHECK(csv("61.5", "-61.5") == "t: line 3: time_us is '-61.5', expected a positive number of microseconds");
    CHECK(csv("61.5", "nan") == "t: line 3: time_us is 'nan', expected a positive number of microseconds");
    CHECK(csv(",8,9.25", ",0,9.25") == "t: line 5: size_bytes is 0, expected a positive number");
    CHECK(csv(",8,9.25,", ",8") == "t: line 5: has 5 cells, expected 7");
    const auto log = [](const std::string& from, const std::string& to) {
      return refused([&] { return records_in(changed(small_log, from, to)); });
    };
    CHECK(log("reduce_scatter_perf", "sendrecv_perf") ==
          "t: line 2: the test is 'sendrecv_perf', expected that of one of all_gather, reduce_scatter, all_reduce, "
          "alltoall");
    CHECK(log("    N/A    39.50", " 39.50") ==
          "t: line 12: a result has 12 columns, expected 13 (or 9 without one of both placements)");
    CHECK(log("21.30", "fast") == "t: line 11: time is 'fast', expected a positive number of microseconds");
    CHECK(log("102 on     host-a", "102 on     host-b") ==
          "t: lists 4 ranks on 2 hosts; expected two or more, and as many on each, or a group to be given");
    const auto xla = [](const std::string& from, const std::string& to) {
      return refused([&] { return records_in(changed(small_xla, from, to)); });
    };
    CHECK(xla("element_type: F32", "element_type: F31") == "t: line 17: no element type is called 'F31'");
    CHECK(xla("network_throughput_bytes_per_sec: 7111111111", "network_throughput_bytes_per_sec: -5") ==
          "t: line 17: network_throughput_bytes_per_sec is '-5', expected a whole number, not negative");
    CHECK(xla("  }\n}\n", "  }\n") == "t: line 48: the text ends inside of 'entries'");
    CHECK(xla("key: \"sm_90\"", "key \"sm_90\"") == "t: line 3: found 'sm_90' after 'key', expected ':' or '{'");
    CHECK(xla("key: \"sm_90\"", "key: \"sm_90") == "t: line 3: a text does not end on its line");
    const std::string nothing =
        "t: holds no measured collective; expected a CSV table, the output of nccl-tests or a performance table of XLA";
    CHECK(refused([] { return records_in(""); }) == nothing);
    CHECK(refused([] { return records_in("# only a comment\n"); }) == nothing);
    CHECK(refused([] { return records_in("collective,nodes,ranks,size_bytes,time_us\n"); }) == nothing);
    CHECK(refused([] { return records_in("entries { }"); }) == nothing);
  }

  TEST_CASE("models calibrated on every second size of measured tables meet their targets on the others") {
    std::vector<double> table_small, table_large, residual_small, residual_large;
    for (const char* name : {"azure_nda100v4_allreduce", "aws_p4d_2node_allreduce", "aws_p5_1node_allreduce",
                             "azure_ndh100v5_allreduce", "aws_p5_2node_allreduce", "coreweave_h100_64_sharp_allreduce",
                             "xla_h100_8gpu", "xla_b200_8gpu", "coreweave_gb200_nvl72_allreduce", "xla_gb200_nvl72"}) {
      const auto path = shared_data("collectives/" + std::string(name) + ".csv");
      if (!path) return;
      const auto rows = sw::measurements_of(sw::read_collective_records(*path));
      CHECK(rows.size() >= 10);
      for (const bool first_is_seen : {true, false}) {
        const sw::held_out parts = sw::every_second_size(rows, first_is_seen);
        const auto add = [&](const auto& model, std::vector<double>& small, std::vector<double>& large) {
          for (std::size_t b = 0; b < sw::size_bands.size(); ++b)
            for (const double e : sw::signed_errors(model, parts.unseen, sw::size_bands[b]))
              (b < 2 ? small : large).push_back(e);
        };
        add(sw::collective_table<>(parts.seen), table_small, table_large);
        add(sw::residual(sw::alpha_beta(), parts.seen), residual_small, residual_large);
      }
    }
    for (const auto* large : {&table_large, &residual_large}) {
      CHECK(sw::error_figures::of(*large).median < 3);
      CHECK(sw::error_figures::of(*large).p90 < 15);
    }
    for (const auto* small : {&table_small, &residual_small}) CHECK(sw::error_figures::of(*small).median < 6);
  }

  TEST_CASE("NCCL's model corrected by half of a table is as near to the other half as its targets ask") {
    for (const auto& [name, device] :
         {std::pair{"azure_nda100v4_allreduce", "a100"}, std::pair{"aws_p5_1node_allreduce", "h100"},
          std::pair{"azure_ndh100v5_allreduce", "h100"}}) {
      const auto path = shared_data("collectives/" + std::string(name) + ".csv");
      if (!path) return;
      const auto rows = sw::measurements_of(sw::read_collective_records(*path));
      const sw::nccl_smooth nccl(sw::find_device(device));
      CAPTURE(name);
      // alone, before it saw a measurement of this table
      const sw::accuracy_report alone = sw::accuracy(nccl, rows);
      CHECK(alone[3].mean < 15);
      CHECK(alone[4].mean < 10);
      const sw::size_band small{"below 1 MiB", sw::bytes(0), sw::mebibytes(1)};
      const sw::size_band large{"from 1 MiB", sw::mebibytes(1), sw::gibibytes(1 << 20)};
      for (const bool first_is_seen : {true, false}) {
        const sw::held_out parts = sw::every_second_size(rows, first_is_seen);
        const sw::residual corrected(nccl, parts.seen);
        const auto far = sw::error_figures::of(sw::signed_errors(corrected, parts.unseen, large));
        CHECK(far.median < 5);
        CHECK(far.p90 < 15);
        CHECK(sw::error_figures::of(sw::signed_errors(corrected, parts.unseen, small)).median < 15);
      }
    }
  }

  TEST_CASE("where times scatter, a calibrated model misses unseen ones by little more than their scatter") {
    for (const auto& [name, device] : {std::pair{"xla_h100_8gpu", "h100"}, std::pair{"xla_b200_8gpu", "b200"}}) {
      const auto path = shared_data("collectives/" + std::string(name) + ".csv");
      if (!path) return;
      CAPTURE(name);
      const auto rows = sw::condensed(sw::measurements_of(sw::read_collective_records(*path)));
      const sw::nccl_smooth nccl(sw::find_device(device));
      // what one time differs from the mean of its neighbours has one and a half times the variance of one time, where
      // times differ from the model evenly otherwise
      std::vector<double> scatter[2], error[2];
      sw::detail::for_each_curve(rows, [&](std::span<const sw::collective_measurement> curve) {
        const auto left = [&](std::size_t i) {
          return std::log(curve[i].time_us / nccl.estimate(curve[i].kind, curve[i].size, curve[i].group).time_us);
        };
        for (std::size_t i = 1; i + 1 < curve.size(); ++i)
          scatter[curve[i].size >= sw::mebibytes(1) ? 1 : 0].push_back(
              100 * (left(i) - (left(i - 1) + left(i + 1)) / 2) / std::sqrt(1.5));
      });
      for (const bool first_is_seen : {true, false}) {
        const sw::held_out parts = sw::every_second_size(rows, first_is_seen);
        const sw::residual corrected(nccl, parts.seen);
        for (const auto& m : parts.unseen)
          error[m.size >= sw::mebibytes(1) ? 1 : 0].push_back(
              100 * (corrected.estimate(m.kind, m.size, m.group).time_us / m.time_us - 1));
        if (first_is_seen) CHECK(sw::error_figures::of(error[1]).p90 < 15);
      }
      const auto small = sw::error_figures::of(error[0]), small_scatter = sw::error_figures::of(scatter[0]);
      const auto large = sw::error_figures::of(error[1]), large_scatter = sw::error_figures::of(scatter[1]);
      CHECK(small_scatter.median > 12);  // so that 15 % cannot be asked of one table's small sizes
      CHECK(small.median < 1.25 * small_scatter.median);
      CHECK(large.median < 5);
      CHECK(large.median < 1.25 * large_scatter.median);
      CHECK(large.p90 < 1.25 * large_scatter.p90);
    }
  }

  TEST_CASE("a gibibyte in buckets takes as many times longer as was published of the measured tables") {
    struct row {
      const char* name;
      sw::group_shape group;
      std::vector<double> factors;  // buckets of 512, 256, 128, 64, 32, 16, 8, 4 and 1 MiB
    };
    for (const row& r :
         {row{"aws_p5_1node_allreduce", {8, 1}, {1.02, 1.05, 1.12, 1.23, 1.49, 1.87, 2.54, 3.34, 6.88}},
          row{"aws_p5_2node_allreduce", {8, 2}, {1.11, 1.27, 1.51, 2.09, 3.05, 4.14, 5.69, 9.37, 27.4}},
          row{"aws_p4d_2node_allreduce", {8, 2}, {1.03, 1.10, 1.19, 1.61, 1.88, 2.91, 3.72, 5.21, 12.1}}}) {
      const auto path = shared_data("collectives/" + std::string(r.name) + ".csv");
      if (!path) return;
      const sw::collective_table<> table(sw::measurements_of(sw::read_collective_records(*path)));
      for (std::size_t i = 0; i < r.factors.size(); ++i) {
        const sw::bytes bucket = i + 1 < r.factors.size() ? sw::mebibytes(512 >> i) : sw::mebibytes(1);
        CAPTURE(bucket.count());
        CHECK(sw::bucketing_factor(table, sw::collective::all_reduce, sw::gibibytes(1), bucket, r.group) ==
              doctest::Approx(r.factors[i]).epsilon(0.03));
      }
    }
  }

  TEST_CASE("what a table of XLA became in our CSV was converted alike") {
    const auto path = shared_data("collectives/xla_b200_8gpu.csv");
    if (!path) return;
    // the entries of the test above stand in that table
    const auto rows = sw::measurements_of(sw::read_collective_records(*path));
    const auto time_of = [&](sw::collective kind, sw::group_shape group, sw::bytes size) {
      for (const auto& m : rows)
        if (m.kind == kind && m.group == group && m.size == size) return m.time_us;
      return 0.0;
    };
    CHECK(time_of(sw::collective::reduce_scatter, {2, 1}, sw::kibibytes(256)) == doctest::Approx(36.864));
    CHECK(time_of(sw::collective::all_gather, {8, 1}, sw::bytes(2048)) == doctest::Approx(28.8));
  }
}

TEST_SUITE("read_link_shares") {
  std::vector<sw::link_share> shares_in(const std::string& text) {
    auto input = sw::text_input::of_memory("s", text);
    return sw::read_link_shares(input);
  }

  TEST_CASE("shares are read by the names of their columns") {
    const auto shares = shares_in("# ratios\nkind,nodes,size_bytes,efficiency\nnic,2,1024,0.25\nata,1,2048,1\n");
    CHECK(shares == std::vector<sw::link_share>{{sw::shared_path::network, 2, sw::bytes(1024), .25},
                                                {sw::shared_path::all_to_all, 1, sw::bytes(2048), 1}});
    const std::string head = "kind,nodes,size_bytes,efficiency\n";
    CHECK(refused([&] { return shares_in(head + "tcp,2,1024,0.25"); }) ==
          "s: line 2: kind is 'tcp', expected nvlink, nic or ata");
    CHECK(refused([&] { return shares_in(head + "nic,2,1024,0"); }) ==
          "s: line 2: efficiency is '0', expected a share in (0, 1]");
    CHECK(refused([&] { return shares_in(head + "nic,2,1024,1.5"); }) ==
          "s: line 2: expected one node or more, a size that is positive and a share in (0, 1]");
    CHECK(refused([&] { return shares_in(head + "nic,2,1024"); }) == "s: line 2: has 3 cells, expected 4");
    CHECK(refused([&] { return shares_in("kind,nodes,size_bytes\n"); }) ==
          "s: line 1: no column is called 'efficiency'");
    CHECK(refused([&] { return shares_in(head); }) == "s: holds no share of a link");
  }

  TEST_CASE("the ratios that SimAI publishes make a profile") {
    const auto path = shared_data("collectives/simai_efficiency_ratio.csv");
    if (!path) return;
    const sw::alpha_beta base(sw::find_device("h100"));
    const sw::link_shares model(sw::read_link_shares(*path), base);
    const auto share = [&](sw::collective kind, sw::bytes size, sw::group_shape group) {
      return base.estimate(kind, size, group).bandwidth_us / model.estimate(kind, size, group).bandwidth_us;
    };
    CHECK(share(sw::collective::all_reduce, sw::mebibytes(256), {8, 2}) == doctest::Approx(.85));
    CHECK(share(sw::collective::all_to_all, sw::mebibytes(16), {8, 2}) == doctest::Approx(.52));
  }
}

}  // namespace collective_records_tests

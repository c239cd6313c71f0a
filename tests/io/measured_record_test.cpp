#include "io/refused.hpp"
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/measured_record.hpp>
#include <shardweave/io/nccl_tests_json.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace measured_record_tests {
namespace {

std::vector<sw::measured_record> records_in(const std::string& text, const sw::record_options& options = {}) {
  sw::text_input input = sw::text_input::of_memory("t", text, 7);
  return sw::read_collective_records(input, options);
}
std::string complaint(const std::string& text, const sw::record_options& options = {}) {
  return refused([&] { return records_in(text, options); });
}

/// A table of XLA about one device: 1024 bytes of result, moved at a byte in a microsecond.
std::string xla_table(const std::string& device, const std::string& ranks) {
  return "entries { key: \"" + device +
         "\" value { entries { instruction { opcode: \"all-gather\" shape { element_type: F32 dimensions: 256 } "
         "collective_device_list { num_devices_per_group: " +
         ranks + " } } network_throughput_bytes_per_sec: 1000000 } } }\n";
}

/// A result of nccl-tests, out of place: size count type redop root time algbw busbw wrong.
const std::string bare_result = "  1024  256  float  sum  -1  21.30  0.05  0.04  0\n";

}  // namespace

TEST_SUITE("measured_record") {
  TEST_CASE("a record has what the table says, and what it does not say is empty") {
    const auto of_csv = records_in(
        "collective,nodes,ranks,size_bytes,time_us,system,placement,note\n"
        "allreduce,2,16,8,1.5,box,sideways,by hand\n");
    REQUIRE(of_csv.size() == 1);
    CHECK(of_csv[0].measurement == sw::collective_measurement{sw::collective::all_reduce, {8, 2}, sw::bytes(8), 1.5});
    CHECK(of_csv[0].system == "box");
    CHECK(of_csv[0].placement == "sideways");
    CHECK(of_csv[0].note == "by hand");
    const auto of_log = records_in(bare_result, {.kind = sw::collective::all_reduce, .group = sw::group_shape{8, 1}});
    REQUIRE(of_log.size() == 1);
    CHECK(of_log[0].system.empty());
    CHECK(of_log[0].placement == "out");
    CHECK(of_log[0].note.empty());
    const auto of_xla = records_in(xla_table("sm_90", "4"));
    REQUIRE(of_xla.size() == 1);
    CHECK(of_xla[0].system == "sm_90");
    CHECK(of_xla[0].note.empty());
  }
}

TEST_SUITE("record_options") {
  TEST_CASE("nodes that a CSV leaves open are asked for, and those that it states stay") {
    const std::string text = "collective,nodes,ranks,size_bytes,time_us\nallgather,-1,16,8,2\nallgather,1,8,8,1\n";
    CHECK(complaint(text) == "t: line 2: nodes is -1, not stated: say how many nodes the groups span");
    const auto rows = records_in(text, {.group = sw::group_shape{8, 2}});
    CHECK(rows.at(0).measurement.group == sw::group_shape{8, 2});
    CHECK(rows.at(1).measurement.group == sw::group_shape{8, 1});
  }

  TEST_CASE("what an output of nccl-tests leaves open is asked for") {
    CHECK(complaint(bare_result) ==
          "t: does not say which collective was measured (no line 'Collective test starting'), and none was given");
    CHECK(complaint(bare_result, {.kind = sw::collective::all_reduce}) ==
          "t: lists 0 ranks on 0 hosts; expected two or more, and as many on each, or a group to be given");
    const auto records = records_in(bare_result, {.kind = sw::collective::all_reduce, .group = sw::group_shape{8, 1}});
    REQUIRE(records.size() == 1);
    CHECK(records[0].measurement ==
          sw::collective_measurement{sw::collective::all_reduce, {8, 1}, sw::bytes(1024), 21.3});
  }

  TEST_CASE("a kind and a group that are given count for more than what an output of nccl-tests says") {
    const std::string log =
        "# Collective test starting: all_reduce_perf\n#  Rank 0 on a device 0\n#  Rank 1 on b device 0\n" + bare_result;
    const sw::record_options given{.kind = sw::collective::all_to_all, .group = sw::group_shape{4, 4}};
    CHECK(records_in(log).front().measurement ==
          sw::collective_measurement{sw::collective::all_reduce, {1, 2}, sw::bytes(1024), 21.3});
    CHECK(records_in(log, given).front().measurement ==
          sw::collective_measurement{sw::collective::all_to_all, {4, 4}, sw::bytes(1024), 21.3});
    sw::text_input json = sw::text_input::of_memory(
        "j", R"({"args": ["build/all_gather_perf"], "results": [{"size": 8, "in_place": {"time": 1}}]})");
    CHECK(sw::read_nccl_tests_json(json, given).front().measurement ==
          sw::collective_measurement{sw::collective::all_to_all, {4, 4}, sw::bytes(8), 1});
  }

  TEST_CASE("a table of XLA about several devices needs a name") {
    const std::string both = xla_table("sm_90", "4") + xla_table("sm_100", "2");
    CHECK(complaint(both) == "t: holds several devices (sm_90, sm_100); name one");
    REQUIRE(records_in(both, {.device = "sm_100"}).size() == 1);
    CHECK(records_in(both, {.device = "sm_100"}).front().measurement.group == sw::group_shape{2, 1});
    CHECK(complaint(both, {.device = "sm_80"}) == "t: has no device 'sm_80'; known are sm_90, sm_100");
  }

  TEST_CASE("groups of XLA that are larger than a node fill nodes") {
    const auto group = [](const std::string& ranks, std::int64_t per_node) {
      return records_in(xla_table("sm_90", ranks), {.devices_per_node = per_node}).front().measurement.group;
    };
    CHECK(group("8", 8) == sw::group_shape{8, 1});
    CHECK(group("16", 8) == sw::group_shape{8, 2});
    CHECK(group("16", 72) == sw::group_shape{16, 1});
    CHECK(group("4", 0) == sw::group_shape{1, 4});
    CHECK(complaint(xla_table("sm_90", "12")) == "t: line 1: 12 ranks do not fill nodes of 8");
    CHECK(complaint(xla_table("sm_90", "1048577")) == "t: line 1: a group of 1048577 ranks is too large");
  }
}

}  // namespace measured_record_tests

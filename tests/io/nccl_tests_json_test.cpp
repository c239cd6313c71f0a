#include "io/record_options_of_tests.hpp"
#include "io/refused.hpp"
#include <shardweave/cost/measurement.hpp>
#include <shardweave/io/nccl_tests_json.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <string>

namespace nccl_tests_json_tests {
namespace {

namespace sw = shardweave;
using namespace record_options_of_tests;

}  // namespace

TEST_SUITE("nccl_tests_json") {
  TEST_CASE("either time counts, and what the file leaves open is asked for") {
    const auto read = [](const std::string& text, const sw::record_options& options) {
      auto input = sw::text_input::of_memory("T", text);
      return sw::read_nccl_tests_json(input, options);
    };
    const auto rows = read(R"({"args": ["/opt/build/reduce_scatter_perf"], "version": 3, "results": [
      {"size": 0, "out_of_place": {"time": 0}},
      {"size": 16, "count": 4, "out_of_place": {"cpu_time": 2, "alg_bw": 1}, "in_place": {"time": 3, "cpu_time": 9}},
      {"size": 32}]})",
                           eight_ranks);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].measurement == sw::collective_measurement{sw::collective::reduce_scatter, {8, 1}, sw::bytes(16), 2});
    CHECK(rows[0].placement == "out");
    CHECK(rows[1].measurement.time_us == 3);
    CHECK(rows[1].placement == "in");
    const std::string one = R"({"results": [{"size": 8, "in_place": {"time": 1}}]})";
    CHECK(refused([&] { return read(one, {}); }) ==
          "T: does not say which ranks share a node; give a group of two or more");
    CHECK(refused([&] {
            return read(one, {.group = sw::group_shape{1, 1}});
          }) == "T: does not say which ranks share a node; give a group of two or more");
    CHECK(refused([&] { return read(one, eight_ranks); }) ==
          "T: does not name the program of a known collective in 'args', and none was given");
    CHECK(read(one, {.kind = sw::collective::all_gather, .group = sw::group_shape{2, 2}}).front().measurement.group ==
          sw::group_shape{2, 2});
    CHECK(refused([&] {
            return read(changed(one, "\"size\": 8", "\"size\": -8"), eight_ranks);
          }).ends_with("results[0] has a negative size"));
    CHECK(refused([&] {
            return read(changed(one, "\"time\": 1", "\"time\": 0"), eight_ranks);
          }).ends_with("results[0] has a time that is not positive"));
    CHECK(refused([&] { return read(R"({"args": []})", eight_ranks); }).ends_with("the text has no field 'results'"));
  }
}

TEST_SUITE("read_nccl_tests_json") {
  const std::string text = R"({"version": 3, "args": ["build/all_gather_perf", "-b", "8"], "env": [],
"config": {"nthreads": 1, "ngpus": 8},
"results": [
 {"size": 0, "count": 0, "type": "float", "out_of_place": {"time": 0.1}, "in_place": {"time": 0.1}},
 {"size": 1024, "count": 256, "type": "float", "redop": "none", "root": -1,
  "out_of_place": {"time": 15.5, "alg_bw": 0.07, "bus_bw": 0.06, "nwrong": "0"}, "in_place": {"cpu_time": 14.25}}],
"average_bus_bandwidth": {"bandwidth": 1}})";
  const auto read = [](const std::string& what, const sw::record_options& options) {
    sw::text_input input = sw::text_input::of_memory("j", what, 9);
    return sw::read_nccl_tests_json(input, options);
  };
  const sw::record_options one_node{.group = sw::group_shape{8, 1}};

  TEST_CASE("both placements are read, and the collective of the program") {
    const auto records = read(text, one_node);
    REQUIRE(records.size() == 2);
    CHECK(records[0].measurement ==
          sw::collective_measurement{sw::collective::all_gather, {8, 1}, sw::bytes(1024), 15.5});
    CHECK(records[0].placement == "out");
    CHECK(records[1].measurement.time_us == 14.25);
    CHECK(records[1].placement == "in");
  }

  TEST_CASE("what is open or wrong is refused") {
    CHECK(refused([&] { return read(text, {}); }) ==
          "j: does not say which ranks share a node; give a group of two or more");
    CHECK(refused([&] { return read(changed(text, "all_gather_perf", "sendrecv_perf"), one_node); }) ==
          "j: does not name the program of a known collective in 'args', and none was given");
    CHECK(refused([&] {
            return read(changed(text, "15.5", "-15.5"), one_node);
          }).find("has a time that is not positive") != std::string::npos);
    CHECK(refused([&] { return read(changed(text, "\"results\"", "\"rows\""), one_node); }).find("results") !=
          std::string::npos);
  }
}

}  // namespace nccl_tests_json_tests

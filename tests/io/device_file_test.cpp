#include "io/refused.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/io/device_file.hpp>

#include <doctest/doctest.h>

#include <string>

namespace sw = shardweave;

namespace device_file_tests {
namespace {

const std::string small_device = R"({"format": "shardweave.device", "version": 1, "name": "box", "device": "h100",
"source": "a test", "collectives": [
 {"op": "all_gather", "ranks_per_node": 8, "bytes": [1024, 1048576, 1073741824], "time_us": [15.5, 28, 2700.25]},
 {"op": "all_reduce", "ranks_per_node": 8, "nodes": 2, "bytes": [1024], "time_us": [70]}],
"compute": {"memory": {"peak": 0.9, "half": 100000}, "product": [{"arithmetic": "f16", "peak": 0.742, "half": 150,
 "power": 1.47}], "launch_us": 4},
"contention": {"processors": 132, "collective_factor": 1.25},
"held_out": [{"sizes": "1 to 32 MiB", "median_percent": 3}], "colour": "green"})";

sw::device_calibration device_in(const std::string& text, bool strict = false) {
  sw::text_input input = sw::text_input::of_memory("d", text, 5);
  return sw::read_device(input, {.strict = strict});
}

}  // namespace

TEST_SUITE("read_device") {
  TEST_CASE("a file gives what models need") {
    const sw::device_calibration d = device_in(small_device);
    CHECK(d.name == "box");
    CHECK(d.device == "h100");
    CHECK(d.source == "a test");
    REQUIRE(d.collectives.size() == 4);
    CHECK(d.collectives[2] ==
          sw::collective_measurement{sw::collective::all_gather, {8, 1}, sw::gibibytes(1), 2700.25});
    CHECK(d.collectives[3].group == sw::group_shape{8, 2});
    REQUIRE(d.compute);
    CHECK(d.compute->memory == sw::saturation{0.9, 1e5, 1});
    CHECK(d.compute->product[2] == sw::saturation{0.742, 150, 1.47});
    CHECK(d.compute->product[1] == sw::compute_profile().product[1]);  // not in the file: the default
    CHECK(d.compute->launch_us == 4);
    CHECK(d.compute->attention_backward == d.compute->attention);
    CHECK(d.compute->product_memory == d.compute->memory);
    const auto backward_in = [](const std::string& backward) {
      return device_in(changed(small_device, "\"launch_us\": 4",
                               R"("attention": [{"arithmetic": "f16", "peak": 0.6}])" + backward))
          .compute->attention_backward[2]
          .peak;
    };
    CHECK(backward_in("") == 0.6);  // as forward, unless it is there
    CHECK(backward_in(R"(, "attention_backward": [{"arithmetic": "f16", "peak": 0.5}])") == 0.5);
    REQUIRE(d.under_load);
    CHECK(d.under_load->collective_factor == 1.25);
    CHECK(d.correct(sw::alpha_beta()).estimate(sw::collective::all_gather, sw::mebibytes(1), {8, 1}).time_us ==
          doctest::Approx(28));
    CHECK_FALSE(device_in(R"({"format": "shardweave.device", "version": 1, "name": "bare"})").compute);
  }

  TEST_CASE("what was written reads back to the same answers, bit for bit") {
    sw::device_calibration d = device_in(small_device);
    d.collectives.push_back({sw::collective::all_gather, {4, 1}, sw::bytes(3), 1.0 / 3});
    d.compute->attention_backward[2] = {1.0 / 3, 250, 1.3};
    d.compute->product_memory = {0.7, 1.0 / 3, 1};
    const temporary_folder folder;
    const auto path = folder.path() / "box.json.gz";
    const sw::accuracy_report report = sw::accuracy(sw::alpha_beta(), d.collectives);
    sw::write_device(path, d, &report);
    const sw::device_calibration again = sw::read_device(path);
    CHECK(again.name == d.name);
    CHECK(again.source == d.source);
    CHECK(again.compute->memory == d.compute->memory);
    CHECK(again.compute->product == d.compute->product);
    CHECK(again.compute->attention == d.compute->attention);
    CHECK(again.compute->attention_backward == d.compute->attention_backward);
    CHECK(again.compute->product_memory == d.compute->product_memory);
    CHECK(again.under_load->processors == d.under_load->processors);
    CHECK(again.collectives == sw::condensed(d.collectives));
    const sw::collective_table<> a(d.collectives), b(again.collectives);
    const auto ra = d.correct(sw::alpha_beta());
    const auto rb = again.correct(sw::alpha_beta());
    for (std::int64_t size = 1; size < std::int64_t{1} << 40; size = size * 3 + 1)
      for (const sw::group_shape group : {sw::group_shape{4, 1}, {6, 1}, {8, 1}, {8, 2}, {8, 64}}) {
        CHECK(a.estimate(sw::collective::all_gather, sw::bytes(size), group).time_us ==
              b.estimate(sw::collective::all_gather, sw::bytes(size), group).time_us);
        CHECK(ra.estimate(sw::collective::all_reduce, sw::bytes(size), group).time_us ==
              rb.estimate(sw::collective::all_reduce, sw::bytes(size), group).time_us);
      }
    // and once more to the same text
    const auto text = [](const sw::device_calibration& x) {
      return sw::json_string([&](sw::json_writer& out) { sw::write_device(out, x); });
    };
    CHECK(text(again) == text(d));
  }

  TEST_CASE("what is wrong is told with its place") {
    const auto message = [](const std::string& from, const std::string& to, bool strict = false) {
      const std::string what = refused([&] { return device_in(changed(small_device, from, to), strict); });
      CHECK((what.empty() || is_one_line(what)));
      CHECK((what.empty() || what.starts_with("d: line ")));
      const auto at = what.find(": ", what.find(", byte "));
      return at == std::string::npos ? what : what.substr(at + 2);
    };
    CHECK(message("shardweave.device", "shardweave.devices").find("\"shardweave.device\"") != std::string::npos);
    CHECK(message("\"version\": 1", "\"version\": 2").find("a version from 1 to 1") != std::string::npos);
    CHECK(message("all_gather", "gossip").find("has op 'gossip', expected all_gather") != std::string::npos);
    CHECK(message("15.5, ", "").find("has 3 sizes and 2 times, expected as many") != std::string::npos);
    CHECK(message("15.5", "0").find("has a size or time that is not positive, at position 0") != std::string::npos);
    CHECK(message("\"ranks_per_node\": 8", "\"ranks_per_node\": 1").find("has a group without two ranks") !=
          std::string::npos);
    CHECK(message("\"f16\"", "\"f4\"").find("has arithmetic 'f4', expected f64, f32, f16, i8 or f8") !=
          std::string::npos);
    CHECK(message("\"peak\": 0.9", "\"peak\": 0").find("a positive number") != std::string::npos);
    CHECK(message("\"launch_us\": 4", "\"launch_us\": -4").find("not negative") != std::string::npos);
    CHECK(message("\"name\": \"box\", ", "").find("name") != std::string::npos);
    CHECK(message("green", "green", true).find("colour") != std::string::npos);
    CHECK(message("green", "green").empty());
  }
  TEST_CASE("times that nanoseconds cannot count are refused") {
    for (
        const char* text :
        {R"({"format":"shardweave.device","version":1,"name":"x","compute":{"launch_us":1e300}})",
         R"({"format":"shardweave.device","version":1,"name":"x","collectives":[{"op":"all_gather","ranks_per_node":8,"bytes":[1024],"time_us":[1e300]}]})"}) {
      auto in = sw::text_input::of_memory("dev", text);
      CHECK_THROWS_WITH_AS((void)sw::read_device(in), doctest::Contains("microseconds"), sw::error);
    }
  }
}

}  // namespace device_file_tests

#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/io/device_file.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace sw = shardweave;

namespace calibrate_device_tests {
namespace {

/// All-reduces of 8 devices that take 17 us and 0.7 times what rings over the links of an H100 would.
double calibrated_truth(std::int64_t size) {
  return 17 + 0.7 * sw::alpha_beta(sw::find_device("h100"))
                        .estimate(sw::collective::all_reduce, sw::bytes(size), {8, 1})
                        .time_us;
}

std::string measured_table() {
  std::string text = "collective,nodes,ranks,size_bytes,time_us\n";
  for (std::int64_t size = 1024; size <= std::int64_t{1} << 32; size *= 2)
    text += "all_reduce,1,8," + std::to_string(size) + "," + std::to_string(calibrated_truth(size)) + "\n";
  return text;
}

}  // namespace

TEST_SUITE("calibrate_device") {
  TEST_CASE("a table becomes a device file that corrects other programs' models") {
    const temporary_folder folder;
    const auto table = folder.write("measured.csv", measured_table());
    const auto file = folder / "device.json";
    const auto run =
        run_program("calibrate_device",
                    table.string() + " --model alpha_beta --name rack --json --out " + file.string(), folder.path());
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("rows").to_number<int>() == 23);
    CHECK(line.at("kept").to_number<int>() == 23);
    REQUIRE(line.at("held_out").as_array().size() == sw::size_bands.size());
    for (const auto& band : line.at("held_out").as_array()) {
      CHECK(band.at("median_percent").to_number<double>() < 0.01);  // a latency and a scale away
      CHECK(band.at("median_percent_before").to_number<double>() > 1);
    }
    const sw::device_calibration device = sw::read_device(file);
    CHECK(device.name == "rack");
    CHECK(device.collectives.size() == 23);

    const auto answer = run_program("collective_cost",
                                    "--device h100 --model alpha_beta --collective all_reduce --ranks-per-node 8 "
                                    "--bytes 3M --json --calibration " +
                                        file.string(),
                                    folder.path());
    CHECK(answer.status == 0);
    const auto estimate = boost::json::parse(answer.out).as_object().at("estimates").as_array().at(0).as_object();
    CHECK(estimate.at("time_us").to_number<double>() == doctest::Approx(calibrated_truth(3 << 20)).epsilon(1e-5));
    CHECK(run_program("collective_cost", "--device a100 --calibration " + file.string(), folder.path()).err ==
          "collective_cost: " + file.string() + ": was measured on h100, expected --device h100, found a100\n");
  }

  TEST_CASE("a plan is priced by the collectives and shares that are asked for, and by a device file") {
    const temporary_folder folder;
    const auto config = folder.write("tiny.json", R"({"model_type": "llama", "hidden_size": 256,
      "intermediate_size": 512, "num_attention_heads": 8, "num_hidden_layers": 1, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 1024})");
    std::string slow = "collective,nodes,ranks,size_bytes,time_us\n";
    for (const char* kind : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"})
      for (std::int64_t size = 1024; size <= std::int64_t{1} << 30; size *= 32)
        slow += std::string(kind) + ",1,8," + std::to_string(size) + "," +
                std::to_string(700 + static_cast<double>(size) / 1e4) + "\n";
    const auto file = folder / "slow.json";
    REQUIRE(run_program("calibrate_device", folder.write("slow.csv", slow).string() + " --out " + file.string(),
                        folder.path())
                .status == 0);
    const auto part = [&](const char* name, const std::string& more) {
      const auto run = run_program("plan_training",
                                   config.string() + " --mesh 8 --sequence 256 --batch 8 --objective sum --json" + more,
                                   folder.path());
      REQUIRE(run.status == 0);
      return boost::json::parse(run.out).at("parts").at(name).to_number<double>();
    };
    const auto communication = [&](const std::string& more) { return part("communication", more); };
    const double by_nccl = communication("");
    CHECK(by_nccl == communication(" --collectives nccl"));
    CHECK(by_nccl != communication(" --collectives node_table"));
    CHECK(communication(" --calibration " + file.string()) > 10 * by_nccl);
    CHECK(part("compute", "") == part("compute", " --compute published"));
    CHECK(part("compute", "") != part("compute", " --compute roofline"));
  }

  TEST_CASE("what is wrong is one line and status 2, and nothing is written") {
    const temporary_folder folder;
    const auto table =
        folder.write("measured.csv", "collective,nodes,ranks,size_bytes,time_us\nall_reduce,1,8,8,fast\n");
    const auto file = folder / "device.json";
    const auto run = run_program("calibrate_device", table.string() + " --out " + file.string(), folder.path());
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(run.err == "calibrate_device: " + table.string() +
                         ": line 2: time_us is 'fast', expected a positive number of microseconds\n");
    CHECK_FALSE(std::filesystem::exists(file));

    const auto good = folder.write("good.csv", measured_table());
    const auto keyed =
        run_program("calibrate_device", good.string() + " --key sm_90 --out " + file.string(), folder.path());
    CHECK(keyed.status == 2);
    CHECK(keyed.err ==
          "calibrate_device: --key sm_90 is of a device in a table of XLA, but " + good.string() + " is none\n");
    CHECK_FALSE(std::filesystem::exists(file));
  }

  TEST_CASE("kernels become shares by which other programs price, and nothing fitted is left in what they predict") {
    const temporary_folder folder;
    const std::string measured = SHARDWEAVE_SOURCE_DIR "/tests/data/measured/";
    const auto file = folder / "device.json";
    const auto run = run_program(
        "calibrate_device", "--kernels " + measured + "kernels_h100.csv --json --out " + file.string(), folder.path());
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("rows").to_number<int>() == 0);
    CHECK(line.at("kernels").to_number<int>() == 209);
    CHECK(line.at("kernels_held_out").as_array().size() == 4);
    for (const auto& kind : line.at("kernels_held_out").as_array())
      CHECK(kind.at("median_percent").to_number<double>() < kind.at("median_percent_before").to_number<double>());
    CHECK(sw::read_device(file).compute.has_value());

    const auto steps =
        run_program("predict_training", measured + "steps.csv --json --device-file " + file.string(), folder.path());
    REQUIRE(steps.status == 0);
    const auto predicted = boost::json::parse(steps.out).as_object();
    CHECK(predicted.at("predicted").to_number<int>() == 32);
    CHECK(predicted.at("corrected").to_number<int>() == 21);  // those of the H100
    for (const char* error : {"step_error", "memory_error"})
      CHECK(predicted.at(error).at("median").to_number<double>() < 4);

    const auto neither = run_program("calibrate_device", "--out " + file.string(), folder.path());
    CHECK(neither.status == 2);
    CHECK(neither.err == "calibrate_device: nothing to calibrate by: expected tables of collectives, or --kernels\n");
    const auto same =
        run_program("calibrate_device", "--kernels " + file.string() + " --out " + file.string(), folder.path());
    CHECK(same.status == 2);
  }
}

}  // namespace calibrate_device_tests

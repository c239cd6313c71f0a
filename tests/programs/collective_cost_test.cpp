#include "support/run_program.hpp"
#include "support/skipped.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/io/device_file.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace sw = shardweave;

namespace collective_cost_program_tests {

TEST_SUITE("collective_cost") {
  TEST_CASE("estimates are those of the model") {
    const temporary_folder folder;
    const auto run = run_program("collective_cost",
                                 "--device b200 --collective all --nodes 2 --ranks-per-node 4 --bytes 4096,64K,1GiB "
                                 "--json",
                                 folder.path());
    REQUIRE(run.status == 0);
    CHECK(run.complaints().empty());
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("model") == "nccl");
    const sw::nccl_smooth model(sw::find_device("b200"));
    const auto& estimates = line.at("estimates").as_array();
    REQUIRE(estimates.size() == 4 * 3);
    const std::int64_t sizes[] = {4096, 65536, std::int64_t{1} << 30};
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      const auto& e = estimates[i].as_object();
      const auto kind = static_cast<sw::collective>(i / 3);
      CHECK(e.at("collective").as_string() ==
            boost::json::string_view(sw::name_of(kind).data(), sw::name_of(kind).size()));
      CHECK(e.at("bytes").to_number<std::int64_t>() == sizes[i % 3]);
      CHECK(e.at("time_us").to_number<double>() ==
            doctest::Approx(model.estimate(kind, sw::bytes(sizes[i % 3]), {4, 2}).time_us).epsilon(1e-12));
    }
  }

  TEST_CASE("standard output that cannot be written is told, and is no success") {
    if (!std::filesystem::exists("/dev/full")) return shardweave_test::skipped("this system has no full device");
    const temporary_folder folder;
    for (const char* arguments : {"--json > /dev/full", "> /dev/full", "--help > /dev/full"}) {
      const auto run = run_program("collective_cost", arguments, folder.path());
      CHECK(run.status == 2);
      CHECK(run.err == "collective_cost: standard output: cannot be written: No space left on device\n");
    }
  }

  TEST_CASE("a comparison gives the errors of each band") {
    const temporary_folder folder;
    const sw::nccl_smooth model(sw::find_device("h100"));
    {
      std::ofstream table(folder / "t.csv");
      table << "# measured nowhere\nsize_bytes,time_us,collective,nodes,ranks,other\n";
      const auto row = [&](const char* name, sw::collective kind, std::int64_t size, double factor) {
        table << size << ',' << std::to_string(factor * model.estimate(kind, sw::bytes(size), {8, 1}).time_us) << ','
              << name << ",1,8,x\n";
      };
      row("allreduce", sw::collective::all_reduce, 1024, 2);
      row("all_reduce", sw::collective::all_reduce, 2048, 1);
      row("all_gather", sw::collective::all_gather, 1 << 30, 0.8);
      table << "8,1,allreduce,1,16,x\n";
    }
    const auto run =
        run_program("collective_cost", "--compare " + (folder / "t.csv").string() + " --json", folder.path());
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("rows").to_number<int>() == 3);
    CHECK(line.at("skipped").to_number<int>() == 1);
    const auto& errors = line.at("errors").as_array();
    const auto figure = [&](std::size_t i, const char* name) { return errors.at(i).at(name).to_number<double>(); };
    // all_gather: its band, all sizes; all_reduce: the same; all
    REQUIRE(errors.size() == 2 + 2 + 3);
    CHECK(figure(0, "from_bytes") == 512 << 20);
    CHECK(figure(0, "mean_percent") == doctest::Approx(25).epsilon(1e-4));
    CHECK(figure(0, "median_signed_percent") == doctest::Approx(25).epsilon(1e-4));
    CHECK(figure(2, "to_bytes") == 65536);
    CHECK(figure(2, "mean_percent") == doctest::Approx(25).epsilon(1e-4));
    CHECK(figure(2, "p90_percent") == doctest::Approx(50).epsilon(1e-3));
    CHECK(figure(2, "median_signed_percent") == doctest::Approx(-25).epsilon(1e-4));
    CHECK(figure(6, "rows") == 3);
  }

  TEST_CASE("a device file corrects the model") {
    const temporary_folder folder;
    const sw::nccl_smooth model(sw::find_device("h100"));
    sw::device_calibration device;
    device.name = "ours";
    {
      std::ofstream table(folder / "t.csv");
      table << "collective,nodes,ranks,size_bytes,time_us\n";
      for (int p = 10; p < 31; p += 5) {
        const sw::bytes size(std::int64_t{1} << p);
        const double time = 20 + 1.1 * model.estimate(sw::collective::all_reduce, size, {8, 1}).time_us;
        device.collectives.push_back({sw::collective::all_reduce, {8, 1}, size, time});
        table << "allreduce,1,8," << size.count() << ',' << std::to_string(time) << '\n';
      }
    }
    sw::write_device(folder / "ours.json", device);
    const auto mean = [&](const std::string& more) {
      const auto run =
          run_program("collective_cost", "--json --compare " + (folder / "t.csv").string() + more, folder.path());
      REQUIRE(run.status == 0);
      return boost::json::parse(run.out).at("errors").as_array().back().at("mean_percent").to_number<double>();
    };
    CHECK(mean("") > 10);
    CHECK(mean(" --calibration " + (folder / "ours.json").string()) < 0.01);
  }

  TEST_CASE("a table of shares stretches a model, and nodes that a table leaves open are said") {
    const temporary_folder folder;
    const auto shares = folder.write("s.csv", "kind,nodes,size_bytes,efficiency\nnvlink,1,1073741824,0.5\n");
    const auto time_of = [&](const std::string& more) {
      const auto run = run_program("collective_cost", "--model alpha_beta --bytes 1G --json" + more, folder.path());
      REQUIRE(run.status == 0);
      return boost::json::parse(run.out).at("estimates").at(0).at("bandwidth_us").to_number<double>();
    };
    CHECK(time_of(" --shares " + shares.string()) == doctest::Approx(2 * time_of("")));

    const auto open = folder.write("open.csv", "collective,nodes,ranks,size_bytes,time_us\nall_reduce,-1,16,1024,30\n");
    const auto compare = "--json --compare " + open.string();
    CHECK(run_program("collective_cost", compare, folder.path()).err ==
          "collective_cost: " + open.string() +
              ": line 2: nodes is -1, not stated: say how many nodes the groups span\n");
    CHECK(run_program("collective_cost", compare + " --nodes 2", folder.path()).status == 0);
  }

  TEST_CASE("a topology and a tuner file replace what NCCL would find") {
    const temporary_folder folder;
    const std::string corpus = std::string(SHARDWEAVE_SOURCE_DIR) + "/tests/fuzz/corpus/";
    const auto read = run_program("collective_cost",
                                  "--topology " + corpus + "nccl_topology/switched.xml --rules " + corpus +
                                      "nccl_rules/small.conf --model nccl_2_30 --bytes 1M --explain",
                                  folder.path());
    CHECK(read.status == 0);
    CHECK(read.out.find("* ring ll128") != std::string::npos);
    CHECK(read.out.find("a rule of the tuner file matches") != std::string::npos);
    CHECK(read.out.find("8 ranks on 1 node of ") == 0);
  }

  TEST_CASE("what is wrong is told in one line") {
    const temporary_folder folder;
    std::ofstream(folder / "bad.csv") << "collective,nodes,ranks,size_bytes\n";
    std::ofstream(folder / "bad.xml") << "<system version=\"1\">\n<cpu>\n";
    const auto complaint = [&](const std::string& arguments) {
      const auto run = run_program("collective_cost", arguments, folder.path());
      CHECK(run.status == 2);
      CHECK(run.out.empty());
      return run.err;
    };
    const std::string table = (folder / "bad.csv").string(), topology = (folder / "bad.xml").string();
    CHECK(complaint("--compare " + table) == "collective_cost: " + table + ": line 1: no column is called 'time_us'\n");
    CHECK(complaint("--topology " + topology) == "collective_cost: " + topology + ": line 3: <cpu> has no end\n");
    CHECK(
        complaint("--model alpha_beta --algo ring") ==
        "collective_cost: --algo: model alpha_beta does not look at it, expected one of NCCL's models, such as nccl\n");
    for (const char* of_estimate : {" --bytes 1M", " --collective all", " --explain"})
      CHECK(complaint("--compare " + table + of_estimate).find(" excludes --") != std::string::npos);
    std::ofstream(folder / "twice.csv") << "collective,nodes,ranks,size_bytes,time_us,time_us\nall_reduce,1,8,8,5,6\n";
    CHECK(complaint("--compare " + (folder / "twice.csv").string()).find("line 1: two columns are called 'time_us'") !=
          std::string::npos);
    CHECK(complaint("--bytes 12X") ==
          "collective_cost: --bytes: '12X' is no size, expected sizes such as 4096, 64K, 500MB or 2GiB\n");
    CHECK(complaint("--bytes 1M,,2M").find("collective_cost: --bytes: '' is no size") == 0);
    CHECK(complaint("--ranks-per-node 9") ==
          "collective_cost: a group of 1 nodes with 9 ranks each does not fit: node 'h100' has 8 devices\n");
    CHECK(complaint("--model alpha_beta --explain") ==
          "collective_cost: --explain: model alpha_beta has nothing to explain\n");
    CHECK(complaint("--device nothing").find("collective_cost: no device is called 'nothing'; known are ") == 0);
  }
  TEST_CASE("a table of shifts alone is compared") {
    const temporary_folder folder;
    std::ofstream(folder / "t.csv") << "collective,nodes,ranks,size_bytes,time_us\nshift,1,8,1048576,30\n";
    const auto run =
        run_program("collective_cost", "--compare " + (folder / "t.csv").string() + " --json", folder.path());
    REQUIRE(run.status == 0);
    CHECK(boost::json::parse(run.out).as_object().at("errors").as_array().at(0).at("collective") == "shift");
  }
  TEST_CASE("rules that a model does not follow are refused") {
    const temporary_folder folder;
    std::ofstream(folder / "r.csv") << "allreduce,0,1000000000,ring,simple,8,-1,-1\n";
    const auto run = run_program(
        "collective_cost",
        "--rules " + (folder / "r.csv").string() + " --collective all_reduce --nodes 1 --ranks-per-node 8 --bytes 1M",
        folder.path());
    CHECK(run.status == 2);
    CHECK(run.err.find("--rules: model nccl") != std::string::npos);
  }
}

}  // namespace collective_cost_program_tests

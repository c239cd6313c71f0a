#include "support/mpi_settings.hpp"
#include "support/random_tasks.hpp"
#include "support/run_program.hpp"
#include "support/skipped.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace sw = shardweave;

namespace replay_schedule_tests {
namespace {
/// A task graph and a schedule of it in files.
struct files {
  temporary_folder folder = {};
  sw::task_graph graph = random_tasks(5, {.blocks = 40, .groups = 3});
  sw::schedule schedule = sw::prefetch{}(graph, sw::greedy{}(graph));
  std::string arguments = {};

  files() {
    sw::write_task_graph(folder / "tasks.json.gz", graph);
    sw::write_schedule(folder / "schedule.json", graph, schedule);
    arguments = (folder / "tasks.json.gz").string() + " " + (folder / "schedule.json").string();
  }
  program_run run(const std::string& options) const {
    return run_program("replay_schedule", arguments + " " + options, folder.path());
  }
};
}  // namespace

TEST_SUITE("replay_schedule") {
  TEST_CASE("on the engine simulate it measures what is predicted, channel by channel") {
    const files f;
    const auto run = f.run("--json");
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    const auto line = boost::json::parse(run.out).as_object();
    const sw::timeline predicted = sw::simulate(f.graph, f.schedule);
    const auto number = [&](const char* field) { return line.at(field).to_number<std::int64_t>(); };
    CHECK(line.at("engine") == "simulate");
    CHECK(number("tasks") == static_cast<std::int64_t>(f.graph.size()));
    CHECK(number("end_to_end_ns") == predicted.end_to_end.count());
    CHECK(number("predicted_ns") == predicted.end_to_end.count());
    CHECK(number("exposed_ns") == predicted.exposed.count());
    CHECK(number("hidden_ns") == predicted.hidden.count());
    CHECK(number("hidden_count") == static_cast<std::int64_t>(predicted.hidden_count));
    CHECK(number("peak_bytes") == predicted.peak.count());
    CHECK(line.at("relative_error").to_number<double>() == 0);
    const auto& channels = line.at("channels").as_array();
    REQUIRE(channels.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(channels[i].at("group").to_number<std::int64_t>() == f.graph.groups()[i].id);
      CHECK(channels[i].at("name").as_string() == f.graph.groups()[i].name.c_str());
      CHECK(channels[i].at("busy_ns").to_number<std::int64_t>() == predicted.channel_busy[i].count());
      CHECK(channels[i].at("predicted_busy_ns").to_number<std::int64_t>() == predicted.channel_busy[i].count());
    }
  }

  TEST_CASE("on threads nothing is faster than predicted, and the scale does not change the prediction") {
    const files f;
    const sw::timeline predicted = sw::simulate(f.graph, f.schedule);
    for (const std::int64_t scale : {1, 100}) {
      const auto run = f.run("--json --engine threads --scale " + std::to_string(scale));
      CHECK(run.status == 0);
      const auto line = boost::json::parse(run.out).as_object();
      const auto number = [&](const char* field) { return line.at(field).to_number<std::int64_t>(); };
      CHECK(number("predicted_ns") == predicted.end_to_end.count());
      CHECK(number("end_to_end_ns") >= predicted.end_to_end.count() - 1);  // rounded down
      CHECK(number("predicted_exposed_ns") == predicted.exposed.count());
    }
  }

  TEST_CASE("on four ranks it communicates, checks every result and tells what the slowest rank took") {
    const files f;
    if (f.run("--engine mpi").err.find("is not part of this version") != std::string::npos ||
        std::system("command -v mpirun >/dev/null 2>&1") != 0) {
      shardweave_test::skipped("component mpi or mpirun is absent");
      return;
    }
    const auto run = run_program("/usr/bin/env",
                                 mpi_settings() + "timeout 100 mpirun -np 4 " +
                                     (std::filesystem::path(SHARDWEAVE_PROGRAM_DIR) / "replay_schedule").string() +
                                     " " + f.arguments + " --engine mpi --json --repeat 1",
                                 f.folder.path());
    CAPTURE(run.err);
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    const auto number = [&](const char* field) { return line.at(field).to_number<std::int64_t>(); };
    CHECK(number("ranks") == 4);
    std::int64_t collectives = 0;
    for (sw::task_index t = 0; t < f.graph.size(); ++t) collectives += f.graph.is_collective(t) ? 1 : 0;
    CHECK(number("checked") == 4 * collectives);
    CHECK(number("predicted_ns") == sw::simulate(f.graph, f.schedule).end_to_end.count());
    CHECK(number("slowest_rank_end_to_end_ns") >= number("end_to_end_ns"));
    CHECK(number("end_to_end_ns") > 0);
  }

  TEST_CASE("without --json a person reads a table") {
    const files f;
    const auto run = f.run("--picture " + (f.folder / "both.svg").string());
    CHECK(run.status == 0);
    const std::string picture = temporary_folder::read(f.folder / "both.svg");
    CHECK(picture.find("random 5 on engine simulate, predicted: ") <
          picture.find("random 5 on engine simulate, measured: "));
    CHECK(picture.ends_with("</svg>\n</svg>\n"));
    CHECK(run.complaints().empty());
    for (const char* row : {"on engine simulate", "end to end", "exposed", "channel of group 2", "farthest off"})
      CHECK_MESSAGE(run.out.find(row) != std::string::npos, row);
  }

  TEST_CASE("the report stands what was measured beside what was predicted, and the last line names it") {
    const files f;
    const std::string page = (f.folder / "page.html").string();
    const auto run = f.run("--report " + page);
    CHECK(run.status == 0);
    CHECK(run.out.ends_with("\nReport, for a browser: " + page + "\n"));
    const std::string text = temporary_folder::read(page);
    CHECK(text.find("\"name\":\"measured\"") < text.find("\"name\":\"predicted\""));
    const std::string end = sw::time_text(sw::simulate(f.graph, f.schedule).end_to_end);
    CHECK(text.find("<th scope=\"row\">end to end</th><td class=\"n\">" + end + "</td><td class=\"n\">" + end +
                    "</td><td class=\"n\">0 ns</td>") != std::string::npos);
  }

  TEST_CASE("engines that are not there, and unknown ones, are refused in one line") {
    const files f;
    const auto run = f.run("--engine nccl");
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    // where the component is there, a device is not; where that is there too, there are no groups of four
    CHECK_MESSAGE((run.err.starts_with("replay_schedule: engine nccl is not part of this version, which has simulate, "
                                       "threads") ||
                   run.err.starts_with("replay_schedule: cudaGetDeviceCount: ") ||
                   run.err.starts_with("replay_schedule: group 0 (g0) has 4 ranks")),
                  run.err);
    const auto unknown = f.run("--engine carrier_pigeon");
    CHECK(unknown.status == 2);
    CHECK(unknown.err.starts_with(
        "replay_schedule: --engine: found 'carrier_pigeon', expected one of simulate, threads, mpi, nccl"));
    CHECK(f.run("--engine threads --scale 0").status == 2);
    CHECK(f.run("--work copies").err == "replay_schedule: work copies is not for engine simulate, which has time\n");
    CHECK(f.run("--calibrate host.json").err ==
          "replay_schedule: --calibrate is not for engine simulate, expected --engine mpi, nccl\n");
    for (const char* of_others : {"--scale 2", "--repeat 2", "--timeout 2", "--calibration host.json",
                                  "--buckets grouped", "--rendezvous here", "--device 0", "--rank 1", "--ranks 2",
                                  "--ranks-per-node 2", "--engine threads --repeat 2", "--engine mpi --device 0"}) {
      CAPTURE(of_others);
      CHECK(f.run(of_others).status == 2);
    }
  }

  TEST_CASE("a schedule of another graph, and one that is invalid, are refused by name") {
    const files f;
    sw::write_task_graph(f.folder / "other.json", random_tasks(6));
    const auto other =
        run_program("replay_schedule", (f.folder / "other.json").string() + " " + (f.folder / "schedule.json").string(),
                    f.folder.path());
    CHECK(other.status == 2);
    CHECK(other.err.starts_with("replay_schedule: " + (f.folder / "schedule.json").string() + ": "));
    CHECK(other.err.find("expected 'random 6' with hash") != std::string::npos);

    const auto wrong = f.folder.write("wrong.json", R"({"format": "shardweave.schedule", "version": 1, "order": [0]})");
    const auto invalid =
        run_program("replay_schedule", (f.folder / "tasks.json.gz").string() + " " + wrong.string(), f.folder.path());
    CHECK(invalid.status == 2);
    CHECK(invalid.err == "replay_schedule: " + wrong.string() + ": the order lists 1 task, expected each of " +
                             std::to_string(f.graph.size()) + " once\n");
  }
}

}  // namespace replay_schedule_tests

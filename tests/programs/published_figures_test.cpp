#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/known_optima.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>
#include <support/skipped.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace published_figures_tests {
namespace {

const std::filesystem::path sources = SHARDWEAVE_SOURCE_DIR;

std::vector<std::string> lines_of(std::istream&& text) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}
std::vector<std::string> page(const std::string& name) { return lines_of(std::ifstream(sources / name)); }

/// The report stands in docs as the program wrote it, but for the prices of the bound, whose last digits are the
/// solver's.
void check_stands_in_docs(const std::filesystem::path& report, const std::string& name) {
  const auto told = [](const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    std::string all = text.str();
    if (const auto from = all.find("\"prices\":["); from != std::string::npos)
      all.erase(from, all.find(']', from) - from);
    return all;
  };
  const std::string written = told(report), stands = told(sources / "docs" / name);
  CHECK(written.size() > 100'000);
  const bool is_equal = written == stands;  // not printed: a megabyte
  CHECK_MESSAGE(is_equal, name << " is not what the program writes");
}

program_run plan(const std::string& config, const std::string& arguments) {
  const temporary_folder folder;
  return run_program("plan_training", (sources / "examples/configs" / (config + ".json")).string() + " " + arguments,
                     folder.path());
}

}  // namespace

TEST_SUITE("figures on the pages") {
  TEST_CASE("the main job prints what the README says, up to the times that planning takes") {
    const temporary_folder folder;
    const auto config = sources / "examples/configs/llama3-8b.json", report = folder.path() / "report.html";
    const auto run = run_program(
        "plan_training", config.string() + " --mesh 8x8 --device h100 --report " + report.string(), folder.path());
    CHECK(run.status == 0);
    check_stands_in_docs(report, "llama3-8b.html");
    const auto printed = lines_of(std::istringstream(run.out));
    std::size_t at = 0, compared = 0;
    bool inside = false;
    for (const std::string& line : page("README.md")) {
      if (line.starts_with("llama3-8b, ")) inside = true;
      if (!inside || line == "  ..." || line.empty()) continue;
      if (line == "Planned in") break;
      REQUIRE(line != "```");
      while (at < printed.size() && printed[at] != line) ++at;
      CHECK_MESSAGE(at < printed.size(), line);
      ++compared;
    }
    CHECK(compared >= 25);
  }
  TEST_CASE("the report of a captured graph is what the program writes") {
    const auto graph = shared_data("tasks/llama3-8b-bw-64-2d.json.gz");
    if (!graph) return;
    const temporary_folder folder;
    const auto report = folder.path() / "report.html";
    const auto run =
        run_program("schedule_tasks", graph->string() + " --threads 1 --report " + report.string(), folder.path());
    CHECK(run.status == 0);
    check_stands_in_docs(report, "captured_llama3-8b.html");
  }
  TEST_CASE("steps by model, mesh and computation") {
    std::string model;
    std::size_t compared = 0;
    for (const std::string& line : page("docs/cost_models.md")) {  // | 1B | 8 | 496.07 | 481.96 | ...
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, '|');) {
        const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
      }
      if (cells.size() != 7) continue;
      if (!cells[1].empty()) model = cells[1];
      if ((model != "1B" && model != "8B") || (cells[2] != "8" && cells[2] != "8x8")) continue;
      CAPTURE(line);
      for (const auto& [compute, told] : {std::pair("roofline", cells[3]), std::pair("published", cells[4])}) {
        const auto run = plan(model == "1B" ? "llama3-1b" : "llama3-8b",
                              "--mesh " + cells[2] + " --json --gap 0 --recompute none --compute " + compute);
        const bool fits = boost::json::parse(run.out).at("fits").as_bool();  // of 8B on 8 devices nothing is made again
        REQUIRE(run.status == (fits ? 0 : 4));
        const auto ns = boost::json::parse(run.out).at("end_to_end_ns").to_number<double>();
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", ns * 1e-6);
        CHECK(std::string(text) == told);
        ++compared;
      }
    }
    CHECK(compared == 8);
  }
  TEST_CASE("steps of plans for the step, and what no plan ends before") {
    if (shardweave_test::skipped_at_small_scale()) return;  // a row of the README's is the main job's
    std::size_t compared = 0;
    for (const std::string& line : page("docs/step.md")) {      // | 32x8, 4096, H100 | 177.83 | 154.18 | ...
      if (!line.starts_with("| 32x8, 4096, H100 |")) continue;  // the other rows take longer, or are the main job's
      double sum = 0, step = 0, order = 0, bound = 0, gap = 0;
      REQUIRE(std::sscanf(line.c_str(), "| 32x8, 4096, H100 | %lf | %lf | %lf | %lf | %lf", &sum, &step, &order, &bound,
                          &gap) == 5);
      const auto run = plan("llama3-8b", "--mesh 32x8 --sequence 4096 --device h100 --json --threads 1");
      const auto answer = boost::json::parse(run.out);
      const auto told = [&](const char* name) { return answer.at(name).to_number<double>() * 1e-6; };
      CHECK(told("step_of_least_sum_ns") == doctest::Approx(sum).epsilon(1e-4));
      CHECK(told("end_to_end_ns") == doctest::Approx(step).epsilon(1e-4));
      CHECK(told("step_bound_ns") == doctest::Approx(bound).epsilon(1e-4));
      CHECK(answer.at("step_gap").to_number<double>() == doctest::Approx(gap / 100).epsilon(0.02));
      ++compared;
    }
    CHECK(compared == 1);
  }

  TEST_CASE("optima of real problems, to all the digits that are told") {
    for (const shardweave_test::known_optimum& one : shardweave_test::some_of(
             std::vector(std::begin(shardweave_test::known_optima), std::end(shardweave_test::known_optima)))) {
      CAPTURE(one.name);
      const auto file = shared_data("placement/" + std::string(one.name) + ".json.gz");
      if (!file) continue;
      const temporary_folder folder;
      const auto run = run_program("solve_placement", file->string() + " --json", folder.path());
      REQUIRE(run.status == 0);
      const auto answer = boost::json::parse(run.out);
      CHECK(answer.at("status").as_string() == "optimal");
      const auto objective = answer.at("objective").to_number<double>();
      CHECK(std::abs(objective - one.optimum) < 0.00006);
      CHECK(answer.at("lower_bound").to_number<double>() == doctest::Approx(objective).epsilon(2e-9));
    }
  }
}

}  // namespace published_figures_tests

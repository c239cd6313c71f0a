#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <signal.h>
#include <support/shared_data.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace predict_training_program_tests {
namespace {

TEST_SUITE("predict_training") {
  TEST_CASE("published steps are predicted from first principles, and how far off that is is told") {
    const auto table = shared_data("training/measured.csv");
    if (!table) return;
    const temporary_folder folder;
    {  // a few of each series: what takes seconds at most, however it was built
      std::ifstream all(*table);
      std::ofstream some(folder / "some.csv");
      std::string line;
      for (std::int64_t row = 0; std::getline(all, line); ++row)
        if (row == 0 || row % 7 == 1) some << line << '\n';
    }
    const auto run = run_program("predict_training", (folder / "some.csv").string() + " --json", folder.path());
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    const auto number = [](const boost::json::value& v) { return v.to_number<double>(); };
    double skipped = 0;
    for (const auto& [why, count] : line.at("skipped").as_object()) skipped += number(count);
    CHECK(number(line.at("predicted")) + skipped == number(line.at("rows")));
    CHECK(number(line.at("predicted")) == static_cast<double>(line.at("predictions").as_array().size()));
    const auto& step = line.at("step_error").as_object();
    CHECK(number(step.at("count")) >= 5);
    CHECK(number(step.at("median")) < 15);
    CHECK(number(step.at("p90")) < 40);
    for (const auto& p : line.at("predictions").as_array()) {
      CHECK(number(p.at("step_s")) > 0);
      CHECK(number(p.at("memory_gib")) > 0);
    }
  }

  TEST_CASE("the first signal ends it: the rows so far are the answer, and the others are counted") {
    const auto table = shared_data("training/measured.csv");
    if (!table) return;
    const temporary_folder folder;
    program_run run;
    for (const double seconds : {0.5, 1.0, 2.0, 4.0, 8.0}) {  // until there is a first row, however it was built
      run =
          run_and_signal("predict_training", table->string() + " --json --threads 1", folder.path(), seconds, {SIGINT});
      if (run.status != 1 && run.status != -SIGINT) break;
    }
    REQUIRE(run.status == 3);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("interrupted").as_bool());
    const auto predicted = line.at("predicted").to_number<std::size_t>();
    CHECK(predicted > 0);
    CHECK(predicted == line.at("predictions").as_array().size());
    std::size_t skipped = 0;
    for (const auto& [why, count] : line.at("skipped").as_object()) skipped += count.to_number<std::size_t>();
    CHECK(line.at("skipped").as_object().at("not reached").to_number<std::size_t>() > 0);
    CHECK(predicted + skipped == line.at("rows").to_number<std::size_t>());
  }

  TEST_CASE("a table that is none is refused by its line") {
    const temporary_folder folder;
    std::ofstream(folder / "t.csv") << "id\na\n";
    const auto run = run_program("predict_training", (folder / "t.csv").string(), folder.path());
    CHECK(run.status == 2);
    CHECK(run.err.find("no column is called 'date'") != std::string::npos);
  }
}

}  // namespace
}  // namespace predict_training_program_tests

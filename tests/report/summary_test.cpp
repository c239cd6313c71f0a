#include "report/small_timeline.hpp"
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/unit_text.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("placement_summary") {
  TEST_CASE("tells the objective and its parts, the bound, the gap and who found it") {
    sw::solution<double> found;
    found.choice = {0, 1};
    found.objective = 200;
    found.lower_bound = 160;
    found.status = sw::solve_status::feasible;
    found.statistics.solver = "trws";
    found.statistics.seconds = 1.5;
    found.statistics.seconds_to_best = 0.25;
    found.statistics.note = "time limit";
    sw::evaluation<double> priced;
    priced.objective = 200;
    priced.parts = {150, 40, 10};
    CHECK(sw::placement_summary(found, priced, "us") ==
          "objective        200.000 us\n"
          "  computation    150.000 us  75.0 %\n"
          "  communication   40.000 us  20.0 %\n"
          "  transition      10.000 us   5.0 %\n"
          "lower bound      160.000 us\n"
          "gap               25.0000 %\n"
          "status: feasible\n"
          "found by trws in 1.50 s, after 250.00 ms\n"
          "note: time limit\n");
    found.statistics.bound_by = "budgeted";
    CHECK(sw::placement_summary(found, priced, "us").find("after 250.00 ms; bound by budgeted\n") != std::string::npos);
  }

  TEST_CASE("of whole numbers that are proven") {
    sw::solution<std::int64_t> found;
    found.choice = {0};
    found.objective = 1'234'567;
    found.lower_bound = 1'234'567;
    found.status = sw::solve_status::optimal;
    sw::evaluation<std::int64_t> priced;
    priced.parts.compute = 1'234'567;
    CHECK(sw::placement_summary(found, priced) ==
          "objective        1,234,567\n"
          "  computation    1,234,567  100.0 %\n"
          "  communication          0    0.0 %\n"
          "  transition             0    0.0 %\n"
          "lower bound      1,234,567\n"
          "gap               0.0000 %\n"
          "status: optimal (the bound meets the objective)\n");
    found.lower_bound = 1'234'000.5;
    found.status = sw::solve_status::feasible;
    CHECK(sw::placement_summary(found, priced).find("lower bound      1234000.500\n") != std::string::npos);
  }

  TEST_CASE("without an assignment only what is known is told") {
    sw::solution<double> found;
    found.status = sw::solve_status::infeasible;
    found.lower_bound = std::numeric_limits<double>::infinity();
    found.statistics.solver = "ilp";
    found.statistics.note = "budget 'memory' cannot be kept";
    sw::evaluation<double> priced;
    priced.violations = {"tie 'layers': vertex 1 takes strategy 0"};
    CHECK(sw::placement_summary(found, priced) ==
          "status: infeasible\nfound by ilp in 0 ns\nnote: budget 'memory' cannot be kept\n"
          "broken: tie 'layers': vertex 1 takes strategy 0\n");
  }
}

TEST_SUITE("strategy_summary") {
  TEST_CASE("a group's name stands once, sums stand below") {
    const std::vector<sw::strategy_row> rows = {{"attention weights", "S(0)", 96, sw::mebibytes(64)},
                                                {"attention weights", "R", 32, sw::mebibytes(1)},
                                                {"embedding", "S(1)", 1, sw::kibibytes(512)}};
    CHECK(sw::strategy_summary(rows) ==
          "group              strategy  count  per device\n"
          "----------------------------------------------\n"
          "attention weights  S(0)         96   64.00 MiB\n"
          "                   R            32    1.00 MiB\n"
          "embedding          S(1)          1  512.00 KiB\n"
          "----------------------------------------------\n"
          "total                          129   65.50 MiB\n");
    CHECK(sw::strategy_summary({}).empty());
  }
}

TEST_SUITE("collective_summary") {
  TEST_CASE("counts by operation and group, before and after") {
    const small_timeline all = two_products();
    CHECK(sw::collective_summary(all.graph, all.schedule.buckets) ==
          "collective  group           before  after  buckets  bytes in  largest launch\n"
          "----------------------------------------------------------------------------\n"
          "all_gather  dp (group 513)       2      1        1     100 B           100 B\n"
          "all_reduce  tp                   1      1        0      60 B            60 B\n"
          "----------------------------------------------------------------------------\n"
          "total                            3      2        1     160 B           100 B\n");
    CHECK(sw::collective_summary(all.graph, {}).find("all_gather  dp (group 513)       2      2        0     100 B") !=
          std::string::npos);
    CHECK(sw::collective_summary(no_tasks().graph, {}).empty());
  }
}

TEST_SUITE("timeline_summary") {
  TEST_CASE("timelines stand beside each other") {
    const small_timeline all = two_products();
    const sw::timeline before = sw::simulate(all.graph);
    const std::vector<sw::named_timeline> both = {{"as given", &before}, {"scheduled", &all.line}};
    const std::string peaks[] = {sw::size_text(before.peak), sw::size_text(all.line.peak)};
    REQUIRE(peaks[0].size() == 5);
    REQUIRE(peaks[1].size() == 5);
    // as given: gathers 0-1500 and 1500-3000, the stalls are 1000-1500, 1500-3000 and 4000-4300 less what runs
    CHECK(sw::timeline_summary(both) ==
          "                as given          scheduled\n"
          "---------------------------------------------------\n"
          "end to end       4.00 \xC2\xB5s            3.36 \xC2\xB5s\n"
          "  computation    2.00 \xC2\xB5s  50.0 %    2.00 \xC2\xB5s  59.5 %\n"
          "  packing           0 ns   0.0 %      60 ns   1.8 %\n"
          "  exposed        2.00 \xC2\xB5s  50.0 %    1.30 \xC2\xB5s  38.7 %\n"
          "  tail              0 ns   0.0 %       0 ns   0.0 %\n"
          "communication    4.30 \xC2\xB5s            3.30 \xC2\xB5s\n"
          "  hidden         2.30 \xC2\xB5s  53.5 %    2.00 \xC2\xB5s  60.6 %\n"
          "collectives            3                  2\n"
          "  fully hidden         1                  0\n"
          "peak memory        " +
              peaks[0] + "              " + peaks[1] + "\n");
    CHECK(sw::timeline_summary({}).empty());
    const small_timeline none = no_tasks();
    const std::vector<sw::named_timeline> alone = {{"none", &none.line}};
    CHECK(sw::timeline_summary(alone).find("end to end      0 ns\n") != std::string::npos);
  }
}

TEST_SUITE("stage_summary") {
  TEST_CASE("shares add up to the whole") {
    const std::vector<sw::stage_time> stages = {{"build the model", 0.001}, {"solve", 0.75}, {"write", 0.249}};
    CHECK(sw::stage_summary(stages) ==
          "stage                 time   share\n"
          "----------------------------------\n"
          "build the model    1.00 ms   0.1 %\n"
          "solve            750.00 ms  75.0 %\n"
          "write            249.00 ms  24.9 %\n"
          "----------------------------------\n"
          "total               1.00 s\n");
    CHECK(sw::stage_summary({}).empty());
  }
}

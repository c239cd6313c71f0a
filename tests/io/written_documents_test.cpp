#include "benchmarks/linear_files/lp_file.hpp"
#include "benchmarks/linear_files/mps_file.hpp"
#include "io/refused.hpp"
#include "io/written_texts.hpp"
#include "support/small_tasks.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace written_documents_tests {
namespace {

using namespace written_texts;

}  // namespace

TEST_SUITE("shardweave.solution") {
  TEST_CASE("an answer is written with its parts, and names where the problem has them") {
    const sw::placement_description<double> d = two_vertices();
    sw::solution<double> s;
    s.choice = {0, 1};
    s.objective = 4.5;
    s.lower_bound = -endless;
    s.status = sw::solve_status::stopped;
    s.statistics.solver = "hand";
    s.statistics.bound_by = "head";
    s.statistics.seconds = s.statistics.seconds_to_best = 12;  // stay out of the file
    s.statistics.note = "n";
    s.statistics.iterations = 7;
    s.statistics.counters = {{"sweeps", 2}, {"gap", endless}};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_solution(out, d, s); });
    CHECK(text == R"({"format":"shardweave.solution","version":1,
"problem":"p","unit":"us",
"assignment":[0,1],
"objective":4.5,"parts":{"compute":2.5,"communication":1,"transition":1},"lower_bound":null,"gap":null,"status":"stopped",
"statistics":{"solver":"hand","bound_by":"head","iterations":7,"note":"n","counters":{"sweeps":2,"gap":null}},
"choices":[
{"vertex":0,"name":"x","strategy":"R","compute":0.5,"arguments":[]},
{"vertex":1,"name":"y","strategy":"1","compute":2,"arguments":[{"from":0,"communication":1,"transition":0},{"from":0,"communication":0,"transition":1}]}]}
)");
    auto input = sw::text_input::of_memory("T", text);
    const auto again = sw::read_solution<double>(input, {.strict = true}).answer;
    CHECK(again.choice == s.choice);
    CHECK(again.objective == 4.5);
    CHECK(again.lower_bound == -endless);
    CHECK(again.status == sw::solve_status::stopped);
    CHECK(again.statistics.counters == std::vector<std::pair<std::string, double>>{{"sweeps", 2}});
  }

  TEST_CASE("exact costs come back exact, beyond what a double holds") {
    sw::placement_description<std::int64_t> d;
    d.name = "p";
    d.vertices.resize(1);
    d.vertices[0].compute = {9'007'199'254'740'993};
    sw::solution<std::int64_t> s;
    s.choice = {0};
    s.objective = 9'007'199'254'740'993;
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_solution(out, d, s); });
    auto input = sw::text_input::of_memory("T", text);
    CHECK(sw::read_solution<std::int64_t>(input).answer.objective == 9'007'199'254'740'993);
    const std::string halved = changed(text, "9007199254740993,", "0.5,");
    auto half = sw::text_input::of_memory("T", halved);
    CHECK(refused([&] {
            return sw::read_solution<std::int64_t>(half);
          }).ends_with("objective is 0.5, expected a whole number or null"));
  }
}

TEST_SUITE("shardweave.device") {
  TEST_CASE("a device is written curve by curve, with what was measured of it and no more") {
    sw::device_calibration d;
    d.name = "m";
    CHECK(text_by([&](sw::json_writer& out) { sw::write_device(out, d); }) ==
          R"({"format":"shardweave.device","version":1,"name":"m","collectives":[]
}
)");
    d.device = "h100";
    d.source = "hand";
    d.collectives = {{sw::collective::all_reduce, {8, 2}, sw::bytes(16), 2.5},
                     {sw::collective::all_gather, {2, 1}, sw::bytes(8), 1},
                     {sw::collective::all_reduce, {8, 2}, sw::bytes(8), 0.1}};
    d.compute = sw::compute_profile();
    d.under_load = sw::contention();
    sw::accuracy_report report;
    report[2] = {.count = 3, .mean = 1.5, .median = 1, .p90 = 2, .signed_median = -1};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_device(out, d, &report); });
    const std::string flat =
        R"({"arithmetic":"f64","peak":0.7,"half":0,"power":1},{"arithmetic":"f32","peak":0.7,"half":0,"power":1},)"
        R"({"arithmetic":"f16","peak":0.7,"half":0,"power":1},{"arithmetic":"i8","peak":0.7,"half":0,"power":1},)"
        R"({"arithmetic":"f8","peak":0.7,"half":0,"power":1})";
    CHECK(text ==
          R"({"format":"shardweave.device","version":1,"name":"m","device":"h100","source":"hand","collectives":[
{"op":"all_gather","ranks_per_node":2,"nodes":1,"bytes":[8],"time_us":[1]},
{"op":"all_reduce","ranks_per_node":8,"nodes":2,"bytes":[8,16],"time_us":[0.1,2.5]}],
"compute":{"memory":{"peak":0.7,"half":0,"power":1},"product":[)" +
              flat + R"(],"attention":[)" + flat +
              R"(],"launch_us":7,"product_floor_us":9},
"contention":{"processors":132,"memory_bandwidth":3350,"memory_per_wire":2.5,"compute_factor":1,"collective_factor":1.1},
"held_out":[{"sizes":"1 to 32 MiB","count":3,"median_percent":1,"p90_percent":2,"mean_percent":1.5}]
}
)");
  }

  TEST_CASE("each wrong figure is told with its place and what it should be") {
    const std::string good =
        R"({"format": "shardweave.device", "version": 1, "name": "m", "collectives": [{"op": "all_gather",
"ranks_per_node": 2, "nodes": 2, "bytes": [8, 16], "time_us": [1, 2]}], "compute": {"memory": {"peak": 0.8, "half": 0, "power": 1},
"product": [{"arithmetic": "f16", "peak": 0.7}], "launch_us": 3, "product_floor_us": 0}, "contention": {"processors": 100,
"memory_bandwidth": 2000, "memory_per_wire": 0, "compute_factor": 1.5, "collective_factor": 1}})";
    const auto words = [&](const std::string& from, const std::string& to) {
      const std::string text = changed(good, from, to);
      return refused([&] {
        auto input = sw::text_input::of_memory("T", text);
        return sw::read_device(input, {.strict = true});
      });
    };
    CHECK(words("\"name\"", "\"name\"").empty());
    for (const auto& [from, to, end] : std::vector<std::array<std::string, 3>>{
             {"all_gather", "gather",
              "collectives[0] has op 'gather', expected all_gather, reduce_scatter, all_reduce, all_to_all or shift"},
             {"\"nodes\": 2", "\"nodes\": 0", "collectives[0] has a group without two ranks, or one that is too large"},
             {"\"nodes\": 2", "\"nodes\": 1073741825",
              "collectives[0] has a group without two ranks, or one that is too large"},
             {"\"ranks_per_node\": 2, \"nodes\": 2", "\"ranks_per_node\": 1",
              "collectives[0] has a group without two ranks, or one that is too large"},
             {"[8, 16]", "[8]", "collectives[0] has 1 sizes and 2 times, expected as many"},
             {"[8, 16]", "[8, 0]", "collectives[0] has a size or time that is not positive, at position 1"},
             {"[1, 2]", "[0, 2]", "collectives[0] has a size or time that is not positive, at position 0"},
             {"[1, 2]", "[1, -2]", "collectives[0] has a size or time that is not positive, at position 1"},
             {"\"peak\": 0.8", "\"peak\": 0", "compute.memory.peak is 0, expected a positive number"},
             {"\"half\": 0", "\"half\": -1", "compute.memory.half is -1, expected a number, not negative"},
             {"\"power\": 1", "\"power\": 0", "compute.memory.power is 0, expected a positive number"},
             {"\"f16\"", "\"f4\"", "compute.product[0] has arithmetic 'f4', expected f64, f32, f16, i8 or f8"},
             {"\"launch_us\": 3", "\"launch_us\": -3",
              "compute.launch_us is -3, expected a number, not negative, at most 1e15 microseconds"},
             {"\"launch_us\": 3", "\"launch_us\": 1e300",
              "compute.launch_us is 1e300, expected a number, not negative, at most 1e15 microseconds"},
             {"\"processors\": 100", "\"processors\": 0", "contention.processors is 0, expected a positive number"},
             {"\"memory_per_wire\": 0", "\"memory_per_wire\": -1",
              "contention.memory_per_wire is -1, expected a number, not negative"},
             {"\"compute_factor\": 1.5", "\"compute_factor\": 0",
              "contention.compute_factor is 0, expected a positive number"},
             {"\"version\": 1", "\"version\": 2",
              "version is 2, expected a version from 1 to 1, which are those this reader knows"}}) {
      CAPTURE(to);
      CHECK(words(from, to).ends_with(end));
    }
  }
}

TEST_SUITE("write_lp and write_mps") {
  std::string lp(const sw::linear_model& m, const sw::linear_names& names = {}) {
    std::string text;
    linear_files::write_lp([&](std::string_view piece) { text += piece; }, m, names);
    return text;
  }
  std::string mps(const sw::linear_model& m, const sw::linear_names& names = {}) {
    std::string text;
    linear_files::write_mps([&](std::string_view piece) { text += piece; }, m, names);
    return text;
  }

  TEST_CASE("models of nothing are still programs that readers take") {
    CHECK(lp({}) ==
          "\\ 0 columns, 0 rows\nMinimize\n cost: + 0 constant_one\nSubject To\n no_row: constant_one = 1\n"
          "Bounds\n constant_one = 1\nEnd\n");
    CHECK(mps({}) == "NAME local_polytope\nROWS\n N cost\nCOLUMNS\nRHS\nBOUNDS\nENDATA\n");
    sw::linear_model rows_only;
    rows_only.add_row({-endless, 3});
    CHECK(lp(rows_only) ==
          "\\ 0 columns, 1 rows\nMinimize\n cost: + 0 constant_one\nSubject To\n"
          " r0: + 0 constant_one <= 3\nBounds\n constant_one = 1\nEnd\n");
  }

  TEST_CASE("a row without weights names a column, and a row without limits gets one of its own") {
    sw::linear_model m;
    m.add_column({0, 1, 2});
    m.add_row({1, endless});
    m.add_row({-endless, endless});
    m.add_row({0, 0});
    m.add_entry(1, 0, 4);
    CHECK(lp(m) ==
          "\\ 1 columns, 3 rows\nMinimize\n cost: + 2 x0\nSubject To\n r0: + 0 x0 >= 1\n"
          " r1: + 4 x0 - 1 range.r1 = 0\n r2: + 0 x0 = 0\nBounds\n 0 <= x0 <= 1\n range.r1 free\nEnd\n");
    CHECK(mps(m) ==
          "NAME local_polytope\nROWS\n N cost\n G r0\n E r1\n E r2\nCOLUMNS\n x0 cost 2\n x0 r1 4\n range.r1 r1 -1\n"
          "RHS\n side r0 1\nBOUNDS\n UP limits x0 1\n FR limits range.r1\nENDATA\n");
  }

  TEST_CASE("limits of whole numbers are written whole, inside of what was given") {
    sw::linear_model m;
    m.add_column({-1.5, 2.5, 1, true});
    m.add_column({0.5, 0.5, 1});
    m.add_column({-endless, 3.5, 1, true});
    m.add_row({-endless, 1});
    for (std::uint32_t j = 0; j < 3; ++j) m.add_entry(0, j, 1);
    const std::string text = lp(m);
    CHECK(text.find("\n -1 <= x0 <= 2\n x1 = 0.5\n -inf <= x2 <= 3\nGeneral\n x0\n x2\nEnd\n") != std::string::npos);
    CHECK(
        mps(m).find("BOUNDS\n LO limits x0 -1\n UP limits x0 2\n FX limits x1 0.5\n MI limits x2\n UP limits x2 3\n") !=
        std::string::npos);
  }

  TEST_CASE("a width that would round away the upper limit is not trusted to a range") {
    sw::linear_model m;
    m.add_column({0, endless, 1});
    m.add_row({-1e17, 0.3});
    m.add_row({1, 2});
    m.add_entry(0, 0, 1);
    m.add_entry(1, 0, 1);
    const std::string text = mps(m);
    CHECK(text.find(" E r0\n G r1\n") != std::string::npos);
    CHECK(text.find("RHS\n side r1 1\nRANGES\n width r1 1\n") != std::string::npos);
    CHECK(text.find(" LO limits range.r0 -1e+17\n UP limits range.r0 0.3\n") != std::string::npos);
  }

  TEST_CASE("every word of the formats is no name, in either case; words that only begin so are") {
    sw::linear_model m;
    m.add_column({0, 1, 1});
    for (const std::string word :
         {"bin",      "Binary", "BOUNDS", "end",      "ENDATA",  "free", "general",      "inf",     "Infinity",
          "integers", "marker", "max",    "Maximize", "minimum", "nan",  "objsense",     "ranges",  "rhs",
          "semi",     "sos",    "st",     "such",     "subject", "cost", "constant_one", "range.x", "RANGE."})
      CHECK(refused([&] {
              return lp(m, {{word}, {}});
            }) == "linear model: column 0 is called \"" + word + "\", a word that the formats or their writers use");
    for (const std::string word : {"e", "E", "e1", "E9x", "e."})
      CHECK(refused([&] {
              return lp(m, {{word}, {}});
            }) == "linear model: column 0 is called \"" + word + "\", which readers may take for a number");
    for (const std::string word : {"binx", "ends", "e_1", "ex", "range", "ranger.x", "x.e5", "A_1.b"})
      CHECK(lp(m, {{word}, {}}).find("cost: + 1 " + word + "\n") != std::string::npos);
  }
}

TEST_SUITE("messages") {
  TEST_CASE("a problem with names of several lines is refused in one") {
    const std::string text =
        R"({"format": "shardweave.placement", "version": 1, "vertices": [{"name": "a\nb", "compute": [1]}],
"edges": [{"from": 0, "to": 0, "communication": 3}]})";
    auto input = sw::text_input::of_memory("T", text);
    const std::string words = refused([&] { return sw::read_placement(input); });
    CHECK(words.find("a?b") != std::string::npos);
    CHECK(is_one_line(words));
  }
}

}  // namespace written_documents_tests

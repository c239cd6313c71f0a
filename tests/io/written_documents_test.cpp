#include "benchmarks/linear_files/lp_file.hpp"
#include "benchmarks/linear_files/mps_file.hpp"
#include "io/refused.hpp"
#include "support/nccl_rules_text.hpp"
#include "support/small_tasks.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/matrix_pool.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/tasks/content_hash.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace written_documents_tests {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

template <class Write>
std::string text_by(Write write) {
  return sw::json_string([&](sw::json_writer& out) { write(out); });
}

sw::task_graph two_tasks() {
  sw::task_graph_builder b;
  b.name = "two";
  b.description = "a \"graph\"";
  const auto dp =
      b.add_group({.id = 7, .name = "dp", .size = 4, .stride = 2, .ranks = {0, 2, 4, 6}, .dim = "d", .role = "r"});
  const auto s = b.add_storage({.size = sw::bytes(8), .device = sw::storage_device::cpu});
  sw::task_record first = small_tasks::work("first", 5);
  first.outputs = {{.size = sw::bytes(8), .storage = s, .dtype = "bf16", .shape = {2, 2}}};
  first.is_param = true;
  b.add_task(first);
  sw::task_record second = small_tasks::gather("second", 9'000'000'000'000, {0, 0}, 8, dp);
  second.is_fsdp = false;
  b.add_task(second);
  b.memory_baseline = sw::bytes(3);
  b.fused_durations = {sw::nanoseconds(1), sw::nanoseconds(2)};
  b.add_table(sw::duration_table(sw::collective::all_gather, dp, {sw::bytes(1), sw::bytes(9)},
                                 {sw::nanoseconds(2), sw::nanoseconds(4)}));
  b.device.name = "H";
  b.device.flop_efficiency = 0.5;
  b.device.gpus_per_node = 8;
  return std::move(b).build();
}

sw::placement_description<double> two_vertices() {
  sw::placement_description<double> d;
  d.name = "p";
  d.text = "d";
  d.unit = "us";
  d.vertices.resize(2);
  d.vertices[0] = {.name = "x",
                   .op = "mm",
                   .phase = "forward",
                   .labels = {"R", "S(0)"},
                   .compute = {0.5, endless},
                   .memory = {8, 4}};
  d.vertices[1].name = "y";
  d.vertices[1].compute = {1, 2};
  d.tables = {std::make_shared<const sw::cost_table<double>>(
      sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, 1, endless, 0.1}))};
  d.edges = {{.from = 0, .to = 1, .slot = 1, .communication = 0}, {.from = 0, .to = 1, .transition = 0}};
  d.constraints.ties = {{{0, 1}, "tie"}};
  d.constraints.fixed = {{.vertex = 1, .allowed = {0, 1}, .why = "output"}};
  d.constraints.pairs = {{.a = 0, .b = 1, .allowed = {{0, 0}, {1, 1}}}};
  d.constraints.budgets = {{.name = "memory",
                            .low = -endless,
                            .high = 9,
                            .terms = {{0, {1, 0.5}, sw::live_interval{2, 6}}, {1, {3, 4}, {}}}}};
  d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}, {.edge = 1, .first = 0, .last = 1, .channel = 2}};
  return d;
}

}  // namespace

TEST_SUITE("shardweave.tasks") {
  TEST_CASE("a graph is written with every field that is set, in the units of the format") {
    CHECK(text_by([](sw::json_writer& out) { sw::write_task_graph(out, two_tasks()); }) ==
          R"({"format":"shardweave.tasks","version":1,
"name":"two","description":"a \"graph\"",
"unit":{"time":"ns","size":"byte"},
"groups":[
{"id":7,"name":"dp","size":4,"stride":2,"ranks":[0,2,4,6],"dim":"d","role":"r"}],
"tasks":[
{"name":"first","op":"mm","kind":"compute","duration":5,"inputs":[],"outputs":[{"bytes":8,"storage":0,"dtype":"bf16","shape":[2,2]}],"param":true},
{"name":"second","op":"all_gather","kind":"collective","duration":9000000000000,"inputs":[0,0],"collective":{"op":"all_gather","group":7,"bytes_in":8,"bytes_out":32,"dtype":"bf16","reduce":"none"},"is_fsdp":false}],
"storages":[{"bytes":8,"device":"cpu"}],
"memory":{"baseline":3},
"models":{"collectives":[
{"op":"all_gather","group":7,"bytes_in":[1,9],"time":[2,4]}],
"device":{"name":"H","dram_bytes_per_ns":0,"bf16_tflops_dense":0,"flop_efficiency":0.5,"gpus_per_node":8}},
"alternatives":{"duration_fused":[1,2]}}
)");
  }
}

TEST_SUITE("shardweave.schedule") {
  TEST_CASE("a schedule is written with the hash of its graph, and amounts only where they are known") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    s.buckets = {{.members = {1}, .channel = 0, .bytes_in = sw::bytes(8), .bytes_out = sw::bytes(32)}};
    s.after = {{0, 1}};
    s.hides = {{.collective = 1, .behind = {}, .hidden = sw::nanoseconds(0), .exposed = sw::nanoseconds(9)}};
    s.decisions = {{.reason = sw::decision_reason::distance_limit, .subject = 1, .other = 0, .found = 3, .limit = 0},
                   {.reason = sw::decision_reason::dependency, .subject = 0}};
    s.statistics = {{"moves", 2.5}};
    CHECK(text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); }) ==
          "{\"format\":\"shardweave.schedule\",\"version\":1,\n\"graph\":{\"name\":\"two\",\"hash\":\"" +
              sw::content_hash_text(g) + R"("},
"order":[0,1],
"buckets":[
{"members":[1],"channel":7,"bytes_in":8,"bytes_out":32}],
"after":[[0,1]],
"hides":[
{"collective":1,"behind":[],"hidden":0,"exposed":9}],
"decisions":[
{"reason":"distance_limit","subject":1,"other":0,"found":3,"limit":0},
{"reason":"dependency","subject":0}],
"statistics":{"moves":2.5},"within_memory":true}
)");
  }

  TEST_CASE("statistics without a number are written as null and left out when read") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    s.statistics = {{"gap", endless}, {"moves", 3}, {"share", std::nan("")}};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
    CHECK(text.find(R"("statistics":{"gap":null,"moves":3,"share":null})") != std::string::npos);
    auto input = sw::text_input::of_memory("T", text);
    const sw::schedule again = sw::read_schedule(input, g, {.strict = true});
    CHECK(again.statistics == std::vector<sw::statistic>{{"moves", 3}});
  }

  TEST_CASE("every reason has a name that reads back") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    for (int r = 0; r <= static_cast<int>(sw::decision_reason::overlap); ++r)
      s.decisions.push_back({.reason = static_cast<sw::decision_reason>(r), .subject = 1, .limit = r});
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
    auto input = sw::text_input::of_memory("T", text);
    CHECK(sw::read_schedule(input, g).decisions == s.decisions);
  }
}

TEST_SUITE("shardweave.placement") {
  TEST_CASE("a problem is written with null for forbidden costs, and only the limits that there are") {
    CHECK(text_by([](sw::json_writer& out) { sw::write_placement(out, two_vertices()); }) ==
          R"json({"format":"shardweave.placement","version":1,
"name":"p","description":"d","unit":"us",
"vertices":[
{"name":"x","op":"mm","phase":"forward","labels":["R","S(0)"],"compute":[0.5,null],"tie":0,"memory":[8,4]},
{"name":"y","compute":[1,2],"tie":0}],
"matrices":[
[0,1,null,0.1]],
"edges":[
{"from":0,"to":1,"slot":1,"communication":0},
{"from":0,"to":1,"slot":0,"transition":0}],
"fixed":[
{"vertex":1,"strategies":[0,1],"why":"output"}],
"pairs":[
{"a":0,"b":1,"allowed":[[0,0],[1,1]]}],
"budgets":[
{"name":"memory","high":9,"terms":[
{"vertex":0,"usage":[1,0.5],"live":[2,6]},
{"vertex":1,"usage":[3,4]}]}],
"overlap":{"order":"vertex order","edges":[
{"edge":0,"direction":"earlier"},
{"edge":1,"window":[0,1],"channel":2}]}}
)json");
  }

  TEST_CASE("an edge that hides either way is written as two, one for each direction") {
    sw::placement_description<double> d = two_vertices();
    d.overlap = {{.edge = 1, .direction = sw::hiding::both}};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_placement(out, d); });
    CHECK(text.find("\"edges\":[\n{\"edge\":1,\"direction\":\"earlier\"},\n{\"edge\":1,\"direction\":\"later\"}]") !=
          std::string::npos);
  }
}

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
             {"\"launch_us\": 3", "\"launch_us\": -3", "compute.launch_us is -3, expected a number, not negative"},
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

TEST_SUITE("matrix_pool") {
  sw::detail::cost_list<double> costs(std::vector<double> entries) {
    return sw::detail::cost_list<double>(std::move(entries));
  }
  sw::placement_description<double> three_vertices() {
    sw::placement_description<double> d;
    d.vertices.resize(3);
    d.vertices[0].compute = {0, 0};
    d.vertices[1].compute = {0, 0, 0};
    d.vertices[2].compute = {0, 0, 0, 0, 0, 0};
    d.vertices[1].name = "middle";
    return d;
  }

  TEST_CASE("a matrix takes the shape of the edges that use it, once per shape") {
    sw::placement_description<double> d = three_vertices();
    d.vertices.resize(4);
    d.vertices[3].compute = {0};
    d.edges = {{.from = 0, .to = 1}, {.from = 0, .to = 1}, {.from = 1, .to = 0}, {.from = 3, .to = 2}};
    sw::detail::matrix_pool<double> pool;
    pool.add(costs({1, 2, 3, 4, 5, 6}));
    pool.add(costs({9, 8, 7, 6, 5, 4}));
    CHECK(pool.size() == 2);
    pool.use(0, 0, false);
    pool.use(0, 1, true);
    pool.use(0, 2, false);
    pool.use(0, 3, false);
    pool.use(1, 0, true);
    pool.give_tables(d);
    REQUIRE(d.tables.size() == 4);  // 2 x 3, 3 x 2 and 1 x 6 of the first, 2 x 3 of the second
    CHECK(d.edges[0].communication == 0);
    CHECK(d.edges[1].transition == 0);
    CHECK(d.edges[1].communication == sw::no_table);
    CHECK(d.edges[2].communication == 1);
    CHECK(d.edges[3].communication == 2);
    CHECK(d.edges[0].transition == 3);
    CHECK((*d.tables[0])(1, 0) == 4);
    CHECK((*d.tables[1])(1, 0) == 3);
    CHECK((*d.tables[2])(0, 5) == 6);
    CHECK((*d.tables[3])(0, 2) == 7);
  }

  TEST_CASE("edges that do not fit are named with what was found and what was expected") {
    sw::placement_description<double> d = three_vertices();
    d.edges = {{.from = 0, .to = 1}};
    sw::detail::matrix_pool<double> pool;
    pool.add(costs({1, 2, 3, 4, 5}));
    pool.use(0, 0, false);
    CHECK(refused([&] { return pool.give_tables(d), 0; }) ==
          "edge 0 (0 -> middle) has 5 costs, expected 2 x 3 as its ends have strategies");
    sw::detail::matrix_pool<double> unused;
    unused.add(costs({1}));
    d.tables.clear();
    unused.give_tables(d);
    CHECK(d.tables.empty());  // nobody's matrix makes no table
    d.edges = {{.from = 0, .to = 1}, {.from = 2, .to = 3}};
    CHECK(refused([&] { return unused.give_tables(d), 0; }) == "edge 1 names vertex 3, but there are only 3 vertices");
    d.edges = {{.from = 7, .to = 1}};
    CHECK(refused([&] { return unused.give_tables(d), 0; }) == "edge 0 names vertex 7, but there are only 3 vertices");
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

TEST_SUITE("read_nccl_rules") {
  TEST_CASE("random rows read back, whatever their numbers, and headings and comments are passed over") {
    sw::random_source random(5);
    sw::nccl_rules rules;
    const auto any = [&](std::int64_t least) {
      return random.chance(0.3) ? least : static_cast<std::int64_t>(random() >> 1U);
    };
    for (int i = 0; i < 100; ++i) {
      sw::nccl_rule r;
      r.operation = static_cast<sw::nccl_operation>(random.below(5));
      r.algorithm = static_cast<sw::nccl_algorithm>(random.below(7));
      r.protocol = static_cast<sw::nccl_protocol>(random.below(3));
      r.least = any(0) / 2;
      r.most = r.least + any(0) / 2;
      r.channels = any(-1);
      r.nodes = any(-1);
      r.ranks = any(-1);
      r.merged = any(-1);
      r.registered = any(-1);
      rules.push_back(r);
    }
    const std::string text = "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n" +
                             shardweave_test::nccl_rules_text(rules) + "\r\n  # end";
    auto input = sw::text_input::of_memory("T", text, 9);
    CHECK(sw::read_nccl_rules(input) == rules);
  }
}

TEST_SUITE("atomic_file") {
  TEST_CASE("long texts and empty ones arrive whole, compressed or not") {
    const temporary_folder folder;
    std::string text;
    for (int i = 0; i < 30'000; ++i) text += std::to_string(i * i) + "\n";
    for (const std::string name : {"a.txt", "a.gz"})
      for (const std::string& content : {std::string(), std::string("x"), text}) {
        sw::atomic_file file(folder / name);
        file.write(content);
        file.write("");
        file.write(content);
        file.commit();
        sw::text_input input(folder / name);
        std::string found;
        for (auto piece = input.next(); !piece.empty(); piece = input.next()) found += piece;
        CHECK(found == content + content);
      }
    CHECK(folder.file_count() == 2);
    CHECK(std::filesystem::file_size(folder / "a.gz") < text.size());
  }

  TEST_CASE("a folder is no file, and two writers of one file do not disturb each other") {
    const temporary_folder folder;
    std::filesystem::create_directory(folder / "sub");
    CHECK(refused([&] { return sw::atomic_file(folder / "sub"), 0; }) ==
          (folder / "sub").string() + ": cannot be opened for writing: Is a directory");
    {
      sw::atomic_file one(folder / "f"), two(folder / "f");
      one.write("one");
      two.write("two");
      one.commit();
      CHECK(temporary_folder::read(folder / "f") == "one");
      two.commit();
    }
    CHECK(temporary_folder::read(folder / "f") == "two");
    CHECK(folder.file_count() == 2);
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

#include "io/refused.hpp"
#include "support/random_tasks.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <numeric>
#include <string>
#include <vector>

namespace sw = shardweave;
namespace json = boost::json;

namespace tasks_tests {
namespace {

const std::string small =
    R"({"format": "shardweave.tasks", "version": 1, "name": "small", "unit": {"time": "ns", "size": "byte"},
"tasks": [
 {"name": "primals_1", "op": "input", "kind": "input", "duration": 0, "inputs": [], "outputs": [{"bytes": 8, "storage": 0, "dtype": "bf16", "shape": [2, 2]}], "param": true},
 {"name": "ag0", "op": "ag", "kind": "collective", "duration": 10, "inputs": [0], "is_fsdp": true, "outputs": [{"bytes": 16, "storage": 1}],
  "collective": {"op": "all_gather", "group": 521, "bytes_in": 8, "bytes_out": 16, "dtype": "bf16", "reduce": "none"}},
 {"name": "ag1", "op": "ag", "kind": "collective", "duration": 12, "inputs": [0], "is_fsdp": true,
  "collective": {"op": "all_gather", "group": 521, "bytes_in": 8, "bytes_out": 16, "dtype": "bf16", "reduce": "none"}},
 {"name": "mm", "op": "mm", "kind": "compute", "duration": 7, "inputs": [0, 0]},
 {"name": "w0", "op": "wait", "kind": "wait", "duration": 0, "inputs": [1], "for": 1, "after": [3]},
 {"name": "w1", "op": "wait", "kind": "wait", "duration": 0, "inputs": [2], "for": 2},
 {"name": "out", "op": "output", "kind": "output", "duration": 0, "inputs": [4, 5]}],
"groups": [{"id": 0, "name": "dp", "size": 8}, {"id": 521, "name": "ep", "size": 4, "stride": 2, "ranks": [0, 2, 4, 6], "dim": "ep", "role": "experts"}],
"storages": [{"bytes": 8, "device": "gpu"}, {"bytes": 16, "device": "cpu"}],
"memory": {"baseline": 8},
"models": {"collectives": [{"op": "all_gather", "group": 521, "source": "hand", "bytes_in": [1, 100], "time": [10, 208]}],
 "device": {"name": "H", "dram_bytes_per_ns": 3350, "bf16_tflops_dense": 989.5, "flop_efficiency": 0.75, "gpus_per_node": 8}},
"alternatives": {"duration_fused": [0, 10, 12, 6, 0, 0, 0]}})";

sw::task_graph read(const std::string& text, bool strict = true) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_task_graph(input, {.strict = strict});
}
std::string message(const std::string& text) {
  return refused([&] { return read(text); });
}
std::string written(const sw::task_graph& g) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
}
std::string written(const sw::task_graph& g, const sw::schedule& s) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
}
sw::schedule read_back(const std::string& text, const sw::task_graph& g) {
  auto input = sw::text_input::of_memory("S", text);
  return sw::read_schedule(input, g, {.strict = true});
}

sw::schedule small_schedule() {
  sw::schedule s;
  s.order = {0, 1, 2, 3, 5, 4, 6};
  s.buckets = {{.members = {1, 2}, .channel = 1, .bytes_in = sw::bytes(16), .bytes_out = sw::bytes(32)}};
  s.after = {{3, 5}};
  s.hides = {{.collective = 1, .behind = {3}, .hidden = sw::nanoseconds(7), .exposed = sw::nanoseconds(3)}};
  s.decisions = {{.reason = sw::decision_reason::byte_cap, .subject = 1, .other = 2, .found = 16, .limit = 15},
                 {.reason = sw::decision_reason::alone, .subject = 2}};
  s.statistics = {{"moves", 3}, {"a \"name\"", 0.25}};
  s.within_memory = false;
  return s;
}

}  // namespace

TEST_SUITE("shardweave.tasks") {
  TEST_CASE("every part of a task graph is read, groups by their ids even when they come last") {
    const sw::task_graph g = read(small);
    CHECK(g.name == "small");
    REQUIRE(g.size() == 7);
    CHECK(g.kind(0) == sw::task_kind::input);
    CHECK(g.is_param(0));
    CHECK(g.output(0, 0).dtype == "bf16");
    CHECK(std::vector<std::int64_t>(g.output(0, 0).shape.begin(), g.output(0, 0).shape.end()) ==
          std::vector<std::int64_t>{2, 2});
    CHECK(g.collective(1).group == 1);
    CHECK(g.collective(1).bytes_out == sw::bytes(16));
    CHECK(g.is_fsdp(1) == true);
    CHECK(!g.is_fsdp(3).has_value());
    CHECK(g.inputs(3).size() == 2);
    CHECK(g.completes(4) == 1);
    CHECK(g.after(4)[0] == 3);
    CHECK(g.groups()[1].id == 521);
    CHECK(g.groups()[1].stride == 2);
    CHECK(g.groups()[1].ranks.size() == 4);
    CHECK(g.storages()[1].device == sw::storage_device::cpu);
    CHECK(g.memory_baseline() == sw::bytes(8));
    REQUIRE(g.table(sw::collective::all_gather, 1) != nullptr);
    CHECK((*g.table(sw::collective::all_gather, 1))(sw::bytes(50)) == sw::nanoseconds(108));
    CHECK(g.device().bf16_tflops == 989.5);
    CHECK(g.fused_durations()[3] == sw::nanoseconds(6));
  }

  TEST_CASE("what is written reads back to the same text") {
    const sw::task_graph g = read(small);
    CHECK(written(read(written(g))) == written(g));
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      CAPTURE(seed);
      const sw::task_graph random = random_tasks(seed);
      CHECK(written(read(written(random))) == written(random));
    }
  }

  TEST_CASE("what makes no graph is refused in one line that names it") {
    CHECK(message(changed(small, "\"group\": 521, \"bytes_in\": 8", "\"group\": 1, \"bytes_in\": 8")) ==
          "T: task 1 (ag0) names group 1, but no group has this id");
    CHECK(message(changed(small, "\"group\": 521, \"source\"", "\"group\": 1, \"source\"")) ==
          "T: the duration table of all_gather names group 1, but no group has this id");
    CHECK(message(changed(small, "\"id\": 521", "\"id\": 0"))
              .ends_with("groups[1] has the id 0, which another group has too"));
    CHECK(message(changed(small, "\"inputs\": [0, 0]", "\"inputs\": [0, 9]")) ==
          "T: task 3 (mm) names input task 9, but there are only 7");
    CHECK(message(changed(small, "\"duration\": 7", "\"duration\": -7")) ==
          "T: task 3 (mm) lasts -7 ns, expected none below 0");
    CHECK(message(changed(small, "\"duration\": 7", "\"duration\": 7.5"))
              .ends_with("tasks[3].duration is 7.5, expected a whole number"));
    CHECK(message(changed(small, "\"for\": 1", "\"for\": 3")) ==
          "T: task 4 (w0) waits for task 3 (mm), which is of kind compute, expected collective");
    CHECK(message(changed(small, "\"kind\": \"compute\"", "\"kind\": \"magic\""))
              .ends_with(
                  "tasks[3].kind is \"magic\", expected one of compute, collective, wait, view, input, output, other"));
    CHECK(message(changed(small, "\"storage\": 1", "\"storage\": 2")) ==
          "T: task 1 (ag0) names storage 2, but there are only 2");
    for (const char* far : {"4294967294", "4294967295", "4294967296"}) {
      CAPTURE(far);
      const bool is_index = std::string(far) == "4294967294";
      const auto with = [&](const std::string& field) {
        return message(changed(small, "\"" + field + "\": 1", "\"" + field + "\": " + far));
      };
      CHECK(with("for").ends_with(is_index ? "T: task 4 (w0) names collective 4294967294, but there are only 7"
                                           : "tasks[4].for is " + std::string(far) +
                                                 ", expected a whole number from 0 to 4294967294"));
      CHECK(with("storage").ends_with(is_index ? "T: task 1 (ag0) names storage 4294967294, but there are only 2"
                                               : "tasks[1].outputs[0].storage is " + std::string(far) +
                                                     ", expected a whole number from 0 to 4294967294"));
    }
    CHECK(message(changed(small, "\"time\": \"ns\"", "\"time\": \"us\""))
              .ends_with("unit.time is \"us\", expected \"ns\""));
    CHECK(message(changed(small, "\"device\": \"gpu\"", "\"device\": \"tpu\""))
              .ends_with("storages[0].device is \"tpu\", expected \"gpu\" or \"cpu\""));
    CHECK(
        message(changed(small, "\"inputs\": [0, 0]", "\"inputs\": [0, 4]")).find("depends on itself through a cycle") !=
        std::string::npos);
    CHECK(message(changed(small, "[1, 100], \"time\": [10, 208]", "[100, 1], \"time\": [10, 208]")) ==
          "T: duration table of all_gather on group 1: size 1 is 1, expected more than 100");
    CHECK(message(changed(small, "\"version\": 1", "\"version\": 2")).find("version is 2") != std::string::npos);
    CHECK(
        message(changed(small, "\"op\": \"mm\"", "\"flops\": 1")).ends_with("tasks[3] has the unknown field 'flops'"));
  }

  TEST_CASE("tasks may state a role and a phase, and those that are not known are not told or refused") {
    const auto told = [](const std::string& fields) {
      return changed(small, R"("param": true})", R"("param": true, )" + fields + "}");
    };
    CHECK(read(small).tags(0) == sw::task_tags{.is_param = true});
    for (const sw::task_role role : {sw::task_role::none, sw::task_role::parameter, sw::task_role::gradient,
                                     sw::task_role::activation, sw::task_role::optimizer_state, sw::task_role::data})
      for (const sw::phase when : {sw::phase::forward, sw::phase::backward, sw::phase::update}) {
        const sw::task_graph g = read(told(R"("role": ")" + std::string(sw::to_string(role)) + R"(", "phase": ")" +
                                           std::string(sw::name_of(when)) + "\""));
        CHECK(g.role(0) == role);
        CHECK(g.when(0) == when);
        CHECK(read(written(g)).tags(0) == g.tags(0));
        CHECK((sw::content_hash(g) == sw::content_hash(read(small))) == false);
      }
    CHECK(read(told(R"("role": "bias", "phase": "warmup")"), false).tags(0) == sw::task_tags{.is_param = true});
    CHECK(message(told(R"("role": "bias")"))
              .ends_with("role is \"bias\", expected one of none, parameter, gradient, "
                         "activation, optimizer_state, data"));
    CHECK(message(told(R"("phase": "warmup")"))
              .ends_with("phase is \"warmup\", expected one of forward, backward, update"));
  }

  TEST_CASE("a collective that is not known is another one, whose name its task keeps, or refused by a strict reader") {
    const std::string strange = changed(small, R"("op": "all_gather", "group": 521, "bytes_in": 8)",
                                        R"("op": "broadcast", "group": 521, "bytes_in": 8)");
    const sw::task_graph g = read(strange, false);
    CHECK(g.collective(1).op == sw::collective::other);
    CHECK(g.op(1) == "ag");
    const sw::task_graph nameless = read(changed(strange, R"("op": "ag", )", ""), false);
    CHECK(nameless.op(1) == "broadcast");
    CHECK(nameless.op(2) == "ag");
    CHECK(read(written(nameless), true).op(1) == "broadcast");
    CHECK(
        message(strange).ends_with("collective.op is \"broadcast\", expected one of all_gather, reduce_scatter, "
                                   "all_reduce, all_to_all, shift, other"));
    // nobody knows which other collective a table is of
    const std::string table = R"({"op": "broadcast", "group": 521, "bytes_in": [1], "time": [10]}, )";
    const sw::task_graph priced = read(changed(small, R"({"op": "all_gather", "group": 521, "source")",
                                               table + R"({"op": "all_gather", "group": 521, "source")"),
                                       false);
    REQUIRE(priced.tables().size() == 1);
    CHECK(priced.tables()[0].op() == sw::collective::all_gather);
    const sw::task_graph behind_table = read(R"({"format": "shardweave.tasks", "version": 1, "groups": [{"id": 521}],
      "models": {"collectives": [{"op": "broadcast", "group": 521, "bytes_in": [1], "time": [10]}]},
      "tasks": [{"kind": "compute", "duration": 1, "inputs": []}]})",
                                             false);
    CHECK(behind_table.op(0).empty());
    CHECK(!is_one_line(refused([&] { return read(strange, false); })));
    CHECK(is_one_line(refused([&] { return read(changed(strange, "\"broadcast\"", "7"), false); })));
  }

  TEST_CASE("a text cut anywhere is refused in one line") {
    for (std::size_t size = 0; size < small.size(); size += 7) {
      CAPTURE(size);
      CHECK(is_one_line(message(small.substr(0, size))));
    }
  }

  TEST_CASE("captured graphs have the figures that their files state, before and after writing") {
    for (const char* name : {"llama3-8b-fw-64-1d", "deepseek-v3-fw-64"}) {
      const auto path = shared_data(std::string("tasks/") + name + ".json.gz");
      if (!path) return;
      if (shardweave_test::is_small_scale && std::string_view(name) != "llama3-8b-fw-64-1d") continue;
      CAPTURE(name);
      sw::text_input input(*path);
      std::string text;
      for (auto piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
      const json::value document = json::parse(text);
      const json::object& check = document.at("check").as_object();

      const sw::task_graph g = sw::read_task_graph(*path, {.strict = true});
      const sw::timeline line = sw::simulate(g);
      CHECK(g.size() == check.at("tasks").to_number<std::size_t>());
      CHECK(line.compute.count() == check.at("compute").to_number<std::int64_t>());
      CHECK(line.communication.count() == check.at("comm").to_number<std::int64_t>());
      CHECK(line.exposed.count() == check.at("exposed").to_number<std::int64_t>());
      CHECK(line.end_to_end.count() == check.at("end_to_end").to_number<std::int64_t>());
      CHECK(line.peak.count() == check.at("peak").to_number<std::int64_t>());

      const temporary_folder folder;
      sw::write_task_graph(folder / "again.json.gz", g);
      const sw::task_graph again = sw::read_task_graph(folder / "again.json.gz", {.strict = true});
      CHECK(sw::content_hash_text(again) == sw::content_hash_text(g));
      CHECK(sw::simulate(again) == line);
    }
  }
}

TEST_SUITE("shardweave.schedule") {
  TEST_CASE("a schedule reads back the same, and replays to the same timeline") {
    const sw::task_graph g = read(small);
    const sw::schedule s = small_schedule();
    const sw::schedule again = read_back(written(g, s), g);
    CHECK(again == s);
    CHECK(sw::simulate(g, again) == sw::simulate(g, s));
    sw::schedule coalesced = s;
    for (sw::bucket& b : coalesced.buckets) b.coalesced = true;
    CHECK(read_back(written(g, coalesced), g) == coalesced);
  }

  TEST_CASE("the order is all that a file needs") {
    const sw::task_graph g = read(small);
    const sw::schedule s =
        read_back(R"({"format": "shardweave.schedule", "version": 1, "order": [0, 1, 2, 3, 4, 5, 6]})", g);
    CHECK(s.order.size() == 7);
    CHECK(s.buckets.empty());
  }

  TEST_CASE("the hash tells graphs apart that differ in one number") {
    const sw::task_graph g = read(small);
    CHECK(sw::content_hash_text(g) == sw::content_hash_text(read(small)));
    CHECK(sw::content_hash_text(g).size() == 16);
    CHECK(sw::content_hash_text(g) !=
          sw::content_hash_text(read(changed(small, "\"duration\": 7", "\"duration\": 8"))));
  }

  TEST_CASE("a schedule of another graph, or one that is not valid, is refused in one line") {
    const sw::task_graph g = read(small);
    const std::string good = written(g, small_schedule());
    const auto wrong = [&](const std::string& text) { return refused([&] { return read_back(text, g); }); };
    CHECK(wrong(good).empty());
    const sw::task_graph other = read(changed(small, "\"duration\": 7", "\"duration\": 8"));
    CHECK(refused([&] { return read_back(good, other); })
              .ends_with("graph is 'small' with hash " + sw::content_hash_text(g) + ", expected 'small' with hash " +
                         sw::content_hash_text(other)));
    CHECK(wrong(changed(good, "[0,1,2,3,5,4,6]", "[0,1,2,3,5,4]")) ==
          "S: the order lists 6 tasks, expected each of 7 once");
    CHECK(wrong(changed(good, "\"channel\":521", "\"channel\":3"))
              .ends_with("buckets[0].channel is 3, expected the id of a process group"));
    CHECK(wrong(changed(good, "\"collective\":1,", "\"collective\":7,")) ==
          "S: hides[0] names task 7, but there are only 7");
    CHECK(wrong(changed(good, "\"behind\":[3]", "\"behind\":[3,99]")) ==
          "S: hides[0] names task 99, but there are only 7");
    CHECK(wrong(changed(good, "\"subject\":", "\"subject\":9")).starts_with("S: decisions[0] names task 9"));
    CHECK(wrong(changed(good, "byte_cap", "boredom"))
              .ends_with("decisions[0].reason is \"boredom\", expected the name of a reason"));
    CHECK(wrong(changed(good, "[[3,5]]", "[[3,5,6]]"))
              .ends_with("after[0] has 3 numbers, expected 2 tasks: earlier, later"));
    for (std::size_t size = 0; size + 1 < good.size(); size += 3) CHECK(is_one_line(wrong(good.substr(0, size))));
  }
}

}  // namespace tasks_tests

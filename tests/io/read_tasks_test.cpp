#include "io/refused.hpp"
#include "io/small_tasks_file.hpp"
#include <shardweave/io/read_tasks.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace read_tasks_tests {
namespace {

namespace sw = shardweave;
namespace json = boost::json;
using namespace small_tasks_files;

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
}

}  // namespace read_tasks_tests

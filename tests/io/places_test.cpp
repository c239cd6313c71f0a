#include "io/document_walk.hpp"
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/tasks/content_hash.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

// Which fields are required is the table of the file formats, not what the readers say.
namespace places_tests {
namespace {

const std::string placement = R"({"format": "shardweave.placement", "version": 1, "name": "p", "description": "d",
"unit": "us", "vertices": [
 {"name": "x", "op": "mm", "phase": "forward", "labels": ["R", "S"], "compute": [0, 0.5], "tie": 3, "memory": [8, 4]},
 {"name": "y", "op": "add", "phase": "backward", "labels": ["R", "S"], "compute": [1, null], "tie": 3, "memory": [1, 2]}],
"matrices": [[0, 1, null, 4], [1, 2, 3, 4]],
"edges": [{"from": 0, "to": 1, "slot": 1, "communication": 0, "transition": 1}],
"fixed": [{"vertex": 0, "strategies": [0, 1], "why": "input"}],
"pairs": [{"a": 0, "b": 1, "allowed": [[0, 0], [1, 1]], "why": "gradient"}],
"budgets": [{"name": "b", "low": 0.5, "high": 9, "terms": [{"vertex": 0, "usage": [1, 0.5]}]},
 {"name": "m", "high": 7, "terms": [{"vertex": 1, "usage": [3, 4], "live": [2, 6]}]}],
"overlap": {"order": "vertex order", "edges": [{"edge": 0, "direction": "later", "channel": 2},
 {"edge": 0, "window": [0, 1], "channel": 1}]},
"reference": {"objective": 12.5, "without_savings": 13, "savings": 0.5, "upstream": {"any": 1}, "solver": "hand",
 "proven": true, "assignment": [1, 0]}})";

const std::string tasks = R"({"format": "shardweave.tasks", "version": 1, "name": "t", "description": "d",
"unit": {"time": "ns", "size": "byte"},
"groups": [{"id": 5, "name": "dp", "size": 4, "stride": 2, "ranks": [0, 2, 4, 6], "dim": "dp", "role": "data"}],
"tasks": [
 {"name": "a", "op": "input", "kind": "input", "duration": 0, "inputs": [], "param": true,
  "outputs": [{"bytes": 8, "storage": 0, "dtype": "bf16", "shape": [2, 2]}]},
 {"name": "c", "op": "ag", "kind": "collective", "duration": 10, "inputs": [0], "is_fsdp": true,
  "collective": {"op": "all_gather", "group": 5, "bytes_in": 8, "bytes_out": 16, "dtype": "bf16", "reduce": "none"}},
 {"name": "w", "op": "wait", "kind": "wait", "duration": 0, "inputs": [1], "for": 1, "after": [0]}],
"storages": [{"bytes": 8, "device": "gpu"}],
"memory": {"baseline": 8},
"models": {"collectives": [{"op": "all_gather", "group": 5, "bytes_in": [1, 100], "time": [10, 208],
   "source": "hand", "max_relative_error": 0.1}],
 "device": {"name": "H", "dram_bytes_per_ns": 3350, "bf16_tflops_dense": 989.5, "flop_efficiency": 0.75,
  "gpus_per_node": 8}},
"alternatives": {"duration_fused": [0, 9, 0]},
"check": {"tasks": 3}, "reference": {"any": [1]}})";

template <class Read, class Write>
auto reader(Read read, Write write) {
  return [=](const std::string& text, bool strict) {
    auto input = sw::text_input::of_memory("T", text);
    const auto value = read(input, sw::read_options{.strict = strict});
    return sw::json_string([&](sw::json_writer& out) { write(out, value); });
  };
}

}  // namespace

TEST_SUITE("readers, in every place of a document") {
  TEST_CASE("shardweave.placement") {
    const document_rules rules{.required = {{"", {"format", "version", "vertices", "edges"}},
                                            {"vertices[]", {"compute"}},
                                            {"edges[]", {"from", "to"}},
                                            {"fixed[]", {"vertex", "strategies"}},
                                            {"pairs[]", {"a", "b", "allowed"}},
                                            {"budgets[]", {"name", "terms"}},
                                            {"budgets[].terms[]", {"vertex", "usage"}},
                                            {"overlap", {"order", "edges"}},
                                            {"overlap.edges[]", {"edge"}},
                                            {"reference", {"objective", "assignment"}}},
                               .needed = {"matrices", "overlap.edges[].direction", "overlap.edges[].window"},
                               .free = {"reference.savings", "reference.upstream"}};
    check_reader_in_every_place(
        placement, rules,
        reader([](auto& input, const auto& options) { return sw::read_placement(input, options); },
               [](auto& out, const auto& d) { sw::write_placement(out, d); }));
  }

  TEST_CASE("shardweave.tasks") {
    const document_rules rules{
        .required = {{"", {"format", "version", "tasks"}},
                     {"groups[]", {"id"}},
                     {"tasks[]", {"kind", "duration", "inputs"}},
                     {"tasks[].outputs[]", {"bytes"}},
                     {"tasks[].collective", {"op", "group", "bytes_in", "bytes_out"}},
                     {"storages[]", {"bytes"}},
                     {"models.collectives[]", {"op", "group", "bytes_in", "time"}}},
        .needed = {"groups", "storages", "tasks[].collective"},
        .free = {"check", "reference", "models.collectives[].source", "models.collectives[].max_relative_error"}};
    check_reader_in_every_place(
        tasks, rules,
        reader([](auto& input, const auto& options) { return sw::read_task_graph(input, options); },
               [](auto& out, const auto& g) { sw::write_task_graph(out, g); }));
  }

  TEST_CASE("shardweave.schedule") {
    auto input = sw::text_input::of_memory("G", tasks);
    const sw::task_graph g = sw::read_task_graph(input);
    const std::string good = R"({"format": "shardweave.schedule", "version": 1, "graph": {"name": "t", "hash": ")" +
                             sw::content_hash_text(g) + R"("}, "order": [0, 1, 2], "buckets": [], "after": [[0, 2]],
"hides": [{"collective": 1, "behind": [0], "hidden": 3, "exposed": 7}],
"decisions": [{"reason": "byte_cap", "subject": 1, "other": 2, "found": 16, "limit": 15}],
"statistics": {"moves": 3}, "within_memory": false})";
    const document_rules rules{
        .required = {{"", {"format", "version", "order"}}, {"hides[]", {"collective"}}, {"decisions[]", {"reason"}}},
        .free = {"statistics"}};
    check_reader_in_every_place(
        good, rules,
        reader([&](auto& text, const auto& options) { return sw::read_schedule(text, g, options); },
               [&](auto& out, const auto& s) { sw::write_schedule(out, g, s); }));
  }

  TEST_CASE("shardweave.solution") {
    const std::string good = R"({"format": "shardweave.solution", "version": 1, "problem": "p", "unit": "us",
"assignment": [1], "objective": 2, "parts": {"compute": 2}, "lower_bound": 1.5, "status": "feasible",
"statistics": {"solver": "hand", "bound_by": "head", "seconds": 1, "seconds_to_best": 0.5, "iterations": 3, "note": "n",
 "counters": {"sweeps": 4}}, "choices": [{"vertex": 0}]})";
    const document_rules rules{.required = {{"", {"format", "version", "problem", "assignment"}}},
                               .free = {"unit", "parts", "statistics.seconds", "statistics.seconds_to_best",
                                        "statistics.counters", "choices"}};
    sw::placement_description<double> d;
    d.vertices.resize(1);
    d.vertices[0].compute = {1, 2};
    check_reader_in_every_place(
        good, rules,
        reader([](auto& text, const auto& options) { return sw::read_solution<double>(text, options); },
               [&](auto& out, const auto& s) { sw::write_solution(out, d, s.answer); }));
  }
}

namespace {

std::string place_text(const sw::placement_description<double>& d) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_placement(out, d); });
}
sw::placement_description<double> read_text(const std::string& text) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_placement(input, {.strict = true});
}

}  // namespace

TEST_SUITE("writers, with and without each optional field") {
  TEST_CASE("shardweave.placement: another parser finds what was stated, and nothing for what was not") {
    sw::placement_description<double> bare;
    bare.vertices.resize(2);
    for (auto& v : bare.vertices) v.compute = {1, 2};
    bare.edges.push_back({0, 1, 0, sw::no_table, sw::no_table});
    const auto json_of = [](const auto& d) { return boost::json::parse(place_text(d)).as_object(); };
    const auto plain = json_of(bare);
    const auto& vertex = plain.at("vertices").as_array()[0].as_object();
    for (const char* field : {"op", "phase", "labels", "tie", "memory"}) CHECK_MESSAGE(!vertex.contains(field), field);
    CHECK(vertex.at("compute") == boost::json::parse("[1, 2]"));
    for (const char* field : {"communication", "transition"})
      CHECK_MESSAGE(!plain.at("edges").as_array()[0].as_object().contains(field), field);
    CHECK(!plain.contains("reference"));

    const auto full = read_text(placement);
    const auto again = boost::json::parse(place_text(full));
    const auto stated = boost::json::parse(placement);
    // what the format gives a place to is there with the same value; free texts of the reference are not kept
    const auto number = [](const boost::json::value& v) { return v.to_number<double>(); };
    for (std::size_t v = 0; v < 2; ++v)
      for (const char* field : {"name", "op", "phase", "labels"})
        CHECK_MESSAGE(again.at("vertices").as_array()[v].at(field) == stated.at("vertices").as_array()[v].at(field),
                      field);
    CHECK(again.at("vertices").as_array()[0].at("tie") == again.at("vertices").as_array()[1].at("tie"));
    CHECK(again.at("vertices").as_array()[1].at("compute").as_array()[1].is_null());
    CHECK(number(again.at("vertices").as_array()[0].at("memory").as_array()[1]) == 4);
    CHECK(again.at("matrices").as_array()[0].as_array()[2].is_null());
    for (const char* field : {"from", "to", "slot", "communication", "transition"})
      CHECK_MESSAGE(
          number(again.at("edges").as_array()[0].at(field)) == number(stated.at("edges").as_array()[0].at(field)),
          field);
    CHECK(again.at("fixed").as_array()[0].at("why") == "input");
    CHECK(again.at("pairs").as_array()[0].at("why") == "gradient");
    CHECK(number(again.at("pairs").as_array()[0].at("allowed").as_array()[1].as_array()[0]) == 1);
    const auto& budget = again.at("budgets").as_array()[0];
    CHECK(number(budget.at("low")) == 0.5);
    CHECK(number(budget.at("high")) == 9);
    CHECK(!budget.at("terms").as_array()[0].as_object().contains("live"));
    const auto& timed = again.at("budgets").as_array()[1];
    CHECK(!timed.as_object().contains("low"));
    CHECK(number(timed.at("terms").as_array()[0].at("live").as_array()[1]) == 6);
    const auto& hides = again.at("overlap").at("edges").as_array();
    CHECK(hides[0].at("direction") == "later");
    CHECK(number(hides[0].at("channel")) == 2);
    CHECK(!hides[0].as_object().contains("window"));
    CHECK(number(hides[1].at("window").as_array()[1]) == 1);
    CHECK(!hides[1].as_object().contains("direction"));
    CHECK(again.at("reference").at("solver") == "hand");
    CHECK(again.at("reference").at("proven") == true);
    CHECK(number(again.at("reference").at("without_savings")) == 13);
  }

  TEST_CASE("limits that are not there stay absent, one by one") {
    for (const bool low : {false, true})
      for (const bool high : {false, true}) {
        auto d = read_text(placement);
        sw::budget& b = d.constraints.budgets[0];
        if (!low) b.low = -std::numeric_limits<double>::infinity();
        if (!high) b.high = std::numeric_limits<double>::infinity();
        const auto again = read_text(place_text(d)).constraints.budgets.at(0);
        CHECK(again.low == b.low);
        CHECK(again.high == b.high);
        CHECK(!again.terms[0].live);
      }
  }

  TEST_CASE("ties that share a vertex come back as one, others stay apart") {
    sw::placement_description<double> d;
    d.vertices.resize(7);
    for (auto& v : d.vertices) v.compute = {1, 2};
    d.constraints.ties = {{{5, 6}, ""}, {{1, 3}, ""}, {{3, 4}, ""}, {{2}, ""}};
    const auto again = read_text(place_text(d)).constraints.ties;
    std::vector<std::vector<std::uint32_t>> sets;
    for (const auto& t : again) sets.push_back(t.vertices);
    CHECK(sets == std::vector<std::vector<std::uint32_t>>{{1, 3, 4}, {2}, {5, 6}});
  }

  TEST_CASE("shardweave.tasks: every optional field, there or not, gives the same graph back") {
    const auto read_graph = [](const std::string& text) {
      auto input = sw::text_input::of_memory("T", text);
      return sw::read_task_graph(input, {.strict = true});
    };
    const auto text_of = [](const sw::task_graph& g) {
      return sw::json_string([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
    };
    const boost::json::value document = boost::json::parse(tasks);
    // without one field at a time, over all that may be absent
    for (const std::string field : {"/name",
                                    "/description",
                                    "/unit",
                                    "/memory",
                                    "/models",
                                    "/alternatives",
                                    "/check",
                                    "/reference",
                                    "/groups/0/name",
                                    "/groups/0/size",
                                    "/groups/0/stride",
                                    "/groups/0/ranks",
                                    "/groups/0/dim",
                                    "/groups/0/role",
                                    "/tasks/0/name",
                                    "/tasks/0/op",
                                    "/tasks/0/outputs",
                                    "/tasks/0/param",
                                    "/tasks/0/outputs/0/dtype",
                                    "/tasks/0/outputs/0/shape",
                                    "/tasks/0/outputs/0/storage",
                                    "/tasks/1/is_fsdp",
                                    "/tasks/1/collective/dtype",
                                    "/tasks/1/collective/reduce",
                                    "/tasks/2/for",
                                    "/tasks/2/after",
                                    "/storages/0/device",
                                    "/models/collectives",
                                    "/models/device",
                                    "/models/device/bf16_tflops_dense"}) {
      CAPTURE(field);
      boost::json::value less = document;
      const auto cut = field.rfind('/');
      auto& object = cut == 0 ? less.as_object() : less.at_pointer(field.substr(0, cut)).as_object();
      REQUIRE(object.erase(field.substr(cut + 1)) == 1);
      const sw::task_graph g = read_graph(boost::json::serialize(less));
      const sw::task_graph again = read_graph(text_of(g));
      REQUIRE(again.size() == g.size());
      for (sw::task_index t = 0; t < g.size(); ++t) CHECK(again.record(t) == g.record(t));
      CHECK(std::equal(again.groups().begin(), again.groups().end(), g.groups().begin(), g.groups().end()));
      CHECK(std::equal(again.storages().begin(), again.storages().end(), g.storages().begin(), g.storages().end()));
      CHECK(std::equal(again.tables().begin(), again.tables().end(), g.tables().begin(), g.tables().end()));
      CHECK(std::equal(again.fused_durations().begin(), again.fused_durations().end(), g.fused_durations().begin(),
                       g.fused_durations().end()));
      CHECK(again.device() == g.device());
      CHECK(again.memory_baseline() == g.memory_baseline());
      CHECK(again.name == g.name);
      CHECK(again.description == g.description);
    }
  }
}

}  // namespace places_tests

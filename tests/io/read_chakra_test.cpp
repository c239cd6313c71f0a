#include "io/chakra_messages.hpp"
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/read_chakra.hpp>

#include <doctest/doctest.h>
#include <io/refused.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace read_chakra_tests {
namespace {

namespace sw = shardweave;
using namespace chakra_messages;

}  // namespace

TEST_SUITE("chakra") {
  TEST_CASE("what protobuf's own package wrote is read field by field, alike from messages and from JSON") {
    for (const char* name : {"every_field", "mlp_data_model", "resnet50_data_parallel"}) {
      CAPTURE(name);
      const auto et = trace_file(std::string(name) + ".et"), twin = trace_file(std::string(name) + ".json");
      if (!et || !twin) return;
      const std::string bytes = text_of(*et), text = text_of(*twin);
      const sw::chakra_trace one = read(bytes, messages), other = read(text, json_form);
      CHECK(!one.nodes.empty());
      CHECK(one.schema == other.schema);
      CHECK(one == other);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        CHECK(read(bytes, messages, piece) == one);
        CHECK(read(text, json_form, piece) == one);
      }
    }
  }

  TEST_CASE("a published trace says what its source says: times, sizes, collectives and dependencies") {
    const auto path = trace_file("mlp_data_model.json"), flat = trace_file("mlp_data_model_flat.json");
    if (!path || !flat) return;
    const sw::chakra_trace trace = read(text_of(*path), json_form);
    CHECK(trace.schema == "1.0.2-chakra.0.0.4");
    REQUIRE(trace.nodes.size() == 35);
    const sw::chakra_node& first = trace.nodes.front();
    CHECK(first.id == 35);
    CHECK(first.name == "COMP_NODE_layer_64_2_mlp0_FWD");
    CHECK(first.type == sw::chakra_type::compute);
    CHECK(first.duration_us == 32291);
    CHECK(first.data_deps.empty());
    const sw::chakra_node& gather = trace.nodes[1];
    CHECK(gather.type == sw::chakra_type::collective);
    CHECK(sw::chakra_collective_names[static_cast<std::size_t>(gather.comm_type)] == "ALL_GATHER");
    CHECK(gather.comm_size == 37632);
    CHECK(gather.data_deps == std::vector<std::uint64_t>{35});
    const sw::chakra_node& last = trace.nodes.back();
    CHECK(last.id == 69);
    CHECK(last.comm_type == 0);
    CHECK(trace.nodes[16].id == 51);
    CHECK(trace.nodes[16].data_deps == std::vector<std::uint64_t>{49, 48});

    CHECK(read(text_of(*flat), json_form).nodes == trace.nodes);  // the form that the feeder reads
  }

  TEST_CASE("wrong traces are refused, and the message names byte, node and what is wrong") {
    using enum sw::chakra_type;
    const auto wrong = [](const std::string& text) { return refused([&] { return read(text, messages); }); };
    const std::string good = trace_of({node(17, "x", compute)});
    CHECK(wrong(good).empty());
    CHECK(wrong(good.substr(0, good.size() - 1)) == "trace: byte 2: the message is cut: 8 of its 9 bytes");
    CHECK(wrong(std::string(20, '\xff')) ==
          "trace: byte 1: no length of a message stands here, expected one of up to 1 GiB");
    CHECK(wrong(trace_of({node(17, "x", compute).raw("\x3f")})) ==
          "trace: byte 2: node 17 (x) at byte 10 of the message field 7 is of no known layout");
    CHECK(wrong(trace_of({node(17, "x", compute).raw("\x3d\x01")})) ==
          "trace: byte 2: node 17 (x) at byte 10 of the message field 7 is cut");
    CHECK(wrong(trace_of({message().number(1, 17).text(2, "x").number(3, 99)})) ==
          "trace: byte 2: node 17 (x) type is 99, expected at most 10");
    CHECK(wrong(trace_of({node(17, "x", compute, std::uint64_t{1} << 62)})) ==
          "trace: byte 2: node 17 (x) duration_micros is 4611686018427387904, expected at most 1000000000000000");
    CHECK(wrong(trace_of({node(17, "x", collective).attribute("comm_size", ~std::uint64_t{0})})) ==
          "trace: byte 2: node 17 (x) has the attribute 'comm_size' of -1, expected a whole number from 0 to 2^60");
    CHECK(wrong(trace_of({node(17, "x", collective).attribute("comm_type", 12)})) ==
          "trace: byte 2: node 17 (x) has the attribute 'comm_type' of 12, expected a collective's name, or its number "
          "below 10");

    const auto wrong_json = [](const std::string& text) { return refused([&] { return read(text, json_form); }); };
    CHECK(wrong_json(R"({"attr":[]} {"id":"1","type":"COMP_NODE"})").empty());
    CHECK(wrong_json(R"({"attr":[]} {"id":"1","type":"COMP"})") ==
          "trace: line 1, byte 35: type is \"COMP\", expected a type of node, as its name or number");
    CHECK(wrong_json("{\"attr\":[]}\n{\"id\":\"-1\"}") ==
          "trace: line 2, byte 22: id is \"-1\", expected a whole number, not negative");
    CHECK(wrong_json(R"({"attr":[]}{"id":"1","attr":[{"name":"comm_size","int64Val":"many"}]})")
              .find("attr[0] has the attribute 'comm_size' of \"many\", expected a whole number from 0 to 2^60") !=
          std::string::npos);
    CHECK(is_one_line(wrong_json("{\"attr\":[]}{\"id\":")));

    const auto no_graph = [](const std::vector<message>& nodes, const sw::chakra_options& options = {}) {
      return refused([&] { return sw::task_graph_of(read(trace_of(nodes), messages), options); });
    };
    CHECK(no_graph({}) == "has no nodes, expected at least one");
    CHECK(no_graph({node(1, "a", compute), node(1, "b", compute)}) ==
          "node 1 (b) has the id of another node, node 1 (a), expected its own");
    CHECK(no_graph({node(1, "a", compute).number(5, 8)}) == "node 1 (a) depends on node 8, expected one that is there");
    const std::string cycle = no_graph({node(5, "z", compute), node(1, "a", compute).number(5, 2).number(4, 5),
                                        node(2, "b", compute).number(5, 1), node(3, "c", compute).number(5, 2)});
    CHECK((cycle == "node 1 (a) depends on itself by way of its dependencies, expected no cycle" ||
           cycle == "node 2 (b) depends on itself by way of its dependencies, expected no cycle"));
    const message unstated = node(1, "a", collective, 0).attribute("comm_size", 8);
    CHECK(no_graph({unstated}) ==
          "node 1 (a) states no duration, expected one where no device is named whose collectives price it");
    CHECK(no_graph({unstated}, {.prices = h100()}) ==
          "node 1 (a) states no duration and the trace not who is in group 'all ranks', expected one of both, or the "
          "number of ranks");
    CHECK(no_graph({unstated}, {.ranks = 12, .prices = h100()}) ==
          "group 'all ranks' of 12 ranks lies on nodes of 8 devices with more ranks on one than on another, expected "
          "as many on each");
    CHECK(no_graph({unstated}, {.ranks = 16, .prices = h100()}).empty());
    const auto over_nodes = [&](const std::string& ranks) {
      const sw::chakra_trace trace{
          .nodes = {{.id = 1,
                     .name = "process_group:init",
                     .type = metadata,
                     .input_values = R"([{"pg_name": "0", "ranks": [)" + ranks + "]}]"},
                    {.id = 2, .name = "a", .type = collective, .comm_type = 0, .comm_size = 8, .group = "0"}}};
      return refused([&] { return sw::task_graph_of(trace, {.prices = h100()}); });
    };
    CHECK(over_nodes("0, 1, 8, 9, 16, 17").empty());
    CHECK(over_nodes(R"(], "group_size": -4, "more": [)").find("group_size is -4, expected how many ranks it has") !=
          std::string::npos);
    for (const char* ranks : {"0, 1, 8, 16, 17, 18", "0, 1, 2, 8, 16, 17", "0, 8, 9, 16, 17, 18"})
      CHECK(over_nodes(ranks) ==
            "group '0' of 6 ranks lies on nodes of 8 devices with more ranks on one than on another, expected as many "
            "on each");
  }
}

}  // namespace read_chakra_tests

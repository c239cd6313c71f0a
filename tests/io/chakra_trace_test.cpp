#include "io/chakra_messages.hpp"
#include <shardweave/io/chakra_trace.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace chakra_trace_tests {
namespace {
using namespace chakra_messages;

struct node_type {
  std::uint64_t number;
  const char* name;
  sw::chakra_type type;
};
/// Enumeration NodeType of MLCommons' et_def.proto.
constexpr node_type node_types[] = {
    {0, "INVALID_NODE", sw::chakra_type::invalid},       {1, "METADATA_NODE", sw::chakra_type::metadata},
    {2, "MEM_LOAD_NODE", sw::chakra_type::memory_load},  {3, "MEM_STORE_NODE", sw::chakra_type::memory_store},
    {4, "COMP_NODE", sw::chakra_type::compute},          {5, "COMM_SEND_NODE", sw::chakra_type::send},
    {6, "COMM_RECV_NODE", sw::chakra_type::receive},     {7, "COMM_COLL_NODE", sw::chakra_type::collective},
    {8, "STORAGE_NODE", sw::chakra_type::storage},       {9, "BATCH_NODE", sw::chakra_type::batch},
    {10, "CHECKPOINT_NODE", sw::chakra_type::checkpoint}};
/// Its enumeration CollectiveCommType, from 0 on.
constexpr std::array<std::string_view, 10> collectives = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

sw::chakra_node read_message(const message& m) { return read(trace_of({m}), messages).nodes.at(0); }
sw::chakra_node read_json(const std::string& text) {
  return read("{\"attr\":[]}{" + text + "}", json_form).nodes.at(0);
}
}  // namespace

TEST_SUITE("chakra_trace") {
  TEST_CASE("types and collectives have the schema's numbers and names, and are read by either") {
    for (const node_type& t : node_types) {
      CAPTURE(t.name);
      CHECK(static_cast<std::uint64_t>(t.type) == t.number);
      CHECK(sw::chakra_type_names.at(t.number) == t.name);
      CHECK(read_message(message().number(1, 5).number(3, t.number)).type == t.type);
      CHECK(read_json("\"id\":\"5\",\"type\":\"" + std::string(t.name) + "\"").type == t.type);
    }
    CHECK(std::size(node_types) == sw::chakra_type_names.size());
    CHECK(sw::chakra_collective_names == collectives);
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      CHECK(read_message(message().number(1, 5).attribute("comm_type", i)).comm_type == static_cast<std::int64_t>(i));
      CHECK(read_json(R"("id":"5","attr":[{"name":"comm_type","stringVal":")" + std::string(collectives[i]) + "\"}]")
                .comm_type == static_cast<std::int64_t>(i));
    }
  }

  TEST_CASE("what a file leaves out is 0 or empty: a node of which it says nothing is a new one") {
    CHECK(read_message(message()) == sw::chakra_node());
    CHECK(read_json("\"id\":\"0\"") == sw::chakra_node());
    const sw::chakra_node stated = read_message(message().attribute("comm_src", 0));
    CHECK(stated.source == 0);  // a rank that is stated is told from none
    CHECK(stated != sw::chakra_node());
  }
}

}  // namespace chakra_trace_tests

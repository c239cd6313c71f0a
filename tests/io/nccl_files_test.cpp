#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>

#include <doctest/doctest.h>
#include <support/nccl_rules_text.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace shardweave;

namespace nccl_files_tests {
namespace {

std::filesystem::path nccl_corpus(const std::string& name) {
  return std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / name;
}
nccl_topology topology_of(std::string_view text, std::size_t piece = 7) {
  auto input = text_input::of_memory("t.xml", text, piece);
  return read_nccl_topology(input);
}
nccl_rules rules_of(std::string_view text) {
  auto input = text_input::of_memory("t.conf", text, 5);
  return read_nccl_rules(input);
}

/// A system of one processor with what is given in it.
std::string nccl_system(const std::string& inside, const std::string& processor = R"(arch="x86_64")") {
  return "<system version=\"1\"><cpu numaid=\"0\" " + processor + ">" + inside + "</cpu></system>";
}
std::string nccl_device(int number, const std::string& inside = "", int sm = 80,
                        const std::string& speed = "16.0 GT/s PCIe") {
  return "<pci busid=\"b" + std::to_string(number) + "\" link_speed=\"" + speed + "\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(number) + "\" sm=\"" + std::to_string(sm) + "\">" + inside + "</gpu></pci>";
}

}  // namespace

TEST_SUITE("read_nccl_topology") {
  TEST_CASE("a board with a switch is the preset of its kind") {
    nccl_node read = nccl_node_of(read_nccl_topology(nccl_corpus("nccl_topology/switched.xml")));
    const nccl_node preset = nccl_node_of(find_device("h100"));
    CHECK(read.link_bandwidth == doctest::Approx(preset.link_bandwidth));
    CHECK(read.nic_bandwidth == doctest::Approx(48));  // PCI generation 5 carries less than 400 Gb/s
    CHECK(read.source == "NCCL topology");
    read.link_bandwidth = preset.link_bandwidth;
    read.nic_bandwidth = preset.nic_bandwidth;
    read.name = preset.name;
    read.source = preset.source;
    CHECK(read == preset);
  }

  TEST_CASE("channels of the board that was read are those of the preset") {
    const nccl_node read = nccl_node_of(read_nccl_topology(nccl_corpus("nccl_topology/switched.xml")));
    const nccl_node preset = nccl_node_of(find_device("h100"));
    for (const bool several : {false, true})
      for (std::int64_t ranks = 2; ranks <= 8; ++ranks)
        CHECK(nccl_layout_of(read, ranks, several) == nccl_layout_of(preset, ranks, several));
  }

  TEST_CASE("a board without NVLink rings over PCI and between sockets") {
    const nccl_topology t = read_nccl_topology(nccl_corpus("nccl_topology/pci.xml"));
    REQUIRE(t.devices.size() == 4);
    REQUIRE(t.network.size() == 1);
    CHECK(t.devices[0].pci_bandwidth == doctest::Approx(24));
    CHECK(t.network[0].pci_bandwidth == doctest::Approx(12));
    CHECK(t.network[0].latency_us == doctest::Approx(5.5));
    const nccl_node node = nccl_node_of(t);
    CHECK(node.link == nccl_link::pci);
    CHECK(node.link_bandwidth == doctest::Approx(10));  // between two Skylake sockets
    CHECK(node.nic_bandwidth == doctest::Approx(12));   // PCI generation 3 before 100 Gb/s
    CHECK(node.network_latency_us == doctest::Approx(5.5));
    CHECK(node.has_sharp);
    CHECK_FALSE(node.has_switch);
    CHECK_FALSE(node.has_multicast);
    CHECK_FALSE(node.ll128_crosses_network);
    // one channel of 10 GB/s: 0.5 of it for LL, 2 x 3 steps of 4; no LL128 without NVLink
    const nccl_tuner tuner(node);
    const auto [latency, bandwidth] =
        tuner.logged(collective::all_reduce, {4, 1}, nccl_algorithm::ring, nccl_protocol::ll);
    CHECK(latency == doctest::Approx(6.6 + 6 * 1.0));
    CHECK(bandwidth == doctest::Approx(5.0 * 4 / 6));
    CHECK(tuner.logged(collective::all_reduce, {4, 1}, nccl_algorithm::ring, nccl_protocol::ll128).second == 0);
  }

  TEST_CASE("devices linked each with each need no switch") {
    const auto link = [](const std::string& to) {
      return "<nvlink target=\"" + to + "\" count=\"4\" tclass=\"0x030200\"/>";
    };
    const std::string all = nccl_device(0, link("b1") + link("b2")) + nccl_device(1, link("b0") + link("b2")) +
                            nccl_device(2, link("b0") + link("b1"));
    const nccl_node node = nccl_node_of(topology_of(nccl_system(all)));
    CHECK(node.link == nccl_link::nvlink);
    CHECK(node.link_bandwidth == doctest::Approx(8 * 20.0));
    CHECK_FALSE(node.has_switch);
    const std::string pair = nccl_device(0, link("b1")) + nccl_device(1, link("b0")) + nccl_device(2);
    CHECK(nccl_node_of(topology_of(nccl_system(pair))).link == nccl_link::pci);
  }

  TEST_CASE("PCI carries three quarters of its rate, less what the first generations spend on coding") {
    const auto bandwidth = [](const std::string& speed) {
      return topology_of(nccl_system(nccl_device(0, "", 80, speed))).devices.front().pci_bandwidth;
    };
    CHECK(bandwidth("2.5 GT/s") == doctest::Approx(3));
    CHECK(bandwidth("5.0 GT/s PCIe") == doctest::Approx(6));
    CHECK(bandwidth("8.0 GT/s PCIe") == doctest::Approx(12));
    CHECK(bandwidth("16.0 GT/s PCIe") == doctest::Approx(24));
    CHECK(bandwidth("32.0 GT/s PCIe") == doctest::Approx(48));
    CHECK(bandwidth("") == doctest::Approx(12));
    CHECK(bandwidth("Unknown speed") == doctest::Approx(12));
  }

  TEST_CASE("processors are told apart") {
    const auto kind = [](const std::string& attributes) {
      return nccl_node_of(topology_of(nccl_system(nccl_device(0) + nccl_device(1), attributes))).processor;
    };
    CHECK(kind(R"(arch="x86_64" vendor="GenuineIntel")") == nccl_processor::intel);
    CHECK(kind(R"(arch="x86_64" vendor="AuthenticAMD")") == nccl_processor::amd);
    CHECK(kind(R"(arch="arm64" vendor="")") == nccl_processor::arm);
    CHECK(kind(R"(arch='x86_64' vendor='Shanghai')") == nccl_processor::other);
    // two devices below different slots of an Intel processor: five sixths of PCI
    const auto pci = [](const std::string& vendor) {
      return nccl_node_of(topology_of(nccl_system(nccl_device(0) + nccl_device(1), "vendor=\"" + vendor + "\"")))
          .link_bandwidth;
    };
    CHECK(pci("GenuineIntel") == doctest::Approx(20));
    CHECK(pci("AuthenticAMD") == doctest::Approx(24));
  }

  TEST_CASE("what is wrong is named with its line") {
    const std::vector<std::pair<std::string, const char*>> wrong{
        {"", "t.xml: line 1: there is no element"},
        {"<graphs version=\"1\"/>", "t.xml: line 1: <graphs> is not the <system> of an NCCL topology"},
        {"<system version=\"2\"/>", "t.xml: line 1: <system> has version 2; version 1 can be read"},
        {"\n\n<system/>", "t.xml: line 3: <system> lacks attribute version"},
        {"<system version=\"1\"/>", "t.xml: line 1: <system> holds no <gpu>"},
        {"<system version=\"1\">\n<cpu>", "t.xml: line 2: <cpu> has no end"},
        {"<system version=\"1\">\n</cpu>", "t.xml: line 2: </cpu> closes what is not open"},
        {"<system version=\"1\"", "t.xml: line 1: <system lacks its >"},
        {"<system version=1>", "t.xml: line 1: the value of an attribute is not in quotes"},
        {"<system version=\"1>", "t.xml: line 1: the value of an attribute has no end"},
        {"<system version=\"&x;\">", "t.xml: line 1: '&x;' is not a known entity"},
        {"<system a=\"1\"\na=\"1\">", "t.xml: line 2: <system> has attribute a twice"},
        {"<system version=\"1\"/><system/>", "t.xml: line 1: a second root element begins"},
        {"<!-- \n", "t.xml: line 1: a comment has no end"},
        {nccl_system("\n<pci><gpu dev=\"0\" sm=\"90\"/></pci>"), "t.xml: line 2: <pci> lacks attribute busid"},
        {nccl_system("\n<pci busid=\"a\"><gpu dev=\"0\" sm=\"9.0\"/></pci>"),
         "t.xml: line 2: <gpu> sm=\"9.0\" is not a whole number from 30 to 999"},
        {nccl_system("<pci busid=\"a\" link_speed=\"fast\">\n<gpu dev=\"0\" sm=\"90\"/></pci>"),
         "t.xml: line 1: <pci> link_speed=\"fast\" does not begin with a number of GT/s"},
        {nccl_system(nccl_device(0) + "\n" + nccl_device(0)),
         "t.xml: line 2: <pci> has the busid b0 of another device"},
        {nccl_system(nccl_device(0) + "<nic><net name=\"n\" latency=\"-1\"/></nic>"),
         "t.xml: line 1: <net> latency=\"-1\" is not a number from 0 on"},
    };
    for (const auto& [text, message] : wrong) {
      CAPTURE(text);
      CHECK_THROWS_WITH_AS(topology_of(text), message, error);
    }
    std::string deep;
    for (int i = 0; i < 100; ++i) deep += "<a>";
    CHECK_THROWS_WITH_AS(topology_of(deep), "t.xml: line 1: elements are nested deeper than 64", error);
    CHECK_THROWS_WITH_AS(nccl_node_of(nccl_topology{}), "the topology has no device", error);
  }
}

TEST_SUITE("read_nccl_graphs") {
  nccl_known_layout graphs_of(std::string_view text) {
    auto input = text_input::of_memory("g.xml", text, 11);
    return read_nccl_graphs(input);
  }

  TEST_CASE("channels of a file stand in for the closed form") {
    const nccl_known_layout known = read_nccl_graphs(nccl_corpus("nccl_graphs/four.xml"));
    CHECK(known.ranks_per_node == 4);
    CHECK(known.several);
    CHECK(known.network_latency_us == doctest::Approx(5));
    CHECK(known.layout.ring == nccl_paths{3, 11, 10});
    CHECK(known.layout.tree == nccl_paths{2, 22, 9});
    CHECK(known.layout.nvls == nccl_paths{});
    CHECK_FALSE(known.layout.tree_enters_at_one);
    const device_profile h100 = find_device("h100");
    const nccl_tuner with(h100, {.layouts = {known}});
    const nccl_tuner without(h100);
    using enum nccl_algorithm;
    const auto pair = [](const nccl_tuner& t, group_shape g, nccl_algorithm a) {
      return t.logged(collective::all_reduce, g, a, nccl_protocol::simple);
    };
    // 3 channels of 10 GB/s over three nodes of four ranks; 18 steps in nodes and 4 between them
    CHECK(pair(with, {4, 3}, ring).second == doctest::Approx(3 * 10 * 12 / 22.0));
    CHECK(pair(with, {4, 3}, ring).first == doctest::Approx(8.4 + 18 * 3.4 + 4 * (14 + 2 * 5)));
    CHECK(pair(with, {4, 3}, tree).second == doctest::Approx(2 * 9 * .92 / 2));  // enters at two devices
    CHECK(pair(with, {4, 3}, nvls_tree).second == 0);
    CHECK(with.layout({4, 3}).channels == 4);
    // other groups keep theirs
    CHECK(pair(with, {8, 3}, ring) == pair(without, {8, 3}, ring));
    CHECK(pair(with, {4, 1}, ring) == pair(without, {4, 1}, ring));
  }

  TEST_CASE("what is wrong with channels is named with its line") {
    const auto file = [](const std::string& inside) { return "<graphs version=\"1\">\n" + inside + "</graphs>"; };
    const std::vector<std::pair<std::string, const char*>> wrong{
        {"<system version=\"1\"/>", "g.xml: line 1: <system> is not the <graphs> of an NCCL graph file"},
        {"<graphs version=\"3\"/>", "g.xml: line 1: <graphs> has version 3; version 1 can be read"},
        {file(""), "g.xml: line 1: <graphs> holds no ring (graph 0) with channels"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\"/>"),
         "g.xml: line 2: <graph> lacks attribute speedinter"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"0\" speedinter=\"1\"/>"),
         "g.xml: line 2: <graph> has channels of no speed"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\" speedinter=\"1\"/>"),
         "g.xml: line 2: <graph> holds no <channel>"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\" speedinter=\"1\">\n<channel/></graph>"),
         "g.xml: line 3: <channel> holds no <gpu>"},
        {file("<graph id=\"0\" nchannels=\"many\"/>"),
         "g.xml: line 2: <graph> nchannels=\"many\" is not a whole number from 0 to 1024"},
    };
    for (const auto& [text, message] : wrong) {
      CAPTURE(text);
      CHECK_THROWS_WITH_AS(graphs_of(text), message, error);
    }
  }
}

TEST_SUITE("read_nccl_rules") {
  TEST_CASE("rows are read in their order, and written to what is read again") {
    const nccl_rules rules = read_nccl_rules(nccl_corpus("nccl_rules/small.conf"));
    REQUIRE(rules.size() == 4);
    CHECK(rules[0] == nccl_rule{.operation = nccl_operation::all_reduce,
                                .least = 0,
                                .most = 65536,
                                .algorithm = nccl_algorithm::tree,
                                .protocol = nccl_protocol::ll,
                                .channels = 2,
                                .nodes = 1,
                                .ranks = 8});
    CHECK(rules[2].merged == 1);
    CHECK(rules[2].registered == 0);
    CHECK(rules_of(shardweave_test::nccl_rules_text(rules)) == rules);
    CHECK(rules_of("# nothing\n\n   \n").empty());
  }

  TEST_CASE("what the plugin would misread in silence is refused") {
    const std::string operations = "broadcast, reduce, allgather, reducescatter, allreduce";
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"\nAllReduce,0,1,ring,ll,1,1,1", "t.conf: line 2: collective 'AllReduce' is none of " + operations},
        {"allreduce,0,1,rings,ll,1,1,1",
         "t.conf: line 1: algorithm 'rings' is none of tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, "
         "pat"},
        {"allreduce,0,1,ring,LL,1,1,1", "t.conf: line 1: protocol 'LL' is none of ll, ll128, simple"},
        {"allreduce,-1,1,ring,ll,1,1,1", "t.conf: line 1: min_bytes '-1' is not a whole number from 0 on"},
        {"allreduce,0,1e6,ring,ll,1,1,1", "t.conf: line 1: max_bytes '1e6' is not a whole number from 0 on"},
        {"allreduce,0,1,ring,ll,-2,1,1", "t.conf: line 1: channels '-2' is not a whole number from -1 on"},
        {"allreduce,5,4,ring,ll,1,1,1", "t.conf: line 1: max_bytes 4 is less than min_bytes 5"},
        {"allreduce,0,1,ring,ll,1,1", "t.conf: line 1: has 7 fields; 8 to 10 were expected"},
        {"allreduce,0,1,ring,ll,1,1,1,1,1,1", "t.conf: line 1: has 11 fields; 8 to 10 were expected"},
        {std::string(256, ' '), "t.conf: line 1: is longer than 255 characters"},
    };
    for (const auto& [text, message] : wrong) {
      CAPTURE(text);
      CHECK_THROWS_WITH_AS(rules_of(text), message.c_str(), error);
    }
  }
}

}  // namespace nccl_files_tests

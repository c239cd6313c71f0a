#include "io/nccl_texts.hpp"
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/io/read_nccl_topology.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace read_nccl_topology_tests {
namespace {

using namespace shardweave;
using namespace nccl_texts;
namespace sw = shardweave;

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

}  // namespace read_nccl_topology_tests

#include "cost/known_node.hpp"
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_topology.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <limits>
#include <utility>

using namespace shardweave;

namespace nccl_node_tests {
namespace {

using namespace known_nodes;

}  // namespace

TEST_SUITE("nccl_node") {
  TEST_CASE("boards known by name have the links that NCCL counts") {
    struct row {
      const char* name;
      std::int32_t cc;
      std::int64_t devices;
      double links, nic;
      bool multicast;
    };
    for (const row& r :
         {row{"a100", 80, 8, 240, 25, false}, row{"h100", 90, 8, 370.8, 50, true}, row{"h200", 90, 8, 370.8, 50, true},
          row{"b200", 100, 8, 721.8, 50, true}, row{"gb200", 100, 72, 721.8, 50, true}}) {
      const nccl_node node = known_node(r.name);
      CAPTURE(node.name);
      CHECK(node.compute_capability == r.cc);
      CHECK(node.devices == r.devices);
      CHECK(node.nics == r.devices);
      CHECK(node.link_bandwidth == doctest::Approx(r.links));
      CHECK(node.nic_bandwidth == r.nic);
      CHECK(node.has_multicast == r.multicast);
      CHECK(node.has_switch);
      CHECK_FALSE(node.has_sharp);
      CHECK(node.network_latency_us == 0);
      CHECK(nccl_node_of(find_device(r.name)) == node);
      node.validate();
    }
    CHECK(known_node("a100").processor == nccl_processor::amd);
    CHECK(known_node("gb200").processor == nccl_processor::arm);
    CHECK(known_nccl_nodes().size() == 5);
  }

  TEST_CASE("an NVLink carries what NCCL counts for its generation, and a capability has the caps of its generation") {
    for (const auto& [cc, speed] : {std::pair{60, 18.0},
                                    {61, 20.0},
                                    {70, 20.0},
                                    {80, 20.0},
                                    {86, 12.0},
                                    {89, 20.0},
                                    {90, 20.6},
                                    {99, 20.6},
                                    {100, 40.1},
                                    {103, 40.1},
                                    {120, 40.1}})
      CHECK(nvlink_bandwidth(cc) == speed);
    using enum nccl_generation;
    for (const auto& [cc, generation] : {std::pair{60, volta},
                                         {79, volta},
                                         {80, ampere},
                                         {89, ampere},
                                         {90, hopper},
                                         {99, hopper},
                                         {100, blackwell},
                                         {121, blackwell}}) {
      nccl_node node;
      node.compute_capability = cc;
      CHECK(node.generation() == generation);
    }
  }

  TEST_CASE("what a machine cannot be is refused in words") {
    const auto message = [](auto change) {
      nccl_node node = known_node("h100");
      change(node);
      return shardweave_test::refusal_of([&] { node.validate(); }, error_category::input);
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(message([](nccl_node&) {}).empty());
    CHECK(message([](nccl_node& n) { n.devices = 0; }) == "node 'h100' has 0 devices; 1 to 1024 can be priced");
    CHECK(message([](nccl_node& n) { n.devices = 1025; }) == "node 'h100' has 1025 devices; 1 to 1024 can be priced");
    CHECK(message([](nccl_node& n) { n.devices = 1024; }).empty());
    CHECK(message([](nccl_node& n) { n.link_bandwidth = 0; }) == "node 'h100' states no bandwidth between its devices");
    CHECK(message([](nccl_node& n) { n.link_bandwidth = nan; }) ==
          "node 'h100' states no bandwidth between its devices");
    CHECK(message([](nccl_node& n) { n.link_bandwidth = 1e9; }) ==
          "node 'h100' states no bandwidth between its devices");
    CHECK(message([](nccl_node& n) { n.link_bandwidth = 0, n.devices = 1; }).empty());
    CHECK(message([](nccl_node& n) { n.nics = -1; }) == "node 'h100' has a negative number of network devices");
    CHECK(message([](nccl_node& n) { n.nic_bandwidth = -1; }) ==
          "node 'h100' states no bandwidth of its network devices");
    CHECK(message([](nccl_node& n) { n.nic_bandwidth = 0, n.nics = 0; }).empty());
    CHECK(message([](nccl_node& n) { n.network_latency_us = -1; }) ==
          "node 'h100' states a latency below 0 of its network");
    CHECK(message([](nccl_node& n) { n.network_latency_us = nan; }) ==
          "node 'h100' states a latency below 0 of its network");
    CHECK(message([](nccl_node& n) { n.max_channels = 0; }) == "node 'h100' allows no channel");
    CHECK(message([](nccl_node& n) { n.name.clear(), n.max_channels = 0; }) == "the node allows no channel");
  }

  TEST_CASE("a device without a board has the capability of its family and a network device of its own") {
    device_profile device = find_device("a30");
    device.name = "mine";
    for (const auto& [family, cc] : {std::pair{architecture::other, 80},
                                     {architecture::ampere, 80},
                                     {architecture::hopper, 90},
                                     {architecture::blackwell, 100}})
      for (const bool has_switch : {false, true}) {
        device.family = family;
        device.has_switch = has_switch;
        const nccl_node node = nccl_node_of(device);
        CHECK(node.compute_capability == cc);
        CHECK(node.has_switch == has_switch);
        CHECK(node.has_multicast == (has_switch && cc >= 90));
        CHECK(node.nics == device.devices_per_node);
        CHECK(node.nic_bandwidth == device.network_bandwidth);
        CHECK(node.link_bandwidth == device.link_bandwidth);
        CHECK((node.source == "figures of the device profile") == (family != architecture::other));
      }
  }
}

}  // namespace nccl_node_tests

#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_explanation.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/cost/nccl_transfers.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace shardweave;

namespace nccl_node_tests {
namespace {

nccl_node known_node(std::string_view name) {
  for (const nccl_node& node : known_nccl_nodes())
    if (node.name == name) return node;
  FAIL("no node is called " << std::string(name));
  return {};
}

/// The search for rings in one node, tried over counts and speeds down to half of the best: most bandwidth, then the
/// fastest channels, then NCCL's way to split fast ones.
nccl_paths searched_ring(double total, std::int32_t cc, const std::vector<double>& speeds) {
  double most = 0;
  nccl_paths best;
  for (const double s : speeds) {
    if (most > 0 && s / best.inside <= .49) break;
    int count = 0;
    while (count < 16 && (count + 1) * s <= total + 1e-9) ++count;
    if (count * s > most + 1e-9) {
      most = count * s;
      best = {count, s, s};
    }
  }
  const bool splits = best.inside >= 25 && !(cc > 80 && best.inside < 50 && best.count > 4);
  return splits ? nccl_paths{2 * best.count, best.inside / 2, best.inside / 2} : best;
}

const std::vector<double> listed_ampere{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
const std::vector<double> listed_hopper{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
const std::vector<double> listed_blackwell{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};

nccl_topology two_devices() {
  nccl_topology t;
  t.processors = {{0, "x86_64", "GenuineIntel", 6, 0x8F}, {1, "x86_64", "GenuineIntel", 6, 0x8F}};
  for (int i = 0; i < 2; ++i) {
    nccl_topology::device d;
    d.number = i;
    d.bus = i == 0 ? "0000:1b:00.0" : "0000:43:00.0";
    d.compute_capability = 90;
    d.processor = static_cast<std::size_t>(i);
    d.root = static_cast<std::size_t>(i + 1);
    d.pci_bandwidth = 48;
    t.devices.push_back(d);
  }
  return t;
}

nccl_topology::nvlinks links_to(const char* bus, std::int64_t count, bool to_switch = false) {
  return {bus, count, to_switch};
}

}  // namespace

TEST_SUITE("nccl_constants") {
  TEST_CASE("words are those of NCCL's files and environment, one for each") {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < nccl_algorithm_count; ++i) words.emplace_back(name_of(static_cast<nccl_algorithm>(i)));
    for (std::size_t i = 0; i < nccl_protocol_count; ++i) words.emplace_back(name_of(static_cast<nccl_protocol>(i)));
    for (std::size_t i = 0; i < nccl_operation_count; ++i) words.emplace_back(name_of(static_cast<nccl_operation>(i)));
    CHECK(words == std::vector<std::string>{"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree",
                                            "pat", "ll", "ll128", "simple", "broadcast", "reduce", "allgather",
                                            "reducescatter", "allreduce"});
    CHECK(name_of(nccl_version::v2_20) == "2.20");
    CHECK(name_of(nccl_version::v2_24) == "2.24");
    CHECK(name_of(nccl_version::v2_27) == "2.27");
    CHECK(name_of(nccl_version::v2_28) == "2.28");
    CHECK(name_of(nccl_version::v2_29) == "2.29");
    CHECK(name_of(nccl_version::v2_30) == "2.30");
    CHECK(nccl_operation_of(collective::all_gather) == nccl_operation::all_gather);
    CHECK(nccl_operation_of(collective::reduce_scatter) == nccl_operation::reduce_scatter);
    CHECK(nccl_operation_of(collective::all_reduce) == nccl_operation::all_reduce);
    CHECK_FALSE(nccl_operation_of(collective::all_to_all).has_value());
    CHECK_FALSE(nccl_operation_of(collective::shift).has_value());
  }

  TEST_CASE("figures changed with the releases that changed them, and with no other") {
    using enum nccl_version;
    constexpr std::array all{v2_20, v2_24, v2_27, v2_28, v2_29, v2_30};
    const auto figure = [&](auto read) {
      std::array<double, all.size()> found{};
      for (std::size_t i = 0; i < all.size(); ++i) found[i] = static_cast<double>(read(nccl_constants::of(all[i])));
      return found;
    };
    using row = std::array<double, all.size()>;
    const auto at = [](nccl_algorithm a) { return static_cast<std::size_t>(a); };
    const std::size_t tree = at(nccl_algorithm::tree), ring = at(nccl_algorithm::ring), nvls = at(nccl_algorithm::nvls),
                      nvls_tree = at(nccl_algorithm::nvls_tree);
    constexpr std::size_t simple = 2, hopper = 2, blackwell = 3;
    CHECK(figure([&](const auto& c) { return c.base[tree][simple]; }) == row{0, 8.4, 8.4, 8.4, 8.4, 8.4});
    CHECK(figure([&](const auto& c) { return c.link_hop[tree][simple]; }) == row{28, 4, 4, 4, 4, 4});
    CHECK(figure([&](const auto& c) { return c.pci_hop[tree][simple]; }) == row{28, 4, 4, 4, 4, 4});
    CHECK(figure([&](const auto& c) { return c.network_hop[tree][simple]; }) == row{28, 14, 14, 14, 14, 14});
    CHECK(figure([&](const auto& c) { return c.network_hop[ring][simple]; }) == row{14, 14, 14, 14, 14, 14});
    CHECK(figure([&](const auto& c) { return c.network_hop[nvls_tree][simple]; }) == row{14, 14, 14, 20.9, 20.9, 20.9});
    CHECK(figure([&](const auto& c) { return c.link_hop[nvls][simple]; }) == row{23, 25, 25, 25, 25, 25});
    CHECK(figure([&](const auto& c) { return c.link_hop[nvls_tree][simple]; }) == row{23, 25, 25, 25, 25, 25});
    CHECK(figure([&](const auto& c) { return c.ll_one_node[hopper]; }) == row{87.7, 141, 141, 141, 141, 141});
    CHECK(figure([&](const auto& c) { return c.ll_one_node[blackwell]; }) == row{87.7, 282, 282, 282, 282, 282});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[hopper][1]; }) == row{36.7, 36.7, 36.7, 36.7, 36.7, 36.7});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[blackwell][0]; }) == row{73.4, 73.4, 73.4, 73.4, 40, 40});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[blackwell][1]; }) == row{34.6, 34.6, 34.6, 34.6, 40, 40});
    CHECK(figure([&](const auto& c) { return c.nvls_tree[blackwell][2]; }) == row{43.8, 43.8, 43.8, 43.8, 43.8, 80});
    CHECK(figure([&](const auto& c) { return c.nvls_tree[hopper][2]; }) == row{45.5, 45.5, 45.5, 45.5, 45.5, 45.5});
    CHECK(figure([&](const auto& c) { return c.nvls_share; }) == row{5.0 / 6, 5.0 / 6, 5.0 / 6, 0, 0, 0});
    CHECK(figure([&](const auto& c) { return c.pat_share; }) == row{.85, .85, .75, .75, .75, .75});
    CHECK(figure([&](const auto& c) { return c.ring_ll_share; }) == row{.25, .5, .5, .5, .5, .5});
    CHECK(figure([&](const auto& c) { return c.ring_ll_share_gathering; }) == row{1.0 / 3, .5, .5, .5, .5, .5});
    CHECK(figure([&](const auto& c) { return c.lone_ll128_share; }) == row{.7, .92, .92, .92, .92, .92});
    CHECK(figure([&](const auto& c) { return c.steps_back; }) == row{0, 1, 1, 1, 1, 1});
    CHECK(figure([&](const auto& c) { return c.lone_rank_pays_tree_hop; }) == row{0, 1, 1, 1, 1, 1});
    CHECK(figure([&](const auto& c) { return c.corrects_nvls_tree; }) == row{0, 0, 0, 0, 1, 1});
    CHECK(figure([&](const auto& c) { return c.plateau; }) == row{1.4, 1.4, 1.4, 1.4, 1.4, 1.4});
    CHECK(figure([&](const auto& c) { return c.plateau_volta; }) == row{1.9, 1.9, 1.9, 1.9, 1.9, 1.9});
    CHECK(figure([&](const auto& c) { return c.version; }) == row{0, 1, 2, 3, 4, 5});
  }

  TEST_CASE("shares of bandwidth lie between 0 and 1, and Simple posts to a network three times as slowly") {
    const nccl_constants c;
    for (const auto& row : c.tree_correction)
      for (const double share : row) {
        CHECK(share > 0);
        CHECK(share <= 1);
      }
    CHECK(c.network_overhead == nccl_constants::by_protocol{1, 1, 3});
    for (const double e : c.nvls_efficiency) CHECK((e >= 0 && e < 1));
  }
}

TEST_SUITE("nccl_layout_of") {
  TEST_CASE("rings in a node are those that trying every speed and count finds") {
    for (const auto& [cc, speeds] : {std::pair{80, listed_ampere},
                                     {86, listed_ampere},
                                     {70, listed_ampere},
                                     {90, listed_hopper},
                                     {100, listed_blackwell},
                                     {120, listed_blackwell}})
      for (double total = 18; total < 1000; total *= 1.07) {
        nccl_node node;
        node.compute_capability = cc;
        node.link_bandwidth = total;
        CAPTURE(cc);
        CAPTURE(total);
        const nccl_layout found = nccl_layout_of(node, 8, false);
        CHECK(found.ring == searched_ring(total, cc, speeds));
        CHECK(found.tree == found.ring);
        CHECK(found.tree_enters_at_one);
      }
  }

  TEST_CASE("links slower than every listed speed carry one channel") {
    nccl_node node;
    node.compute_capability = 100;
    node.link_bandwidth = 12;
    CHECK(nccl_layout_of(node, 2, false).ring == nccl_paths{1, 12, 12});
    node.nic_bandwidth = .05;
    CHECK(nccl_layout_of(node, 1, true).ring == nccl_paths{1, .05, .05});
    CHECK(nccl_layout_of(node, 2, true).ring == nccl_paths{1, .05, .05});
    node.nic_bandwidth = 100;
    node.link_bandwidth = .06;  // of two ranks, each link carries half of the channels
    CHECK(nccl_layout_of(node, 2, true).ring == nccl_paths{1, .12, .12});
  }

  TEST_CASE("multicast runs over a head per rank, at the largest speed that leaves room for one more") {
    struct row {
      const char* node;
      std::int64_t ranks;
      double speed;
    };
    // (heads + 1) times the speed within 370.8 (H100) or 721.8 GB/s (B200)
    for (const row& r : {row{"h100", 3, 60},
                         {"h100", 4, 60},
                         {"h100", 5, 60},
                         {"h100", 6, 50},
                         {"h100", 7, 40},
                         {"h100", 8, 40},
                         {"h200", 6, 50},
                         {"b200", 3, 90},
                         {"b200", 6, 90},
                         {"b200", 7, 90},
                         {"b200", 8, 80},
                         {"gb200", 16, 40},
                         {"gb200", 17, 40},
                         {"gb200", 24, 24},
                         {"gb200", 32, 20},
                         {"gb200", 36, 20},
                         {"gb200", 72, 20}}) {
      CAPTURE(std::string(r.node));
      CAPTURE(r.ranks);
      const nccl_layout found = nccl_layout_of(known_node(r.node), r.ranks, false);
      CHECK(found.nvls.count == std::min<std::int64_t>(r.ranks, 32));
      CHECK(found.nvls.inside == r.speed);
      CHECK(found.nvls.between == r.speed);
    }
    for (const std::int64_t ranks : {1, 2}) CHECK(nccl_layout_of(known_node("h100"), ranks, false).nvls.count == 0);
    CHECK(nccl_layout_of(known_node("a100"), 8, false).nvls.count == 0);
  }

  TEST_CASE("between nodes a channel runs at the largest listed speed that network device and links carry") {
    struct row {
      const char* node;
      std::int64_t ranks;
      nccl_paths ring, tree;
    };
    for (const row& r : {
             row{"h100", 8, {8, 48, 48}, {8, 48, 48}},
             row{"h100", 7, {7, 48, 48}, {7, 48, 48}},
             row{"h100", 4, {8, 24, 24}, {8, 48, 24}},
             row{"h100", 3, {6, 24, 24}, {6, 48, 24}},
             row{"h100", 2, {4, 24, 24}, {4, 48, 24}},
             row{"h100", 1, {2, 24, 24}, {2, 48, 24}},
             row{"h200", 8, {8, 48, 48}, {8, 48, 48}},
             row{"b200", 8, {8, 48, 48}, {8, 96, 48}},
             row{"b200", 2, {4, 24, 24}, {4, 48, 24}},
             row{"a100", 1, {1, 24, 24}, {1, 48, 24}},
             row{"a100", 8, {8, 24, 24}, {8, 30, 24}},
         }) {
      CAPTURE(std::string(r.node));
      CAPTURE(r.ranks);
      const nccl_layout found = nccl_layout_of(known_node(r.node), r.ranks, true);
      CHECK(found.ring.count == r.ring.count);
      CHECK(found.ring.inside == r.ring.inside);
      CHECK(found.ring.between == r.ring.between);
      CHECK(found.tree.count == r.tree.count);
      CHECK(found.tree.inside == r.tree.inside);
      CHECK(found.tree.between == r.tree.between);
    }
  }

  TEST_CASE("collectives occupy twice their channels, at most what the host allows") {
    struct row {
      const char* node;
      std::int64_t ranks;
      bool several;
      std::int32_t channels, nvls;
    };
    // from Hopper on twice that again over nodes, where rings run faster than 45 GB/s on fewer than 16 channels
    for (const row& r : {row{"h100", 8, false, 24, 16}, row{"h100", 8, true, 16, 16}, row{"h100", 7, true, 28, 16},
                         row{"h100", 5, true, 20, 16}, row{"h100", 4, true, 16, 16}, row{"h100", 2, true, 8, 0},
                         row{"a100", 8, false, 24, 0}, row{"a100", 8, true, 16, 0}, row{"a100", 1, true, 2, 0},
                         row{"b200", 8, false, 32, 24}, row{"b200", 8, true, 16, 32}, row{"gb200", 72, true, 32, 32}}) {
      CAPTURE(std::string(r.node));
      CAPTURE(r.ranks);
      CAPTURE(r.several);
      nccl_node node = known_node(r.node);
      const nccl_layout found = nccl_layout_of(node, r.ranks, r.several);
      CHECK(found.channels == r.channels);
      CHECK(found.nvls_channels == r.nvls);
      node.max_channels = 3;
      CHECK(nccl_layout_of(node, r.ranks, r.several).channels == std::min(3, r.channels));
      CHECK(nccl_layout_of(node, r.ranks, r.several).nvls_channels == std::min(3, r.nvls));
    }
  }

  TEST_CASE("a network that reduces gets the channels of rings before they are split") {
    nccl_node node = known_node("h100");
    CHECK(nccl_layout_of(node, 4, true).collnet == nccl_paths{});
    node.has_sharp = true;
    CHECK(nccl_layout_of(node, 4, true).collnet == nccl_paths{4, 48, 48});
    CHECK(nccl_layout_of(node, 4, false).collnet == nccl_paths{});
  }

  TEST_CASE("more links or a faster network never lose bandwidth") {
    for (const std::int32_t cc : {80, 90, 100})
      for (const std::int64_t ranks : {1, 2, 5, 8}) {
        double last_inside = 0, last_between = 0;
        for (double bandwidth = 1; bandwidth < 2000; bandwidth *= 1.1) {
          nccl_node node;
          node.compute_capability = cc;
          node.link_bandwidth = bandwidth;
          const nccl_paths inside = nccl_layout_of(node, 8, false).ring;
          CHECK(inside.count * inside.inside >= last_inside - 1e-9);
          last_inside = inside.count * inside.inside;
          node.link_bandwidth = 1000;
          node.nic_bandwidth = bandwidth / 10;
          const nccl_paths between = nccl_layout_of(node, ranks, true).ring;
          CHECK(between.count * between.between >= last_between - 1e-9);
          last_between = between.count * between.between;
          CHECK(between.count * between.between <=
                static_cast<double>(std::min(ranks, node.nics)) * node.nic_bandwidth + 1e-6);
        }
      }
  }
}

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

TEST_SUITE("nccl_topology") {
  TEST_CASE("sockets are joined as NCCL counts it for their processors") {
    struct row {
      const char *arch, *vendor;
      std::int64_t family, model;
      double joined;
      nccl_processor kind;
    };
    using enum nccl_processor;
    for (const row& r :
         {row{"x86_64", "GenuineIntel", 6, 0x4F, 6, intel}, row{"x86_64", "GenuineIntel", 6, 0x54, 6, intel},
          row{"x86_64", "GenuineIntel", 6, 0x55, 10, intel}, row{"x86_64", "GenuineIntel", 6, 0x8E, 10, intel},
          row{"x86_64", "GenuineIntel", 6, 0x8F, 22, intel}, row{"x86_64", "GenuineIntel", 6, 0xCE, 22, intel},
          row{"x86_64", "GenuineIntel", 6, 0xCF, 40, intel}, row{"x86_64", "GenuineIntel", 19, 1, 40, intel},
          row{"x86_64", "AuthenticAMD", 25, 1, 16, amd}, row{"x86_64", "CentaurHauls", 7, 91, 10, other},
          row{"arm64", "", 0, 0, 6, arm}, row{"aarch64", "", 0, 0, 6, arm}, row{"ppc64", "", 0, 0, 32, other}}) {
      const nccl_topology::processor p{0, r.arch, r.vendor, r.family, r.model};
      CAPTURE(p.vendor);
      CAPTURE(p.model);
      CHECK(detail::between_sockets(p) == r.joined);
      CHECK(detail::kind_of(p) == r.kind);
    }
  }

  TEST_CASE("devices without NVLink between all of them are joined by PCI and the sockets between them") {
    nccl_topology t = two_devices();
    // five sixths of 48 GB/s below two roots of an Intel processor are 40, but the sockets carry 22
    CHECK(nccl_node_of(t).link == nccl_link::pci);
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(22));
    CHECK_FALSE(nccl_node_of(t).has_switch);
    t.devices[1].processor = 0;
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(40));
    t.devices[1].root = t.devices[0].root;
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(48));
    t.devices[1].pci_bandwidth = 12;  // the slowest counts
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(12));
    t = two_devices();
    for (auto& p : t.processors) p.vendor = "AuthenticAMD";
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(16));
    CHECK(nccl_node_of(t).processor == nccl_processor::amd);
    t.devices[1].processor = 0;
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(48));
  }

  TEST_CASE("NVLink joins devices through a switch or each with each, and the fewest links count") {
    nccl_topology t = two_devices();
    t.devices[0].links = {links_to("0000:43:00.0", 4)};
    CHECK(nccl_node_of(t).link == nccl_link::pci);  // one way only
    t.devices[1].links = {links_to("0000:1b:00.0", 6)};
    CHECK(nccl_node_of(t).link == nccl_link::nvlink);
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(4 * 20.6));
    CHECK_FALSE(nccl_node_of(t).has_multicast);
    t.devices[0].links = {links_to("0000:43:00.0", 0)};  // a link that is down joins nothing
    CHECK(nccl_node_of(t).link == nccl_link::pci);
    for (auto& d : t.devices) d.links = {links_to("0000:05:00.0", 9, true), links_to("0000:06:00.0", 9, true)};
    const nccl_node switched = nccl_node_of(t);
    CHECK(switched.link == nccl_link::nvlink);
    CHECK(switched.link_bandwidth == doctest::Approx(18 * 20.6));
    CHECK(switched.has_switch);
    CHECK(switched.has_multicast);
    t.devices[1].compute_capability = 80;  // the oldest counts, and its links are slower
    CHECK(nccl_node_of(t).compute_capability == 80);
    CHECK(nccl_node_of(t).link_bandwidth == doctest::Approx(18 * 20));
    CHECK_FALSE(nccl_node_of(t).has_multicast);
  }

  TEST_CASE("network devices count with the slowest of them and of their PCI links") {
    nccl_topology t = two_devices();
    CHECK(nccl_node_of(t).nics == 0);
    CHECK_FALSE(nccl_node_of(t).has_sharp);
    t.network = {{"mlx5_0", 0, 1, 48, 50, 0, true}, {"mlx5_1", 1, 2, 48, 50, 5, true}};
    nccl_node node = nccl_node_of(t);
    CHECK(node.nics == 2);
    CHECK(node.nic_bandwidth == doctest::Approx(48));
    CHECK(node.network_latency_us == 5);
    CHECK(node.has_sharp);
    t.network[1].bandwidth = 25;
    t.network[1].reduces = false;
    node = nccl_node_of(t);
    CHECK(node.nic_bandwidth == doctest::Approx(25));
    CHECK_FALSE(node.has_sharp);
    // LL128 crosses to a far network device from Hopper on only
    t.network[1].root = 7;
    CHECK(nccl_node_of(t).ll128_crosses_network);
    for (auto& d : t.devices) d.compute_capability = 80;
    CHECK_FALSE(nccl_node_of(t).ll128_crosses_network);
    t.network[1].root = 1;
    CHECK(nccl_node_of(t).ll128_crosses_network);
  }

  TEST_CASE("a mixture of processors counts as AMD's, and a topology without devices is refused") {
    nccl_topology t = two_devices();
    CHECK(nccl_node_of(t).processor == nccl_processor::intel);
    t.processors[1].vendor = "AuthenticAMD";
    CHECK(nccl_node_of(t).processor == nccl_processor::amd);
    CHECK(nccl_node_of(t).source == "NCCL topology");
    t.devices.clear();
    CHECK_THROWS_WITH_AS(nccl_node_of(t), "the topology has no device", error);
  }
}

TEST_SUITE("nccl_filter") {
  TEST_CASE("lists allow, inverted lists forbid, and an operation's list speaks of that operation") {
    struct row {
      const char *algorithms, *protocols;
      nccl_operation operation;
      const char *allowed_algorithms, *allowed_protocols;  // letters: t r d c n N p, and l 1 s
    };
    using enum nccl_operation;
    for (const row& r :
         {row{"", "", all_reduce, "trdcnNp", "l1s"}, row{"ring", "", broadcast, "r", "l1s"},
          row{"RING,Tree", "ll128,SIMPLE", reduce, "tr", "1s"}, row{"^ring", "^ll", all_gather, "tdcnNp", "1s"},
          row{"^nvls,nvlstree,pat", "", all_reduce, "trdc", "l1s"},
          row{"collnetdirect,collnet_chain", "", all_reduce, "dc", "l1s"},
          row{"ring;allreduce:tree", "", all_reduce, "t", "l1s"},
          row{"ring;allreduce:tree", "", all_gather, "r", "l1s"},
          row{"allreduce:^tree,ring", "allgather:ll", all_reduce, "dcnNp", "l1s"},
          row{"allreduce:^tree,ring", "allgather:ll", all_gather, "trdcnNp", "l"},
          row{"AllReduce:tree;allreduce:ring", "", all_reduce, "r", "l1s"},
          row{"^", "^", reduce_scatter, "trdcnNp", "l1s"}, row{"reducescatter:", "", reduce_scatter, "", "l1s"}}) {
      const nccl_filter filter(r.algorithms, r.protocols);
      CAPTURE(std::string(r.algorithms));
      std::string algorithms, protocols;
      for (std::size_t a = 0; a < nccl_algorithm_count; ++a)
        if (filter.allows(r.operation, static_cast<nccl_algorithm>(a))) algorithms += "trdcnNp"[a];
      for (std::size_t p = 0; p < nccl_protocol_count; ++p)
        if (filter.allows(r.operation, static_cast<nccl_protocol>(p))) protocols += "l1s"[p];
      CHECK(algorithms == r.allowed_algorithms);
      CHECK(protocols == r.allowed_protocols);
    }
    CHECK(nccl_filter() == nccl_filter("^", "ll,ll128,simple"));
    CHECK_FALSE(nccl_filter() == nccl_filter("", "ll"));
  }

  TEST_CASE("unknown words are refused with the variable and the words that it knows") {
    CHECK_THROWS_WITH_AS(nccl_filter("", "LL64"), "NCCL_PROTO names 'll64', which is none of ll, ll128, simple", error);
    CHECK_THROWS_WITH_AS(nccl_filter("alltoall:ring"),
                         "NCCL_ALGO names 'alltoall', which is none of broadcast, reduce, allgather, reducescatter, "
                         "allreduce",
                         error);
    CHECK_THROWS_WITH_AS(nccl_filter("ring,,tree"),
                         "NCCL_ALGO names '', which is none of tree, ring, collnetdirect, collnetchain, nvls, "
                         "nvlstree, pat",
                         error);
    CHECK_THROWS_WITH_AS(nccl_filter("allreduce:ring;tree"),
                         "NCCL_ALGO lacks the operation before 'tree'; only its first part may", error);
  }
}

TEST_SUITE("nccl_rule") {
  TEST_CASE("a row matches inclusive sizes and the counts that it names") {
    const nccl_rule r{.operation = nccl_operation::all_gather, .least = 10, .most = 20, .nodes = 2, .ranks = 16};
    using enum nccl_operation;
    CHECK(r.matches(all_gather, 10, 2, 16));
    CHECK(r.matches(all_gather, 20, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 9, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 21, 2, 16));
    CHECK_FALSE(r.matches(all_reduce, 15, 2, 16));
    CHECK_FALSE(r.matches(all_gather, 15, 1, 16));
    CHECK_FALSE(r.matches(all_gather, 15, 2, 8));
    nccl_rule other = r;
    other.nodes = other.ranks = -1;
    CHECK(other.matches(all_gather, 15, 77, 1));
    for (const std::int64_t merged : {-1, 0, 1, 2}) {
      other.merged = merged;
      CHECK(other.matches(all_gather, 15, 1, 2) == (merged == -1 || merged == 1));
    }
    other.merged = -1;
    for (const std::int64_t registered : {-1, 0, 1}) {
      other.registered = registered;
      CHECK(other.matches(all_gather, 15, 1, 2) == (registered != 1));
    }
    CHECK(first_match({}, all_gather, 1, 1, 2) == nullptr);
    const nccl_rules rows{r, other, {.operation = all_gather, .least = 0, .most = 100}};
    CHECK(first_match(rows, all_gather, 15, 2, 16) == &rows[0]);
    CHECK(first_match(rows, all_gather, 15, 3, 16) == &rows[2]);
    CHECK(first_match(rows, all_gather, 101, 3, 16) == nullptr);
  }
}

TEST_SUITE("nccl_explanation") {
  TEST_CASE("the text names the call, the channels, every way by its time and every absence") {
    const nccl_tuner tuner(find_device("h100"));
    CHECK(to_text(tuner.explain(collective::all_gather, bytes(1000), {2, 2})) ==
          "all_gather of 1000 bytes among 4 ranks on 2 nodes (NCCL 2.30, h100): 11.32 us\n"
          "channels found\n"
          "  ring: 4 x 24.0 GB/s\n"
          "  tree: 4 x 48.0 inside, 24.0 between nodes GB/s\n"
          "* ring ll: 11.32 us = 11.30 us + size / 52.0 GB/s, 1 channels\n"
          "  ring ll128: 21.81 us = 21.80 us + size / 117.8 GB/s, 1 channels\n"
          "  ring simple: 29.21 us = 29.20 us + size / 128.0 GB/s, 1 channels\n"
          "- collnet_direct simple the network does not reduce (SHARP)\n"
          "- nvls simple the network does not reduce (SHARP)\n"
          "- pat simple takes one rank per node\n");
    CHECK(to_text(tuner.explain(collective::all_reduce, bytes(7), {1, 1})) ==
          "all_reduce of 7 bytes among 1 ranks on 1 node (NCCL 2.30, h100): 0.00 us\n");
    CHECK(to_text(tuner.explain(collective::all_to_all, bytes(0), {8, 1})) ==
          "all_to_all of 0 bytes among 8 ranks on 1 node (NCCL 2.30, h100): 22.10 us\n"
          "NCCL has no price for this: priced as simultaneous sends and receives\n");
  }

  TEST_CASE("a way that is absent says why") {
    struct row {
      const char* reason;
      collective kind;
      group_shape group;
      nccl_algorithm algorithm;
      nccl_protocol protocol;
      void (*change)(nccl_node&, nccl_tuner_options&);
    };
    using enum nccl_algorithm;
    constexpr auto reduce = collective::all_reduce;
    constexpr auto gather = collective::all_gather;
    constexpr auto simple = nccl_protocol::simple;
    constexpr auto nothing = [](nccl_node&, nccl_tuner_options&) {};
    constexpr auto sharp = [](nccl_node& n, nccl_tuner_options&) { n.has_sharp = true; };
    for (const row& r : {
             row{"the algorithm is switched off",
                 reduce,
                 {8, 1},
                 tree,
                 simple,
                 [](nccl_node&, nccl_tuner_options& o) { o.filter = nccl_filter("ring"); }},
             row{"the protocol is switched off",
                 reduce,
                 {8, 1},
                 tree,
                 nccl_protocol::ll,
                 [](nccl_node&, nccl_tuner_options& o) { o.filter = nccl_filter("", "simple"); }},
             row{"is for several nodes", reduce, {8, 1}, collnet_chain, simple, nothing},
             row{"is for several nodes", reduce, {8, 1}, nvls_tree, simple, nothing},
             row{"the network does not reduce (SHARP)", reduce, {8, 2}, collnet_chain, simple, nothing},
             row{"takes at most 8 ranks per node",
                 reduce,
                 {9, 2},
                 collnet_direct,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.has_sharp = true, n.devices = n.nics = 9; }},
             row{"needs a switch between devices",
                 reduce,
                 {8, 2},
                 collnet_direct,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.has_sharp = true, n.has_switch = false; }},
             row{"needs a network device per rank",
                 gather,
                 {8, 2},
                 collnet_direct,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.has_sharp = true, n.nics = 7; }},
             row{"needs a switch with multicast",
                 reduce,
                 {8, 1},
                 nvls,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.has_multicast = false; }},
             row{"needs a switch with multicast",
                 reduce,
                 {8, 2},
                 nvls_tree,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.compute_capability = 80; }},
             row{"needs three ranks per node", reduce, {2, 1}, nvls, simple, nothing},
             row{"gathers among at most 32 ranks",
                 gather,
                 {33, 1},
                 nvls,
                 simple,
                 [](nccl_node& n, nccl_tuner_options&) { n.devices = 40; }},
             row{"", gather, {32, 1}, nvls, simple, [](nccl_node& n, nccl_tuner_options&) { n.devices = 40; }},
             row{"is newer than this release",
                 gather,
                 {1, 2},
                 pat,
                 simple,
                 [](nccl_node&, nccl_tuner_options& o) { o.version = nccl_version::v2_20; }},
             row{"takes one rank per node", gather, {2, 2}, pat, simple, nothing},
             row{"needs NVLink",
                 reduce,
                 {8, 1},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options&) { n.link = nccl_link::pci; }},
             row{"",
                 reduce,
                 {1, 2},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options&) { n.link = nccl_link::pci; }},
             row{"devices are too far from the network",
                 reduce,
                 {8, 2},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options&) { n.ll128_crosses_network = false; }},
             row{"",
                 reduce,
                 {8, 1},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options&) { n.ll128_crosses_network = false; }},
             row{"needs compute capability 7.0",
                 reduce,
                 {8, 1},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options&) { n.compute_capability = 60; }},
             row{"is not offered by this release on this device",
                 reduce,
                 {8, 1},
                 ring,
                 nccl_protocol::ll128,
                 [](nccl_node& n, nccl_tuner_options& o) {
                   n.compute_capability = 86;
                   o.version = nccl_version::v2_20;
                 }},
             row{"", reduce, {8, 2}, nvls, simple, sharp},
             row{"", gather, {8, 2}, collnet_direct, simple, sharp},
             row{"", reduce, {8, 2}, collnet_chain, simple, sharp},
         }) {
      nccl_node node = known_node("h100");
      nccl_tuner_options options;
      r.change(node, options);
      const nccl_explanation e = nccl_tuner(node, options).explain(r.kind, mebibytes(1), r.group);
      CAPTURE(std::string(r.reason));
      CAPTURE(std::string(name_of(r.algorithm)));
      std::size_t found = 0;
      for (const nccl_candidate& c : e.candidates) {
        if (c.algorithm != r.algorithm || c.protocol != r.protocol) continue;
        ++found;
        CHECK(std::string(c.absent) == r.reason);
        CHECK(std::isfinite(c.time_us) == c.absent.empty());
      }
      CHECK(found == 1);
      // what no release offers is not listed: reducing trees of other collectives, LL of what is Simple only
      for (const nccl_candidate& c : e.candidates) {
        CHECK((c.protocol == simple || c.algorithm == ring || c.algorithm == tree));
        CHECK((r.kind == reduce ? c.algorithm != pat : c.algorithm != tree && c.algorithm != nvls_tree));
      }
      REQUIRE(e.chosen < e.candidates.size());
      for (const nccl_candidate& c : e.candidates) CHECK(e.candidates[e.chosen].time_us <= c.time_us);
    }
  }
}

TEST_SUITE("nccl_transfers") {
  TEST_CASE("figures are those of the node: its links, its network devices, its declared latency") {
    nccl_node node = known_node("b200");
    node.network_latency_us = 35;
    node.nics = 4;
    const nccl_transfers t(node);
    CHECK(t.link_share == .85);
    CHECK(t.link_bandwidth == doctest::Approx(721.8));
    CHECK(t.network_us == 45);
    CHECK(t.node_network == 200);
    CHECK(t.devices == 8);
    CHECK(nccl_transfers(known_node("h100")).link_share == .9);
    // a device alone has a network device to itself; eight share four
    CHECK(t.network_of_one(1) == doctest::Approx(.85 * 50));
    CHECK(t.network_of_one(4) == doctest::Approx(.85 * 50));
    CHECK(t.network_of_one(8) == doctest::Approx(.85 * 25));
    const collective_estimate e = t.all_to_all(bytes(0), {4, 3}, false);
    CHECK(e.time_us == doctest::Approx(20 + 11 * .3 + 45));
    CHECK(e.bandwidth_us == 0);
    CHECK(e.algorithm == "pairwise");
    CHECK(t.all_to_all(bytes(0), {8, 1}, false).time_us == doctest::Approx(20 + 7 * .3));
    // a shift sends one buffer over a link, or where the ring leaves the node over a network device
    const auto shift = [&](group_shape group, bool shared) {
      return t.shift(bytes(1'000'000), group, shared).bandwidth_us;
    };
    CHECK(shift({8, 1}, false) == doctest::Approx(1000 / (t.link_share * t.link_bandwidth)));
    CHECK(shift({8, 2}, false) == doctest::Approx(1000 / (.85 * 50)));
    CHECK(shift({8, 2}, true) == shift({8, 2}, false));                // one rank of the node alone sends far
    CHECK(shift({1, 2}, true) == doctest::Approx(1000 / (.85 * 25)));  // eight groups do so
    CHECK(t.shift(bytes(0), {8, 1}, false).time_us == doctest::Approx(20.3));
    CHECK(t.shift(bytes(0), {8, 2}, false).time_us == doctest::Approx(65.3));
    CHECK(t.shift(bytes(9), {1, 1}, false).time_us == 0);
    CHECK(t.shift(bytes(0), {8, 1}, false).algorithm == "ring");
    CHECK(t.send(bytes(0), true).time_us == 20);
    CHECK(t.send(bytes(0), false).time_us == 65);
    CHECK(t.send(bytes(0), false).algorithm == "send");
  }

  TEST_CASE("more bytes, more nodes and more neighbours never make it faster") {
    for (const nccl_node& node : known_nccl_nodes()) {
      const nccl_transfers t(node);
      for (const std::int64_t ranks : {1, 2, 4, 8}) {
        double last = 0;
        for (double size = 1; size < 1e12; size *= 3) {
          const bytes b(static_cast<std::int64_t>(size));
          const double alone = t.all_to_all(b, {ranks, 4}, false).time_us;
          CHECK(alone >= last);
          CHECK(t.all_to_all(b, {ranks, 4}, true).time_us >= alone);
          CHECK(t.all_to_all(b, {ranks, 8}, false).time_us >= alone);
          CHECK(t.shift(b, {ranks, 4}, true).time_us >= t.shift(b, {ranks, 4}, false).time_us);
          CHECK(t.send(b, false).time_us >= t.send(b, true).time_us);
          last = alone;
        }
      }
    }
  }
}

}  // namespace nccl_node_tests

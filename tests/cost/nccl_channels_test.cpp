#include "cost/known_node.hpp"
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nccl_channels_tests {
namespace {

using namespace shardweave;
using namespace known_nodes;

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

}  // namespace

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

}  // namespace nccl_channels_tests

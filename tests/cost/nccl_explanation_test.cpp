#include "cost/known_node.hpp"
#include <shardweave/cost/nccl_explanation.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>

namespace nccl_explanation_tests {
namespace {

using namespace shardweave;
using namespace known_nodes;

}  // namespace

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

}  // namespace nccl_explanation_tests

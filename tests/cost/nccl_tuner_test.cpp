#include "support/shared_data.hpp"
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace shardweave;

namespace nccl_tuner_tests {
namespace {

nccl_tuner tuner_of(const char* device, nccl_version version = nccl_version::v2_30) {
  return nccl_tuner(find_device(device), {.version = version});
}

/// An entry of a tuning log, as published or derived by hand.
struct logged_pair {
  const char* device;
  group_shape group;
  collective kind;
  nccl_algorithm algorithm;
  nccl_protocol protocol;
  double latency_us;
  double bandwidth;
};

void check_pair(const nccl_tuner& tuner, const logged_pair& row) {
  CAPTURE(row.device);
  CAPTURE(row.group.nodes);
  CAPTURE(row.group.ranks_per_node);
  CAPTURE(name_of(row.algorithm));
  CAPTURE(name_of(row.protocol));
  const auto [latency, bandwidth] = tuner.logged(row.kind, row.group, row.algorithm, row.protocol);
  CHECK(std::abs(latency - row.latency_us) <= 0.06);  // logs have one digit behind the point
  CHECK(std::abs(bandwidth - row.bandwidth) <= 0.06);
}

template <class Word>
Word named(const std::string& name, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (name_of(static_cast<Word>(i)) == name) return static_cast<Word>(i);
  FAIL("no such word: " << name);
  return {};
}

}  // namespace

TEST_SUITE("nccl_tuner") {
  using enum nccl_algorithm;
  using enum nccl_protocol;
  constexpr auto gather = collective::all_gather;
  constexpr auto reduce = collective::all_reduce;

  TEST_CASE("all pairs of a tuning log of NCCL 2.27.5 are met to its print precision") {
    const auto path = shared_data("collectives/golden_nccl_2_27_5_h100_tuning_log.csv");
    if (!path) return;
    const nccl_tuner tuner = tuner_of("h100", nccl_version::v2_27);
    std::ifstream file(*path);
    std::size_t rows = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#' || line.starts_with("nccl,")) continue;
      std::istringstream fields(line);
      std::vector<std::string> field;
      for (std::string f; std::getline(fields, f, ',');) field.push_back(f);
      REQUIRE(field.size() == 9);
      logged_pair row{"h100",
                      {std::stoll(field[3]), std::stoll(field[2])},
                      field[4] == "allreduce" ? reduce : gather,
                      named<nccl_algorithm>(field[5], nccl_algorithm_count),
                      named<nccl_protocol>(field[6], nccl_protocol_count),
                      std::stod(field[7]),
                      std::stod(field[8])};
      check_pair(tuner, row);
      if (row.kind == gather) {
        row.kind = collective::reduce_scatter;
        check_pair(tuner, row);
      }
      ++rows;
    }
    CHECK(rows == 190);
  }

  TEST_CASE("tables that NCCL's own estimator gave are met to their rounding") {
    const auto path = shared_data("collectives/autoparallel_overlap_sim_tables.csv");
    if (!path) return;
    // H100 without NVLS and PAT; groups 1 are 8 ranks of a node, groups 0 one rank of each node
    const nccl_tuner tuner(find_device("h100"),
                           {.version = nccl_version::v2_27, .filter = nccl_filter("^nvls,nvls_tree,pat")});
    std::ifstream file(*path);
    std::size_t rows = 0;
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("colls") || line.starts_with("colls64_1")) continue;  // the last is a line drawn by hand
      std::istringstream fields(line);
      std::vector<std::string> field;
      for (std::string f; std::getline(fields, f, ',');) field.push_back(f);
      const collective kind = field.at(1) == "allreduce"   ? reduce
                              : field.at(1) == "allgather" ? gather
                                                           : collective::reduce_scatter;
      const std::int64_t ranks = std::stoll(field.at(3));
      const bool inside = field.at(0).ends_with("group1");
      const group_shape group = inside ? group_shape{ranks, 1} : group_shape{1, ranks};
      const double time = tuner.estimate(kind, bytes(std::stoll(field.at(4))), group).time_us;
      CAPTURE(line);
      const double printed = std::stod(field.at(5));
      if (field.at(0) == "colls16_8.table:group0" && kind == collective::reduce_scatter) {
        // this column is no estimate of 16 nodes: from 128 MiB on it is the mean of those of 8 and 16, and 56 us
        const double fewer = tuner.estimate(kind, bytes(std::stoll(field.at(4))), {1, 8}).time_us;
        const bool large = std::stoll(field.at(4)) >= 128 << 20;
        CHECK(std::abs((large ? (time + fewer) / 2 + 56 : time) / printed - 1) < (large ? 0.001 : 0.09));
      } else {
        CHECK(std::abs(time / printed - 1) < 0.001);
      }
      ++rows;
    }
    CHECK(rows == 204);
  }

  TEST_CASE("anchors of the tuning log") {
    const nccl_tuner tuner = tuner_of("h100", nccl_version::v2_27);
    const std::vector<logged_pair> anchors{
        {"h100", {1, 2}, gather, ring, ll, 11.6, 48.0},
        {"h100", {8, 2}, gather, ring, simple, 70.0, 409.6},
        {"h100", {4, 8}, gather, ring, ll128, 87.6, 182.3},
        {"h100", {8, 32}, gather, ring, simple, 1204.0, 385.5},
        {"h100", {8, 32}, reduce, ring, ll, 622.0, 10.2},
        {"h100", {2, 4}, reduce, ring, simple, 119.6, 54.9},
        {"h100", {1, 2}, reduce, tree, ll128, 31.0, 31.2},
        {"h100", {8, 4}, reduce, tree, ll, 35.2, 8.7},
        {"h100", {8, 32}, reduce, tree, simple, 204.4, 122.4},
        {"h100", {4, 2}, reduce, nvls_tree, simple, 53.0, 160.0},
        {"h100", {8, 2}, reduce, nvls_tree, simple, 53, 266.7},
        {"h100", {8, 16}, reduce, nvls_tree, simple, 137, 160},
    };
    for (const logged_pair& row : anchors) check_pair(tuner, row);
  }

  TEST_CASE("anchors of release 2.30 on five machines") {
    const std::vector<logged_pair> anchors{
        {"h100", {8, 1}, reduce, ring, ll, 15.0, 80.6},
        {"h100", {8, 1}, reduce, ring, ll128, 40.6, 189.3},
        {"h100", {8, 1}, reduce, ring, simple, 56.0, 205.7},
        {"h100", {8, 1}, reduce, nvls, simple, 25.0, 272.0},
        {"h200", {8, 1}, reduce, nvls, simple, 25.0, 272.0},
        {"a100", {8, 1}, reduce, ring, ll, 15.0, 50.1},
        {"a100", {8, 1}, reduce, ring, ll128, 40.6, 126.2},
        {"a100", {8, 1}, reduce, ring, simple, 56.0, 137.1},
        {"b200", {8, 1}, reduce, ring, ll, 15.0, 161.1},
        {"b200", {8, 1}, reduce, ring, ll128, 40.6, 365.7},
        {"b200", {8, 1}, reduce, ring, simple, 56.0, 411.4},
        {"b200", {8, 1}, reduce, nvls, simple, 25.0, 473.6},
        {"gb200", {72, 1}, reduce, ring, ll, 91.8, 143.0},
        {"gb200", {72, 1}, reduce, nvls, simple, 25.0, 465.3},
        {"h100", {8, 2}, reduce, tree, ll, 25.2, 16.6},
        {"h100", {8, 2}, reduce, ring, simple, 131.6, 204.8},
        {"h100", {8, 2}, reduce, nvls_tree, simple, 66.8, 246.2},
        {"h100", {8, 4}, reduce, nvls_tree, simple, 108.6, 187.9},
    };
    for (const logged_pair& row : anchors) check_pair(tuner_of(row.device), row);
  }

  TEST_CASE("channels are those that NCCL's search finds") {
    const auto layout = [](const char* device, std::int64_t ranks, bool several) {
      return nccl_layout_of(nccl_node_of(find_device(device)), ranks, several);
    };
    CHECK(layout("a100", 8, false).ring == nccl_paths{12, 20, 20});
    CHECK(layout("h100", 8, false).ring == nccl_paths{12, 30, 30});
    CHECK(layout("b200", 8, false).ring == nccl_paths{16, 45, 45});
    CHECK(layout("h100", 8, false).channels == 24);  // seen in traces
    CHECK(layout("h100", 8, true).ring == nccl_paths{8, 48, 48});
    CHECK(layout("h100", 4, true).ring == nccl_paths{8, 24, 24});
    CHECK(layout("h100", 2, true).ring == nccl_paths{4, 24, 24});
    CHECK(layout("h100", 1, true).ring == nccl_paths{2, 24, 24});
    CHECK(layout("h100", 4, true).tree == nccl_paths{8, 48, 24});
    CHECK(layout("h100", 8, false).nvls == nccl_paths{8, 40, 40});
    CHECK(layout("h100", 5, false).nvls == nccl_paths{5, 60, 60});
    CHECK(layout("b200", 8, false).nvls == nccl_paths{8, 80, 80});
    CHECK(layout("gb200", 72, false).nvls == nccl_paths{32, 20, 20});
    CHECK(layout("h100", 8, false).nvls_channels == 16);
    CHECK(layout("gb200", 72, false).nvls_channels == 24);
    CHECK(layout("gb200", 72, true).nvls_channels == 32);
    CHECK(layout("a100", 8, false).nvls == nccl_paths{});
    CHECK(layout("h100", 2, false).nvls == nccl_paths{});
  }

  TEST_CASE("releases differ where they are known to") {
    const group_shape two{8, 2};
    const auto bandwidth = [](const char* device, nccl_version v, group_shape g, collective k, nccl_algorithm a,
                              nccl_protocol p) { return tuner_of(device, v).logged(k, g, a, p).second; };
    const auto latency = [](const char* device, nccl_version v, group_shape g, nccl_algorithm a) {
      return tuner_of(device, v).logged(collective::all_reduce, g, a, nccl_protocol::simple).first;
    };
    using enum nccl_version;
    // NVLS: from a share of its channels to what the switch does
    CHECK(bandwidth("h100", v2_27, {8, 1}, reduce, nvls, simple) == doctest::Approx(8 * 40 * 5.0 / 6));
    CHECK(bandwidth("h100", v2_28, {8, 1}, reduce, nvls, simple) == doctest::Approx(272));
    CHECK(latency("h100", v2_27, two, nvls_tree) == doctest::Approx(25 + 2 * 14));
    CHECK(latency("h100", v2_28, two, nvls_tree) == doctest::Approx(25 + 2 * 20.9));
    // LL128 rings on Blackwell: 16 channels of at most 73.4, later 40
    CHECK(bandwidth("b200", v2_28, {8, 1}, reduce, ring, ll128) == doctest::Approx(.92 * 720 * 8 / 14));
    CHECK(bandwidth("b200", v2_29, {8, 1}, reduce, ring, ll128) == doctest::Approx(640.0 * 8 / 14));
    // PAT's factor
    CHECK(bandwidth("h100", v2_24, {1, 4}, gather, pat, simple) == doctest::Approx(2 * 24 * .85));
    CHECK(bandwidth("h100", v2_27, {1, 4}, gather, pat, simple) == doctest::Approx(2 * 24 * .75));
    CHECK(bandwidth("h100", v2_20, {1, 4}, gather, pat, simple) == 0);
    // 2.20: simple trees without base, 28 per hop; 2 N steps of rings over the network; half of today's LL
    CHECK(latency("h100", v2_20, two, tree) == doctest::Approx(2 * (7 * 28 + 28.0)));
    CHECK(latency("h100", v2_20, two, ring) == doctest::Approx(8.4 + (30 - 4) * 3.4 + 4 * 14));
    CHECK(bandwidth("a100", v2_20, {8, 1}, reduce, ring, ll) == doctest::Approx(240 / 4.0 * 8 / 14));
    CHECK(bandwidth("a100", v2_20, {8, 1}, gather, ring, ll) == doctest::Approx(240 / 3.0 * 8 / 7));
  }

  TEST_CASE("networks that reduce offer CollNet, and NVLS over nodes") {
    nccl_node node = nccl_node_of(find_device("h100"));
    node.has_sharp = true;
    const nccl_tuner tuner(node);
    const auto bandwidth = [&](collective k, nccl_algorithm a) { return tuner.logged(k, {8, 8}, a, simple).second; };
    CHECK(bandwidth(reduce, nvls) == doctest::Approx(8 * 48 * 64.0 / 126));
    CHECK(bandwidth(reduce, collnet_direct) == doctest::Approx(8 * 48 * .85 / 2));
    CHECK(bandwidth(gather, collnet_direct) == doctest::Approx(8 * .9 * 48));
    CHECK(bandwidth(reduce, collnet_chain) == doctest::Approx(8 * 48 / 2.0));
    CHECK(tuner.logged(reduce, {8, 8}, collnet_chain, simple).first == doctest::Approx(14 * 2.8 + 30));
    CHECK(tuner.logged(reduce, {8, 8}, collnet_direct, simple).first == doctest::Approx(2 * (3.7 + .4 * 7) + 31));
    CHECK(tuner_of("h100").logged(reduce, {8, 8}, nvls, simple).second == 0);
    node.has_switch = false;
    CHECK(nccl_tuner(node).logged(reduce, {8, 8}, collnet_direct, simple).second == 0);
  }

  TEST_CASE("processors of AMD post to the network more slowly") {
    nccl_node node = nccl_node_of(find_device("h100"));
    node.processor = nccl_processor::amd;
    const nccl_tuner tuner(node);
    // 28 of 30 steps stay in a node, each no faster than the next can be posted: 2 us, thrice that for simple
    CHECK(tuner.logged(reduce, {8, 2}, ring, simple).first == doctest::Approx(8.4 + 28 * 6 + 2 * 14));
    CHECK(tuner.logged(reduce, {8, 2}, ring, ll).first == doctest::Approx(6.6 + 28 * 2 + 2 * 2.7));
    CHECK(tuner.logged(reduce, {8, 2}, ring, ll).second == doctest::Approx(22.5 * 16 / 30));
    CHECK(tuner.logged(reduce, {8, 4}, ring, ll).second == doctest::Approx(19.0 * 32 / 62));
    CHECK(tuner.logged(reduce, {8, 1}, ring, ll) == tuner_of("h100").logged(reduce, {8, 1}, ring, ll));
  }

  TEST_CASE("a declared network latency is paid per hop, by simple twice") {
    nccl_node node = nccl_node_of(find_device("h100"));
    node.network_latency_us = 20;
    const nccl_tuner slow(node), fast = tuner_of("h100");
    const auto more = [&](nccl_algorithm a, nccl_protocol p) {
      return slow.logged(reduce, {8, 4}, a, p).first - fast.logged(reduce, {8, 4}, a, p).first;
    };
    CHECK(more(ring, ll) == doctest::Approx(6 * 20));
    CHECK(more(ring, simple) == doctest::Approx(6 * 40));
    CHECK(more(tree, ll128) == doctest::Approx(2 * 2 * 20));
    CHECK(more(nvls_tree, simple) == doctest::Approx(2 * 2 * 40));
  }

  TEST_CASE("an estimate is the best candidate's, with the original's jumps") {
    const nccl_tuner tuner = tuner_of("h100");
    for (const group_shape group : {group_shape{8, 1}, {3, 1}, {8, 4}, {1, 16}, {4, 1000}})
      for (const collective kind : {gather, collective::reduce_scatter, reduce})
        for (std::int64_t size = 1; size < std::int64_t{1} << 34; size *= 3) {
          const nccl_explanation e = tuner.explain(kind, bytes(size), group);
          REQUIRE(e.chosen < e.candidates.size());
          for (const nccl_candidate& c : e.candidates) CHECK(e.candidates[e.chosen].time_us <= c.time_us);
          CHECK(e.candidates[e.chosen].time_us == doctest::Approx(e.estimate.time_us));
          CHECK(e.candidates[e.chosen].channels == e.estimate.channels);
        }
    // LL trees: from 64 KiB on at 0.6 of their speed, one byte earlier at 0.7
    const auto tree_time = [&](std::int64_t size) {
      for (const nccl_candidate& c : tuner.explain(reduce, bytes(size), {8, 4}).candidates)
        if (c.algorithm == tree && c.protocol == ll) return c.time_us - c.latency_us;
      return 0.0;
    };
    CHECK(tree_time(65536) / tree_time(65535) == doctest::Approx(.7 / .6).epsilon(1e-4));
    // simple rings over nodes: 1.4 times the latency from 64 bytes per rank and channel on
    const auto ring_latency = [&](std::int64_t size) {
      for (const nccl_candidate& c : tuner.explain(reduce, bytes(size), {8, 4}).candidates)
        if (c.algorithm == ring && c.protocol == simple) return c.latency_us;
      return 0.0;
    };
    CHECK(ring_latency(64 * 16 * 32) / ring_latency(64 * 16 * 32 - 1) == doctest::Approx(1.4));
  }

  TEST_CASE("small collectives occupy fewer channels") {
    const nccl_tuner tuner = tuner_of("h100");
    const auto channels = [&](std::int64_t size) { return tuner.estimate(reduce, bytes(size), {8, 1}).channels; };
    CHECK(channels(8) == 1);
    CHECK(channels(512 * 64 * 5) == 5);  // LL rings among 8 ranks: 512 threads with 64 bytes each
    CHECK(channels(512 * 64 * 5 - 1) == 4);
    CHECK(channels(std::int64_t{1} << 30) == 16);  // NVLS
    CHECK(tuner.estimate(gather, gibibytes(1), {8, 1}).channels == 24);
  }

  TEST_CASE("an algorithm is chosen as measured machines choose it") {
    const auto algorithm = [](const char* device, std::int64_t ranks) {
      return tuner_of(device).estimate(collective::all_reduce, gibibytes(8), {ranks, 1}).algorithm;
    };
    CHECK(algorithm("h200", 4) == "ring");
    for (const std::int64_t n : {5, 6, 7, 8}) CHECK(algorithm("h200", n) == "nvls");
    CHECK(algorithm("b200", 4) == "ring");
    CHECK(algorithm("b200", 5) == "ring");
    CHECK(algorithm("b200", 7) == "nvls");
    CHECK(algorithm("b200", 8) == "nvls");
  }

  TEST_CASE("what a filter forbids is not chosen") {
    const auto chosen = [](const nccl_filter& filter, group_shape group) {
      return nccl_tuner(find_device("h100"), {.filter = filter})
          .estimate(collective::all_reduce, gibibytes(1), group)
          .algorithm;
    };
    CHECK(chosen(nccl_filter(), {8, 1}) == "nvls");
    CHECK(chosen(nccl_filter("^nvls"), {8, 1}) == "ring");
    CHECK(chosen(nccl_filter("Tree"), {8, 1}) == "tree");
    CHECK(chosen(nccl_filter("allreduce:^NVLS,NVLSTree;allgather:nvls"), {8, 4}) == "ring");
    CHECK(chosen(nccl_filter("", "LL"), {8, 1}) == "ring");
    CHECK(nccl_filter("ring,tree;allreduce:nvls").allows(nccl_operation::all_gather, ring));
    CHECK_FALSE(nccl_filter("ring,tree;allreduce:nvls").allows(nccl_operation::all_reduce, ring));
    CHECK_THROWS_WITH_AS(nccl_filter("rings"),
                         "NCCL_ALGO names 'rings', which is none of tree, ring, collnetdirect, collnetchain, nvls, "
                         "nvlstree, pat",
                         error);
    CHECK_THROWS_WITH_AS(nccl_filter("", "ll;simple"),
                         "NCCL_PROTO lacks the operation before 'simple'; only its first part may", error);
    CHECK_THROWS_WITH_AS(nccl_tuner(find_device("h100"), {.filter = nccl_filter("pat")})
                             .estimate(collective::all_reduce, bytes(8), {8, 1}),
                         "what NCCL may use leaves no way to do an all_reduce in this group", error);
  }

  TEST_CASE("the first row of a tuner file that matches chooses") {
    nccl_tuner_options options;
    options.rules = {{.least = 0, .most = 1000, .algorithm = tree, .protocol = ll, .channels = 3, .nodes = 1},
                     {.least = 500, .most = 2000, .algorithm = ring, .protocol = simple},
                     {.least = 0, .most = 5000, .algorithm = nvls, .protocol = ll}};
    const nccl_tuner ruled(find_device("h100"), options);
    const nccl_tuner plain = tuner_of("h100");
    const auto first = ruled.estimate(reduce, bytes(1000), {8, 1});
    CHECK(first.algorithm == "tree");
    CHECK(first.channels == 3);
    CHECK(ruled.estimate(reduce, bytes(1001), {8, 1}).protocol == "simple");
    CHECK(ruled.estimate(reduce, bytes(400), {8, 2}).time_us == plain.estimate(reduce, bytes(400), {8, 2}).time_us);
    CHECK(ruled.estimate(reduce, bytes(600), {8, 2}).protocol == "simple");
    // no NVLS with LL: the row cannot be followed
    CHECK(ruled.estimate(reduce, bytes(4000), {8, 1}).time_us == plain.estimate(reduce, bytes(4000), {8, 1}).time_us);
    CHECK(ruled.estimate(gather, bytes(10), {8, 1}).time_us == plain.estimate(gather, bytes(10), {8, 1}).time_us);
    CHECK(ruled.explain(reduce, bytes(10), {8, 1}).note == "a rule of the tuner file matches");
  }

  TEST_CASE("an explanation tells the choice, the channels and why others are absent") {
    const std::string text = to_text(tuner_of("h100").explain(reduce, mebibytes(64), {8, 1}));
    CHECK(text.find("all_reduce of 67108864 bytes among 8 ranks on 1 node (NCCL 2.30, h100): 271.72 us\n") == 0);
    CHECK(text.find("  ring: 12 x 30.0 GB/s\n") != std::string::npos);
    CHECK(text.find("* nvls simple: 271.72 us = 25.00 us + size / 272.0 GB/s, 16 channels\n") != std::string::npos);
    CHECK(text.find("- nvls_tree simple is for several nodes\n") != std::string::npos);
    const nccl_explanation alone = tuner_of("h100").explain(reduce, bytes(8), {1, 1});
    CHECK(alone.candidates.empty());
    CHECK(alone.estimate.time_us == 0);
    CHECK(to_text(tuner_of("h100").explain(collective::all_to_all, bytes(8), {8, 1})).find("NCCL has no price") !=
          std::string::npos);
  }

  TEST_CASE("what a machine cannot hold is refused") {
    const nccl_tuner tuner = tuner_of("h100");
    CHECK_THROWS_WITH_AS(tuner.estimate(gather, bytes(8), {0, 2}), "a group of 2 nodes with 0 ranks each has no ranks",
                         error);
    CHECK_THROWS_WITH_AS(tuner.estimate(gather, bytes(8), {9, 1}),
                         "a group of 1 nodes with 9 ranks each does not fit: node 'h100' has 8 devices", error);
    nccl_node node = nccl_node_of(find_device("h100"));
    node.nics = 0;
    CHECK_THROWS_WITH_AS(nccl_tuner(node).estimate(gather, bytes(8), {8, 2}),
                         "a group of 2 nodes with 8 ranks each does not meet: node 'h100' has no network device",
                         error);
    CHECK(nccl_tuner(node).estimate(gather, bytes(8), {8, 1}).time_us > 0);
    node.devices = 4000;
    CHECK_THROWS_WITH_AS(nccl_tuner{node}, "node 'h100' has 4000 devices; 1 to 1024 can be priced", error);
  }

  TEST_CASE("a device without a board of its own takes the figures of its profile") {
    for (const device_profile& device : known_devices()) {
      const nccl_node node = nccl_node_of(device);
      CHECK(node.name == device.name);
      CHECK(node.devices == device.devices_per_node);
      CHECK(!node.source.empty());
      CHECK(nccl_tuner(device).estimate(gather, mebibytes(1), {node.devices, 2}).time_us > 0);
    }
    const nccl_node mi300x = nccl_node_of(find_device("mi300x"));
    CHECK(mi300x.generation() == nccl_generation::ampere);
    CHECK(mi300x.link_bandwidth == doctest::Approx(87.7));
    CHECK(mi300x.source == "figures of the device profile; NCCL's constants of Ampere stand in");
    nccl_node without;
    without.link_bandwidth = 0;
    CHECK_THROWS_WITH_AS(nccl_tuner{without}, "the node states no bandwidth between its devices", error);
  }

  TEST_CASE("one rank per node may gather by PAT") {
    // 8 us, log2 N hops of a lone rank, 2.8 us per rank; three quarters of the tree's channels
    const auto [latency, bandwidth] = tuner_of("h100").logged(gather, {1, 4}, pat, simple);
    CHECK(latency == doctest::Approx(8 + 2 * 14 / 3.5 + 2.8 * 4));
    CHECK(bandwidth == doctest::Approx(.75 * 2 * 24));
    CHECK(tuner_of("h100").logged(gather, {1, 5}, pat, simple).first == doctest::Approx(8 + 2 * 14 / 3.5 + 2.8 * 5));
    CHECK(tuner_of("h100").logged(gather, {2, 4}, pat, simple).second == 0);
    CHECK(tuner_of("h100").logged(reduce, {1, 4}, pat, simple).second == 0);
  }
}

}  // namespace nccl_tuner_tests

#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// NCCL's model a second time, as a person would work it out for one call: for given numbers of nodes and ranks, with
// the published figures in one table by name. The library keeps three latencies and a bandwidth per way and no loop.

using namespace shardweave;

namespace nccl_formula_tests {
namespace {

constexpr std::array formula_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce};
constexpr std::array formula_versions{nccl_version::v2_24, nccl_version::v2_27, nccl_version::v2_28,
                                      nccl_version::v2_29, nccl_version::v2_30};

enum column { ll = 0, ll128 = 1, simple = 2 };

/// Figures of one algorithm, microseconds: LL, LL128, Simple.
struct published_row {
  nccl_algorithm algorithm;
  std::array<double, 3> base, nvlink, pci, network;
};
constexpr std::array<published_row, 7> published{{
    {nccl_algorithm::tree, {6.8, 14, 8.4}, {.6, 1.25, 4}, {1, 1.9, 4}, {5, 8.5, 14}},
    {nccl_algorithm::ring, {6.6, 14, 8.4}, {.6, 1.9, 3.4}, {1, 2.5, 5.7}, {2.7, 4, 14}},
    {nccl_algorithm::collnet_direct, {}, {0, 0, 3.7}, {0, 0, 3.7}, {0, 0, 31}},
    {nccl_algorithm::collnet_chain, {}, {0, 0, 2.8}, {0, 0, 2.8}, {0, 0, 30}},
    {nccl_algorithm::nvls, {}, {0, 0, 25}, {}, {0, 0, 18}},
    {nccl_algorithm::nvls_tree, {}, {0, 0, 25}, {}, {0, 0, 20.9}},
    {nccl_algorithm::pat, {8, 8, 8}, {0, 0, 4}, {0, 0, 4}, {0, 0, 14}},
}};

/// GB/s per channel for one, two and more nodes, by generation from Volta on.
constexpr double ring_ll128_caps[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}};
constexpr double tree_ll128_caps[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double tree_caps[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double nvls_tree_caps[4][3] = {{}, {}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double ll_one_node_caps[4] = {39, 87.7, 141, 282};
constexpr double multicast_efficiency[4] = {0, 0, .85, .74};

/// Tree factor by the whole part of log2(size / 64).
constexpr double tree_factors[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

struct one_call {
  const nccl_node& node;
  nccl_version version;
  const nccl_layout& found;
  collective kind;
  std::int64_t nodes;
  std::int64_t ppn;

  [[nodiscard]] bool reduces_all() const { return kind == collective::all_reduce; }
  [[nodiscard]] double ranks() const { return static_cast<double>(nodes * ppn); }
  [[nodiscard]] double steps() const { return (reduces_all() ? 2 : 1) * (ranks() - 1); }
  [[nodiscard]] std::size_t generation() const {
    return node.compute_capability >= 100  ? 3
           : node.compute_capability >= 90 ? 2
           : node.compute_capability >= 80 ? 1
                                           : 0;
  }
  [[nodiscard]] std::size_t bucket() const { return nodes == 1 ? 0 : nodes == 2 ? 1 : 2; }
  [[nodiscard]] double floor_log2_nodes() const {
    double log = 0;
    for (std::int64_t n = nodes; n > 1; n /= 2) ++log;
    return log;
  }

  [[nodiscard]] bool available(nccl_algorithm a, column p) const {
    using enum nccl_algorithm;
    if (p == ll128 && (node.compute_capability < 70 || (node.link == nccl_link::pci && ppn > 1) ||
                       (nodes > 1 && !node.ll128_crosses_network)))
      return false;
    if (a == ring) return true;
    if (a == tree) return reduces_all();
    if (p != simple) return false;
    const bool switched = node.has_multicast && generation() >= 2 && found.nvls.count >= 2;
    const bool few_enough = reduces_all() || ppn <= 32;
    const bool rail_per_rank = reduces_all() || ppn <= node.nics;
    switch (a) {
      case nvls:
        return switched && few_enough && (nodes == 1 || (node.has_sharp && rail_per_rank));
      case nvls_tree:
        return reduces_all() && switched && nodes > 1;
      case collnet_direct:
        return nodes > 1 && node.has_sharp && ppn <= 8 && node.has_switch && rail_per_rank;
      case collnet_chain:
        return reduces_all() && nodes > 1 && node.has_sharp && ppn <= 8;
      default:
        return !reduces_all() && ppn == 1;  // PAT
    }
  }

  [[nodiscard]] double latency(nccl_algorithm a, column p) const {
    using enum nccl_algorithm;
    const published_row& row = published[static_cast<std::size_t>(a)];
    const double intra = node.link == nccl_link::nvlink ? row.nvlink[p] : row.pci[p];
    double network = ppn == 1 ? published[0].network[p] : row.network[p];
    if (a == nvls_tree && ppn > 1 && version <= nccl_version::v2_27) network = 14;
    const double inter = network + node.network_latency_us * (p == simple ? 2 : 1);
    const double overhead =
        nodes == 1 ? 0 : (p == simple ? 3 : 1) * (node.processor == nccl_processor::amd ? 2.0 : 1.0);
    const double others = static_cast<double>(ppn - 1);
    switch (a) {
      case ring: {
        const double crossing = (reduces_all() ? 2 : 1) * static_cast<double>(nodes - 1);
        return row.base[p] + (steps() - crossing) * std::max(intra, overhead) + crossing * inter;
      }
      case tree:
        return row.base[p] + 2 * (others * intra + floor_log2_nodes() * inter);
      case nvls:
        return intra + (nodes > 1 ? inter : 0);
      case nvls_tree:
        return intra + 2 * floor_log2_nodes() * inter;
      case collnet_direct:
        return 2 * (std::min(1.0, others) * intra + .4 * others) + inter;
      case collnet_chain:
        return 2 * others * intra + inter;
      default:
        return 8 + floor_log2_nodes() * inter / 3.5 + 2.8 * ranks();
    }
  }

  /// GB/s of the whole collective.
  [[nodiscard]] double bandwidth(nccl_algorithm a, column p) const {
    using enum nccl_algorithm;
    const auto per_node = static_cast<double>(ppn);
    const nccl_paths& paths = a == ring                     ? found.ring
                              : a == nvls || a == nvls_tree ? found.nvls
                              : a == tree || a == pat       ? found.tree
                                                            : found.collnet;
    const double count = paths.count;
    const bool collnet = a == collnet_direct || a == collnet_chain;
    double bus = count * (nodes <= 2 || collnet ? paths.inside : paths.between);
    double ll_cap = ll_one_node_caps[generation()];
    if (nodes > 1) {
      const bool amd = node.processor == nccl_processor::amd;
      ll_cap = nodes == 2 ? (amd ? 22.5 : 39) : (amd ? 19 : 20.4);
    }
    if (a == ring) {
      double cap = ring_ll128_caps[generation()][bucket()];
      if (generation() == 3 && version <= nccl_version::v2_28) cap = nodes == 2 ? 34.6 : 73.4;
      if (p == ll) bus = std::min(ll_cap, bus / 2);
      if (p == ll128) bus = std::min(.92 * bus, count * cap);
      return bus * ranks() / steps();
    }
    if (a == tree) {
      bus = std::min(.92 * bus, count * tree_caps[generation()][bucket()]);
      if (p == ll) bus = std::min(bus / 3.8, ll_cap);
      if (p == ll128)
        bus = std::min(bus * (nodes == 1 ? 7.0 / 9 : 120.0 / 128), count * tree_ll128_caps[generation()][bucket()]);
      return bus * (found.tree_enters_at_one ? .85 : 1) / 2;
    }
    if (a == pat) return bus * (version <= nccl_version::v2_24 ? .85 : .75);
    if (a == collnet_chain) return bus / 2;
    if (a == collnet_direct) {
      if (!reduces_all()) return per_node * std::min(paths.inside, .9 * paths.between);
      const double r = per_node / count;
      return bus / (r - (r - 1) / 2) * (node.compute_capability >= 90 ? .85 : 1) / 2;
    }
    if (version <= nccl_version::v2_27) {  // measured logs: beyond two nodes a tree's link carries both ways
      const double inter = paths.between / (a == nvls_tree && nodes > 2 ? 2 : 1);
      return count * std::min(paths.inside, inter) * 5 / 6;
    }
    double w = paths.inside * multicast_efficiency[generation()] * (count - 1) / count *
               (reduces_all() ? 2 : (per_node - 1) / per_node);
    if (nodes > 1) w = std::min(w, paths.between * (a == nvls_tree && nodes == 2 ? 2 : 1));
    if (a == nvls_tree) {
      double cap = nvls_tree_caps[generation()][bucket()];
      if (generation() == 3 && nodes > 2 && version <= nccl_version::v2_29) cap = 43.8;
      w = std::min(w, cap);
    }
    return count * w * (reduces_all() ? ranks() / steps() : 1);
  }

  [[nodiscard]] double time(nccl_algorithm a, column p, std::int64_t size) const {
    double l = latency(a, p);
    const auto chunk = size / (static_cast<std::int64_t>(found.channels) * nodes * ppn);
    if (a == nccl_algorithm::ring && p == simple && reduces_all() && nodes > 1 && chunk >= 64)
      l *= node.compute_capability < 80 ? 1.9 : 1.4;
    double f = 1;
    if (size >= 64) {
      const auto at = static_cast<int>(std::floor(std::log2(static_cast<double>(size) / 64)));
      const bool corrected = a == nccl_algorithm::nvls_tree && version >= nccl_version::v2_29 && generation() == 3 &&
                             node.processor != nccl_processor::arm;
      if ((a == nccl_algorithm::tree && at <= 22) || (corrected && at <= 23)) f = tree_factors[p][at];
    }
    return l + static_cast<double>(size) / (1000 * bandwidth(a, p) * f);
  }

  /// Counts down from all channels while each would get less than its threads want.
  [[nodiscard]] int channels(nccl_algorithm a, column p, std::int64_t size) const {
    using enum nccl_algorithm;
    if (a == nvls || a == nvls_tree) return found.nvls_channels;
    const std::int64_t threads = p == ll128 ? 640 : 512;
    const bool collnet = a == collnet_direct || a == collnet_chain;
    const std::int64_t threshold = p == simple ? (collnet ? 512 : 64) : a == ring && p == ll ? 8 * nodes * ppn : 8;
    std::int64_t count = found.channels;
    while (count > 1 && size < count * threads * threshold) --count;
    return static_cast<int>(count);
  }
};

nccl_node random_node(random_source& random) {
  const auto pick = [&](auto... values) {
    const std::array options{values...};
    return options[random.below(options.size())];
  };
  nccl_node node;
  node.compute_capability = pick(60, 70, 75, 80, 86, 90, 90, 100, 103, 120);
  node.devices = 1 + static_cast<std::int64_t>(random.below(40));
  node.link = random.chance(0.15) ? nccl_link::pci : nccl_link::nvlink;
  node.link_bandwidth = pick(2.0, 12.0, 24.0, 160.0, 240.0, 370.8, 721.8);
  node.has_switch = random.chance(0.7);
  node.has_multicast = node.has_switch && random.chance(0.7);
  node.nics = 1 + static_cast<std::int64_t>(random.below(10));
  node.nic_bandwidth = pick(.1, 1.25, 12.5, 25.0, 50.0, 100.0);
  node.network_latency_us = pick(0.0, 20.0, 75.0);
  node.ll128_crosses_network = random.chance(0.8);
  node.has_sharp = random.chance(0.4);
  node.processor = pick(nccl_processor::intel, nccl_processor::amd, nccl_processor::arm, nccl_processor::other);
  node.max_channels = pick(64, 64, 32, 5);
  return node;
}

}  // namespace

TEST_SUITE("nccl_tuner") {
  TEST_CASE("latency, bandwidth, time and channels of every way are those of NCCL's formulas, worked out per call") {
    random_source random(8);
    std::array<std::size_t, nccl_algorithm_count> met{};
    for (std::size_t round = 0; round < shardweave_test::at_scale(400); ++round) {
      const nccl_node node = random_node(random);
      const nccl_version version = formula_versions[random.below(formula_versions.size())];
      const nccl_tuner tuner(node, {.version = version});
      for (int i = 0; i < 12; ++i) {
        const auto devices = static_cast<std::uint64_t>(node.devices);
        const group_shape group{1 + static_cast<std::int64_t>(random.below(devices)),
                                1 + static_cast<std::int64_t>(random.below(i % 3 == 0 ? 300 : 4))};
        if (group.ranks() == 1) continue;
        const collective kind = formula_kinds[random.below(formula_kinds.size())];
        const auto size = static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(37))));
        const one_call call{node, version, tuner.layout(group), kind, group.nodes, group.ranks_per_node};
        const nccl_explanation told = tuner.explain(kind, bytes(size), group);
        double best = 1e300;
        for (std::size_t a = 0; a < nccl_algorithm_count; ++a)
          for (const column p : {ll, ll128, simple}) {
            const auto algorithm = static_cast<nccl_algorithm>(a);
            const auto protocol = static_cast<nccl_protocol>(p);
            const auto [latency, bandwidth] = tuner.logged(kind, group, algorithm, protocol);
            CAPTURE(std::string(name_of(version)));
            CAPTURE(std::string(name_of(kind)));
            CAPTURE(std::string(name_of(algorithm)));
            CAPTURE(static_cast<int>(p));
            CAPTURE(group.nodes);
            CAPTURE(group.ranks_per_node);
            CAPTURE(node.compute_capability);
            if (!call.available(algorithm, p)) {
              CHECK(bandwidth == 0);
              continue;
            }
            CHECK(latency == doctest::Approx(call.latency(algorithm, p)).epsilon(1e-12));
            CHECK(bandwidth == doctest::Approx(call.bandwidth(algorithm, p)).epsilon(1e-12));
            const auto candidate = std::find_if(
                told.candidates.begin(), told.candidates.end(),
                [&](const nccl_candidate& c) { return c.algorithm == algorithm && c.protocol == protocol; });
            REQUIRE(candidate != told.candidates.end());
            CHECK(candidate->time_us == doctest::Approx(call.time(algorithm, p, size)).epsilon(1e-12));
            CHECK(candidate->channels == call.channels(algorithm, p, size));
            best = std::min(best, call.time(algorithm, p, size));
            ++met[a];
          }
        CHECK(tuner.estimate(kind, bytes(size), group).time_us == doctest::Approx(best).epsilon(1e-12));
      }
    }
    for (std::size_t a = 0; a < nccl_algorithm_count; ++a) {
      CAPTURE(std::string(name_of(static_cast<nccl_algorithm>(a))));
      CHECK(met[a] > shardweave_test::at_scale(10));
    }
  }

  TEST_CASE("the factor of trees changes at powers of two, and is whole again at 512 MiB") {
    const nccl_tuner tuner(nccl_node_of(find_device("h100")), {.filter = nccl_filter("tree")});
    const auto share = [&](std::int64_t size, const char* protocol, double bandwidth, double latency) {
      const nccl_tuner one(nccl_node_of(find_device("h100")), {.filter = nccl_filter("tree", protocol)});
      const double us = one.estimate(collective::all_reduce, bytes(size), {8, 2}).time_us - latency;
      return static_cast<double>(size) / (1e3 * bandwidth * us);
    };
    constexpr std::array words{"ll", "ll128", "simple"};
    for (std::size_t p = 0; p < 3; ++p) {
      const auto [latency, bandwidth] =
          tuner.logged(collective::all_reduce, {8, 2}, nccl_algorithm::tree, static_cast<nccl_protocol>(p));
      for (std::size_t i = 0; i < 23; ++i) {
        const std::int64_t first = std::int64_t{64} << i;
        CAPTURE(words[p]);
        CAPTURE(i);
        CHECK(share(first, words[p], bandwidth, latency) == doctest::Approx(tree_factors[p][i]).epsilon(1e-6));
        CHECK(share(2 * first - 1, words[p], bandwidth, latency) == doctest::Approx(tree_factors[p][i]).epsilon(1e-6));
      }
      CHECK(share(63, words[p], bandwidth, latency) == doctest::Approx(1).epsilon(1e-6));
      CHECK(share(std::int64_t{64} << 23, words[p], bandwidth, latency) == doctest::Approx(1).epsilon(1e-6));
      CHECK(share(std::int64_t{64} << 30, words[p], bandwidth, latency) == doctest::Approx(1).epsilon(1e-6));
    }
  }

  TEST_CASE("NVLS trees on Blackwell are corrected from 2.29 on, on x86 processors, up to 1 GiB") {
    const auto factor = [](nccl_version version, nccl_processor processor, std::int32_t cc, std::int64_t size) {
      nccl_node node = nccl_node_of(find_device("b200"));
      node.processor = processor;
      node.compute_capability = cc;
      const nccl_tuner tuner(node, {.version = version, .filter = nccl_filter("nvlstree")});
      const auto [latency, bandwidth] =
          tuner.logged(collective::all_reduce, {8, 4}, nccl_algorithm::nvls_tree, nccl_protocol::simple);
      const double us = tuner.estimate(collective::all_reduce, bytes(size), {8, 4}).time_us - latency;
      return static_cast<double>(size) / (1e3 * bandwidth * us);
    };
    using enum nccl_version;
    constexpr auto intel = nccl_processor::intel;
    CHECK(factor(v2_30, intel, 100, 64 << 11) == doctest::Approx(.5));
    CHECK(factor(v2_29, intel, 100, 64 << 11) == doctest::Approx(.5));
    CHECK(factor(v2_29, nccl_processor::amd, 103, 64 << 11) == doctest::Approx(.5));
    CHECK(factor(v2_28, intel, 100, 64 << 11) == doctest::Approx(1));
    CHECK(factor(v2_30, nccl_processor::arm, 100, 64 << 11) == doctest::Approx(1));
    CHECK(factor(v2_30, intel, 90, 64 << 11) == doctest::Approx(1));
    CHECK(factor(v2_30, intel, 100, std::int64_t{64} << 23) == doctest::Approx(.9));  // one entry more than trees
    CHECK(factor(v2_30, intel, 100, std::int64_t{64} << 24) == doctest::Approx(1));
  }

  TEST_CASE("rings over nodes wait 1.4 times as long from 64 bytes per rank and channel on, before Ampere 1.9 times") {
    for (const auto& [cc, jump] : {std::pair{90, 1.4}, {80, 1.4}, {79, 1.9}, {70, 1.9}}) {
      nccl_node node = nccl_node_of(find_device("h100"));
      node.compute_capability = cc;
      const nccl_tuner tuner(node, {.filter = nccl_filter("ring", "simple")});
      const std::int64_t full = 64 * 16 * tuner.layout({8, 2}).channels;
      const auto latency = [&](collective kind, std::int64_t size) {
        return tuner.estimate(kind, bytes(size), {8, 2}).latency_us;
      };
      CHECK(latency(collective::all_reduce, full) == doctest::Approx(jump * latency(collective::all_reduce, full - 1)));
      CHECK(latency(collective::all_gather, full) == latency(collective::all_gather, full - 1));
      CHECK(tuner.estimate(collective::all_reduce, bytes(std::int64_t{1} << 30), {8, 1}).latency_us ==
            tuner.estimate(collective::all_reduce, bytes(1), {8, 1}).latency_us);
    }
  }

  TEST_CASE("a lone rank per node pays a tree's hops on every way, and gathers by PAT at three quarters of the speed") {
    const nccl_tuner tuner(find_device("h100"));
    struct row {
      collective kind;
      nccl_algorithm algorithm;
      nccl_protocol protocol;
      std::int64_t nodes;
      double latency, bandwidth;
    };
    using enum nccl_algorithm;
    // 2 channels of 24 GB/s: bus 48; n nodes: n/(n-1) of it for gathering rings, half of that for reducing ones
    for (const row& r :
         {row{collective::all_gather, ring, nccl_protocol::ll, 2, 6.6 + 5, 24 * 2.0},
          row{collective::all_gather, ring, nccl_protocol::ll, 4, 6.6 + 3 * 5, 20.4 * 4 / 3},
          row{collective::all_gather, ring, nccl_protocol::ll128, 4, 14 + 3 * 8.5, .92 * 48 * 4 / 3},
          row{collective::all_gather, ring, nccl_protocol::simple, 4, 8.4 + 3 * 14, 48 * 4.0 / 3},
          row{collective::all_reduce, ring, nccl_protocol::simple, 4, 8.4 + 6 * 14, 48 * 4.0 / 6},
          row{collective::all_reduce, tree, nccl_protocol::simple, 4, 8.4 + 2 * 2 * 14, .92 * 48 * .425},
          row{collective::all_reduce, tree, nccl_protocol::ll, 7, 6.8 + 2 * 2 * 5, .92 * 48 / 3.8 * .425},
          row{collective::all_gather, pat, nccl_protocol::simple, 16, 8 + 4 * 4.0 + 44.8, 36},
          row{collective::reduce_scatter, pat, nccl_protocol::simple, 3, 8 + 4 + 8.4, 36},
          // on two nodes a tree's channels count with their speed inside, twice that between
          row{collective::reduce_scatter, pat, nccl_protocol::simple, 2, 8 + 4 + 5.6, 72}}) {
      const auto [latency, bandwidth] = tuner.logged(r.kind, {1, r.nodes}, r.algorithm, r.protocol);
      CAPTURE(r.nodes);
      CAPTURE(std::string(name_of(r.algorithm)));
      CHECK(latency == doctest::Approx(r.latency));
      CHECK(bandwidth == doctest::Approx(r.bandwidth));
    }
  }

  TEST_CASE("release 2.20 has the figures that are known of it") {
    // Simple trees: base 0, every hop 28; NVLS 23; LL of Hopper as of Ampere; LL128 of a lone rank 70 % of the bus
    const nccl_tuner old(find_device("h100"), {.version = nccl_version::v2_20});
    const auto pair = [&](collective k, group_shape g, nccl_algorithm a, nccl_protocol p) {
      return old.logged(k, g, a, p);
    };
    using enum nccl_algorithm;
    constexpr auto reduce = collective::all_reduce;
    constexpr auto gather = collective::all_gather;
    CHECK(pair(reduce, {8, 1}, tree, nccl_protocol::simple).first == doctest::Approx(2 * 7 * 28));
    CHECK(pair(reduce, {8, 1}, tree, nccl_protocol::ll).first == doctest::Approx(6.8 + 2 * 7 * .6));
    CHECK(pair(reduce, {8, 1}, nvls, nccl_protocol::simple).first == doctest::Approx(23));
    CHECK(pair(reduce, {8, 1}, ring, nccl_protocol::ll).second == doctest::Approx(87.7 * 8 / 14));
    CHECK(pair(gather, {1, 4}, ring, nccl_protocol::ll128).second == doctest::Approx(.7 * 48 * 4 / 3));
    CHECK(pair(gather, {2, 4}, ring, nccl_protocol::ll128).second == doctest::Approx(.92 * 96 * 8 / 7));
    // one rank per node: rings keep their own hops
    CHECK(pair(gather, {1, 4}, ring, nccl_protocol::ll).first == doctest::Approx(6.6 + 3 * 2.7));
    // of an all-reduce over N nodes 2 N steps cross the network
    CHECK(pair(reduce, {8, 3}, ring, nccl_protocol::ll).first == doctest::Approx(6.6 + (46 - 6) * 1 + 6 * 2.7));
    // LL128 only where the release offers it
    for (const auto& [cc, offered] : {std::pair{70, true}, {75, false}, {80, true}, {86, false}, {90, true}}) {
      nccl_node node = nccl_node_of(find_device("h100"));
      node.compute_capability = cc;
      const double found =
          nccl_tuner(node, {.version = nccl_version::v2_20}).logged(gather, {8, 1}, ring, nccl_protocol::ll128).second;
      CHECK((found > 0) == offered);
      CHECK(nccl_tuner(node).logged(gather, {8, 1}, ring, nccl_protocol::ll128).second > 0);
    }
    // SHARP gathers at 95 % with one rank per node, at 85 % with eight, between them in proportion
    nccl_node sharp = nccl_node_of(find_device("h100"));
    sharp.has_sharp = true;
    const nccl_tuner network(sharp, {.version = nccl_version::v2_20});
    for (const std::int64_t ppn : {1, 2, 4, 8}) {
      const auto p = static_cast<double>(ppn);
      const double inside = network.layout({ppn, 2}).collnet.inside;
      CHECK(network.logged(gather, {ppn, 2}, collnet_direct, nccl_protocol::simple).second ==
            doctest::Approx(p * inside * (.95 - .1 * (p - 1) / 7)));
    }
  }

  TEST_CASE("a collective needs two ranks to be priced, and an all_to_all is in no log") {
    const nccl_tuner tuner(find_device("h100"));
    for (const collective kind : formula_kinds) {
      CHECK(tuner.logged(kind, {1, 1}, nccl_algorithm::ring, nccl_protocol::ll) == std::pair{0.0, 0.0});
      CHECK(tuner.estimate(kind, gibibytes(1), {1, 1}).time_us == 0);
      CHECK(tuner.estimate(kind, gibibytes(1), {1, 1}).algorithm.empty());
    }
    CHECK(tuner.logged(collective::all_to_all, {8, 1}, nccl_algorithm::ring, nccl_protocol::ll) == std::pair{0.0, 0.0});
    CHECK(tuner.estimate(collective::all_to_all, bytes(8), {8, 1}).algorithm == "pairwise");
  }

  TEST_CASE("constants of a host's own are used in place of a release's") {
    nccl_constants mine = nccl_constants::of(nccl_version::v2_30);
    mine.base[static_cast<std::size_t>(nccl_algorithm::ring)] = {100, 100, 100};
    mine.plateau = 3;
    const nccl_node node = nccl_node_of(find_device("h100"));
    const nccl_tuner plain(node), own(node, mine, {});
    CHECK(own.constants().plateau == 3);
    const auto ring = [&](const nccl_tuner& t) {
      return t.logged(collective::all_gather, {8, 1}, nccl_algorithm::ring, nccl_protocol::simple);
    };
    CHECK(ring(own).first == doctest::Approx(ring(plain).first + 100 - 8.4));
    CHECK(ring(own).second == ring(plain).second);
  }
}

}  // namespace nccl_formula_tests

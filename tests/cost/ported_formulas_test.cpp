#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/torch_formula.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// The two ported formulas a second time, from the published description of each rather than from a table that both
// share.

using namespace shardweave;

namespace ported_formulas_tests {
namespace {

constexpr std::array ported_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                  collective::all_to_all};

/// The share of its bandwidth that a tree of protocol LL, LL128, Simple reaches, in tenths, by floor(log2(bytes/64)).
constexpr std::array<std::array<int, 23>, 3> tree_tenths{
    {{10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
     {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
     {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9}}};

double tree_share(std::size_t protocol, double size) {
  if (size < 64) return 1;
  const auto at = static_cast<std::size_t>(std::floor(std::log2(size / 64)));
  return at < 23 ? tree_tenths[protocol][at] / 10.0 : 1;
}

struct line_of_time {
  double latency, bandwidth;
  [[nodiscard]] double at(double size) const { return latency + size / (1000 * bandwidth); }
};

using three_lines = std::array<line_of_time, 3>;

/// Gathering rings on nodes with a switch, by (nodes, ranks per node).
const std::map<std::pair<int, int>, three_lines> gather_log{
    {{2, 1}, {{{11.6, 48}, {22.5, 88.3}, {22.4, 96}}}},
    {{2, 2}, {{{11.3, 52}, {21.8, 117.8}, {29.2, 128}}}},
    {{2, 4}, {{{15.3, 44.6}, {29.4, 201.9}, {42.8, 219.4}}}},
    {{2, 8}, {{{23.3, 41.6}, {44.6, 313.2}, {70, 409.6}}}},
    {{4, 1}, {{{21.6, 27.2}, {39.5, 58.9}, {50.4, 64}}}},
    {{4, 2}, {{{18.7, 23.3}, {33.6, 100.9}, {64, 109.7}}}},
    {{4, 4}, {{{26.7, 21.8}, {48.8, 188.4}, {91.2, 204.8}}}},
    {{4, 8}, {{{42.7, 21.1}, {79.2, 303.1}, {145.6, 396.4}}}},
    {{8, 1}, {{{41.6, 23.3}, {73.5, 50.5}, {106.4, 54.9}}}},
    {{8, 2}, {{{33.5, 21.8}, {57.2, 94.2}, {133.6, 102.4}}}},
    {{8, 4}, {{{49.5, 21.1}, {87.6, 182.3}, {188, 198.2}}}},
    {{8, 8}, {{{81.5, 20.7}, {148.4, 298.3}, {296.8, 390.1}}}},
    {{16, 1}, {{{81.6, 21.8}, {141.5, 47.1}, {218.4, 51.2}}}},
    {{16, 2}, {{{63.1, 21.1}, {104.4, 91.2}, {272.8, 99.1}}}},
    {{16, 4}, {{{95.1, 20.7}, {165.2, 179.4}, {381.6, 195}}}},
    {{16, 8}, {{{159.1, 20.6}, {286.8, 295.9}, {599.2, 387}}}},
    {{32, 1}, {{{161.6, 21.1}, {277.5, 45.6}, {442.4, 49.5}}}},
    {{32, 2}, {{{122.3, 20.7}, {198.8, 89.7}, {551.2, 97.5}}}},
    {{32, 4}, {{{186.3, 20.6}, {320.4, 178}, {768.8, 193.5}}}},
    {{32, 8}, {{{314.3, 20.5}, {563.6, 294.8}, {1204, 385.5}}}},
};

/// Reducing trees on two and on four nodes; every further doubling adds 10, 17 and 28 us at the speed of four.
const std::map<std::pair<int, int>, three_lines> tree_log{
    {{2, 1}, {{{16.8, 9.3}, {31, 31.2}, {36.4, 35.2}}}},      {{2, 2}, {{{18, 16.6}, {33.5, 62.4}, {44.4, 70.4}}}},
    {{2, 4}, {{{20.4, 16.6}, {38.5, 124.8}, {60.4, 140.8}}}}, {{2, 8}, {{{25.2, 16.6}, {48.5, 124.8}, {92.4, 140.8}}}},
    {{4, 1}, {{{26.8, 4.9}, {48, 17.6}, {64.4, 18.8}}}},      {{4, 2}, {{{28, 8.7}, {50.5, 35.2}, {72.4, 37.5}}}},
    {{4, 4}, {{{30.4, 8.7}, {55.5, 70.4}, {88.4, 75.1}}}},    {{4, 8}, {{{35.2, 8.7}, {65.5, 98.6}, {120.4, 122.4}}}},
};

/// Between the entries of a ramp, in its last entry from there on, and 1 beyond.
double interpolated(const std::vector<double>& ramp, double place, double below) {
  if (place < 0) return below;
  const auto i = static_cast<std::size_t>(std::floor(place));
  if (i >= ramp.size()) return 1;
  if (i == ramp.size() - 1) return ramp.back();
  const double t = place - std::floor(place);
  return (1 - t) * ramp[i] + t * ramp[i + 1];
}

/// AutoParallel's model worked out for one call.
struct upstream_call {
  const autoparallel_formula& config;
  collective kind;
  double size;
  double nodes, ppn;

  [[nodiscard]] double ranks() const { return nodes * ppn; }
  [[nodiscard]] bool reduces_all() const { return kind == collective::all_reduce; }
  [[nodiscard]] bool blackwell() const { return config.family == architecture::blackwell; }
  [[nodiscard]] bool recent() const { return blackwell() || config.family == architecture::hopper; }
  [[nodiscard]] double steps() const {
    return kind == collective::all_to_all ? ranks() : (reduces_all() ? 2 : 1) * (ranks() - 1);
  }
  [[nodiscard]] double doublings() const { return std::floor(std::log2(nodes)); }
  [[nodiscard]] double place() const { return size > 0 ? std::log2(size / ranks() / 64) : -1; }
  [[nodiscard]] double channels() const { return recent() ? 16 : 12; }
  [[nodiscard]] double intra() const { return config.link_bandwidth / channels(); }
  [[nodiscard]] double inter() const {
    const double one = config.network_bandwidth / channels();
    return config.has_switch && nodes > 1 ? std::min(intra(), one * ppn) : one;
  }
  [[nodiscard]] double pick(double ampere, double hopper, double black) const {
    return blackwell() ? black : config.family == architecture::hopper ? hopper : ampere;
  }
  [[nodiscard]] double by_nodes(double one, double two, double more) const {
    return nodes == 1 ? one : nodes == 2 ? two : more;
  }

  [[nodiscard]] double ring_wait(std::size_t p, double sync) const {
    const double base[] = {6.6, 14, 8.4}, hop[] = {.6, 1.9, 3.4}, net[] = {2.7, 4, 14}, tree_net[] = {5, 8.5, 14};
    const double crossing = (reduces_all() ? 2 : 1) * (nodes - 1);
    const double overhead = nodes == 1 ? 0 : p == 2 ? 3 : 1;
    const double far = (ppn == 1 ? tree_net[p] : net[p]) + (p == 2 ? 2 : 1) * config.extra_network_us;
    return base[p] + (steps() - crossing) * std::max(hop[p], overhead) + crossing * far + sync;
  }

  [[nodiscard]] double ring(std::size_t p) const {
    const double sync = nodes == 1 ? 0 : 4.7 * nodes * (nodes > 4 ? std::pow(nodes / 4, .65) : 1);
    double latency = ring_wait(p, sync);
    if (p == 2 && nodes > 1 && reduces_all() && size / (channels() * ranks()) >= 64) latency *= 1.4;
    const double bus = channels() * (nodes <= 2 ? intra() : inter());
    const double speeds[] = {std::min(by_nodes(pick(87.7, 141, 282), 39, 20.4), bus / 2),
                             std::min(.92 * bus, channels() * pick(20, 36.7, 40)), bus};
    double reached = 1;
    if (nodes > 1) {
      std::vector<double> ramp{1,   1,   1,   1,   1,   1,   1, 1, 1, 1, 1, .10, .18,
                               .30, .43, .63, .55, .78, .93, 1, 1, 1, 1, 1, 1};
      if (nodes > 4)
        for (std::size_t i = 0; i < ramp.size(); ++i) {
          ramp[i] = std::pow(ramp[i], 1 + .2 * (doublings() - 2));
          if (i > 0) ramp[i] = std::min(ramp[i], 2 * ramp[i - 1]);
        }
      reached = interpolated(ramp, place(), 1);
    }
    return line_of_time{latency, speeds[p] * reached * ranks() / steps()}.at(size);
  }

  [[nodiscard]] double tree(std::size_t p) const {
    const double base[] = {6.8, 14, 8.4}, hop[] = {.6, 1.25, 4}, net[] = {5, 8.5, 14};
    const double cap = pick(by_nodes(24, 23.6, 17.8), by_nodes(38.7, 41.4, 36), by_nodes(70, 42.8, 24));
    const double ll128_cap = pick(20, by_nodes(36.7, 36.7, 29), by_nodes(55.6, 31.67, 20));
    const double simple = std::min(.92 * channels() * (nodes <= 2 ? intra() : inter()), channels() * cap);
    const double speeds[] = {std::min(simple / 3.8, by_nodes(pick(87.7, 141, 282), 39, 20.4)),
                             std::min(simple * by_nodes(7.0 / 9, .9375, .9375), channels() * ll128_cap), simple};
    const double wait = net[p] + (p == 2 ? 2 : 1) * config.extra_network_us;
    return line_of_time{base[p] + 2 * ((ppn - 1) * hop[p] + doublings() * wait), speeds[p] / 2 * tree_share(p, size)}
        .at(size);
  }

  [[nodiscard]] double all_to_all() const {
    if (config.has_switch && recent() && nodes == 1) return line_of_time{50, blackwell() ? 675.0 : 380.0}.at(size);
    if (!config.has_switch || nodes == 1)
      return line_of_time{ring_wait(2, 0), .7 * channels() * (nodes <= 2 ? intra() : inter())}.at(size);
    const std::vector<std::pair<double, double>> measured{{2, 37}, {4, 42}, {8, 60}, {16, 98}, {32, 290}};
    double latency = 290;
    for (std::size_t i = 1; i < measured.size(); ++i)
      if (nodes >= measured[i - 1].first && nodes <= measured[i].first)
        latency = measured[i - 1].second + (nodes - measured[i - 1].first) /
                                               (measured[i].first - measured[i - 1].first) *
                                               (measured[i].second - measured[i - 1].second);
    const double steps_of_share[] = {1,   1,   1,   1,   1,   1,   1, 1, .28, .28, .35, .43,
                                     .62, .71, .82, .89, .92, .95, 1, 1, 1,   1,   1,   1};
    double share = 1;
    if (place() >= 0 && place() < 24) share = steps_of_share[static_cast<int>(std::floor(place()))];
    if (share < 1 && doublings() > 1) share = 1 - (1 - share) / doublings();
    const double leaving = size * (ranks() - ppn) / ranks();
    return latency + leaving / (1000 * config.network_bandwidth * (1 - .44 / nodes) * share);
  }

  [[nodiscard]] double one_node() const {
    const auto measured = [&](double two, double four, double eight) {
      const double n = std::clamp(ranks(), 2.0, 8.0);
      return n <= 4 ? two + (four - two) * (n - 2) / 2 : four + (eight - four) * (n - 4) / 4;
    };
    const double twice = blackwell() ? 2 : 1;
    if (reduces_all()) return line_of_time{measured(10, 15, 31), twice * measured(324, 236, 267)}.at(size);
    return line_of_time{measured(8, 17, 30), twice * measured(537, 434, 394)}.at(size);
  }

  [[nodiscard]] double time() const {
    if (kind == collective::all_to_all) return all_to_all();
    const bool switched = config.has_switch && recent();
    if (switched && nodes == 1) return one_node();
    const auto logged = gather_log.find({static_cast<int>(nodes), static_cast<int>(ppn)});
    const bool has_log = switched && nodes < 1e6 && logged != gather_log.end();
    const double twice = blackwell() ? 2 : 1;
    double best = 1e300;
    if (has_log && !reduces_all()) {
      std::vector<double> full(18, .68);
      const double start[] = {.01, .02, .03, .06, .10, .16, .25, .36};
      std::copy(std::begin(start), std::end(start), full.begin());
      full.insert(full.end(), {.79, .87, .87, .87, .87, .87});
      const double reached = ppn == static_cast<double>(config.devices_per_node) ? interpolated(full, place(), .01) : 1;
      for (const line_of_time& l : logged->second)
        best = std::min(best, line_of_time{l.latency, l.bandwidth * twice * reached}.at(size));
      return best;
    }
    for (std::size_t p = 0; p < 3; ++p) best = std::min(best, ring(p));
    if (!reduces_all()) return best;
    if (!has_log) {
      for (std::size_t p = 0; p < 3; ++p) best = std::min(best, tree(p));
      if (!switched) return best;
      const double multicast = 2 * intra() * pick(0, .85, .74) * (channels() - 1) / channels();
      const double by_size = channels() * ranks() / steps();
      const double far = config.network_bandwidth / channels();
      best = std::min(
          best,
          line_of_time{25 + (ppn == 1 ? 14 : 18) + 2 * config.extra_network_us, std::min(multicast, far) * by_size}.at(
              size));
      const double cap = blackwell() ? by_nodes(0, 96, 43.8) : by_nodes(0, 57.7, 45.5);
      double speed = std::min({multicast, inter() * (nodes == 2 ? 2 : 1), cap}) * by_size;
      if (blackwell() && size >= 64 && size < 64.0 * (1 << 24))
        speed *= size >= 64.0 * (1 << 23) ? .9 : tree_share(2, size);
      const double hops = 2 * doublings() * ((ppn == 1 ? 14 : 20.9) + 2 * config.extra_network_us);
      return std::min(best, line_of_time{25 + hops, speed}.at(size));
    }
    const double add[] = {10, 17, 28};
    const auto& tree_lines = tree_log.at({nodes == 2 ? 2 : 4, static_cast<int>(ppn)});
    for (std::size_t p = 0; p < 3; ++p)
      best = std::min(best, line_of_time{tree_lines[p].latency + (nodes > 4 ? doublings() - 2 : 0) * add[p],
                                         tree_lines[p].bandwidth * twice * tree_share(p, size)}
                                .at(size));
    if (ppn >= 4) {
      const std::map<int, double> latency{{2, 53}, {4, 81}, {8, 109}, {16, 137}, {32, 165}};
      const double bandwidth = nodes == 2 ? (ppn == 4 ? 160 : 266.7) : (ppn == 4 ? 80 : 160);
      const std::vector<double> ramp{1,   1,   1,   1,   1, 1, 1, 1, .10, .10, .15, .28,
                                     .41, .55, .72, .88, 1, 1, 1, 1, 1,   1,   1,   1};
      best = std::min(
          best,
          line_of_time{latency.at(static_cast<int>(nodes)), bandwidth * twice * interpolated(ramp, place(), 1)}.at(
              size));
    }
    return best;
  }
};

/// Inductor's model of 2026 for one call.
double inductor_time(architecture family, collective kind, double size, double ranks, double nodes) {
  const auto pick = [&](double ampere, double hopper, double blackwell) {
    return family == architecture::blackwell ? blackwell : family == architecture::hopper ? hopper : ampere;
  };
  const auto by_nodes = [&](double one, double two, double more) { return nodes == 1 ? one : nodes == 2 ? two : more; };
  double bus = nodes == 1 ? pick(240, 370, 720) : pick(25, 50, 50) * (.77 + .23 * std::min(1.0, (nodes - 1) / 7));
  if (nodes > 2) bus *= std::pow(std::max(size, 5e7) / 5e7, .17);
  const double channels = pick(8, 16, 32);
  const double ll_most = nodes == 1 ? pick(87.7, 141, 282) : nodes == 2 ? 39 : 20.4;
  const bool both = kind == collective::all_reduce || kind == collective::all_to_all;
  const double steps = (both ? 2 : 1) * (ranks - 1);
  const double crossing = (kind == collective::all_reduce ? 2 : 1) * (nodes - 1);
  const double base[2][3] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}}, hop[2][3] = {{.6, 1.9, 3.4}, {.6, 1.25, 4}},
               net[2][3] = {{2.7, 4, 14}, {5, 8.5, 14}};
  double best = 1e300;
  for (std::size_t p = 0; p < 3; ++p) {
    if (p == 1 && nodes > 1) continue;
    const double overhead = nodes == 1 ? 0 : p == 2 ? 3 : 1;
    const double ring_bus[] = {std::min(ll_most, bus / 2), std::min(bus * .9375, channels * pick(20, 36.7, 40)), bus};
    const double wait = base[0][p] + (steps - crossing) * std::max(hop[0][p], overhead) + crossing * net[0][p];
    best = std::min(best, line_of_time{wait, ring_bus[p] * ranks / steps}.at(size));
    if (kind != collective::all_reduce) continue;
    const double cap = pick(by_nodes(24, 23.6, 17.8), by_nodes(38.7, 41.4, 36), by_nodes(70, 42.8, 24));
    const double ll128_cap = pick(20, by_nodes(36.7, 36.7, 29), by_nodes(55.6, 31.67, 20));
    const double tree_bus[] = {std::min(bus / 3.8, ll_most), std::min(bus * 7 / 9, channels * ll128_cap),
                               std::min(.92 * bus, channels * cap)};
    const double climb =
        base[1][p] + 2 * ((ranks / nodes - 1) * std::max(hop[1][p], overhead) + std::log2(nodes) * net[1][p]);
    best = std::min(best, line_of_time{climb, tree_bus[p] / 2 * tree_share(p, size)}.at(size));
  }
  return best;
}

double random_size(random_source& random) {
  return static_cast<double>(random.below(std::uint64_t{1} << (1 + random.below(36))));
}

}  // namespace

TEST_SUITE("autoparallel_formula") {
  TEST_CASE("any call costs what the published description says, worked out for that call") {
    random_source random(21);
    std::size_t from_logs = 0, from_rings = 0;
    for (std::size_t round = 0; round < shardweave_test::at_scale(8000); ++round) {
      autoparallel_formula model;
      constexpr std::array families{architecture::other, architecture::ampere, architecture::hopper,
                                    architecture::blackwell};
      model.family = families[random.below(4)];
      model.has_switch = random.chance(0.7);
      model.link_bandwidth = random.chance(0.5) ? 320 : random.chance(0.5) ? 87.7 : 1800;
      model.network_bandwidth = random.chance(0.5) ? 50 : random.chance(0.5) ? 25 : 900;
      model.extra_network_us = random.chance(0.3) ? 12.5 : 0;
      model.devices_per_node = random.chance(0.7) ? 8 : 4;
      const group_shape group{
          1 + static_cast<std::int64_t>(random.below(8)),
          random.chance(0.6) ? std::int64_t{1} << random.below(7) : 1 + static_cast<std::int64_t>(random.below(70))};
      if (group.ranks() == 1) continue;
      const double size = random.chance(0.05) ? 0 : random_size(random);
      const collective kind = ported_kinds[random.below(4)];
      const upstream_call call{model, kind, size, static_cast<double>(group.nodes),
                               static_cast<double>(group.ranks_per_node)};
      CAPTURE(std::string(name_of(kind)));
      CAPTURE(group.nodes);
      CAPTURE(group.ranks_per_node);
      CAPTURE(size);
      CAPTURE(static_cast<int>(model.family));
      CAPTURE(model.has_switch);
      const auto found = model.estimate(kind, bytes(static_cast<std::int64_t>(size)), group);
      CHECK(found.time_us == doctest::Approx(call.time()).epsilon(1e-9));
      const bool in_log = gather_log.contains({static_cast<int>(group.nodes), static_cast<int>(group.ranks_per_node)});
      ++(in_log && model.has_switch ? from_logs : from_rings);
    }
    CHECK(from_logs > shardweave_test::at_scale(500));
    CHECK(from_rings > shardweave_test::at_scale(500));
  }

  TEST_CASE("an estimate names the way that won and whence it is known") {
    const autoparallel_formula h100(find_device("h100")), a100(find_device("a100"));
    struct row {
      const autoparallel_formula& model;
      collective kind;
      std::int64_t size;
      group_shape group;
      const char *algorithm, *protocol;
    };
    for (const row& r : {row{h100, collective::all_gather, 1, {8, 1}, "measured", ""},
                         row{h100, collective::all_to_all, 1, {8, 1}, "copy", ""},
                         row{h100, collective::all_to_all, 1, {8, 2}, "pairwise", ""},
                         row{a100, collective::all_to_all, 1, {8, 2}, "pairwise", "simple"},
                         row{h100, collective::all_gather, 1, {8, 2}, "ring", "ll"},
                         row{h100, collective::all_gather, 1 << 30, {8, 2}, "ring", "simple"},
                         row{h100, collective::all_reduce, 1, {8, 2}, "tree", "ll"},
                         row{h100, collective::all_reduce, 1 << 30, {8, 2}, "nvls_tree", "simple"},
                         row{h100, collective::all_reduce, 1, {8, 64}, "nvls", "simple"},
                         row{a100, collective::all_reduce, 1, {8, 4}, "tree", "ll"},
                         row{a100, collective::all_gather, 1 << 20, {8, 1}, "ring", "ll"}}) {
      const collective_estimate e = r.model.estimate(r.kind, bytes(r.size), r.group);
      CAPTURE(r.group.nodes);
      CAPTURE(r.size);
      CHECK(std::string(e.algorithm) == r.algorithm);
      CHECK(std::string(e.protocol) == r.protocol);
      const bool is_measured = std::string(r.algorithm) == "measured";
      CHECK((e.quality == estimate_quality::fitted) == is_measured);
    }
  }
}

TEST_SUITE("torch_formula") {
  TEST_CASE("any call costs what the published description says, worked out for that call") {
    random_source random(22);
    for (std::size_t round = 0; round < shardweave_test::at_scale(6000); ++round) {
      torch_formula model;
      constexpr std::array families{architecture::other, architecture::ampere, architecture::hopper,
                                    architecture::blackwell};
      model.family = families[random.below(4)];
      model.devices_per_node = random.chance(0.8) ? 8 : 4;
      const auto ranks = 2 + static_cast<std::int64_t>(random.below(random.chance(0.5) ? 15 : 600));
      const double size = random.chance(0.05) ? 0 : random_size(random);
      const collective kind = ported_kinds[random.below(4)];
      const double nodes = std::ceil(static_cast<double>(ranks) / static_cast<double>(model.devices_per_node));
      CAPTURE(std::string(name_of(kind)));
      CAPTURE(ranks);
      CAPTURE(size);
      const auto found = model.estimate(kind, bytes(static_cast<std::int64_t>(size)), {ranks, 1});
      CHECK(found.time_us ==
            doctest::Approx(inductor_time(model.family, kind, size, static_cast<double>(ranks), nodes)).epsilon(1e-9));
      CHECK(found.time_us == doctest::Approx(found.latency_us + found.bandwidth_us));
    }
  }

  TEST_CASE("a shift is the one step of a gather between two ranks") {
    for (const torch_edition edition : {torch_edition::tuner, torch_edition::ring_ll}) {
      const torch_formula model(find_device("h100"), edition);
      for (const std::int64_t size : {1 << 10, 1 << 20, 1 << 30})
        for (const std::int64_t ranks : {2, 4, 8})
          CHECK(model.estimate(collective::shift, bytes(size), {ranks, 1}).time_us ==
                model.estimate(collective::all_gather, bytes(2 * size), {2, 1}).time_us);
      CHECK(model.estimate(collective::shift, mebibytes(64), {64, 1}).time_us >
            model.estimate(collective::shift, mebibytes(64), {8, 1}).time_us);
    }
    // and where nothing is known of it an all-to-all that sends as much
    const autoparallel_formula formula(find_device("h100"));
    CHECK(formula.estimate(collective::shift, mebibytes(7), {8, 1}).time_us ==
          formula.estimate(collective::all_to_all, mebibytes(8), {8, 1}).time_us);
  }

  TEST_CASE("LL128 is off between nodes, and only all-reduces climb trees") {
    const torch_formula model(find_device("h100"));
    bool is_tree = false, is_ll128 = false;
    for (std::int64_t size = 1; size < std::int64_t{1} << 34; size *= 2)
      for (const collective kind : ported_kinds)
        for (const std::int64_t ranks : {2, 8, 9, 16, 64}) {
          const collective_estimate e = model.estimate(kind, bytes(size), {ranks, 1});
          if (ranks > 8) CHECK(e.protocol != "ll128");
          if (kind != collective::all_reduce) CHECK(e.algorithm == "ring");
          is_tree = is_tree || e.algorithm == "tree";
          is_ll128 = is_ll128 || e.protocol == "ll128";
        }
    CHECK(is_tree);
    CHECK(is_ll128);
  }

  TEST_CASE("its jumps are kept, and a group or a node without ranks is refused") {
    torch_formula model(find_device("h100"));
    // more nodes reach more of the network: not slower with more ranks
    CHECK(model.estimate(collective::all_gather, mebibytes(256), {64, 1}).time_us <
          model.estimate(collective::all_gather, mebibytes(256), {16, 1}).time_us);
    CHECK(model.estimate(collective::all_gather, mebibytes(256), {64, 1}).time_us ==
          doctest::Approx(4268).epsilon(1e-3));
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, bytes(1), {8, 0}),
                         "a group of 0 nodes with 8 ranks each has no ranks", error);
    model.devices_per_node = 0;
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, bytes(1), {8, 1}), "a node of 0 devices holds no rank",
                         error);
  }

  TEST_CASE("the older edition is the same for every device, and takes all-gathers to a third of its bus") {
    const torch_formula h100(find_device("h100"), torch_edition::ring_ll),
        a100(find_device("a100"), torch_edition::ring_ll);
    for (const collective kind : ported_kinds)
      for (const std::int64_t ranks : {2, 8, 16, 24, 64})
        for (const std::int64_t size : {0, 1 << 10, 1 << 20, 1 << 30}) {
          const collective_estimate e = h100.estimate(kind, bytes(size), {ranks, 1});
          CHECK(e.time_us == a100.estimate(kind, bytes(size), {ranks, 1}).time_us);
          CHECK(e.algorithm == "ring");
          CHECK(e.protocol == "ll");
          const double n = static_cast<double>(ranks), nodes = std::ceil(n / 8);
          const bool reduces = kind == collective::all_reduce;
          const double steps = (reduces || kind == collective::all_to_all ? 2 : 1) * (n - 1);
          const double far = nodes == 1 ? 0 : reduces ? 2 * nodes : nodes - 1;
          CHECK(e.latency_us == doctest::Approx(6.6 + (steps - far) * (nodes == 1 ? .6 : 1) + far * 2.7));
          const double bus = nodes == 1 ? 87.7 : 12.5;  // the cap of LL, less than 600 / 4; a quarter of 2 x 25
          CHECK(e.bandwidth_us == doctest::Approx(static_cast<double>(size) / 1073741824.0 * 1e6 * steps / n / bus));
        }
  }
}

}  // namespace ported_formulas_tests

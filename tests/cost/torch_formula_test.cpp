#include "cost/ported_tables.hpp"
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/torch_formula.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace torch_formula_tests {
namespace {

using namespace shardweave;
using namespace ported_tables;

constexpr std::array compatible_kinds{collective::all_gather, collective::all_reduce, collective::all_to_all};

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

}  // namespace

TEST_SUITE("torch_formula") {
  TEST_CASE("reference values of 2026 are met to their print precision") {
    struct row {
      collective kind;
      std::int64_t ranks;
      std::array<double, 6> times;
      std::array<double, 6> digits;
    };
    // sizes 0, 64 KiB, 1 MiB, 16 MiB, 64 MiB, 256 MiB; nodes of 8 H100
    const std::array<std::int64_t, 6> sizes{0, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28};
    const std::vector<row> rows{
        {collective::all_gather, 8, {10.8, 11.21, 17.31, 69.62, 190.9, 667.0}, {.05, .005, .005, .005, .05, .05}},
        {collective::all_gather, 16, {23.3, 26.36, 72.28, 461.8, 1637, 6339}, {.05, .005, .005, .05, .5, .5}},
        {collective::all_reduce, 8, {15.0, 15.81, 28.01, 125.2, 373.4, 1325.6}, {.05, .005, .005, .05, .05, .05}},
        {collective::all_reduce, 64, {50.8, 67.4, 239.6, 1190, 3099, 8528}, {.05, .05, .05, .5, .5, .5}}};
    const torch_formula model(find_device("h100"));
    for (const row& r : rows)
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double found = model.estimate(r.kind, bytes(sizes[i]), {8, r.ranks / 8}).time_us;
        CAPTURE(found);
        CHECK(std::abs(found - r.times[i]) <= 1.01 * r.digits[i]);
      }
  }

  TEST_CASE("the group's shape does not count, only its ranks") {
    const torch_formula model;
    for (const collective kind : compatible_kinds)
      CHECK(model.estimate(kind, mebibytes(64), {1, 16}).time_us ==
            model.estimate(kind, mebibytes(64), {16, 1}).time_us);
  }

  TEST_CASE("the older edition knows rings with one protocol") {
    // by hand: 8 ranks of one node, all-gather: min(87.7, 600 / 3) = 87.7 GiB/s times 8/7, 6.6 + 7 * 0.6 us
    const torch_formula old(find_device("h100"), torch_edition::ring_ll);
    CHECK(old.estimate(collective::all_gather, gibibytes(1), {8, 1}).time_us ==
          doctest::Approx(1e6 / (87.7 * 8 / 7) + 10.8).epsilon(1e-9));
    // two nodes, all-reduce of nothing: 30 steps, four of them between nodes
    CHECK(old.estimate(collective::all_reduce, bytes(0), {8, 2}).time_us == doctest::Approx(6.6 + 26 + 4 * 2.7));
    // two nodes: min(39, 50 / 4) GiB/s
    CHECK(old.estimate(collective::all_gather, gibibytes(1), {8, 2}).bandwidth_us ==
          doctest::Approx(1e6 / (12.5 * 16 / 15)).epsilon(1e-9));
    CHECK(old.estimate(collective::all_gather, mebibytes(1), {1, 1}).time_us == 0);
    CHECK_THROWS_AS(old.estimate(collective::all_gather, bytes(8), {8, 0}), error);
  }

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

}  // namespace torch_formula_tests

#include "cost/promises.hpp"
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace alpha_beta_tests {
namespace {

using namespace shardweave;
using namespace cost_promises;

/// Plays a ring step by step: a step takes the latency of its slowest link and the time of a chunk.
double played_ring(int rounds, std::int64_t size, group_shape group, double hop, double far_hop, double speed) {
  const std::int64_t n = group.ranks();
  double time = 6.6;
  for (int round = 0; round < rounds; ++round)
    for (std::int64_t step = 1; step < n; ++step) {
      time += step < group.nodes ? far_hop : hop;
      time += static_cast<double>(size) / static_cast<double>(n) / (speed * 1e3);
    }
  return time;
}

}  // namespace

TEST_SUITE("alpha_beta") {
  const alpha_beta model(find_device("h100"));

  TEST_CASE("collectives cost nothing alone and more for more data") { check_promises(model); }

  TEST_CASE("a ring costs what its steps cost") {
    for (const std::int64_t size : {std::int64_t{1} << 10, std::int64_t{1} << 24, std::int64_t{1} << 30}) {
      CHECK(model.estimate(collective::all_gather, bytes(size), {8, 1}).time_us ==
            doctest::Approx(played_ring(1, size, {8, 1}, 0.6, 2.7, 320)));
      CHECK(model.estimate(collective::all_reduce, bytes(size), {8, 1}).time_us ==
            doctest::Approx(played_ring(2, size, {8, 1}, 0.6, 2.7, 320)));
      // one rank per node: its own network share; eight: all of theirs, up to the links
      CHECK(model.estimate(collective::reduce_scatter, bytes(size), {1, 8}).time_us ==
            doctest::Approx(played_ring(1, size, {1, 8}, 0.6, 2.7, 50)));
      CHECK(model.estimate(collective::all_reduce, bytes(size), {4, 8}).time_us ==
            doctest::Approx(played_ring(2, size, {4, 8}, 0.6, 2.7, 200)));
      CHECK(model.estimate(collective::all_gather, bytes(size), {8, 8}).time_us ==
            doctest::Approx(played_ring(1, size, {8, 8}, 0.6, 2.7, 320)));
    }
  }

  TEST_CASE("an all-reduce is a reduce-scatter and an all-gather") {
    for (const group_shape group : {group_shape{8, 1}, {1, 8}, {8, 4}}) {
      const auto time = [&](collective kind) { return model.estimate(kind, bytes(1 << 26), group).time_us; };
      CHECK(time(collective::all_reduce) + model.base_us ==
            doctest::Approx(time(collective::reduce_scatter) + time(collective::all_gather)));
    }
  }

  TEST_CASE("an all-to-all is bound by the slower of what stays and what leaves") {
    const double kilobytes = 1e6;
    const auto time = [&](group_shape group) {
      return model.estimate(collective::all_to_all, bytes(1'000'000'000), group).bandwidth_us;
    };
    CHECK(time({8, 1}) == doctest::Approx(kilobytes * 7 / 8 / 320));
    CHECK(time({8, 2}) == doctest::Approx(kilobytes * 8 / 16 / 50));
    CHECK(time({1, 4}) == doctest::Approx(kilobytes * 3 / 4 / 50));
  }

  TEST_CASE("an empty group is refused") {
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, bytes(8), {0, 2}),
                         "a group of 2 nodes with 0 ranks each has no ranks", error);
  }

  TEST_CASE("steps inside and between nodes are counted for every shape of a group") {
    alpha_beta m;
    m.base_us = 1000;
    m.link_hop_us = 1;
    m.network_hop_us = 100;
    const auto latency = [&](collective kind, group_shape g) { return m.estimate(kind, bytes(0), g).latency_us; };
    CHECK(latency(collective::all_gather, {8, 1}) == 1007);
    CHECK(latency(collective::all_gather, {8, 3}) == 1000 + 21 + 200);
    CHECK(latency(collective::reduce_scatter, {1, 4}) == 1300);
    CHECK(latency(collective::all_reduce, {8, 3}) == 1000 + 2 * (21 + 200));
    CHECK(latency(collective::all_to_all, {8, 3}) == 1000 + 7 + 200);  // to seven neighbours, and to two other nodes
    CHECK(latency(collective::shift, {8, 1}) == 1001);
    CHECK(latency(collective::shift, {8, 3}) == 1100);  // the slowest step of the ring
    CHECK(m.estimate(collective::all_to_all, bytes(1), {8, 3}).algorithm == "pairwise");
    CHECK(m.estimate(collective::all_gather, bytes(1), {8, 3}).algorithm == "ring");
    // a ring over nodes runs at the network shares of a node's ranks together, up to the links
    m.link_bandwidth = 300;
    m.network_bandwidth = 50;
    for (const auto& [ranks, speed] : {std::pair{1, 50.0}, {2, 100.0}, {6, 300.0}, {8, 300.0}}) {
      const group_shape g{ranks, 2};
      const double n = 2.0 * ranks;
      CHECK(m.estimate(collective::all_gather, bytes(1'000'000), g).bandwidth_us ==
            doctest::Approx(1000 * (n - 1) / n / speed));
    }
  }
}

}  // namespace alpha_beta_tests

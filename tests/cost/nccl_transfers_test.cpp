#include "cost/known_node.hpp"
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_transfers.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace nccl_transfers_tests {
namespace {

using namespace shardweave;
using namespace known_nodes;

}  // namespace

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

  TEST_CASE("an all_to_all is bound by the slower of what stays and what leaves") {
    const nccl_transfers t(nccl_node_of(find_device("h100")));
    const double kilobytes = 1e6;
    const auto part = [&](group_shape g, bool shared) {
      return t.all_to_all(bytes(1'000'000'000), g, shared).bandwidth_us;
    };
    CHECK(part({8, 1}, true) == doctest::Approx(kilobytes * 7 / 8 / (.9 * 370.8)));
    CHECK(part({8, 2}, true) == doctest::Approx(kilobytes * 8 / 16 / (.85 * 50)));
    nccl_node few = nccl_node_of(find_device("h100"));
    few.nics = 4;
    CHECK(nccl_transfers(few).all_to_all(bytes(1'000'000'000), {2, 2}, true).bandwidth_us ==
          doctest::Approx(kilobytes * 2 / 4 / (.85 * 4 * 50 / 8)));
    CHECK(nccl_transfers(few).all_to_all(bytes(1'000'000'000), {2, 2}, false).bandwidth_us ==
          doctest::Approx(kilobytes * 2 / 4 / (.85 * 50)));
    CHECK(t.all_to_all(bytes(5), {1, 1}, true).time_us == 0);
  }

  TEST_CASE("a message costs more over the network") {
    const nccl_transfers t(nccl_node_of(find_device("h100")));
    CHECK(t.send(bytes(1'000'000), true).time_us == doctest::Approx(20 + 1000 / (.9 * 370.8)));
    CHECK(t.send(bytes(1'000'000), false).time_us == doctest::Approx(30 + 1000 / (.85 * 50)));
  }
}

}  // namespace nccl_transfers_tests

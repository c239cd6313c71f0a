#include <shardweave/core/error.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_topology.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

namespace nccl_topology_tests {
namespace {

using namespace shardweave;

nccl_topology two_devices() {
  nccl_topology t;
  t.processors = {{0, "x86_64", "GenuineIntel", 6, 0x8F}, {1, "x86_64", "GenuineIntel", 6, 0x8F}};
  for (int i = 0; i < 2; ++i) {
    nccl_topology::device d;
    d.number = i;
    d.bus = i == 0 ? "0000:1b:00.0" : "0000:43:00.0";
    d.compute_capability = 90;
    d.processor = static_cast<std::size_t>(i);
    d.root = d.processor + 1;
    d.pci_bandwidth = 48;
    t.devices.push_back(d);
  }
  return t;
}

nccl_topology::nvlinks links_to(const char* bus, std::int64_t count, bool to_switch = false) {
  return {bus, count, to_switch};
}

}  // namespace

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

}  // namespace nccl_topology_tests

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/torch_formula.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace sw = shardweave;

namespace lone_devices_tests {

TEST_SUITE("lone_devices") {
  TEST_CASE("nodes of one device need no links") {
    sw::nccl_node n;
    n.devices = 1;
    n.link_bandwidth = 0;
    n.nics = 1;
    n.nic_bandwidth = 25;
    n.has_switch = n.has_multicast = false;
    n.validate();
    const sw::nccl_smooth m(n);
    sw::device_profile d;
    d.devices_per_node = 1;
    d.network_bandwidth = 25;
    const sw::alpha_beta ab(d);
    for (const sw::collective kind : sw::priced_collectives) {
      CAPTURE(sw::name_of(kind));
      CHECK(std::isfinite(m.estimate(kind, sw::bytes(1 << 20), {1, 8}).time_us));
      CHECK(std::isfinite(ab.estimate(kind, sw::bytes(1 << 20), {1, 8}).time_us));
    }
  }
  TEST_CASE("groups larger than any machine are refused") {
    const sw::group_shape huge{4, std::int64_t{1} << 62};
    const auto d = sw::find_device("h100");
    CHECK_THROWS_AS((void)sw::alpha_beta(d).estimate(sw::collective::all_reduce, sw::bytes(1024), huge), sw::error);
    CHECK_THROWS_AS((void)sw::torch_formula(d).estimate(sw::collective::all_reduce, sw::bytes(1024), huge), sw::error);
  }
}

}  // namespace lone_devices_tests

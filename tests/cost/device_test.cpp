#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace shardweave;

TEST_SUITE("find_device") {
  TEST_CASE("a device is found by its name in any case") {
    CHECK(find_device("H100").name == "h100");
    CHECK(find_device("gb200").devices_per_node == 72);
    for (const device_profile& device : known_devices()) {
      CAPTURE(std::string(device.name));
      CHECK(find_device(device.name).memory_bandwidth == device.memory_bandwidth);
      CHECK(device.memory_bandwidth > 1e11);
      CHECK(device.rate(arithmetic::f16) > device.rate(arithmetic::f32));
      CHECK(device.rate(arithmetic::f32) >= device.rate(arithmetic::f64));
      CHECK(device.link_bandwidth >= device.network_bandwidth);
      CHECK(device.devices_per_node >= 1);
      CHECK(device.memory >= std::int64_t{24} << 30);
      for (const device_preset& preset : device_presets())
        if (preset.profile.name == device.name) CHECK(preset.profile.memory == device.memory);
    }
  }

  TEST_CASE("an unknown name is refused with the names there are") {
    CHECK_THROWS_WITH_AS(find_device("abacus"),
                         "no device is called 'abacus'; known are h100, h200, b200, gb200, a100, a30, mi300x", error);
    CHECK_THROWS_AS(find_device(""), error);
  }
}

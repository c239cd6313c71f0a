#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/report/unit_text.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The devices that a command line can name.

namespace programs {

struct named_device {
  std::string name;
  std::string about;
};

/// "NVIDIA H100 SXM: 80 GiB, 989 TFLOP/s in 16 bits, 8 in a node"
[[nodiscard]] inline std::vector<named_device> devices() {
  namespace sw = shardweave;
  constexpr std::pair<std::string_view, std::string_view> sold_as[] = {
      {"h100", "NVIDIA H100 SXM"}, {"h200", "NVIDIA H200 SXM"}, {"b200", "NVIDIA B200"}, {"gb200", "NVIDIA GB200"},
      {"a100", "NVIDIA A100 SXM"}, {"a30", "NVIDIA A30"},       {"mi300x", "AMD MI300X"}};
  std::vector<named_device> all;
  for (const sw::device_profile& device : sw::known_devices()) {
    std::string about;
    for (const auto& [name, sold] : sold_as)
      if (name == device.name) about = std::string(sold) + ": ";
    about += sw::fixed_text(static_cast<double>(device.memory) / sw::detail::binary_giga, 0) + " GiB, " +
             sw::fixed_text(device.rate(sw::arithmetic::f16) / 1e12, 0) + " TFLOP/s in 16 bits, " +
             sw::count_text(device.devices_per_node) + " in a node";
    all.push_back({std::string(device.name), std::move(about)});
  }
  return all;
}

/// Refuses what was measured on another one of them than is asked for.
inline void require_device(const shardweave::device_calibration& measured, std::string_view asked) {
  for (const shardweave::device_profile& device : shardweave::known_devices())
    if (device.name == measured.device && measured.device != asked)
      shardweave::refuse(shardweave::error_category::input, "was measured on " + measured.device +
                                                                ", expected --device " + measured.device + ", found " +
                                                                std::string(asked));
}

}  // namespace programs

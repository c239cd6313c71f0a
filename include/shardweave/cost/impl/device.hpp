#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/device.hpp>

#include <cctype>
#include <string>

/// \file
/// Where devices are known.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE device_profile find_device(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string known;
  for (const device_profile& device : known_devices()) {
    if (device.name == lower) return device;
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  }
  refuse(error_category::input, "no device is called '" + std::string(name) + "'; known are " + known);
}

}  // namespace shardweave::inline v0

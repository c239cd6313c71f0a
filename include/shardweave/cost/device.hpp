#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// \file
/// What a kind of accelerator can do, as plain figures.

namespace shardweave::inline v0 {

/// What the arithmetic units tell apart. bf16 and f16 run at one rate; f32 means the fastest rate that takes
/// 32-bit inputs (TF32 where the device has it).
enum class arithmetic : std::uint8_t { f64, f32, f16, i8, f8 };

/// One of each kind of arithmetic.
template <class T>
using by_arithmetic = std::array<T, 5>;

/// The generation of a device by its maker's name, which formulas tell apart; `other` for what they do not know.
enum class architecture : std::uint8_t { other, ampere, hopper, blackwell };

/// Peak figures of one device and of the node it sits in.
///
/// Units: `memory_bandwidth` is bytes per second; `flops` are operations per second, dense, a multiplication
/// and an addition counting as two; `link_bandwidth` and `network_bandwidth` are GB/s with G = 10^9, per
/// device and direction, as collective libraries count them.
struct device_profile {
  std::string_view name;
  double memory_bandwidth = 0;
  by_arithmetic<double> flops = {};  ///< by `arithmetic`; 0 where the device has none
  architecture family = architecture::other;
  double link_bandwidth = 0;     ///< between devices of one node
  double network_bandwidth = 0;  ///< of a device's share of the network
  std::int64_t devices_per_node = 8;
  bool has_switch = false;  ///< every device of a node reaches every other at full link bandwidth
  std::int64_t memory = 0;  ///< bytes: the gigabytes of the data sheet as GiB; 0 where unknown

  [[nodiscard]] constexpr double rate(arithmetic kind) const { return flops[static_cast<std::size_t>(kind)]; }
};

namespace detail {

/// Rows of the built-in table. Memory bandwidth is entered as binary terabytes (1024^4) per second, the unit
/// in which the published placement references were computed; data sheets mean 10^12, so a host that wants
/// those divides by 1.0995 or sets its own figure. Links of devices without a published collective preset
/// carry the figures of their generation's common board.
inline constexpr double binary_tera = 1024.0 * 1024.0 * 1024.0 * 1024.0;
inline constexpr double binary_giga = 1024.0 * 1024.0 * 1024.0;
inline constexpr std::int64_t gibibyte = 1024 * 1024 * 1024;

[[nodiscard]] constexpr by_arithmetic<double> tera_operations(double f64, double f32, double f16, double i8,
                                                              double f8 = 0) {
  return {f64 * 1e12, f32 * 1e12, f16 * 1e12, i8 * 1e12, f8 * 1e12};
}

inline constexpr std::array device_table{
    device_profile{"h100", 3.35 * binary_tera, tera_operations(67, 494, 989, 1979, 1979), architecture::hopper, 320, 50,
                   8, true, 80 * gibibyte},
    device_profile{"h200", 4.8 * binary_tera, tera_operations(67, 494, 989, 1979, 1979), architecture::hopper, 320, 50,
                   8, true, 141 * gibibyte},
    device_profile{"b200", 7.7 * binary_tera, tera_operations(37, 1100, 2250, 4500, 4500), architecture::blackwell, 640,
                   50, 8, true, 180 * gibibyte},
    device_profile{"gb200", 7.7 * binary_tera, tera_operations(37, 1100, 2250, 4500, 4500), architecture::blackwell,
                   640, 50, 72, true, 186 * gibibyte},
    device_profile{"a100", 2.0 * binary_tera, tera_operations(19.5, 156, 312, 624), architecture::ampere, 87.7, 25, 8,
                   false, 80 * gibibyte},
    device_profile{"a30", 933 * binary_giga, tera_operations(10.3, 82, 165, 330), architecture::ampere, 87.7, 25, 8,
                   false, 24 * gibibyte},
    device_profile{"mi300x", 5.3 * binary_tera, tera_operations(163.4, 653.7, 1307.4, 2614.9, 2614.9),
                   architecture::other, 87.7, 25, 8, false, 192 * gibibyte},
};

}  // namespace detail

/// The devices known by name, in the order in which they should be listed to a person.
[[nodiscard]] inline std::span<const device_profile> known_devices() { return detail::device_table; }

/// The device of that name; case does not matter.
/// \throws error listing the names if there is none
[[nodiscard]] device_profile find_device(std::string_view name);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/cost/impl/device.hpp>
#endif

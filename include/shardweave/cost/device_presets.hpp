#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/detail/preset_lines.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/fitted_lines.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Devices with calibrated constants and where those come from.

namespace shardweave::inline v0 {

/// What kernels were measured to reach of a device's peaks: products and attention of its rate in 16 bits, by
/// operations per byte moved; others of its memory bandwidth, by bytes.
struct kernel_shares {
  saturation product = {0.70, 0, 1};
  saturation attention = {0.70, 0, 1};
  saturation attention_backward = {0.70, 0, 1};
  saturation memory = {0.70, 0, 1};
};

/// The clock at a power limit, as a share of the clock at full power, 1 at most. The power above idle is taken to grow
/// with the square of the clock (P ~ f V^2 with V ~ sqrt(f)): between the linear growth at a constant voltage and the
/// cubic growth at a voltage proportional to the clock. \pre idle < limit, idle < full
[[nodiscard]] inline double clock_under_power_limit(double limit_watts, double full_watts, double idle_watts) {
  return std::sqrt(std::min(limit_watts - idle_watts, full_watts - idle_watts) / (full_watts - idle_watts));
}

/// A device as its data sheet states it (decimal units, unlike the built-in table of `find_device`, which keeps the
/// units of published reference placements), with links as NCCL counts them and collectives fitted to measurements.
struct device_preset {
  device_profile profile;
  double processors = 0;  ///< streaming multiprocessors
  std::span<const fitted_line> lines;
  std::string_view source_of_peaks;
  std::string_view source_of_links;
  std::string_view source_of_lines;
  kernel_shares shares;
  std::string_view source_of_shares;
  double clock =
      1;  ///< of what the shares were measured at: below 1 where power is limited (`clock_under_power_limit`)

  /// Fitted lines, and rings over the preset's links where none was measured.
  [[nodiscard]] fitted_lines<> collectives() const { return fitted_lines<>(lines, alpha_beta(profile)); }

  /// A roofline with the preset's shares. Products in 8-bit floating point reach the share of their own peak that
  /// products in 16 bits reach at as many operations per byte; other arithmetic keeps flat shares of 70 %.
  [[nodiscard]] compute_profile compute() const {
    constexpr auto f16 = static_cast<std::size_t>(arithmetic::f16);
    constexpr auto f8 = static_cast<std::size_t>(arithmetic::f8);
    compute_profile result(profile);
    result.product[f16] = result.product[f8] = shares.product;
    result.attention[f16] = shares.attention;
    result.attention_backward[f16] = shares.attention_backward;
    result.memory = shares.memory;
    for (saturation* s :
         {&result.product[f16], &result.product[f8], &result.attention[f16], &result.attention_backward[f16]})
      s->peak *= clock;
    return result;
  }
  [[nodiscard]] struct contention contention() const {
    struct contention result;
    result.processors = processors;
    result.memory_bandwidth = profile.memory_bandwidth / 1e9;
    return result;
  }
};

namespace detail {

/// Products of every device: fitted upstream to 666 bf16 products with 64 rows and more on H100 (mean error 8.9 %,
/// against 17.7 % for a flat 70 %). Source: AutoParallel, branch gemm_cost_model (BSD licence).
inline constexpr saturation published_products{0.742, 150, 1.47};

/// Fused attention without a mask, heads of 128, lengths 512 to 16384. Forward within 1.6 % of six published rates of
/// 430 to 621 TFLOP/s (FlashAttention 3; github.com/pytorch/benchmark, pull request 2391); backward within 0.7 % of six
/// of 316 to 561 (charts of the paper on FlashAttention 3, arXiv 2407.08608). Operations per byte are those of queries,
/// keys, values, results and their gradients: 1/2 and 5/8 of the length.
inline constexpr saturation hopper_attention{0.635, 123, 1.06};
inline constexpr saturation hopper_attention_backward{0.576, 272, 1.27};

/// FlashAttention 4 on B200, forward, lengths 1024 to 16384: within 0.4 % of five rates of 1205 to 1362 TFLOP/s
/// (github.com/Dao-AILab/flash-attention, pull request 2605). Of its backward one rate was found, 1360 at length 8192
/// (pull request 2280): the same curve gives it within 0.2 %.
inline constexpr saturation blackwell_attention{0.613, 73.5, 0.98};
inline constexpr saturation blackwell_attention_backward = blackwell_attention;

/// Element-wise kernels. H100: relu of PyTorch in bf16, back to back, within 0.2 % of five times from 134 MB on
/// (github.com/pytorch/pytorch, pull request 145746). Others: CUB, each kernel after a flush of the cache, within 6 %
/// of times from 50 MB on (github.com/NVIDIA/cccl, pull requests 7019, A100 SXM 80 GB; 2086, H200; 7391, B200). Smaller
/// ones take less than this says: 3 MB up to 3 us.
inline constexpr saturation a100_memory{0.879, 19.8e6, 1};
inline constexpr saturation h100_memory{0.915, 12.9e6, 0.91};
inline constexpr saturation h200_memory{0.926, 33e6, 1};
inline constexpr saturation b200_memory{0.879, 60e6, 1};

inline constexpr kernel_shares a100_shares{.product = published_products, .memory = a100_memory};
inline constexpr kernel_shares h100_shares{published_products, hopper_attention, hopper_attention_backward,
                                           h100_memory};
inline constexpr kernel_shares h200_shares{published_products, hopper_attention, hopper_attention_backward,
                                           h200_memory};
inline constexpr kernel_shares b200_shares{published_products, blackwell_attention, blackwell_attention_backward,
                                           b200_memory};

}  // namespace detail

/// The presets in the order in which they should be listed to a person. Links count as NCCL counts them: 12 x 20, 18 x
/// 20.6 and 18 x 40.1 GB/s per device and direction. Networks: 200 Gb/s per A100, 400 Gb/s per device of the others.
[[nodiscard]] inline std::span<const device_preset> device_presets() {
  constexpr std::string_view links = "NVLink counts and speeds of NCCL 2.30";
  static const std::array presets{
      device_preset{{"a100", 2.039e12, detail::tera_operations(19.5, 156, 312, 624), architecture::ampere, 240, 25, 8,
                     true, 80 * detail::gibibyte},
                    108,
                    detail::a100_lines,
                    "NVIDIA A100 80GB SXM data sheet",
                    links,
                    "nccl-tests all-reduce: Azure ND A100 v4 (one node), AWS p4d (two nodes)",
                    detail::a100_shares,
                    "memory: CUB on A100; products: of H100; attention: not measured"},
      device_preset{{"a100-40gb", 1.555e12, detail::tera_operations(19.5, 156, 312, 624), architecture::ampere, 240, 25,
                     8, true, 40 * detail::gibibyte},
                    108,
                    detail::a100_lines,
                    "NVIDIA A100 40GB SXM data sheet",
                    links,
                    "as a100",
                    detail::a100_shares,
                    "of a100"},
      device_preset{{"h100", 3.35e12, detail::tera_operations(67, 494, 989, 1979, 1979), architecture::hopper, 370.8,
                     50, 8, true, 80 * detail::gibibyte},
                    132,
                    detail::h100_lines,
                    "NVIDIA H100 SXM data sheet",
                    links,
                    "XLA performance table 2026 (one node), nccl-tests all-reduce on AWS p5 (two nodes)",
                    detail::h100_shares,
                    "products: AutoParallel; attention: FlashAttention 3; memory: PyTorch"},
      device_preset{{"h100-96gb", 2.4e12, detail::tera_operations(67, 494, 989, 1979, 1979), architecture::hopper,
                     370.8, 50, 8, true, 96 * detail::gibibyte},
                    132,
                    detail::h100_lines,
                    "as h100, but for its memory: 96 GB of HBM2e at 2.4 TB/s; limited to 500 W (torchtitan's report)",
                    links,
                    "as h100",
                    detail::h100_shares,
                    "of h100, at the clock that 500 of 700 W leave",
                    clock_under_power_limit(500, 700, 150)},
      device_preset{{"h200", 4.8e12, detail::tera_operations(67, 494, 989, 1979, 1979), architecture::hopper, 370.8, 50,
                     8, true, 141 * detail::gibibyte},
                    132,
                    detail::h100_lines,
                    "NVIDIA H200 SXM data sheet",
                    links,
                    "as h100, whose links and multiprocessors it has; not measured on H200",
                    detail::h200_shares,
                    "memory: CUB on H200; products and attention: of H100"},
      device_preset{{"b200", 8e12, detail::tera_operations(37, 1125, 2250, 4500, 4500), architecture::blackwell, 721.8,
                     50, 8, true, 180 * detail::gibibyte},
                    148,
                    detail::b200_lines,
                    "NVIDIA HGX B200 data sheet",
                    links,
                    "XLA performance table 2026 (one node)",
                    detail::b200_shares,
                    "attention: FlashAttention 4; memory: CUB on B200; products: of H100"},
      device_preset{{"gb200", 8e12, detail::tera_operations(40, 1250, 2500, 5000, 5000), architecture::blackwell, 721.8,
                     50, 72, true, 186 * detail::gibibyte},
                    148,
                    detail::gb200_lines,
                    "NVIDIA GB200 NVL72 data sheet",
                    links,
                    "XLA performance table 2026 (one rack)",
                    detail::b200_shares,
                    "of B200"}};
  return presets;
}

/// The preset of that name; case does not matter.
/// \throws error listing the names if there is none
[[nodiscard]] inline const device_preset& find_preset(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string known;
  for (const device_preset& preset : device_presets()) {
    if (preset.profile.name == lower) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.profile.name);
  }
  refuse(error_category::input, "no preset is called '" + std::string(name) + "'; known are " + known);
}

}  // namespace shardweave::inline v0

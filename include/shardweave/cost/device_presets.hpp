#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/detail/preset_lines.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/fitted_lines.hpp>

#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

/// \file
/// Devices with calibrated constants and where those come from.

namespace shardweave {
inline namespace v0 {

/// A device as its data sheet states it (decimal units, unlike the built-in table of `find_device`, which keeps the
/// units of published reference placements), with links as NCCL counts them and collectives fitted to measurements.
struct device_preset {
  device_profile profile;
  double processors = 0;  ///< streaming multiprocessors
  std::span<const fitted_line> lines;
  std::string_view source_of_peaks;
  std::string_view source_of_links;
  std::string_view source_of_lines;

  /// Fitted lines, and rings over the preset's links where none was measured.
  [[nodiscard]] fitted_lines<> collectives() const { return fitted_lines<>(lines, alpha_beta(profile)); }

  /// A roofline with the matrix-product curve that was published for H100 and, on Hopper, the curve of fused attention;
  /// other kernels keep flat shares of 70 %.
  [[nodiscard]] compute_profile compute() const {
    compute_profile result(profile);
    result.product[static_cast<std::size_t>(arithmetic::f16)] = published_product_share;
    if (profile.family == architecture::hopper)
      result.attention[static_cast<std::size_t>(arithmetic::f16)] = published_attention_share;
    return result;
  }
  [[nodiscard]] struct contention contention() const {
    struct contention result;
    result.processors = processors;
    result.memory_bandwidth = profile.memory_bandwidth / 1e9;
    return result;
  }

  /// Share of the 16-bit peak by operations per byte, fitted upstream to 666 bf16 products with 64 rows and more on
  /// H100 (mean error 8.9 %, against 17.7 % for a flat 70 %). Source: AutoParallel, branch gemm_cost_model (BSD
  /// licence).
  static constexpr saturation published_product_share{0.742, 150, 1.47};
  /// The same of fused attention forward in 16 bits, by operations per byte of queries, keys, values and results (half
  /// the length of the sequence), fitted here to six rates of 430 to 621 TFLOP/s: lengths 512 to 16384, head size 128,
  /// no mask. Within 1.5 %. The backward has the same, which is more than it reaches.
  /// Source: FlashAttention 3 (Hopper only) in github.com/pytorch/benchmark, pull request 2391.
  static constexpr saturation published_attention_share{0.635, 123, 1.06};
};

/// The presets in the order in which they should be listed to a person. Links count as NCCL counts them: 12 x 20, 18 x
/// 20.6 and 18 x 40.1 GB/s per device and direction. Networks: 200 Gb/s per A100, 400 Gb/s per device of the others.
[[nodiscard]] inline std::span<const device_preset> device_presets() {
  constexpr std::string_view links = "NVLink counts and speeds of NCCL 2.30";
  static constexpr std::array presets{
      device_preset{
          {"a100", 2.039e12, detail::tera_operations(19.5, 156, 312, 624), architecture::ampere, 240, 25, 8, true},
          108,
          detail::a100_lines,
          "NVIDIA A100 80GB SXM data sheet",
          links,
          "nccl-tests all-reduce: Azure ND A100 v4 (one node), AWS p4d (two nodes)"},
      device_preset{
          {"h100", 3.35e12, detail::tera_operations(67, 494, 989, 1979), architecture::hopper, 370.8, 50, 8, true},
          132,
          detail::h100_lines,
          "NVIDIA H100 SXM data sheet",
          links,
          "XLA performance table 2026 (one node), nccl-tests all-reduce on AWS p5 (two nodes)"},
      device_preset{
          {"h200", 4.8e12, detail::tera_operations(67, 494, 989, 1979), architecture::hopper, 370.8, 50, 8, true},
          132,
          detail::h100_lines,
          "NVIDIA H200 SXM data sheet",
          links,
          "as h100, whose links and multiprocessors it has; not measured on H200"},
      device_preset{
          {"b200", 8e12, detail::tera_operations(37, 1125, 2250, 4500), architecture::blackwell, 721.8, 50, 8, true},
          148,
          detail::b200_lines,
          "NVIDIA HGX B200 data sheet",
          links,
          "XLA performance table 2026 (one node)"},
      device_preset{
          {"gb200", 8e12, detail::tera_operations(40, 1250, 2500, 5000), architecture::blackwell, 721.8, 50, 72, true},
          148,
          detail::gb200_lines,
          "NVIDIA GB200 NVL72 data sheet",
          links,
          "XLA performance table 2026 (one rack)"}};
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

}  // namespace v0
}  // namespace shardweave

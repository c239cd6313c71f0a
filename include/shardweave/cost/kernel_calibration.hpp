#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// A profile of a device's kernels from times that some of them took.

namespace shardweave::inline v0 {

/// How long a kernel took on a device, with nothing beside it.
struct measured_kernel {
  kernel_kind kind = kernel_kind::matrix_product;
  device_work work = {};
  double time_us = 0;
};

namespace detail {

/// Shares of a peak by `x`, of what takes half as long again as the shortest or more: others say what a launch takes.
/// Where there is no longer one, at least the largest share of them is reached.
class reached_shares {
 public:
  void add(double x, double share, double time_us) { all_.push_back({{x, share}, time_us}); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  [[nodiscard]] double floor() const { return std::ranges::min_element(all_, {}, &timed_share::time_us)->time_us; }
  /// \param floor  of all kernels that such a share says something of
  [[nodiscard]] saturation fit(double floor) const {
    std::vector<reached_share> longer;
    for (const timed_share& s : all_)
      if (s.time_us >= 1.5 * floor) longer.push_back(s.reached);
    if (longer.empty())
      longer.push_back(
          std::ranges::max_element(all_, {}, [](const timed_share& s) { return s.reached.share; })->reached);
    return fit_saturation(longer, 1);
  }

 private:
  struct timed_share {
    reached_share reached;
    double time_us = 0;
  };
  std::vector<timed_share> all_;
};

}  // namespace detail

/// Of attention that was measured by several kernels on the same work the fastest one, and all else as it is.
[[nodiscard]] inline std::vector<measured_kernel> fastest_kernels(std::span<const measured_kernel> all) {
  std::vector<measured_kernel> kept;
  std::map<std::tuple<kernel_kind, arithmetic, double, bytes>, std::size_t> at;
  for (const measured_kernel& k : all) {
    if (k.kind != kernel_kind::attention && k.kind != kernel_kind::attention_backward) {
      kept.push_back(k);
      continue;
    }
    const auto [found, is_new] = at.try_emplace({k.kind, k.work.kind, k.work.flops, k.work.moved}, kept.size());
    if (is_new) kept.push_back(k);
    kept[found->second].time_us = std::min(kept[found->second].time_us, k.time_us);
  }
  return kept;
}

/// The shares of a device's peaks that kernels reach, and what the shortest take, as measured; of kinds of kernels, and
/// kinds of arithmetic, of which none was measured, as before.
/// \throws error (input) if a kernel took no time or moved nothing, or computes what the device states no rate for
/// Source: least sum of relative errors (`fit_saturation`), of shares with which more work never takes less time.
/// Complexity: as that, for each kind of kernel
[[nodiscard]] inline compute_profile calibrate_kernels(compute_profile before, std::span<const measured_kernel> all) {
  std::map<std::pair<kernel_kind, arithmetic>, detail::reached_shares> computing;
  detail::reached_shares moving, any_computing;
  for (const measured_kernel& k : all) {
    if (!(k.time_us > 0) || !std::isfinite(k.time_us) || k.work.moved <= bytes(0))
      refuse(error_category::input, "a kernel took " + number_text(k.time_us) + " us to move " +
                                        std::to_string(k.work.moved.count()) + " bytes: both must be positive");
    const double moved = static_cast<double>(k.work.moved.count());
    if (k.kind == kernel_kind::memory_bound) {
      moving.add(moved, moved / (k.time_us * 1e-6) / before.device.memory_bandwidth, k.time_us);
      continue;
    }
    const double rate = before.device.rate(k.work.kind);
    if (!(rate > 0) || !(k.work.flops > 0))
      refuse(error_category::input, "a kernel does " + number_text(k.work.flops) + " operations, of which '" +
                                        std::string(before.device.name) + "' states a rate of " + number_text(rate) +
                                        ": both must be positive");
    for (detail::reached_shares* shares : {&any_computing, &computing[{k.kind, k.work.kind}]})
      shares->add(k.work.flops / moved, k.work.flops / (k.time_us * 1e-6) / rate, k.time_us);
  }
  compute_profile found = std::move(before);
  if (!moving.empty()) {
    found.launch_us = moving.floor();
    found.memory = moving.fit(found.launch_us);
  }
  if (!any_computing.empty()) found.product_floor_us = any_computing.floor();
  for (const auto& [which, shares] : computing) {
    by_arithmetic<saturation>& of = which.first == kernel_kind::attention            ? found.attention
                                    : which.first == kernel_kind::attention_backward ? found.attention_backward
                                                                                     : found.product;
    of[static_cast<std::size_t>(which.second)] = shares.fit(found.product_floor_us);
  }
  return found;
}

/// Errors of a profile on those measured kernels that are of a kind.
[[nodiscard]] inline error_figures kernel_errors(const compute_profile& profile, std::span<const measured_kernel> all,
                                                 kernel_kind kind, arithmetic type = arithmetic::f16) {
  std::vector<double> signed_percent;
  for (const measured_kernel& k : all)
    if (k.kind == kind && k.work.kind == type)
      signed_percent.push_back((profile.compute_time(k.work, kind) / k.time_us - 1) * 100);
  return error_figures::of(std::move(signed_percent));
}

}  // namespace shardweave::inline v0

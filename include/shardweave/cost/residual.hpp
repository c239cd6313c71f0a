#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/cost/affine_fit.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/blend.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
#include <shardweave/cost/detail/sampled_pair.hpp>
#include <shardweave/cost/detail/sorted_sizes.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Any collective model, corrected by measurements.

namespace shardweave::inline v0 {

/// Another model's answer times a correction that depends on collective, group and size.
///
/// At a measured size the answer is the measurement (of several the median, levelled as in `size_curve`). Between
/// two measured sizes it moves from one measured time to the other in step with the base, which so gives the shape
/// where nothing was measured: a base that is right up to a latency and a scale is corrected exactly. Beyond the
/// measured sizes the correction of the last one stays. Groups between measured ones lie between in logarithms, by the
/// number of ranks, at the sizes measured of either; groups beyond them take the base with the latency and scale that
/// fit all measurements of the collective best (of another collective's, if it has none).
///
/// Answers grow with the size wherever the base's do; where a base falls between two measured sizes, the logarithm of
/// the size takes its place, and the answer still stays between the two measurements.
template <class Base>
class residual {
 public:
  /// \throws error (input) if a size or a time is not positive, a group has fewer than two ranks, or the base prices a
  ///         measured collective at 0
  /// \pre the measured collectives are among `priced_collectives`
  residual(Base base, std::span<const collective_measurement> measured) : base_(std::move(base)) {
    const auto rows = detail::sorted_measurements(measured);
    std::array<std::vector<time_pair>, priced_collectives.size()> pairs;
    std::vector<time_pair> all;
    detail::for_each_curve(rows, [&](std::span<const collective_measurement> curve) {
      std::vector<timed_size> points;
      for (const collective_measurement& m : curve) points.push_back({m.size, m.time_us});
      const collective kind = curve.front().kind;
      row r;
      r.group = curve.front().group;
      std::vector<double> sizes;
      for (const timed_size& p : size_curve(points).points()) {
        const double predicted = detail::estimate_by(base_, kind, p.size, r.group).time_us;
        if (!(predicted > 0))
          refuse(error_category::input, "the base model prices the measured " + std::string(name_of(kind)) + " of " +
                                            std::to_string(p.size.count()) + " bytes at " + number_text(predicted) +
                                            " us; a correction needs a positive time");
        sizes.push_back(static_cast<double>(p.size.count()));
        r.base.push_back(predicted);
        r.time.push_back(p.time_us);
        pairs[static_cast<std::size_t>(kind)].push_back({predicted, p.time_us});
        all.push_back({predicted, p.time_us});
      }
      r.from = sizes.front();
      r.to = sizes.back();
      r.sizes = detail::sorted_sizes(std::move(sizes));
      rows_.add(kind, r.group, std::move(r));
    });
    rows_.fill_gaps(
        [&](collective kind, group_shape group, const auto& found) -> std::optional<row> {
          const row& a = *found.below;
          const row& b = *found.above;
          row r;
          r.group = group;
          std::vector<double> sizes;
          std::set_union(a.sizes.all().begin(), a.sizes.all().end(), b.sizes.all().begin(), b.sizes.all().end(),
                         std::back_inserter(sizes));
          bool is_priced = true;
          try_to(
              [&] {
                for (const double s : sizes) {
                  const bytes size(static_cast<std::int64_t>(s));
                  r.base.push_back(detail::estimate_by(base_, kind, size, group).time_us);
                  is_priced = r.base.back() > 0;
                  if (!is_priced) return;
                  r.time.push_back(between(kind, size, found));
                }
              },
              [&](const error&) {  // the base will say so to whoever asks for this group
                is_priced = false;
                return true;
              });
          if (!is_priced) return std::nullopt;
          r.sizes = detail::sorted_sizes(std::move(sizes));
          r.from = std::max(a.from, b.from);
          r.to = std::min(a.to, b.to);
          return r;
        },
        [&](collective kind, const row& a, const row& b) -> std::optional<detail::sampled_pair> {
          const auto time_of = [&](const row& r) {
            return [&](bytes size) { return r.at(size, detail::estimate_by(base_, kind, size, r.group).time_us); };
          };
          std::optional<detail::sampled_pair> sampled;
          try_to([&] { sampled = detail::sampled_pair::of(a.sizes.all(), b.sizes.all(), time_of(a), time_of(b)); },
                 [](const error&) { return true; });  // as above: then sizes are priced as they are asked for
          return sampled;
        });
    for (std::size_t k = 0; k < pairs.size(); ++k) elsewhere_[k] = fit_affine(pairs[k].empty() ? all : pairs[k]);
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    // before the base is asked: these few long instructions then run beside the base's many short ones
    const auto found = rows_.find(kind, group);
    const double far_time = found.far != nullptr ? found.far->at(size, found.weight) : 0;
    collective_estimate result = detail::estimate_by(base_, kind, size, group);
    if (group.ranks() == 1 || !(result.time_us > 0)) return result;
    double time = 0;
    if (found.below == nullptr) {
      time = elsewhere_[static_cast<std::size_t>(kind)](result.time_us);
      result.quality = estimate_quality::extrapolated;
    } else if (found.below == found.above) {
      time = found.below->at(size, result.time_us);
      result.quality = quality_of(*found.below, size);
    } else {
      time = found.far != nullptr ? far_time : between(kind, size, found);
      result.quality = std::min(quality_of(*found.below, size), quality_of(*found.above, size));
    }
    const double factor = time / result.time_us;
    result.latency_us *= factor;
    result.bandwidth_us *= factor;
    result.time_us = time;
    return result;
  }

  [[nodiscard]] const Base& base() const { return base_; }
  /// What leads from the base to groups that were not measured.
  [[nodiscard]] affine_correction elsewhere(collective kind) const {
    return elsewhere_[static_cast<std::size_t>(kind)];
  }

 private:
  struct row {
    group_shape group;
    detail::sorted_sizes sizes;
    std::vector<double> base;
    std::vector<double> time;
    double from = 0, to = 0;  ///< sizes between which it was measured

    [[nodiscard]] double at(bytes size, double predicted) const {
      const double s = static_cast<double>(size.count());
      if (s <= sizes.front()) return predicted * (time.front() / base.front());
      if (s >= sizes.back()) return predicted * (time.back() / base.back());
      const std::size_t i = sizes.at_most(s) - 1;
      const double rise = base[i + 1] - base[i];
      const double part = rise > 1e-9 * base[i] ? std::clamp((predicted - base[i]) / rise, 0.0, 1.0)
                                                : std::log(s / sizes[i]) / std::log(sizes[i + 1] / sizes[i]);
      return time[i] + part * (time[i + 1] - time[i]);
    }
  };

  /// The time between those of two measured groups.
  [[nodiscard]] double between(collective kind, bytes size,
                               typename detail::group_rows<row, detail::sampled_pair>::neighbours found) const {
    const auto of_row = [&](const row& r) {
      return r.at(size, detail::estimate_by(base_, kind, size, r.group).time_us);
    };
    return detail::blend(of_row(*found.below), of_row(*found.above), found.weight);
  }

  static estimate_quality quality_of(const row& r, bytes size) {
    const double s = static_cast<double>(size.count());
    return s >= r.from && s <= r.to ? estimate_quality::measured : estimate_quality::extrapolated;
  }

  [[no_unique_address]] Base base_;
  detail::group_rows<row, detail::sampled_pair> rows_;
  std::array<affine_correction, priced_collectives.size()> elsewhere_;
};

}  // namespace shardweave::inline v0

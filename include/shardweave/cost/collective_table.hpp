#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/blend.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
#include <shardweave/cost/detail/sampled_pair.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Collectives priced by a table of measurements.

namespace shardweave::inline v0 {

/// Interpolates measurements: a `size_curve` per collective and group, and between two measured group sizes the
/// weighted mean of the logarithms of both curves, by the logarithm of the number of ranks. Answers grow with the
/// size. Other groups (larger or smaller than all measured, other collectives) are answered by `Otherwise`.
///
/// `quality` is `measured` at sizes and groups within the measured ones, `extrapolated` outside of the sizes, and
/// what `Otherwise` says where that answers.
template <class Otherwise = alpha_beta>
class collective_table {
 public:
  /// \throws error (input) if a size or a time is not positive, or a group has fewer than two ranks
  /// \pre the measured collectives are among `priced_collectives`
  explicit collective_table(std::span<const collective_measurement> measured, Otherwise otherwise = {})
      : otherwise_(std::move(otherwise)) {
    const auto rows = detail::sorted_measurements(measured);
    detail::for_each_curve(rows, [&](std::span<const collective_measurement> curve) {
      std::vector<timed_size> points;
      for (const collective_measurement& m : curve) points.push_back({m.size, m.time_us});
      rows_.add(curve.front().kind, curve.front().group, {size_curve(points), points.front().size, points.back().size});
    });
    rows_.fill_gaps(
        [](collective, group_shape, const auto& found) {
          const row& a = *found.below;
          const row& b = *found.above;
          std::vector<timed_size> points;
          for (const row* r : {&a, &b})
            for (const timed_size& p : r->curve.points())
              points.push_back({p.size, detail::blend(a.curve.at(p.size), b.curve.at(p.size), found.weight)});
          return std::optional(row{size_curve(points), std::max(a.from, b.from), std::min(a.to, b.to)});
        },
        [](collective, const row& a, const row& b) {
          return detail::sampled_pair::of(
              a.curve.sizes(), b.curve.sizes(), [&](bytes size) { return a.curve.at(size); },
              [&](bytes size) { return b.curve.at(size); });
        });
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    if (group.ranks() == 1) return {};
    const auto found = rows_.find(kind, group);
    if (found.below == nullptr) return detail::estimate_by(otherwise_, kind, size, group);
    collective_estimate result;
    if (found.far != nullptr) {
      result.time_us = found.far->at(size, found.weight);
      result.latency_us = found.far->latency(found.weight);
    } else {
      result.time_us = found.below->curve.at(size);
      result.latency_us = found.below->curve.latency_us();
    }
    if (found.far == nullptr && found.above != found.below) {
      result.time_us = detail::blend(result.time_us, found.above->curve.at(size), found.weight);
      result.latency_us = detail::blend(result.latency_us, found.above->curve.latency_us(), found.weight);
    }
    result.bandwidth_us = result.time_us - result.latency_us;
    result.algorithm = "table";
    result.quality = found.below->covers(size) && found.above->covers(size) ? estimate_quality::measured
                                                                            : estimate_quality::extrapolated;
    return result;
  }

 private:
  struct row {
    size_curve curve;
    bytes from, to;  ///< between which it was measured
    [[nodiscard]] bool covers(bytes size) const { return size >= from && size <= to; }
  };

  detail::group_rows<row, detail::sampled_pair> rows_;
  [[no_unique_address]] Otherwise otherwise_;
};

template <class Range>
collective_table(const Range&) -> collective_table<alpha_beta>;

static_assert(collective_cost_model<collective_table<>>);

}  // namespace shardweave::inline v0

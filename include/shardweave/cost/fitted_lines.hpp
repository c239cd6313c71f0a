#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
#include <shardweave/cost/saturation.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

/// \file
/// Collectives priced by fitted lines: measurements in four figures per group.

namespace shardweave {
inline namespace v0 {

/// What one collective takes in one group.
struct fitted_line {
  collective kind{};
  group_shape group{};
  saturated_line line{};
};

/// Prices a collective by the line of its group; groups between two with lines have figures between theirs, in
/// logarithms by the number of ranks; what has no line is asked of `Otherwise`. An all-reduce is never cheaper than the
/// reduce-scatter of the same group, whatever noise went into the two lines. Answers grow with the size, where those of
/// `Otherwise` do.
template <collective_cost_model Otherwise = alpha_beta>
class fitted_lines {
 public:
  /// \param lines  of one collective sorted by nodes, then ranks per node
  explicit fitted_lines(std::span<const fitted_line> lines, Otherwise otherwise = {})
      : otherwise_(std::move(otherwise)) {
    for (const fitted_line& l : lines) rows_.add(l.kind, l.group, l.line);
    rows_.fill_gaps([](collective, group_shape, const auto& found) { return std::optional(between(found)); });
  }

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    collective_estimate result = one(kind, size, group);
    if (kind != collective::all_reduce || group.ranks() == 1) return result;
    const collective_estimate half = one(collective::reduce_scatter, size, group);
    return half.time_us > result.time_us ? half : result;
  }

 private:
  [[nodiscard]] collective_estimate one(collective kind, bytes size, group_shape group) const {
    if (group.ranks() == 1) return {};
    const auto found = rows_.find(kind, group);
    if (found.below == nullptr) return otherwise_.estimate(kind, size, group);
    const saturated_line line = found.below == found.above ? *found.below : between(found);
    collective_estimate result;
    result.time_us = line.at(static_cast<double>(size.count()));
    result.latency_us = line.latency_us;
    result.bandwidth_us = result.time_us - result.latency_us;
    result.algorithm = "fit";
    result.quality = estimate_quality::fitted;
    return result;
  }

  [[nodiscard]] static saturated_line between(const detail::group_rows<saturated_line>::neighbours& found) {
    const saturated_line& a = *found.below;
    const saturated_line& b = *found.above;
    const double w = found.weight;
    return {detail::blend(a.latency_us, b.latency_us, w), detail::blend(a.bandwidth, b.bandwidth, w),
            detail::blend(a.half_size, b.half_size, w), (1 - w) * a.power + w * b.power};
  }

  detail::group_rows<saturated_line> rows_;
  [[no_unique_address]] Otherwise otherwise_;
};

static_assert(collective_cost_model<fitted_lines<>>);

}  // namespace v0
}  // namespace shardweave

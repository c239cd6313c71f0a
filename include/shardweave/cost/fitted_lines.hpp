#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/blend.hpp>
#include <shardweave/cost/detail/group_rows.hpp>
#include <shardweave/cost/saturation.hpp>

#include <array>
#include <optional>
#include <span>
#include <utility>

/// \file
/// Collectives priced by fitted lines: measurements in four figures per group.

namespace shardweave::inline v0 {

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
template <class Otherwise = alpha_beta>
class fitted_lines {
 public:
  /// \param lines  of one collective sorted by nodes, then ranks per node
  explicit fitted_lines(std::span<const fitted_line> lines, Otherwise otherwise = {})
      : otherwise_(std::move(otherwise)) {
    for (const fitted_line& l : lines) rows_.add(l.kind, l.group, l.line);
    rows_.fill_gaps(
        [](collective, group_shape, const auto& found) {
          return std::optional(line_pair(*found.below, *found.above).at(found.weight));
        },
        [](collective, const saturated_line& a, const saturated_line& b) { return std::optional(line_pair(a, b)); });
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
    if (found.below == nullptr) return detail::estimate_by(otherwise_, kind, size, group);
    const auto moved = static_cast<double>(size.count());
    collective_estimate result;
    result.latency_us = found.far != nullptr ? found.far->latency(found.weight) : found.below->latency_us;
    result.bandwidth_us =
        found.far != nullptr ? found.far->bandwidth_us(moved, found.weight) : found.below->bandwidth_us(moved);
    result.time_us = result.latency_us + result.bandwidth_us;
    result.algorithm = "fit";
    result.quality = estimate_quality::fitted;
    return result;
  }

  /// Two lines and all between them.
  class line_pair {
   public:
    line_pair(const saturated_line& a, const saturated_line& b)
        : latency_(a.latency_us, b.latency_us),
          bandwidth_(a.bandwidth, b.bandwidth),
          half_size_(a.half_size, b.half_size),
          powers_{a.power, b.power} {}
    [[nodiscard]] saturated_line at(double w) const {
      return {latency_.at(w), bandwidth_.at(w), half_size_.at(w), power(w)};
    }
    /// The same line's, without making it.
    [[nodiscard]] double latency(double w) const { return latency_.at(w); }
    [[nodiscard]] double bandwidth_us(double size, double w) const {
      if (!(size > 0)) return 0;
      return size / (1e3 * bandwidth_.at(w)) * (1 + half_size_.ratio(w, size, power(w)));
    }

   private:
    [[nodiscard]] double power(double w) const { return (1 - w) * powers_[0] + w * powers_[1]; }

    detail::blended latency_, bandwidth_, half_size_;
    std::array<double, 2> powers_;
  };

  detail::group_rows<saturated_line, line_pair> rows_;
  [[no_unique_address]] Otherwise otherwise_;
};

static_assert(collective_cost_model<fitted_lines<>>);

}  // namespace shardweave::inline v0

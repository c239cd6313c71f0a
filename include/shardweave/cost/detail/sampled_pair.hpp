#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/detail/blend.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <vector>

/// \file
/// What lies between two measured groups that are too far apart for the groups between them to be prepared.

namespace shardweave::inline v0::detail {

/// The times of two groups over sizes, asked for beforehand: their logarithms at given sizes, at four more in every
/// doubling and half way between any two, with a parabola through each three. Exact at the given sizes; between them
/// off by less than a thousandth, where a time has a kink by less than a hundredth. Grows where the times do.
class sampled_pair {
 public:
  using time_of_size = std::function<double(bytes)>;

  /// \param below,above    sizes at which a time must be exact, in order
  /// \param of_below, ...  bytes -> microseconds
  /// \return               nothing if a byte takes no time, because that has no logarithm
  [[nodiscard]] static std::optional<sampled_pair> of(const std::vector<double>& below,
                                                      const std::vector<double>& above, const time_of_size& of_below,
                                                      const time_of_size& of_above) {
    const auto whole = [](double size) { return bytes(static_cast<std::int64_t>(size)); };
    std::vector<double> sizes;
    std::set_union(below.begin(), below.end(), above.begin(), above.end(), std::back_inserter(sizes));
    for (std::size_t c = 0; c < cells; ++c) sizes.push_back(std::floor(start_of(c)));
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    sampled_pair result;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double next = sizes[std::min(i + 1, sizes.size() - 1)];
      const double middle = std::floor((sizes[i] + next) / 2);
      const double part = next > sizes[i] ? (middle - sizes[i]) / (next - sizes[i]) : 0;
      const auto bend = [&](double from, double between, double to) {
        if (part == 0) return std::array<double, 3>{from, to - from, 0};
        const double rise = to - from;  // no more bend than leaves it growing
        const double most = std::max(rise, 0.0);
        return std::array<double, 3>{from, rise,
                                     std::clamp((between - from - rise * part) / (part * (1 - part)), -most, most)};
      };
      const auto logs = [&](const time_of_size& time_of) {
        return bend(std::log(time_of(whole(sizes[i]))), std::log(time_of(whole(middle))),
                    std::log(time_of(whole(next))));
      };
      result.points_.push_back({sizes[i], next > sizes[i] ? 1 / (next - sizes[i]) : 0, logs(of_below), logs(of_above)});
      if (!std::isfinite(result.points_.back().below[0] + result.points_.back().above[0])) return std::nullopt;
    }
    for (std::size_t c = 0; c < cells; ++c) {
      const auto first = std::upper_bound(sizes.begin(), sizes.end(), start_of(c)) - 1;
      const auto end = c + 1 < cells ? std::lower_bound(first, sizes.end(), start_of(c + 1)) : sizes.end();
      result.cells_[c] = {static_cast<std::uint32_t>(first - sizes.begin()),
                          static_cast<std::uint32_t>(end - first - 1)};
    }
    result.latency_ = blended(of_below(bytes(0)), of_above(bytes(0)));
    return result;
  }

  /// O(1) where doublings hold few of the given sizes.
  [[nodiscard]] double at(bytes asked, double weight) const {
    const auto size = static_cast<double>(asked.count());
    if (size < 1) return latency(weight);
    const auto cell = static_cast<std::size_t>((std::bit_cast<std::uint64_t>(size) - one) >> 50);
    const run& r = cells_[std::min(cell, cells - 1)];  // what rounds to 2^63 is in the last one
    std::size_t i = r.first;
    for (std::uint32_t left = r.more; left > 0 && points_[i + 1].size <= size; --left) ++i;  // mostly none
    const point& p = points_[i];
    const double part = (size - p.size) * p.inverse;
    const double bent = part * (1 - part);
    const double from = p.below[0] + part * p.below[1] + bent * p.below[2];
    const double to = p.above[0] + part * p.above[1] + bent * p.above[2];
    return std::exp(from + weight * (to - from));
  }
  /// What no byte takes.
  [[nodiscard]] double latency(double weight) const { return latency_.at(weight); }

 private:
  /// Where two parabolas begin: their values, their rise to the next point, their bend. Alone on its line of the cache.
  struct alignas(64) point {
    double size, inverse;
    std::array<double, 3> below, above;
  };
  /// The points of a cell: the last one at or before its beginning, and how many more are inside.
  struct run {
    std::uint32_t first = 0, more = 0;
  };
  static constexpr std::size_t cells = 4 * 62 + 4;  ///< up to 2^63 bytes
  static constexpr std::uint64_t one = std::uint64_t{1023} << 52;
  static double start_of(std::size_t cell) {
    return std::bit_cast<double>(one + (static_cast<std::uint64_t>(cell) << 50));
  }

  std::vector<point> points_;
  std::array<run, cells> cells_{};
  blended latency_{0, 0};
};

}  // namespace shardweave::inline v0::detail

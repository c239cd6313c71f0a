#pragma once

#include <shardweave/core/error.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// The least of any range of an array that does not change.

namespace shardweave::inline v0 {

/// Minimum of any range of an array in O(1), after O(n log n) of time and memory: a sparse table (M. A. Bender,
/// M. Farach-Colton, "The LCA problem revisited", LATIN 2000).
class range_minimum {
 public:
  explicit range_minimum(std::vector<double> values) : levels_{std::move(values)} {
    for (std::size_t width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const auto& below = levels_.back();
      std::vector<double> level(levels_[0].size() - 2 * width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::min(below[i], below[i + width]);
      levels_.push_back(std::move(level));
    }
  }
  /// \pre begin < end <= size
  [[nodiscard]] double operator()(std::size_t begin, std::size_t end) const {
    SHARDWEAVE_EXPECTS(begin < end && end <= levels_[0].size());
    const auto level = static_cast<std::size_t>(std::bit_width(end - begin) - 1);
    return std::min(levels_[level][begin], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<double>> levels_;
};

}  // namespace shardweave::inline v0

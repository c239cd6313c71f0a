#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Sizes in order, and where a size stands among them.

namespace shardweave::inline v0::detail {

/// Growing sizes in bytes. Measured sizes are mostly a doubling apart, so that the doubling of a size tells its place,
/// but for the few of the same doubling: finding it takes no steps that a processor would have to guess.
class sorted_sizes {
 public:
  sorted_sizes() = default;
  /// \pre they grow
  explicit sorted_sizes(std::vector<double> sizes) : sizes_(std::move(sizes)) {
    for (std::size_t w = 0; w < below_.size(); ++w)
      below_[w] = static_cast<std::uint32_t>(std::count_if(sizes_.begin(), sizes_.end(), [&](double s) {
        return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(s))) < w;
      }));
  }

  /// How many are at most `size`. O(1) where doublings hold few sizes, O(log n) at most.
  /// \pre size >= 0
  [[nodiscard]] std::size_t at_most(double size) const {
    const auto w = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size)));
    const auto from = sizes_.begin() + static_cast<std::ptrdiff_t>(below_[w]);
    const auto to = sizes_.begin() + static_cast<std::ptrdiff_t>(below_[w + 1]);
    if (to - from == 1) return below_[w] + (*from <= size ? 1 : 0);
    return static_cast<std::size_t>(std::upper_bound(from, to, size) - sizes_.begin());
  }

  [[nodiscard]] const std::vector<double>& all() const { return sizes_; }
  [[nodiscard]] double operator[](std::size_t i) const { return sizes_[i]; }
  [[nodiscard]] double front() const { return sizes_.front(); }
  [[nodiscard]] double back() const { return sizes_.back(); }
  [[nodiscard]] std::size_t size() const { return sizes_.size(); }

 private:
  std::vector<double> sizes_;
  std::array<std::uint32_t, 66> below_{};  ///< by bits: how many sizes have fewer
};

}  // namespace shardweave::inline v0::detail

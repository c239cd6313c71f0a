#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

/// \file
/// The largest of numbers whose first ones change together.

namespace shardweave::inline v0::detail {

/// Numbers at positions from 0 on: which one is largest where all before a position may get larger or smaller at once.
class largest_of_positions {
 public:
  explicit largest_of_positions(std::size_t many) {
    while (width_ < many) width_ *= 2;
    node_.assign(2 * width_, nothing);
    more_.assign(2 * width_, 0.0);
  }
  /// \pre what is added before positions above this one later does not count for it, and nothing was so far
  void set(std::size_t at, double value) {
    std::size_t n = at + width_;
    node_[n] = value;
    for (n /= 2; n > 0; n /= 2) pull(n);
  }
  /// To all positions below `end`.
  void add(std::size_t end, double amount) { add(1, 0, width_, end, amount); }
  /// Minus infinity where nothing was set.
  [[nodiscard]] double value() const { return node_[1]; }
  [[nodiscard]] std::size_t position() const {
    std::size_t n = 1;
    while (n < width_) n = node_[2 * n] >= node_[2 * n + 1] ? 2 * n : 2 * n + 1;
    return n - width_;
  }

 private:
  static constexpr double nothing = -std::numeric_limits<double>::infinity();

  void pull(std::size_t n) { node_[n] = std::max(node_[2 * n], node_[2 * n + 1]) + more_[n]; }
  void add(std::size_t n, std::size_t from, std::size_t to, std::size_t end, double amount) {
    if (end <= from) return;
    if (to <= end) {
      node_[n] += amount;
      more_[n] += amount;
      return;
    }
    const std::size_t middle = from + (to - from) / 2;
    add(2 * n, from, middle, end, amount);
    add(2 * n + 1, middle, to, end, amount);
    pull(n);
  }

  std::size_t width_ = 1;
  std::vector<double> node_, more_;
};

}  // namespace shardweave::inline v0::detail

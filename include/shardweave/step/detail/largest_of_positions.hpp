#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

/// \file
/// Segment tree: addition to a prefix, position of the maximum.

namespace shardweave::inline v0::detail {

/// Values at positions 0, 1, ...; adds to all values of a prefix and finds the first of the largest ones, in O(log n)
/// each.
class largest_of_positions {
 public:
  explicit largest_of_positions(std::size_t many) {
    while (width_ < many) width_ *= 2;
    node_.assign(2 * width_, nothing);
    more_.assign(2 * width_, 0.0);
  }
  /// \pre no earlier `add` reached this position
  void set(std::size_t at, double value) {
    std::size_t n = at + width_;
    node_[n] = value;
    for (n /= 2; n > 0; n /= 2) pull(n);
  }
  /// Adds to the values at all positions below `end`.
  void add(std::size_t end, double amount) { add(1, 0, width_, end, amount); }
  /// The largest value; -infinity where nothing was set.
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

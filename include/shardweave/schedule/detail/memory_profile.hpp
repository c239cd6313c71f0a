#pragma once

#include <shardweave/core/units.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

/// \file
/// Live bytes along an order, under changes of whole ranges.

namespace shardweave::inline v0::detail {

/// Segment tree of live bytes by place of an order: range add and range maximum, for checks whether something may be
/// made live earlier than in the order.
/// Complexity: O(log n) per call. A copy is a checkpoint.
class memory_profile {
 public:
  memory_profile() = default;
  explicit memory_profile(std::span<const bytes> along)
      : width_(std::bit_ceil(std::max<std::size_t>(along.size(), 1))), most_(2 * width_), raised_(width_) {
    for (std::size_t i = 0; i < along.size(); ++i) most_[width_ + i] = along[i];
    for (std::size_t i = width_; i-- > 1;) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
  }

  /// The maximum over places first <= i < end; 0 for an empty range.
  [[nodiscard]] bytes most(std::size_t first, std::size_t end) const {
    end = std::min(end, width_);
    return first < end ? most(1, 0, width_, first, end) : bytes(0);
  }
  void raise(std::size_t first, std::size_t end, bytes by) {
    end = std::min(end, width_);
    if (first < end) raise(1, 0, width_, first, end, by);
  }

 private:
  [[nodiscard]] bytes most(std::size_t node, std::size_t left, std::size_t right, std::size_t first,
                           std::size_t end) const {
    if (first <= left && right <= end) return most_[node];
    const std::size_t middle = (left + right) / 2;
    bytes result;
    if (first < middle) result = most(2 * node, left, middle, first, end);
    if (end > middle) result = std::max(result, most(2 * node + 1, middle, right, first, end));
    return result + raised_[node];
  }
  void raise(std::size_t node, std::size_t left, std::size_t right, std::size_t first, std::size_t end, bytes by) {
    if (first <= left && right <= end) {
      most_[node] += by;
      if (node < width_) raised_[node] += by;
      return;
    }
    const std::size_t middle = (left + right) / 2;
    if (first < middle) raise(2 * node, left, middle, first, end, by);
    if (end > middle) raise(2 * node + 1, middle, right, first, end, by);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + raised_[node];
  }

  std::size_t width_ = 0;
  std::vector<bytes> most_;    // maximum below a node, without the raises of nodes above it
  std::vector<bytes> raised_;  // raises of all places below a node
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <cstddef>
#include <vector>

/// \file
/// Sums that lose nothing to rounding on the way.

namespace shardweave::inline v0 {

/// A sum of doubles with what rounding takes off it: as if it were kept with twice as many digits.
/// Source: D. Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B.
class exact_sum {
 public:
  void add(double amount) {
    const double sum = high_ + amount, rest = sum - high_;
    low_ += (high_ - (sum - rest)) + (amount - rest);
    high_ = sum;
  }
  void add(const exact_sum& other) {
    add(other.high_);
    add(other.low_);
  }
  [[nodiscard]] double value() const { return high_ + low_; }

 private:
  double high_ = 0, low_ = 0;
};

/// What every place of an array has of amounts that were added to ranges of it. Nothing is left behind the end of a
/// range, however large the amounts in it were: rows of bytes stand before rows of small numbers.
/// Complexity: O(1) for an amount, O(places) for all values
class range_sums {
 public:
  explicit range_sums(std::size_t places) : changes_(places + 1) {}

  /// \pre begin, end <= places
  void add(std::size_t begin, std::size_t end, double amount) {
    if (amount == 0) return;
    changes_[begin].add(amount);
    changes_[end].add(-amount);
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> all(changes_.size() - 1);
    exact_sum now;
    for (std::size_t i = 0; i < all.size(); ++i) {
      now.add(changes_[i]);
      all[i] = now.value();
    }
    return all;
  }

 private:
  std::vector<exact_sum> changes_;
};

}  // namespace shardweave::inline v0

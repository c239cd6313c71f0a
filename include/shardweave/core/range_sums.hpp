#pragma once

#include <cstddef>
#include <vector>

/// \file
/// Compensated summation.

namespace shardweave::inline v0 {

/// A compensated sum of doubles: the rounding error of each addition is added up in a second double, so that the sum is
/// about as accurate as one with twice as many digits. It is not exact: the errors are themselves added with rounding.
/// Source: D. Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B, for the error of one addition; T.
/// Ogita, S. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), for the sum.
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

/// The values of an array after amounts were added to ranges of it, kept as differences between neighbours. The sums
/// are compensated (`exact_sum`), so that a large amount, once its range ends, does not spoil the small values behind
/// it.
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

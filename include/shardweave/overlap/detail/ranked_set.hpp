#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// A set of small numbers that gives its least one at once.

namespace shardweave::inline v0::detail {

/// Numbers below a limit as bits, with a bit above each word that is not empty, and so on up: every operation
/// touches one word per level, a level per factor of 64. Far quicker than a heap where ranks are known.
class ranked_set {
 public:
  ranked_set() = default;
  explicit ranked_set(std::size_t limit) {
    do {
      limit = (limit + 63) / 64;
      levels_.emplace_back(limit);
    } while (limit > 1);
  }
  [[nodiscard]] bool empty() const { return levels_.empty() || levels_.back().empty() || levels_.back()[0] == 0; }
  /// \pre not empty
  [[nodiscard]] std::size_t least() const {
    std::size_t at = 0;
    for (std::size_t k = levels_.size(); k-- > 0;)
      at = 64 * at + static_cast<std::size_t>(std::countr_zero(levels_[k][at]));
    return at;
  }
  void insert(std::size_t number) {
    for (std::vector<std::uint64_t>& level : levels_) {
      level[number / 64] |= std::uint64_t{1} << (number % 64);
      number /= 64;
    }
  }
  void erase(std::size_t number) {
    for (std::vector<std::uint64_t>& level : levels_) {
      if ((level[number / 64] &= ~(std::uint64_t{1} << (number % 64))) != 0) return;
      number /= 64;
    }
  }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace shardweave::inline v0::detail

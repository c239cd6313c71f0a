#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// What a block holds, or can hold without growing.
template <class Block>
[[nodiscard]] std::size_t room_in(const Block& block) {
  if constexpr (requires { block.capacity(); })
    return block.capacity();
  else
    return block.size();
}

/// Keeps memory that is slow to come by for whoever needs as much again.
/// Complexity: O(blocks kept) per block taken, O(1) per one given back.
template <class Block>
class block_pool {
 public:
  /// The smallest block that is large enough and not much larger; else what `make(size)` makes.
  template <class Make>
  [[nodiscard]] Block take(std::size_t wanted, Make make) {
    wanted = std::max<std::size_t>(wanted, 1);
    auto best = spare_.end();
    for (auto it = spare_.begin(); it != spare_.end(); ++it)
      if (room_in(*it) >= wanted && (best == spare_.end() || room_in(*it) < room_in(*best))) best = it;
    if (best == spare_.end() || room_in(*best) > 2 * wanted + slack) return make(wanted);
    Block found = std::move(*best);
    *best = std::move(spare_.back());
    spare_.pop_back();
    return found;
  }
  void give(Block block) {
    if (room_in(block) > 0) spare_.push_back(std::move(block));
  }

 private:
  static constexpr std::size_t slack = std::size_t{1} << 20U;
  std::vector<Block> spare_;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Keeps memory that is slow to come by for whoever needs as much again.
template <class Block>
class block_pool {
 public:
  /// The smallest block that is large enough and not much larger; else what `make(size)` makes.
  template <class Make>
  [[nodiscard]] Block take(std::size_t wanted, Make make) {
    wanted = std::max<std::size_t>(wanted, 1);
    auto best = spare_.end();
    for (auto it = spare_.begin(); it != spare_.end(); ++it)
      if (it->size() >= wanted && (best == spare_.end() || it->size() < best->size())) best = it;
    if (best == spare_.end() || best->size() > 2 * wanted + slack) return make(wanted);
    Block found = std::move(*best);
    *best = std::move(spare_.back());
    spare_.pop_back();
    return found;
  }
  void give(Block block) {
    if (block.size() > 0) spare_.push_back(std::move(block));
  }

 private:
  static constexpr std::size_t slack = std::size_t{1} << 20U;
  std::vector<Block> spare_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

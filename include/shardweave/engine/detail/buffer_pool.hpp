#pragma once

#include <shardweave/core/units.hpp>

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// Memory that communication uses again and again.

namespace shardweave {
inline namespace v0 {
namespace detail {

using byte_buffer = std::vector<std::byte>;

/// Buffers that are given back are kept, because fresh memory is slow on first touch: after a replay the pool holds
/// what the next one of the same schedule takes. What a buffer holds when it is taken is left over from before.
/// Complexity: O(buffers kept) per buffer taken, O(1) per one given back.
class buffer_pool {
 public:
  /// Of that size: the smallest kept that has the capacity, grown from nothing if none has.
  [[nodiscard]] byte_buffer take(bytes size) {
    const auto wanted = static_cast<std::size_t>(size.count());
    auto best = spare_.end();
    for (auto it = spare_.begin(); it != spare_.end(); ++it)
      if (it->capacity() >= wanted && (best == spare_.end() || it->capacity() < best->capacity())) best = it;
    byte_buffer found;
    if (best != spare_.end()) {
      found = std::move(*best);
      *best = std::move(spare_.back());
      spare_.pop_back();
    }
    found.resize(wanted);
    return found;
  }
  /// Leaves `buffer` empty. One that is empty already may be given back, too.
  void release(byte_buffer& buffer) {
    if (buffer.capacity() > 0) spare_.push_back(std::move(buffer));
    buffer = {};
  }

 private:
  std::vector<byte_buffer> spare_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/engine/detail/block_pool.hpp>

#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// Memory that communication uses again and again.

namespace shardweave::inline v0::detail {

using byte_buffer = std::vector<std::byte>;

/// Buffers that are given back are kept, because fresh memory is slow on first touch: after a replay the pool holds
/// what the next one of the same schedule takes. What a buffer holds when it is taken is left over from before.
/// Complexity: O(buffers kept) per buffer taken, O(1) per one given back.
class buffer_pool {
 public:
  /// Of that size: a kept one that has the capacity, and not much more, or grown from nothing if none has.
  [[nodiscard]] byte_buffer take(bytes size) {
    const auto wanted = static_cast<std::size_t>(size.count());
    byte_buffer found = spare_.take(wanted, [](std::size_t) { return byte_buffer(); });
    found.resize(wanted);
    return found;
  }
  /// Leaves `buffer` empty. One that is empty already may be given back, too.
  void release(byte_buffer& buffer) {
    spare_.give(std::move(buffer));
    buffer = {};
  }

 private:
  block_pool<byte_buffer> spare_;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/engine/detail/buffer_pool.hpp>
#include <shardweave/engine/payload.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

/// \file
/// Packing and unpacking of buckets by real copies.

namespace shardweave::inline v0::detail {

/// The buffers of a bucket's members beside the bucket's own, for one bucket at a time: `open`, then `pack` or
/// `unpack`, then `close`. The copies are the work that is timed; making and filling the members' buffers is not.
/// Complexity: O(bytes) per copy.
class bucket_copies {
 public:
  /// \pre pool outlives this
  explicit bucket_copies(buffer_pool& pool) : pool_(&pool) {}

  /// A buffer of `blocks` blocks of its unit for each member: those that it sends, or those that it receives.
  /// \pre shape outlives the copies
  std::span<byte_buffer> open(const payload_shape& shape, std::int64_t blocks) {
    shape_ = &shape;
    blocks_ = blocks;
    members_.clear();
    for (const std::int64_t unit : shape.units)
      members_.push_back(pool_->take(bytes(blocks * unit * width_of(shape.type))));
    return members_;
  }
  /// Copies the members' buffers into the bucket's, and calls `between()` now and then.
  template <class Between>
  void pack(std::span<std::byte> bucket, const Between& between) {
    for_each_unit(*shape_, blocks_, [&](std::size_t in_bucket, std::size_t in_member, std::size_t m, std::size_t n) {
      if (n > 0) std::memcpy(bucket.data() + in_bucket, members_[m].data() + in_member, n);
      count(n, between);
    });
  }
  /// The reverse.
  template <class Between>
  void unpack(std::span<const std::byte> bucket, const Between& between) {
    for_each_unit(*shape_, blocks_, [&](std::size_t in_bucket, std::size_t in_member, std::size_t m, std::size_t n) {
      if (n > 0) std::memcpy(members_[m].data() + in_member, bucket.data() + in_bucket, n);
      count(n, between);
    });
  }
  /// Gives the members' buffers back.
  void close() {
    for (byte_buffer& member : members_) pool_->release(member);
  }

 private:
  template <class Between>
  void count(std::size_t copied, const Between& between) {
    copied_ += copied;
    if (copied_ < (std::size_t{1} << 17U)) return;  // some 20 us
    copied_ = 0;
    between();
  }

  buffer_pool* pool_;
  const payload_shape* shape_ = nullptr;
  std::int64_t blocks_ = 0;
  std::vector<byte_buffer> members_;
  std::size_t copied_ = 0;  // since `between` was called last, of this bucket or those before
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/move.hpp>

#include <span>

/// \file
/// Who decides about moves whose costs are not the whole truth.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Has the last word on the moves that a descent favours. It is told of all that are made, so it may keep a labeling of
/// its own.
class move_judge {
 public:
  virtual ~move_judge() = default;
  /// Makes the moves on its own labeling, or refuses them.
  virtual bool accepts(std::span<const relabel> moves) = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

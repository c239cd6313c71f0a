#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <cstdint>
#include <string>

namespace shardweave::inline v0::detail {

/// \throws error (input) if a group has no ranks
inline void require_ranks(group_shape group) {
  if (group.ranks_per_node < 1 || group.nodes < 1)
    refuse(error_category::input, "a group of " + std::to_string(group.nodes) + " nodes with " +
                                      std::to_string(group.ranks_per_node) + " ranks each has no ranks");
  constexpr std::int64_t most = std::int64_t{1} << 40;  // more than any machine has
  if (group.nodes > most / group.ranks_per_node)
    refuse(error_category::input, "a group of " + std::to_string(group.nodes) + " nodes with " +
                                      std::to_string(group.ranks_per_node) + " ranks each, expected " +
                                      std::to_string(most) + " ranks at most");
}

}  // namespace shardweave::inline v0::detail

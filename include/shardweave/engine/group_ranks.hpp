#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Which ranks of a run make up a process group.

namespace shardweave::inline v0 {

/// A division of all ranks into groups of `size` ranks, `stride` apart.
struct rank_layout {
  std::int64_t size = 1;
  std::int64_t stride = 1;

  /// The position of a rank in its group.
  [[nodiscard]] constexpr std::int64_t position(std::int64_t rank) const { return rank / stride % size; }
  /// The first rank of a rank's group.
  [[nodiscard]] constexpr std::int64_t first(std::int64_t rank) const { return rank - position(rank) * stride; }
  /// The ranks of a rank's group, in order.
  [[nodiscard]] std::vector<std::int64_t> members(std::int64_t rank) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < size; ++i) all.push_back(first(rank) + i * stride);
    return all;
  }
  friend bool operator==(const rank_layout&, const rank_layout&) = default;
};

/// How messages name a group.
[[nodiscard]] inline std::string label_of(const process_group& group) {
  return "group " + std::to_string(group.id) + (group.name.empty() ? "" : " (" + group.name + ")");
}

/// The layout of a group on `world` ranks. A task graph lists one rank's group; those of the others are its
/// translates. Without a distance (`stride`, or two `ranks`) neighbours stand together; without a size the group is
/// everyone.
/// \throws error if the listed ranks are not equally far apart or no group of the division, or groups of that size and
///         distance do not divide the ranks of the run
[[nodiscard]] inline rank_layout layout_of(const process_group& group, std::int64_t world) {
  rank_layout layout;
  const auto listed = static_cast<std::int64_t>(group.ranks.size());
  layout.size = group.size > 0 ? group.size : listed > 0 ? listed : world;
  for (const std::int64_t rank : group.ranks)
    if (rank < 0 || rank >= world)
      refuse(error_category::input,
             label_of(group) + " lists rank " + std::to_string(rank) + ", but this run has " + std::to_string(world));
  if (group.stride) {
    layout.stride = *group.stride;
  } else if (listed > 1 && layout.size < world) {
    layout.stride = group.ranks[1] - group.ranks[0];
    for (std::size_t i = 1; i < group.ranks.size(); ++i)
      if (group.ranks[i] - group.ranks[i - 1] != layout.stride)
        refuse(error_category::input, label_of(group) + " lists rank " + std::to_string(group.ranks[i]) + " after " +
                                          std::to_string(group.ranks[i - 1]) + ", expected ranks " +
                                          std::to_string(layout.stride) + " apart");
  }
  if (layout.size == 1) layout.stride = 1;
  if (layout.stride < 1 || layout.size > world || layout.stride > world / layout.size ||
      world % (layout.size * layout.stride) != 0)
    refuse(error_category::input, label_of(group) + " has " + std::to_string(layout.size) + " ranks, " +
                                      std::to_string(layout.stride) + " apart, which does not divide the " +
                                      std::to_string(world) + " ranks of this run");
  // a list that begins in the middle of a group would name ranks of two
  if (!group.stride && listed == layout.size && layout.size < world && layout.first(group.ranks[0]) != group.ranks[0])
    refuse(error_category::input, label_of(group) + " begins with rank " + std::to_string(group.ranks[0]) +
                                      ", expected a first rank of groups of " + std::to_string(layout.size) +
                                      " ranks, " + std::to_string(layout.stride) + " apart");
  return layout;
}

/// Of every group.
/// \throws error as `layout_of`
[[nodiscard]] inline std::vector<rank_layout> layouts_of(std::span<const process_group> groups, std::int64_t world) {
  std::vector<rank_layout> layouts;
  for (const process_group& group : groups) layouts.push_back(layout_of(group, world));
  return layouts;
}
/// A number below 2^30 by which ranks compare their groups.
[[nodiscard]] inline std::int64_t fingerprint_of(std::span<const rank_layout> layouts) {
  auto print = static_cast<std::int64_t>(layouts.size());
  for (const rank_layout& l : layouts) print = (print * 1'000'003 + l.size * 4099 + l.stride) % 1'000'000'007;
  return print;
}

}  // namespace shardweave::inline v0

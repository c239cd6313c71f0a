#pragma once

#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

/// \file
/// What is known of some groups, and which of it speaks for another group.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Rows by collective and group. A group that has none is placed between two that have, which share its number
/// of nodes, or else its number of ranks per node.
template <class Row>
class group_rows {
 public:
  /// The weight of `above` is by the logarithm of the number of ranks. Without neighbours both are null; of a group
  /// with a row both are that row.
  struct neighbours {
    const Row* below = nullptr;
    const Row* above = nullptr;
    double weight = 0;
  };

  /// Rows come sorted by nodes, then ranks per node.
  void add(collective kind, group_shape group, Row row) { of(kind).emplace_back(group, std::move(row)); }

  [[nodiscard]] bool has(collective kind) const { return !of(kind).empty(); }

  [[nodiscard]] neighbours find(collective kind, group_shape group) const {
    const auto& rows = of(kind);
    for (const auto& [g, row] : rows)
      if (g == group) return {&row, &row, 0};
    const neighbours inside = between(rows, group, [&](group_shape g) { return g.nodes == group.nodes; });
    if (inside.below != nullptr) return inside;
    return between(rows, group, [&](group_shape g) { return g.ranks_per_node == group.ranks_per_node; });
  }

 private:
  using list = std::vector<std::pair<group_shape, Row>>;

  template <class Comparable>
  static neighbours between(const list& rows, group_shape group, Comparable comparable) {
    const std::pair<group_shape, Row>* below = nullptr;
    const std::pair<group_shape, Row>* above = nullptr;
    for (const auto& entry : rows) {
      if (!comparable(entry.first)) continue;
      const auto ranks = entry.first.ranks();
      if (ranks < group.ranks() && (below == nullptr || ranks > below->first.ranks())) below = &entry;
      if (ranks > group.ranks() && (above == nullptr || ranks < above->first.ranks())) above = &entry;
    }
    if (below == nullptr || above == nullptr) return {};
    const auto log_of = [](group_shape g) { return std::log(static_cast<double>(g.ranks())); };
    return {&below->second, &above->second,
            (log_of(group) - log_of(below->first)) / (log_of(above->first) - log_of(below->first))};
  }

  [[nodiscard]] list& of(collective kind) { return lists_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const list& of(collective kind) const { return lists_[static_cast<std::size_t>(kind)]; }

  std::array<list, 4> lists_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

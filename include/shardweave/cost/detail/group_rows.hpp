#pragma once

#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// What is known of some groups, and which of it speaks for another group.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// The place of a row by the key of its group, which is not 0. Looked up for every estimate, so without the division
/// and the nodes of a general map: an open table of twice to four times the places.
class group_index {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  /// The first place given for a key stays.
  void add(std::uint64_t key, std::size_t place) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    slot& to = slots_[where(key)];
    if (to.key == key) return;
    to = {key, place};
    ++size_;
  }
  [[nodiscard]] std::size_t find(std::uint64_t key) const {
    if (slots_.empty()) return none;
    const slot& at = slots_[where(key)];
    return at.key == key ? at.place : none;
  }

 private:
  struct slot {
    std::uint64_t key = 0;
    std::size_t place = none;
  };

  /// The slot of the key, or the free one where it would go.
  [[nodiscard]] std::size_t where(std::uint64_t key) const {
    std::size_t i = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> shift_);  // Fibonacci hashing
    while (slots_[i].key != 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<slot> old(slots_.empty() ? 8 : 2 * slots_.size());
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const slot& s : old)
      if (s.key != 0) slots_[where(s.key)] = s;
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 0;
};

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
  void add(collective kind, group_shape group, Row row) {
    list& to = of(kind);
    to.index.add(key(group), to.rows.size());
    to.rows.emplace_back(group, std::move(row));
    ++to.given;
    to.most_nodes = std::max(to.most_nodes, group.nodes);
  }

  /// Gives the groups between rows a row of their own, so that asking for them costs no more than for the others;
  /// wider gaps than `most_between` groups are left to whoever asks.
  /// \param between  (kind, group, neighbours) -> std::optional<Row>
  template <class Between>
  void fill_gaps(Between between) {
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      list& l = lists_[k];
      for (std::size_t i = 0; i < l.given; ++i)
        for (std::size_t j = 0; j < l.given; ++j) {
          const group_shape a = l.rows[i].first;
          const group_shape b = l.rows[j].first;
          const bool inside = a.nodes == b.nodes;
          if ((!inside && a.ranks_per_node != b.ranks_per_node) || a.ranks() >= b.ranks() ||
              (b.ranks() - a.ranks()) / (inside ? a.nodes : a.ranks_per_node) > most_between)
            continue;
          for (group_shape g = a; g.ranks() < b.ranks(); ++(inside ? g.ranks_per_node : g.nodes)) {
            if (l.index.find(key(g)) != group_index::none) continue;
            std::optional<Row> row = between(static_cast<collective>(k), g, around(l, g));
            if (!row) continue;
            l.index.add(key(g), l.rows.size());
            l.rows.emplace_back(g, std::move(*row));
          }
        }
    }
  }

  [[nodiscard]] neighbours find(collective kind, group_shape group) const {
    const list& l = of(kind);
    if (l.rows.empty()) return {};
    if (const std::size_t found = l.index.find(key(group)); found != group_index::none) {
      const Row* row = &l.rows[found].second;
      return {row, row, 0};
    }
    if (group.nodes > l.most_nodes) return {};  // between no two, as most groups of a large machine are
    return around(l, group);
  }

 private:
  using entry = std::pair<group_shape, Row>;
  struct list {
    std::vector<entry> rows;  ///< the given ones first
    std::size_t given = 0;
    std::int64_t most_nodes = 0;  ///< of the given ones
    group_index index;
  };
  static constexpr std::int64_t most_between = 256;

  /// Different for groups of up to 2^32 nodes with up to 2^32 ranks each.
  static std::uint64_t key(group_shape g) {
    return (static_cast<std::uint64_t>(g.nodes) << 32) ^ static_cast<std::uint64_t>(g.ranks_per_node);
  }

  static neighbours around(const list& l, group_shape group) {
    const std::span rows(l.rows.data(), l.given);
    const neighbours inside = between(rows, group, [&](group_shape g) { return g.nodes == group.nodes; });
    if (inside.below != nullptr) return inside;
    return between(rows, group, [&](group_shape g) { return g.ranks_per_node == group.ranks_per_node; });
  }

  template <class Comparable>
  static neighbours between(std::span<const entry> rows, group_shape group, Comparable comparable) {
    const entry* below = nullptr;
    const entry* above = nullptr;
    for (const entry& e : rows) {
      if (!comparable(e.first)) continue;
      const auto ranks = e.first.ranks();
      if (ranks < group.ranks() && (below == nullptr || ranks > below->first.ranks())) below = &e;
      if (ranks > group.ranks() && (above == nullptr || ranks < above->first.ranks())) above = &e;
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

/// A weighted geometric mean; of a figure that is 0 the weighted mean.
[[nodiscard]] inline double blend(double a, double b, double weight) {
  if (!(a > 0) || !(b > 0)) return (1 - weight) * a + weight * b;
  return std::exp((1 - weight) * std::log(a) + weight * std::log(b));
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

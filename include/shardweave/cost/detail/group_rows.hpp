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

namespace shardweave::inline v0::detail {

/// The place of a row by the key of its group, which is not 0. Looked up for every estimate, so without the division
/// and the nodes of a general map: an open table of four to eight times the places, in which few keys meet.
class group_index {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  /// The first place given for a key stays.
  void add(std::uint64_t key, std::size_t place) {
    if (4 * (size_ + 1) > slots_.size()) grow();
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
/// \tparam Far  what is prepared of two rows for the groups between them, where those are too many for rows of their
/// own
template <class Row, class Far>
class group_rows {
 public:
  /// The weight of `above` is by the logarithm of the number of ranks. Without neighbours both are null; of a group
  /// with a row both are that row.
  struct neighbours {
    const Row* below = nullptr;
    const Row* above = nullptr;
    double weight = 0;
    const Far* far = nullptr;  ///< null of neighbours for which nothing was prepared
  };

  /// Rows come sorted by nodes, then ranks per node.
  void add(collective kind, group_shape group, Row row) {
    list& to = of(kind);
    to.index.add(key(group), to.rows.size());
    to.rows.emplace_back(group, std::move(row));
    ++to.given;
    to.most_nodes = std::max(to.most_nodes, group.nodes);
    to.most_per_node = std::max(to.most_per_node, group.ranks_per_node);
  }

  /// Gives the groups between rows a row of their own, so that asking for them costs no more than for the others;
  /// of wider gaps than `most_between` groups the two ends are prepared.
  /// \param between  (kind, group, neighbours) -> std::optional<Row>
  /// \param prepare  (kind, row below, row above) -> std::optional<Far>
  template <class Between, class Prepare>
  void fill_gaps(Between between, Prepare prepare) {
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      list& l = lists_[k];
      const auto kind = static_cast<collective>(k);
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
            std::optional<Row> row = between(kind, g, around(l, g));
            if (!row) {
              l.complete = false;
              continue;
            }
            l.index.add(key(g), l.rows.size());
            l.rows.emplace_back(g, std::move(*row));
          }
        }
      for (const bool inside : {true, false})
        add_wide_gaps(l, inside, [&](const Row& a, const Row& b) { return prepare(kind, a, b); });
    }
  }

  [[nodiscard]] neighbours find(collective kind, group_shape group) const {
    const list& l = of(kind);
    if (l.rows.empty()) return {};
    if (const std::size_t found = l.index.find(key(group)); found != group_index::none) {
      const Row* row = &l.rows[found].second;
      return {row, row, 0};
    }
    // between no two, as most groups of a large machine are; or none, which is the base's to say
    if (group.nodes > l.most_nodes || group.ranks_per_node > l.most_per_node) return {};
    if (group.nodes < 1 || group.ranks_per_node < 1) return {};
    const gap* between = l.gaps_inside ? gap_of(l, line_of(group, true), group) : nullptr;
    if (between == nullptr && !l.gaps.empty()) between = gap_of(l, line_of(group, false), group);
    if (between == nullptr) return l.complete ? neighbours{} : around(l, group);
    return {&l.rows[between->below].second, &l.rows[between->above].second,
            (std::log(static_cast<double>(group.ranks())) - between->log_from) * between->per_log, &between->far};
  }

 private:
  using entry = std::pair<group_shape, Row>;
  /// A wide gap between two rows of the same number of nodes, or of ranks per node.
  struct gap {
    std::uint64_t line;
    std::int64_t from, to;  ///< ranks, both beyond the gap
    std::size_t below, above;
    double log_from, per_log;
    Far far;
  };
  struct list {
    std::vector<entry> rows;  ///< the given ones first
    std::size_t given = 0;
    std::int64_t most_nodes = 0;     ///< of the given ones
    std::int64_t most_per_node = 0;  ///< ranks, the same
    group_index index;
    std::vector<gap> gaps;  ///< those of a line in a row
    group_index lines;      ///< the first gap of a line
    bool gaps_inside = false;
    bool complete = true;  ///< whatever lies between two rows is in `index` or in `gaps`
  };
  static constexpr std::int64_t most_between = 256;

  /// Different for groups of up to 2^32 nodes with up to 2^32 ranks each.
  static std::uint64_t key(group_shape g) {
    return (static_cast<std::uint64_t>(g.nodes) << 32) ^ static_cast<std::uint64_t>(g.ranks_per_node);
  }

  /// What groups share that a gap can lie between; not 0.
  static std::uint64_t line_of(group_shape g, bool inside) {
    return static_cast<std::uint64_t>(inside ? g.nodes : g.ranks_per_node) << 1 | (inside ? 1 : 0);
  }

  template <class Prepare>
  static void add_wide_gaps(list& l, bool inside, Prepare prepare) {
    for (std::size_t i = 0; i < l.given; ++i) {
      const group_shape a = l.rows[i].first;
      const std::uint64_t line = line_of(a, inside);
      std::size_t next = l.given;
      for (std::size_t j = 0; j < l.given; ++j) {
        const group_shape b = l.rows[j].first;
        if (line_of(b, inside) == line && b.ranks() > a.ranks() &&
            (next == l.given || b.ranks() < l.rows[next].first.ranks()))
          next = j;
      }
      if (next == l.given) continue;
      const group_shape b = l.rows[next].first;
      if ((b.ranks() - a.ranks()) / (inside ? a.nodes : a.ranks_per_node) <= most_between) continue;
      std::optional<Far> far = prepare(l.rows[i].second, l.rows[next].second);
      if (!far) {
        l.complete = false;
        continue;
      }
      l.gaps_inside |= inside;
      const double log_from = std::log(static_cast<double>(a.ranks()));
      const auto place = std::upper_bound(l.gaps.begin(), l.gaps.end(), std::pair(line, a.ranks()),
                                          [](const auto& at, const gap& g) { return at < std::pair(g.line, g.from); });
      l.gaps.insert(place, {line, a.ranks(), b.ranks(), i, next, log_from,
                            1 / (std::log(static_cast<double>(b.ranks())) - log_from), std::move(*far)});
    }
    l.lines = {};
    for (std::size_t i = 0; i < l.gaps.size(); ++i) l.lines.add(l.gaps[i].line, i);
  }

  static const gap* gap_of(const list& l, std::uint64_t line, group_shape group) {
    for (std::size_t i = l.lines.find(line); i < l.gaps.size() && l.gaps[i].line == line; ++i) {
      const gap& g = l.gaps[i];
      const std::int64_t ranks = group.ranks();
      if (g.from < ranks && ranks < g.to) return &g;
    }
    return nullptr;
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

  std::array<list, priced_collectives.size()> lists_;
};

}  // namespace shardweave::inline v0::detail

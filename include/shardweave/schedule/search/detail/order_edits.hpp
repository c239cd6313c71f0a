#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/search/detail/bucketed_order.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Edits of an order and of its buckets between two places.

namespace shardweave::inline v0::detail {

/// Edits that keep a `bucketed_order` topological and the members of its buckets together. An edit that would close a
/// cycle is refused and changes nothing. Coalesced buckets move, but keep their members.
/// Complexity: O(tasks between the places that an edit names, and their edges)
class order_edits {
 public:
  /// \param most  launches and tasks that move together; an edit that would move more is refused
  /// \pre g and order outlive this
  order_edits(const task_graph& g, bucketed_order& order, std::size_t most)
      : g_(&g), order_(&order), most_(most), stamps_(order.size()) {}

  /// Moves the task at a place to an earlier one, with all between on which it depends.
  bool pull(std::uint32_t from, std::uint32_t to) {
    to = order_->first_place(to);
    if (to >= order_->first_place(from)) return false;
    from = order_->last_place(from);
    if (!mark_needs(from, to, no_index)) return false;
    order_->arrange(to, from, [this](task_index t) { return is_marked(t) ? 0 : 1; });
    return true;
  }
  /// Moves the task at a place to a later one, with all between that depends on it.
  bool push(std::uint32_t from, std::uint32_t to) {
    to = order_->last_place(to);
    if (order_->last_place(from) >= to) return false;
    from = order_->first_place(from);
    if (!mark_users(from, to, no_index)) return false;
    order_->arrange(from, to, [this](task_index t) { return is_marked(t) ? 1 : 0; });
    return true;
  }
  /// Moves work of up to `amount` to a place from later ones, the first that depends on nothing in between. Launches
  /// and waits stay.
  /// \param behind  a place: what stands before it stays, too
  bool fill(std::uint32_t to, nanoseconds amount, std::uint32_t behind) {
    to = order_->first_place(to);
    ++stamp_;
    nanoseconds found;
    std::uint32_t last = to;
    std::size_t moved = 0;
    for (std::uint32_t i = std::max(behind, to); i < order_->size() && found < amount && moved < most_; ++i) {
      const task_index t = (*order_)[i];
      if (g_->is_collective(t) || g_->kind(t) == task_kind::wait) continue;
      const auto is_there = [&](const auto& e) { return order_->place_of(e.source) < to || is_marked(e.source); };
      if (found + g_->duration(t) > amount || !std::ranges::all_of(g_->dependencies().in(t), is_there)) continue;
      mark(t);
      if (g_->duration(t) == nanoseconds(0)) continue;
      found += g_->duration(t);
      last = i;
      ++moved;
    }
    if (last == to) return false;
    order_->arrange(to, last, [this](task_index t) { return is_marked(t) ? 0 : 1; });
    return true;
  }
  /// Merges two collectives, each with its bucket, at the place of the earlier or of the later one.
  /// \pre they may be members of one bucket
  bool join(task_index a, task_index b, bool early) {
    if (order_->place_of(a) > order_->place_of(b)) std::swap(a, b);
    if (order_->is_together(a, b) || order_->is_coalesced(a) || order_->is_coalesced(b)) return false;
    const std::uint32_t first = order_->first_place(order_->place_of(a));
    const std::uint32_t last = order_->last_place(order_->place_of(b));
    if (early ? !mark_needs(last, first, a) : !mark_users(first, last, b)) return false;
    order_->arrange(first, last, [&](task_index t) {
      if (order_->is_together(t, a)) return 1;
      if (order_->is_together(t, b)) return 2;
      return is_marked(t) == early ? 0 : 3;
    });
    std::vector<task_index> members(order_->together(a).begin(), order_->together(a).end());
    members.insert(members.end(), order_->together(b).begin(), order_->together(b).end());
    const std::uint32_t one = order_->bucket_of(a), other = order_->bucket_of(b);
    if (one != no_index && other != no_index) order_->fill(other, {});
    order_->fill(one != no_index ? one : other != no_index ? other : order_->empty_bucket(), std::move(members));
    return true;
  }
  /// Splits a bucket into two that are launched right after each other: the first `count` of `sequence`, and the rest;
  /// into single launches if `count` is 0.
  /// \pre sequence has all members of the bucket, count is less than their number
  bool divide(std::uint32_t b, const std::vector<task_index>& sequence, std::size_t count) {
    if (order_->bucket_at(b).coalesced) return false;
    order_->write(order_->first_place(order_->place_of(sequence.front())), sequence);
    const auto middle = sequence.begin() + static_cast<std::ptrdiff_t>(count);
    order_->fill(b, {});
    if (count > 1) order_->fill(b, {sequence.begin(), middle});
    if (count > 0 && sequence.size() - count > 1) order_->fill(order_->empty_bucket(), {middle, sequence.end()});
    return true;
  }

  /// Marks all that a task depends on, and what is launched together with that, until the next edit.
  void mark_needs_of(task_index t) {
    ++stamp_;
    mark(t);
    for (std::uint32_t i = order_->last_place(order_->place_of(t)) + 1; i-- > 0;)
      if (is_marked((*order_)[i]))
        for (const auto& e : g_->dependencies().in((*order_)[i])) mark(e.source);
  }
  [[nodiscard]] bool is_marked(task_index t) const { return stamps_[t] == stamp_; }

 private:
  void mark(task_index t) {
    if (is_marked(t)) return;
    for (const task_index m : order_->together(t)) stamps_[m] = stamp_;
  }
  /// Counts tasks that are launched together once.
  [[nodiscard]] bool counts(task_index t) const { return order_->together(t).front() == t; }

  /// Marks the task at a place and all on which it depends back to another place. \returns false if these are too many,
  /// or include `not_this`
  bool mark_needs(std::uint32_t from, std::uint32_t to, task_index not_this) {
    ++stamp_;
    mark((*order_)[from]);
    std::size_t moved = 0;
    for (std::uint32_t i = from + 1; i-- > to;) {
      const task_index t = (*order_)[i];
      if (!is_marked(t)) continue;
      if (t == not_this || (counts(t) && ++moved > most_)) return false;
      for (const auto& e : g_->dependencies().in(t)) mark(e.source);
    }
    return true;
  }
  /// The same forward, with all that depends on it.
  bool mark_users(std::uint32_t from, std::uint32_t to, task_index not_this) {
    ++stamp_;
    mark((*order_)[from]);
    std::size_t moved = 0;
    for (std::uint32_t i = from; i <= to; ++i) {
      const task_index t = (*order_)[i];
      if (!is_marked(t)) continue;
      if (t == not_this || (counts(t) && ++moved > most_)) return false;
      for (const auto& e : g_->dependencies().out(t)) mark(e.target);
    }
    return true;
  }

  const task_graph* g_;
  bucketed_order* order_;
  std::size_t most_;
  std::vector<std::uint32_t> stamps_;  // number of the last edit that marked a task
  std::uint32_t stamp_ = 0;
};

}  // namespace shardweave::inline v0::detail

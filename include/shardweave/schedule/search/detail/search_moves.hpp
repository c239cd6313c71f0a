#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/search/detail/bucketed_order.hpp>
#include <shardweave/schedule/search/detail/order_edits.hpp>
#include <shardweave/schedule/search/detail/order_walk.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// The random changes of a local search.

namespace shardweave::inline v0::detail {

/// Draws changes of an order and of its buckets at random, more of them where the compute stream stalls, and has them
/// priced. Complexity: that of the edits and of `order_walk::settle`.
class search_moves {
 public:
  /// \pre g and walk outlive this
  search_moves(const task_graph& g, order_walk& walk) : g_(&g), walk_(&walk), edits_(g, walk.edit(), most) {}

  /// Allows changes of buckets.
  void allow_buckets() {
    key_ = bucket_keys(*g_);
    const std::vector<bool> fit = fit_for_buckets(*g_);
    std::vector<std::size_t> of_key;
    for (task_index t = 0; t < g_->size(); ++t) {
      if (!fit[t]) key_[t] = no_index;
      if (key_[t] == no_index) continue;
      of_key.resize(std::max<std::size_t>(of_key.size(), key_[t] + 1));
      ++of_key[key_[t]];
    }
    for (task_index t = 0; t < g_->size(); ++t)
      if (key_[t] != no_index && of_key[key_[t]] > 1) candidates_.push_back(t);
  }
  /// Allows to fill stalls with work from anywhere behind them.
  void allow_fills() { fills_ = true; }
  [[nodiscard]] bool may_change_order() const { return !walk_->stalls().empty(); }
  [[nodiscard]] bool may_change_buckets() const { return !candidates_.empty(); }
  [[nodiscard]] bool may_change() const { return may_change_order() || may_change_buckets(); }

  /// Makes one of the changes below. \returns whether it was kept. \pre may_change()
  bool change(random_source& random) {
    // with many stalls the order has more to gain than the buckets; a few long stalls are mostly filled by deferral
    const bool many = walk_->stalls().size() >= 8;
    if (may_change_buckets() && (!may_change_order() || random.chance(many ? 0.15 : 0.3)))
      return change_buckets(random);
    return random.chance(many ? 0.03 : 0.15) ? put_off(random) : change_order(random);
  }

  /// Moves a launch forward with its predecessors, defers a wait, pulls other work before it, or fills its stall.
  /// \pre may_change_order()
  bool change_order(random_source& random) {
    const bucketed_order& order = walk_->order();
    const auto [at, lasts] = stalled(random);
    const std::uint32_t launched = order.place_of(walk_->waits_for(order[at]));
    const std::uint32_t distance = draw_distance(random);
    switch (random.below(fills_ ? 7 : 6)) {
      case 0:
      case 1:
        edits_.pull(launched, earlier(launched, distance));
        break;
      case 2:
        edits_.push(at, later(at, distance));
        break;
      case 3:
      case 4:
        edits_.pull(later(at, distance), at);
        break;
      case 6:
        edits_.fill(at, lasts, at + static_cast<std::uint32_t>(random.below(order.size() - at)));
        break;
      default: {
        const auto any = static_cast<std::uint32_t>(random.below(order.size() - 1));
        move_somewhere(random.chance(0.5) ? any : launched, distance, random);
      }
    }
    return walk_->settle();
  }

  /// Merges launches, moves a member out of a bucket or to the next one, or splits a bucket.
  /// \pre may_change_buckets()
  bool change_buckets(random_source& random) {
    bucketed_order& order = walk_->edit();
    task_index t = no_index;
    if (may_change_order() && random.chance(0.5)) t = walk_->waits_for(order[stalled(random).place]);
    if (t == no_index || key_[t] == no_index) t = candidates_[random.below(candidates_.size())];
    const std::uint32_t b = order.bucket_of(t);
    const std::size_t what = b == no_index ? 7 : random.below(8);
    if (what < 6) {
      std::vector<task_index> members = by_wait(b);
      switch (what) {
        case 0:
          edits_.divide(b, members, 0);
          break;
        case 1: {
          const std::size_t count = 1 + random.below(members.size() - 1);
          edits_.divide(b, members, count);
          break;
        }
        default: {  // one member leaves, and is launched before or after the others
          if (random.chance(0.5)) t = random.chance(0.5) ? members.front() : members.back();
          const bool first = random.chance(0.5);
          const auto own = std::find(members.begin(), members.end(), t);
          first ? std::rotate(members.begin(), own, own + 1) : std::rotate(own, own + 1, members.end());
          const std::size_t count = first ? 1 : members.size() - 1;
          edits_.divide(b, members, count);
          if (what > 3) {  // and joins a neighbour
            const task_index other = neighbour(t, !first, random);
            if (other == no_index || !edits_.join(t, other, random.chance(0.5))) {
              order.undo();
              return false;
            }
          }
        }
      }
    } else {
      const task_index other = neighbour(t, random.chance(0.5), random);
      if (other == no_index || !edits_.join(t, other, random.chance(0.5))) return false;
    }
    if (random.chance(0.3)) move_somewhere(order.place_of(t), draw_distance(random), random);
    return walk_->settle();
  }

  /// Defers work that a collective does not depend on, possibly from far before it, to right behind its launch, with
  /// all that depends on that work; launches among these join others there.
  /// \pre may_change_order()
  bool put_off(random_source& random) {
    bucketed_order& order = walk_->edit();
    const task_index launch = walk_->waits_for(order[stalled(random).place]);
    const std::uint32_t end = order.first_place(order.place_of(launch));
    if (end == 0) return false;
    edits_.mark_needs_of(launch);
    std::vector<task_index> found;
    const std::size_t wanted = 1 + random.below(4);
    for (int i = 0; i < 30 && found.size() < wanted; ++i)
      if (const task_index t = order[static_cast<std::uint32_t>(random.below(end))];
          !edits_.is_marked(t) && !g_->is_collective(t) && g_->kind(t) != task_kind::wait &&
          g_->duration(t) > nanoseconds(0))
        found.push_back(t);
    const std::uint32_t last = order.last_place(order.place_of(launch));
    for (const task_index t : found)
      if (order.place_of(t) < order.place_of(launch)) edits_.push(order.place_of(t), last);
    if (may_change_buckets() && random.chance(0.8)) {
      std::vector<task_index> moved;
      for (std::uint32_t i = order.last_place(order.place_of(launch)) + 1; i <= last; ++i)
        if (key_[order[i]] != no_index) moved.push_back(order[i]);
      for (const task_index t : moved) {
        task_index other = neighbour(t, true, random);
        if (other == no_index) other = neighbour(t, false, random);
        if (other != no_index && order.place_of(other) > order.place_of(launch))
          edits_.join(t, other, random.chance(0.5));
      }
    }
    return walk_->settle();
  }

  /// Splits the buckets of one key in a window of the order, and merges its launches up to another size.
  /// \pre may_change_buckets()
  bool change_window(random_source& random, const walk_price& limit) {
    bucketed_order& order = walk_->edit();
    const task_index t = candidates_[random.below(candidates_.size())];
    const std::uint32_t distance = draw_distance(random), place = order.place_of(t);
    const std::uint32_t first = order.first_place(earlier(place, distance)), last = later(place, distance);
    std::vector<task_index> found;
    for (std::uint32_t i = first; i <= last && found.size() < most; ++i)
      if (key_[order[i]] == key_[t]) found.push_back(order[i]);
    for (const task_index one : found)
      if (const std::uint32_t b = order.bucket_of(one); b != no_index) edits_.divide(b, by_wait(b), 0);
    const auto size_of = [&](task_index one) {
      return std::max(g_->collective(one).bytes_in, g_->collective(one).bytes_out);
    };
    bytes total;
    for (const task_index one : found) total += size_of(one);
    const bytes cap = total / (std::int64_t{1} << random.below(9));
    std::sort(found.begin(), found.end(),
              [&](task_index x, task_index y) { return order.place_of(x) < order.place_of(y); });
    const bool early = random.chance(0.5);
    bytes filled;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool joins = i > 0 && filled + size_of(found[i]) <= cap && edits_.join(found[i - 1], found[i], early);
      filled = joins ? filled + size_of(found[i]) : size_of(found[i]);
    }
    return walk_->settle(limit);
  }

 private:
  static constexpr std::uint32_t reach = 1500;  ///< places by which a change moves, at most
  static constexpr std::size_t most = 200;      ///< launches and tasks that move together, at most

  void move_somewhere(std::uint32_t place, std::uint32_t distance, random_source& random) {
    random.chance(0.5) ? edits_.pull(place, earlier(place, distance)) : edits_.push(place, later(place, distance));
  }
  /// The longest of three random stalls, so that long ones are drawn more often.
  [[nodiscard]] order_walk::stall stalled(random_source& random) const {
    const auto stalls = walk_->stalls();
    auto chosen = stalls[random.below(stalls.size())];
    for (int i = 0; i < 2; ++i)
      if (const auto other = stalls[random.below(stalls.size())]; other.lasts > chosen.lasts) chosen = other;
    return chosen;
  }
  [[nodiscard]] std::uint32_t draw_distance(random_source& random) const {
    return static_cast<std::uint32_t>(
        1 + random.below(std::size_t{1} << random.below(static_cast<std::size_t>(std::bit_width(reach)))));
  }
  [[nodiscard]] static std::uint32_t earlier(std::uint32_t from, std::uint32_t distance) {
    return from > distance ? from - distance : 0;
  }
  [[nodiscard]] std::uint32_t later(std::uint32_t from, std::uint32_t distance) const {
    return std::min(from + distance, walk_->order().size() - 2);
  }
  [[nodiscard]] std::vector<task_index> by_wait(std::uint32_t b) const {
    const bucketed_order& order = walk_->order();
    std::vector<task_index> members = order.bucket_at(b).members;
    std::sort(members.begin(), members.end(),
              [&](task_index x, task_index y) { return order.first_wait(x) < order.first_wait(y); });
    return members;
  }
  /// A collective of the same key that is launched after or before another one, mostly the next.
  [[nodiscard]] task_index neighbour(task_index t, bool after, random_source& random) const {
    const bucketed_order& order = walk_->order();
    std::uint32_t place = order.place_of(t);
    const std::uint32_t end = after ? later(place, reach) : earlier(place, reach);
    task_index found = no_index;
    while (place != end) {
      after ? ++place : --place;
      const task_index other = order[place];
      if (key_[other] != key_[t] || order.is_together(t, other)) continue;
      found = other;
      if (random.chance(0.7)) break;
    }
    return found;
  }

  const task_graph* g_;
  order_walk* walk_;
  order_edits edits_;
  bool fills_ = false;
  std::vector<std::uint32_t> key_;
  std::vector<task_index> candidates_;
};

}  // namespace shardweave::inline v0::detail

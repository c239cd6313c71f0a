#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// An order of units that is changed a little and priced again, from the nearest checkpoint on.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What a walk of an order costs.
struct walk_price {
  bytes excess;  ///< of the peak above the budget
  nanoseconds end_to_end;
  friend auto operator<=>(const walk_price&, const walk_price&) = default;
};

/// A topological order of units with its price by the reference timing. A change moves a unit, with what must move
/// with it, within a stretch of the order; it is priced by walking on from the checkpoint before that stretch, and
/// stays only if it is kept.
class order_walk {
 public:
  /// A wait at which the compute stream stalls.
  struct stall {
    std::uint32_t place;
    nanoseconds lasts;
  };

  /// \pre units outlives this; order is a topological order of them
  order_walk(const task_graph& g, const launch_units& units, const storage_uses& uses, std::vector<std::uint32_t> order,
             std::optional<bytes> memory)
      : units_(&units),
        memory_(memory),
        order_(std::move(order)),
        place_(order_.size()),
        end_(order_.size()),
        waits_for_(order_.size(), no_index),
        costs_(order_.size()),
        work_left_(order_.size() + 1),
        cone_(order_.size()),
        now_{.memory = memory_tracker(uses, g.storages().size()),
             .clocks = std::vector<nanoseconds>(g.groups().size()),
             .unpacked = std::vector<bool>(order_.size())} {
    for (std::uint32_t u = 0; u < order_.size(); ++u) {
      costs_[u] = units.costs(u);
      if (const task_index c = g.completes(units.first(u)); c != no_index) waits_for_[u] = units.unit_of(c);
    }
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    marks_.assign(order_.size() / stride + 1, now_);
    keep(0, static_cast<std::uint32_t>(order_.size()));
  }

  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t unit) const { return place_[unit]; }
  [[nodiscard]] std::uint32_t waits_for(std::uint32_t unit) const { return waits_for_[unit]; }
  [[nodiscard]] const walk_price& price() const { return price_; }
  [[nodiscard]] std::span<const stall> stalls() const { return stalls_; }

  /// Moves the unit at a place to an earlier one, with all between that it needs; kept if the price is not worse.
  bool pull(std::uint32_t from, std::uint32_t to, std::size_t most) {
    if (to >= from) return false;
    return change(to, from, [&] {
      std::size_t moved = 0;
      mark(order_[from]);
      for (std::uint32_t i = from + 1; i-- > to;) {
        const std::uint32_t u = order_[i];
        if (cone_[u] != stamp_) continue;
        if (++moved > most) return false;
        for (const auto& e : units_->graph().in(u)) mark(e.source);
      }
      partition(to, from, true);
      return true;
    });
  }
  /// Moves the unit at a place to a later one, with all between that needs it; kept if the price is not worse.
  bool push(std::uint32_t from, std::uint32_t to, std::size_t most) {
    if (from >= to) return false;
    return change(from, to, [&] {
      std::size_t moved = 0;
      mark(order_[from]);
      for (std::uint32_t i = from; i <= to; ++i) {
        const std::uint32_t u = order_[i];
        if (cone_[u] != stamp_) continue;
        if (++moved > most) return false;
        for (const auto& e : units_->graph().out(u)) mark(e.target);
      }
      partition(from, to, false);
      return true;
    });
  }

 private:
  static constexpr std::uint32_t stride = 512;

  struct state {
    memory_tracker memory;
    std::vector<nanoseconds> clocks;
    std::vector<bool> unpacked;
    nanoseconds now = {};
  };

  void mark(std::uint32_t unit) { cone_[unit] = stamp_; }

  /// Marked units of the stretch to its front or its back, each part in its own order.
  void partition(std::uint32_t first, [[maybe_unused]] std::uint32_t last, bool to_front) {
    std::uint32_t at = first;
    for (const bool marked : {to_front, !to_front})
      for (const std::uint32_t u : saved_)
        if ((cone_[u] == stamp_) == marked) {
          order_[at] = u;
          place_[u] = at++;
        }
    SHARDWEAVE_EXPECTS(at == last + 1);
  }

  template <class Rearrange>
  bool change(std::uint32_t first, std::uint32_t last, const Rearrange& rearrange) {
    ++stamp_;
    saved_.assign(order_.begin() + first, order_.begin() + last + 1);
    if (!rearrange()) return false;
    const std::uint32_t from = first / stride;
    if (const auto found = walk(from, last, false); found && *found <= price_) {
      keep(from, last);
      return true;
    }
    for (std::uint32_t i = 0; i < saved_.size(); ++i) {
      order_[first + i] = saved_[i];
      place_[saved_[i]] = first + i;
    }
    restore_ends();
    return false;
  }

  /// Walks from a checkpoint on; nothing if it is seen to be worse than the present price. What stands behind
  /// `last` is as before: once all clocks are, too, the rest is known.
  std::optional<walk_price> walk(std::uint32_t from, std::uint32_t last, bool keeping) {
    now_ = marks_[from];
    ends_before_.clear();
    bytes peak;
    for (std::uint32_t k = 0; k < from; ++k) peak = std::max(peak, peaks_[k]);
    const auto size = static_cast<std::uint32_t>(order_.size());
    for (std::uint32_t k = from; k < marks_.size(); ++k) {
      if (k > from) {
        if (k * stride > last && known_ && same_as(marks_[k])) {
          for (std::uint32_t later = k; later < marks_.size(); ++later) peak = std::max(peak, peaks_[later]);
          reached_ = k * stride;
          return walk_price{excess_of(peak), price_.end_to_end};
        }
        if (keeping) marks_[k] = now_;
      }
      now_.memory.restart_peak();
      const std::uint32_t end = std::min(size, (k + 1) * stride);
      for (std::uint32_t i = k * stride; i < end; ++i) {
        if (!keeping && i > last && price_.excess == bytes(0) && now_.now + work_left_[i] > price_.end_to_end)
          return std::nullopt;
        step(order_[i], i, keeping);
      }
      peak = std::max(peak, now_.memory.peak());
      if (keeping) peaks_[k] = now_.memory.peak();
      if (!keeping && excess_of(peak) > price_.excess) return std::nullopt;
    }
    reached_ = size;
    walk_price result{excess_of(peak), now_.now};
    for (const nanoseconds clock : now_.clocks) result.end_to_end = std::max(result.end_to_end, clock);
    return result;
  }
  [[nodiscard]] bytes excess_of(bytes peak) const { return memory_ && peak > *memory_ ? peak - *memory_ : bytes(0); }
  /// The same units have run as at the mark, and all that goes on from there is as it was.
  [[nodiscard]] bool same_as(const state& mark) const {
    return now_.now == mark.now && now_.clocks == mark.clocks &&
           std::all_of(ends_before_.begin(), ends_before_.end(),
                       [this](const auto& before) { return end_[before.first] == before.second; });
  }

  void step(std::uint32_t u, std::uint32_t place, bool keeping) {
    const task_index t = units_->first(u);
    const bucket_costs& c = costs_[u];
    if (units_->is_collective(u)) {
      now_.now += c.pack;
      nanoseconds& clock = now_.clocks[units_->channel(u)];
      clock = std::max(clock, now_.now) + c.duration;
      ends_before_.emplace_back(u, end_[u]);
      end_[u] = clock;
      units_->is_bucket(u) ? now_.memory.launch(units_->bucket_at(u)) : now_.memory.run(t);
      return;
    }
    now_.now += c.duration;
    if (const std::uint32_t done = waits_for_[u]; done != no_index) {
      if (end_[done] > now_.now) {
        if (keeping) stalls_.push_back({place, end_[done] - now_.now});
        now_.now = end_[done];
      }
      if (units_->is_bucket(done) && !now_.unpacked[done]) {
        now_.unpacked[done] = true;
        now_.now += costs_[done].unpack;
        now_.memory.unpack(units_->bucket_at(done));
      }
    }
    now_.memory.run(t);
  }

  void restore_ends() {
    for (const auto& [unit, end] : ends_before_) end_[unit] = end;
  }

  /// Makes the present order the one that changes are compared with.
  void keep(std::uint32_t from, std::uint32_t last) {
    peaks_.resize(marks_.size());
    kept_stalls_.swap(stalls_);
    const auto place_less = [](const stall& s, std::uint32_t place) { return s.place < place; };
    const auto before = std::lower_bound(kept_stalls_.begin(), kept_stalls_.end(), from * stride, place_less);
    stalls_.assign(kept_stalls_.begin(), before);
    // the ends that were before the change tell where it ends to matter
    restore_ends();
    price_ = *walk(from, last, true);
    stalls_.insert(stalls_.end(), std::lower_bound(before, kept_stalls_.end(), reached_, place_less),
                   kept_stalls_.end());
    known_ = true;
    for (std::size_t i = reached_; i-- > from * stride;)
      work_left_[i] =
          work_left_[i + 1] + (units_->is_collective(order_[i]) ? costs_[order_[i]].pack : costs_[order_[i]].duration);
  }

  const launch_units* units_;
  std::optional<bytes> memory_;
  std::vector<std::uint32_t> order_, place_;
  std::vector<nanoseconds> end_;  // of launched collectives
  std::vector<std::uint32_t> waits_for_;
  std::vector<bucket_costs> costs_;
  std::vector<nanoseconds> work_left_;  // of the compute stream from a place on, unpacking left out
  std::vector<std::uint32_t> cone_;     // stamp of the change that moves a unit
  std::vector<std::uint32_t> saved_;
  std::vector<std::pair<std::uint32_t, nanoseconds>> ends_before_;
  state now_;
  std::vector<state> marks_;  // before every so many places
  std::vector<bytes> peaks_;  // from there to the next
  std::vector<stall> stalls_, kept_stalls_;
  std::uint32_t reached_ = 0;  // place from which on the last walk was as the present order's
  bool known_ = false;
  walk_price price_;
  std::uint32_t stamp_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

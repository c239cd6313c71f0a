#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/search/detail/bucketed_order.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The price of an order under small changes, computed from the nearest checkpoint on.

namespace shardweave::inline v0::detail {

/// The price of an order.
struct walk_price {
  bytes excess;  ///< of the peak above the budget
  nanoseconds end_to_end;
  friend auto operator<=>(const walk_price&, const walk_price&) = default;
};

/// The price of a `bucketed_order` by the reference timing. Open edits are priced by simulating from the checkpoint
/// before them, up to a checkpoint at which all clocks, relative to that of the compute stream, are as they were: from
/// there on the schedule is the same, shifted in time. Complexity: O(V + E) for a checkpoint and for a price, mostly
/// much less; there are at most 64 checkpoints.
class order_walk {
 public:
  /// A wait at which the compute stream stalls.
  struct stall {
    std::uint32_t place;
    nanoseconds lasts;
  };

  /// \pre g and uses outlive this
  order_walk(const task_graph& g, const storage_uses& uses, bucketed_order order, std::optional<bytes> memory)
      : order_(std::move(order)),
        memory_(memory),
        stride_(std::max(order_.size() / 64 + 1, 128U)),
        end_(order_.size()),
        waits_for_(order_.size()),
        channel_(order_.size(), no_index),
        duration_(order_.size()),
        now_{.memory = memory_tracker(uses, g.storages().size()),
             .clocks = std::vector<nanoseconds>(g.groups().size()),
             .arrived = std::vector<bool>(order_.size())} {
    for (task_index t = 0; t < order_.size(); ++t) {
      waits_for_[t] = g.completes(t);
      if (g.is_collective(t)) channel_[t] = g.collective(t).group;
      if (g.kind(t) != task_kind::wait) duration_[t] = g.duration(t);  // a wait stalls, it does not compute
    }
    marks_.assign(order_.size() / stride_ + 1, now_);
    peaks_.resize(marks_.size());
    restart();
  }

  [[nodiscard]] const bucketed_order& order() const { return order_; }
  /// Edits are open until `settle`.
  [[nodiscard]] bucketed_order& edit() { return order_; }
  [[nodiscard]] task_index waits_for(task_index t) const { return waits_for_[t]; }
  [[nodiscard]] const walk_price& price() const { return price_; }
  [[nodiscard]] std::span<const stall> stalls() const { return stalls_; }

  /// Keeps open edits if their price is at most `limit`; otherwise undoes them.
  bool settle(const walk_price& limit) {
    if (!order_.is_edited()) return false;
    const std::uint32_t from = order_.first_edited() / stride_, last = order_.last_edited();
    if (const auto found = walk(from, last, &limit); found && *found <= limit) {
      keep(from, last);
      order_.commit();
      return true;
    }
    order_.undo();
    restore_ends();
    return false;
  }
  /// Keeps open edits if the price is not worse.
  bool settle() { return settle(price_); }
  /// Continues with another order of the same tasks.
  void restart(bucketed_order order) {
    order_ = std::move(order);
    restart();
  }

 private:
  struct state {
    memory_tracker memory;
    std::vector<nanoseconds> clocks;
    std::vector<bool> arrived;  // collectives, with all members of their buckets, for which a wait was passed
    nanoseconds now = {};
  };

  void restart() {
    known_ = false;
    stalls_.clear();
    ends_before_.clear();
    keep(0, order_.size());
    order_.commit();
  }

  /// Simulates from a checkpoint on; nothing if the price is seen to exceed `limit`. Without a limit the result becomes
  /// the reference for later changes. Nothing behind `last` has changed.
  std::optional<walk_price> walk(std::uint32_t from, std::uint32_t last, const walk_price* limit) {
    now_ = marks_[from];
    ends_before_.clear();
    nanoseconds busy_before;
    for (const nanoseconds clock : now_.clocks) busy_before = std::max(busy_before, clock);
    bytes peak;
    for (std::uint32_t k = 0; k < from; ++k) peak = std::max(peak, peaks_[k]);
    const std::uint32_t size = order_.size();
    for (std::uint32_t k = from; k < marks_.size(); ++k) {
      if (k > from) {
        if (k * stride_ > last && known_)
          if (const auto later = same_but_later(marks_[k], k * stride_, busy_before);
              later && (limit != nullptr || *later == nanoseconds(0))) {
            for (std::uint32_t j = k; j < marks_.size(); ++j) peak = std::max(peak, peaks_[j]);
            reached_ = k * stride_;
            return walk_price{excess_of(peak), price_.end_to_end + *later};
          }
        if (limit == nullptr) marks_[k] = now_;
      }
      now_.memory.restart_peak();
      const std::uint32_t end = std::min(size, (k + 1) * stride_);
      for (std::uint32_t i = k * stride_; i < end; ++i) step(i, limit == nullptr);
      peak = std::max(peak, now_.memory.peak());
      if (limit == nullptr) peaks_[k] = now_.memory.peak();
      if (limit != nullptr && excess_of(peak) > limit->excess) return std::nullopt;
    }
    reached_ = size;
    walk_price result{excess_of(peak), now_.now};
    for (const nanoseconds clock : now_.clocks) result.end_to_end = std::max(result.end_to_end, clock);
    return result;
  }
  [[nodiscard]] bytes excess_of(bytes peak) const { return memory_ && peak > *memory_ ? peak - *memory_ : bytes(0); }

  /// By how much later than at the mark the same schedule continues from here on; nothing if it may differ. The same
  /// tasks have run; clocks behind that of the compute stream do not matter, nor do ends that nothing waits for.
  [[nodiscard]] std::optional<nanoseconds> same_but_later(const state& mark, std::uint32_t place,
                                                          nanoseconds busy_before) const {
    const nanoseconds later = now_.now - mark.now;
    const auto same = [&](nanoseconds here, nanoseconds there) {
      return std::max(here, now_.now) - std::max(there, mark.now) == later;
    };
    // collectives launched before the simulation started end at the same time as before
    if (later != nanoseconds(0) && busy_before > std::min(now_.now, mark.now)) return std::nullopt;
    for (std::size_t c = 0; c < now_.clocks.size(); ++c)
      if (!same(now_.clocks[c], mark.clocks[c])) return std::nullopt;
    for (const auto& [launched, before] : ends_before_) {
      if (same(end_[launched], before)) continue;
      for (const task_index w : order_.waits_for(launched))
        if (order_.place_of(w) >= place) return std::nullopt;
    }
    return later;
  }

  void step(std::uint32_t place, bool keeping) {
    const task_index t = order_[place];
    if (channel_[t] != no_index) return launch(t, place);
    now_.now += duration_[t];
    if (const task_index c = waits_for_[t]; c != no_index) {
      if (end_[c] > now_.now) {
        if (keeping) stalls_.push_back({place, end_[c] - now_.now});
        now_.now = end_[c];
      }
      if (!now_.arrived[c]) arrive(c);
    }
    now_.memory.run(t);
  }
  void launch(task_index t, std::uint32_t place) {
    nanoseconds& clock = now_.clocks[channel_[t]];
    const std::uint32_t b = order_.bucket_of(t);
    if (b == no_index) {
      clock = std::max(clock, now_.now) + duration_[t];
      ends(t, clock);
      return now_.memory.run(t);
    }
    if (!ends_bucket(place, b)) return;  // the last member launches the bucket
    now_.now += order_.costs(b).pack;
    clock = std::max(clock, now_.now) + order_.costs(b).duration;
    for (const task_index m : order_.bucket_at(b).members) ends(m, clock);
    now_.memory.launch(order_.bucket_at(b));
  }
  void ends(task_index launched, nanoseconds end) {
    ends_before_.emplace_back(launched, end_[launched]);
    end_[launched] = end;
  }
  /// Unpacks at the first wait for any member.
  void arrive(task_index c) {
    const std::uint32_t b = order_.bucket_of(c);
    for (const task_index m : order_.together(c)) now_.arrived[m] = true;
    if (b == no_index) return;
    now_.now += order_.costs(b).unpack;
    now_.memory.unpack(order_.bucket_at(b));
  }

  void restore_ends() {
    for (const auto& [launched, end] : ends_before_) end_[launched] = end;
  }

  /// Makes the present order the reference for later changes.
  void keep(std::uint32_t from, std::uint32_t last) {
    kept_stalls_.swap(stalls_);
    const auto place_less = [](const stall& s, std::uint32_t place) { return s.place < place; };
    const auto before = std::lower_bound(kept_stalls_.begin(), kept_stalls_.end(), from * stride_, place_less);
    stalls_.assign(kept_stalls_.begin(), before);
    // the ends before the change show from where on it has no effect
    restore_ends();
    price_ = *walk(from, last, nullptr);
    stalls_.insert(stalls_.end(), std::lower_bound(before, kept_stalls_.end(), reached_, place_less),
                   kept_stalls_.end());
    known_ = true;
  }
  [[nodiscard]] bool ends_bucket(std::uint32_t place, std::uint32_t b) const {
    return place + 1 == order_.size() || order_.bucket_of(order_[place + 1]) != b;
  }

  bucketed_order order_;
  std::optional<bytes> memory_;
  std::uint32_t stride_;
  std::vector<nanoseconds> end_;  // of launched collectives
  std::vector<task_index> waits_for_;
  std::vector<std::uint32_t> channel_;
  std::vector<nanoseconds> duration_;
  std::vector<std::pair<task_index, nanoseconds>> ends_before_;
  state now_;
  std::vector<state> marks_;  // before every `stride_`-th place
  std::vector<bytes> peaks_;  // from there to the next one
  std::vector<stall> stalls_, kept_stalls_;
  std::uint32_t reached_ = 0;  // place from which on the last walk coincided with the reference
  bool known_ = false;
  walk_price price_;
};

}  // namespace shardweave::inline v0::detail

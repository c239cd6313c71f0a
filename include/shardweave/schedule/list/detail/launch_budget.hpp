#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/schedule/detail/unit_memory.hpp>
#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/list/detail/list_plan.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Limits on early launches of a list scheduler.

namespace shardweave::inline v0::detail {

/// Limits of a run.
struct list_limits {
  bytes in_flight;  ///< bytes of collectives that are launched, not yet waited for, and needed by computations
  std::size_t compute_ahead = 0;  ///< computations between the present one and the first that needs a collective
  std::optional<bytes> memory = std::nullopt;       ///< live bytes
  std::optional<std::uint32_t> lag = std::nullopt;  ///< ranks by which a launch that no computation needs may lag
  memory_profile ahead = {};                        ///< live bytes in the original order; only with `memory`
};

/// What a run has used of its limits, and what it may still launch. Memory is checked now and along the rest of the
/// order: what is made live early stays live, besides all else, up to its place in the order. A place is a rank;
/// `oldest` is that of the first unit that is not done and that a computation needs. A refusal is recorded unless the
/// same collective was the last one refused. Complexity: O(log V + prelude) per call.
class launch_budget {
 public:
  /// \pre plan, memory and progress outlive this
  launch_budget(const list_plan& plan, list_limits limits, const unit_memory& memory, const unit_progress& progress)
      : p_(&plan),
        limits_(std::move(limits)),
        memory_(&memory),
        progress_(&progress),
        waits_left_(plan.units.size()),
        on_channel_(plan.g.groups().size()),
        elsewhere_(plan.g.groups().size()) {
    for (task_index t = 0; t < plan.g.size(); ++t)
      if (plan.g.completes(t) != no_index) ++waits_left_[plan.units.unit_of(plan.g.completes(t))];
    for (std::uint32_t u = 0; limits_.memory && u < plan.units.size(); ++u)
      if (plan.units.is_collective(u) && need(u) != no_index) {
        const bytes more = received(u);
        for (std::uint32_t c = 0; c < elsewhere_.size(); ++c)
          if (c != plan.units.channel(u)) elsewhere_[c] = std::max(elsewhere_[c], more);
      }
  }

  [[nodiscard]] const list_limits& limits() const { return limits_; }
  [[nodiscard]] const std::vector<decision>& refusals() const { return refusals_; }

  /// Bytes that running a unit makes live.
  [[nodiscard]] bytes demand_of(std::uint32_t u) const {
    return p_->units.is_bucket(u) ? size_of(u) : memory_->demand(u);
  }
  /// An upper bound on the bytes that pulling a collective makes live.
  [[nodiscard]] bytes demand(std::uint32_t u) const {
    bytes sum = demand_of(u);
    for (const std::uint32_t v : p_->prelude[u])
      if (!progress_->is_done(v)) sum += memory_->demand(v);
    return sum;
  }
  /// Whether so many bytes may be made live now, without lookahead.
  /// \pre memory is limited
  [[nodiscard]] bool has_room(bytes demand) const { return memory_->live() + demand <= *limits_.memory; }
  /// Whether so many bytes, which the order makes live at a rank, may be made live now.
  /// \pre memory is limited
  [[nodiscard]] bool has_room(bytes demand, std::uint32_t oldest, std::uint32_t rank) const {
    return has_room(demand) && (demand == bytes(0) || limits_.ahead.most(oldest, rank) + demand <= *limits_.memory);
  }
  /// The rank at which a collective is needed; `no_index` if no computation needs it: then it may be launched at any
  /// time, as that frees what it sends. With limited memory, a collective that receives more than it sends is needed no
  /// earlier than at its own place.
  [[nodiscard]] std::uint32_t need(std::uint32_t u) const {
    return p_->need[u] == no_index && limits_.memory && grows(u) ? p_->rank[u] : p_->need[u];
  }
  /// Whether a collective may be launched now. For one that is needed soon, only bytes in flight on its own channel
  /// count. While no bytes that count are in flight, none is refused for its size.
  [[nodiscard]] bool may_launch(std::uint32_t u, std::uint32_t oldest) {
    const std::uint32_t needed = need(u);
    if (needed == no_index) return !limits_.memory || has_room(demand(u));
    const std::size_t oldest_compute = p_->compute_before[std::min<std::size_t>(oldest, p_->units.size())];
    const std::size_t needed_by = p_->compute_before[needed];
    const bool is_soon = needed_by <= oldest_compute + soon;
    const bytes in_flight = is_soon ? on_channel_[p_->units.channel(u)] : in_flight_;
    decision no{.subject = p_->units.first(u)};
    if (needed_by > oldest_compute && needed_by - oldest_compute > limits_.compute_ahead) {
      no.reason = decision_reason::distance_limit;
      no.found = static_cast<std::int64_t>(needed_by - oldest_compute);
      no.limit = static_cast<std::int64_t>(limits_.compute_ahead);
    } else if (in_flight + size_of(u) > limits_.in_flight && in_flight > bytes(0)) {
      no.reason = decision_reason::in_flight_limit;
      no.found = (in_flight + size_of(u)).count();
      no.limit = limits_.in_flight.count();
    } else if (limits_.memory && !has_room(room_for(u, is_soon), oldest, p_->rank[u])) {
      no.reason = decision_reason::memory_limit;
      no.found = (std::max(memory_->live(), limits_.ahead.most(oldest, p_->rank[u])) + room_for(u, is_soon)).count();
      no.limit = limits_.memory->count();
    } else {
      return true;
    }
    if (refused_ != u) refusals_.push_back(no);  // once per refusal, not at every check
    refused_ = u;
    return false;
  }

  /// To be called before `u` runs: if it runs before its turn, its bytes are live up to its place.
  void take(std::uint32_t u, std::uint32_t oldest) {
    if (limits_.memory && p_->rank[u] > oldest) limits_.ahead.raise(oldest, p_->rank[u], demand_of(u));
  }
  /// A collective counts as in flight from its launch to the last wait for it.
  void launch(std::uint32_t c) {
    if (waits_left_[c] > 0 && need(c) != no_index) count(c, size_of(c));
  }
  /// A wait for this collective was passed.
  void pass_wait(std::uint32_t c) {
    if (--waits_left_[c] == 0 && need(c) != no_index) count(c, -size_of(c));
  }

 private:
  [[nodiscard]] bool grows(std::uint32_t c) const {
    bytes more;
    for (const task_index t : p_->units.tasks(c)) more += p_->g.collective(t).bytes_out - p_->g.collective(t).bytes_in;
    return more > bytes(0);
  }
  [[nodiscard]] bytes size_of(std::uint32_t c) const {
    bytes sum;
    for (const task_index t : p_->units.tasks(c)) sum += p_->g.collective(t).bytes_in + p_->g.collective(t).bytes_out;
    return sum;
  }

  /// Bytes that must be free to pull a collective; if it is not needed soon, with room for the largest launch on
  /// another channel.
  [[nodiscard]] bytes room_for(std::uint32_t u, bool is_soon) const {
    const bytes own = demand(u);
    return is_soon || own == bytes(0) ? own : own + elsewhere_[p_->units.channel(u)];
  }
  [[nodiscard]] bytes received(std::uint32_t c) const {
    bytes sum;
    for (const task_index t : p_->units.tasks(c)) sum += p_->g.collective(t).bytes_out;
    return sum;
  }
  void count(std::uint32_t c, bytes change) {
    in_flight_ += change;
    on_channel_[p_->units.channel(c)] += change;
  }
  /// Number of computations ahead. Of ten graphs of LLaMA-3 and DeepSeek-V3 one ends 2 % later with 0, and none earlier
  /// with 32.
  static constexpr std::size_t soon = 8;

  const list_plan* p_;
  list_limits limits_;
  const unit_memory* memory_;
  const unit_progress* progress_;
  std::vector<std::uint32_t> waits_left_;  // by collective
  std::vector<decision> refusals_;
  bytes in_flight_;
  std::vector<bytes> on_channel_;  ///< by channel: bytes in flight
  /// By channel: the largest result of one launch on another channel; only with `memory`.
  std::vector<bytes> elsewhere_;
  std::uint32_t refused_ = no_index;
};

}  // namespace shardweave::inline v0::detail

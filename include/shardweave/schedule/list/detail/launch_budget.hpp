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
/// How much a list scheduler may launch early.

namespace shardweave::inline v0::detail {

/// What limits a run.
struct list_limits {
  bytes in_flight;                ///< of what is launched, not yet waited for, and computed with
  std::size_t compute_ahead = 0;  ///< computations between the present one and the first that needs a collective
  std::optional<bytes> memory = std::nullopt;       ///< alive at once
  std::optional<std::uint32_t> lag = std::nullopt;  ///< by which a launch that nothing computes with may be late
  memory_profile ahead = {};                        ///< bytes alive in the original order; only with `memory`
};

/// What a run has taken of its limits, and what it may still launch. Memory is looked at both as it is and as the order
/// wants it from here on: what is made alive early stays alive beside all that up to its place in the order. A place is
/// a rank; `oldest` is that of the first unit that is not done and that a computation needs. A refusal is noted when
/// the collective was not the last to be refused. Complexity: O(log V + prelude) per call.
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
  /// Bytes that pulling a collective makes live at most.
  [[nodiscard]] bytes demand(std::uint32_t u) const {
    bytes sum = demand_of(u);
    for (const std::uint32_t v : p_->prelude[u])
      if (!progress_->is_done(v)) sum += memory_->demand(v);
    return sum;
  }
  /// Whether so much may be made alive now, whatever comes.
  /// \pre memory is limited
  [[nodiscard]] bool has_room(bytes demand) const { return memory_->live() + demand <= *limits_.memory; }
  /// Whether so much may be made alive now that the order wants alive from a rank on.
  /// \pre memory is limited
  [[nodiscard]] bool has_room(bytes demand, std::uint32_t oldest, std::uint32_t rank) const {
    return has_room(demand) && (demand == bytes(0) || limits_.ahead.most(oldest, rank) + demand <= *limits_.memory);
  }
  /// The rank at which a collective is needed; `no_index` where nothing computes with it and launching it is always
  /// welcome, as it frees what it sends. Where memory is limited, one that gives more than it sends is needed at its
  /// own place at the earliest.
  [[nodiscard]] std::uint32_t need(std::uint32_t u) const {
    return p_->need[u] == no_index && limits_.memory && grows(u) ? p_->rank[u] : p_->need[u];
  }
  /// Whether a collective may be launched now. What is in flight on other channels does not hold back what is needed
  /// soon, and what comes first on its way is never too much in flight.
  [[nodiscard]] bool may_launch(std::uint32_t u, std::uint32_t oldest) {
    const std::uint32_t needed = need(u);
    if (needed == no_index) return !limits_.memory || has_room(demand(u));
    const std::size_t oldest_compute = p_->compute_before[std::min<std::size_t>(oldest, p_->units.size())];
    const std::size_t needed_by = p_->compute_before[needed];
    const bool is_soon = needed_by <= oldest_compute + soon;
    const bytes in_flight = is_soon ? on_channel_[p_->units.channel(u)] : in_flight_;
    decision no{.subject = p_->units.first(u)};
    if (needed_by > oldest_compute + limits_.compute_ahead) {
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
    if (refused_ != u) refusals_.push_back(no);  // once, not at every look
    refused_ = u;
    return false;
  }

  /// What `u` makes live, if it runs before its turn, is alive up to its place. Before it runs.
  void take(std::uint32_t u, std::uint32_t oldest) {
    if (limits_.memory && p_->rank[u] > oldest) limits_.ahead.raise(oldest, p_->rank[u], demand_of(u));
  }
  /// A collective is in flight from its launch to the last wait for it.
  void launch(std::uint32_t c) {
    if (waits_left_[c] > 0 && need(c) != no_index) count(c, size_of(c));
  }
  /// A wait for this collective is passed.
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

  /// What must be free to pull a collective: what is not needed soon leaves room for what comes on other channels.
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
  /// Computations ahead. Of ten graphs of LLaMA-3 and DeepSeek-V3 one ends 2 % later with 0, and none earlier with 32.
  static constexpr std::size_t soon = 8;

  const list_plan* p_;
  list_limits limits_;
  const unit_memory* memory_;
  const unit_progress* progress_;
  std::vector<std::uint32_t> waits_left_;  // by collective
  std::vector<decision> refusals_;
  bytes in_flight_;
  std::vector<bytes> on_channel_;  ///< of these
  std::vector<bytes> elsewhere_;   ///< by channel: the most that one launch on another receives; only with `memory`
  std::uint32_t refused_ = no_index;
};

}  // namespace shardweave::inline v0::detail

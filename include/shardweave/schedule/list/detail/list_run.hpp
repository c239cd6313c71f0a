#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/unit_memory.hpp>
#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/list/detail/launch_budget.hpp>
#include <shardweave/schedule/list/detail/list_plan.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// A run of the list scheduler behind `prefetch`.

namespace shardweave::inline v0::detail {

/// List scheduling with the clocks of the reference timing. The compute stream takes units that run without a stall, in
/// the original order; before it gets busy, each channel that would become idle meanwhile gets its most urgent
/// collective, as far as `launch_budget` allows. Complexity: O((V + E) log V).
class list_run {
 public:
  /// \pre plan outlives this
  list_run(const list_plan& plan, const list_limits& limits)
      : p_(plan),
        memory_(plan.g, plan.units, plan.uses),
        progress_(plan.g, plan.units),
        budget_(plan, limits, memory_, progress_),
        blockers_(plan.blockers),
        clock_(plan.g.groups().size()),
        candidates_(plan.g.groups().size()),
        end_(plan.units.size()) {
    for (std::uint32_t u = 0; u < plan.units.size(); ++u) {
      if (plan.units.is_collective(u) && blockers_[u] == 0) offer(u);
      if (progress_.is_ready(u)) make_ready(u);
      if (plan.kind(u) != task_kind::output) ++work_left_;
    }
  }
  list_run(const list_run&) = delete;  // members refer to each other
  list_run& operator=(const list_run&) = delete;

  /// The whole order; empty after a stop.
  [[nodiscard]] std::vector<task_index> run(const stop_token& stop = {}) {
    std::vector<task_index> order;
    while (!progress_.is_complete()) {
      if (stop.stop_requested()) return order;
      step();
    }
    order.reserve(p_.g.size());
    for (const std::uint32_t u : progress_.order())
      order.insert(order.end(), p_.units.tasks(u).begin(), p_.units.tasks(u).end());
    return order;
  }
  [[nodiscard]] bytes peak() const { return memory_.peak(); }
  [[nodiscard]] nanoseconds end_to_end() const {
    nanoseconds last = now_;
    for (const nanoseconds clock : clock_) last = std::max(last, clock);
    return last;
  }
  [[nodiscard]] const std::vector<decision>& refusals() const { return budget_.refusals(); }

 private:
  /// Ranks by which a task may overtake the first one that is not done. Without this limit a backward step of LLaMA-3
  /// 8B holds 80 % more and ends no earlier; with an eighth of it graphs end up to 4 % later.
  static constexpr std::size_t window = 2000;

  using by_rank = std::pair<std::uint32_t, std::uint32_t>;  // rank, unit
  // need (none last), rank, unit
  using by_urgency = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  using by_end = std::tuple<nanoseconds, std::uint32_t, std::uint32_t>;  // end, rank, wait

  void step() {
    // collectives that are done by now: their waits no longer stall
    while (!stalling_.empty() && std::get<0>(*stalling_.begin()) <= now_) {
      const std::uint32_t w = std::get<2>(*stalling_.begin());
      stalling_.erase(stalling_.begin());
      make_free(w);
    }
    while (!ready_.empty() && progress_.is_done(ready_.top().second)) ready_.pop();
    // what no computation needs (reductions of gradients) may lag without delaying others
    while (oldest_ < p_.units.size() &&
           (progress_.is_done(p_.order[oldest_]) || p_.need[p_.order[oldest_]] == no_index))
      ++oldest_;
    // the output comes last, even where it does not return the others' results
    const bool may_run = !ready_.empty() && (p_.kind(ready_.top().second) != task_kind::output || work_left_ == 0);
    if (may_run && (may_overtake(ready_.top()) || (stalling_.empty() && no_candidates()))) {
      const std::uint32_t u = ready_.top().second;
      if (budget_.limits().lag && launch_overdue()) return;
      if (budget_.limits().memory && (make_room(memory_.demand(u)) || wait_for_room(u))) return;
      const nanoseconds busy = p_.units.costs(u).duration + unpacking(u);
      if (busy > nanoseconds(0) && fill(now_ + busy)) return;  // look again: the clock may have moved
      ready_.pop();
      emit(u);
    } else if (!stalling_.empty()) {
      if (fill(std::get<0>(*stalling_.begin()))) return;
      stall(stalling_.begin());
    } else {
      launch_most_urgent();
    }
  }

  /// The first unit of the order may always run; a later one only near by, and where memory has room.
  [[nodiscard]] bool may_overtake(const by_rank& next) const {
    const list_limits& limits = budget_.limits();
    if (next.first <= oldest_) return true;
    if (next.first > oldest_ + window) return stalling_.empty() && !limits.memory;
    return !limits.memory || budget_.has_room(memory_.demand(next.second), oldest_, next.first);
  }
  /// Launches collectives that no computation needs, which free what they send, until there is room. \returns whether
  /// any was
  bool make_room(bytes demand) {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      while (!budget_.has_room(demand)) {
        const auto next = candidates_[c].lower_bound({no_index, 0, 0});
        if (next == candidates_[c].end()) break;
        launch(c, next);
        any = true;
      }
    return any;
  }
  /// If there is no room, waits for collectives that lag, whose memory the original order has freed by now. \returns
  /// whether there was one
  bool wait_for_room(std::uint32_t u) {
    if (budget_.has_room(memory_.demand(u))) return false;
    const auto lags = [&](const by_end& wait) { return std::get<1>(wait) < p_.rank[u]; };
    const auto first = std::find_if(stalling_.begin(), stalling_.end(), lags);
    if (first == stalling_.end()) return false;
    stall(first);
    return true;
  }
  void stall(std::set<by_end>::iterator at) {
    const auto [end, rank, wait] = *at;
    stalling_.erase(at);
    now_ = std::max(now_, end);
    if (may_be_pulled(wait)) unblock(wait);
    emit(wait);
  }
  /// Launches collectives that no computation needs and that lag too far, where there is room. \returns whether any was
  bool launch_overdue() {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      for (;;) {
        const auto next = candidates_[c].lower_bound({no_index, 0, 0});
        if (next == candidates_[c].end() || std::get<1>(*next) + *budget_.limits().lag > oldest_) break;
        if (budget_.limits().memory && !budget_.has_room(budget_.demand(std::get<2>(*next)))) break;
        launch(c, next);
        any = true;
      }
    return any;
  }
  [[nodiscard]] bool no_candidates() const {
    return std::all_of(candidates_.begin(), candidates_.end(), [](const auto& some) { return some.empty(); });
  }

  /// Launches on every channel that would be idle before `until`. \returns whether anything was launched
  bool fill(nanoseconds until) {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      while (clock_[c] < until && !candidates_[c].empty()) {
        auto next = candidates_[c].begin();
        if (!budget_.may_launch(std::get<2>(*next), oldest_)) {
          next = candidates_[c].lower_bound({no_index, 0, 0});
          if (next == candidates_[c].end() || !budget_.may_launch(std::get<2>(*next), oldest_)) break;
        }
        launch(c, next);
        any = true;
      }
    return any;
  }

  /// Nothing can run before some collective: launches the most urgent one, whatever the limits.
  void launch_most_urgent() {
    std::uint32_t channel = no_index;
    for (std::uint32_t c = 0; c < candidates_.size(); ++c)
      if (!candidates_[c].empty() && (channel == no_index || *candidates_[c].begin() < *candidates_[channel].begin()))
        channel = c;
    if (channel != no_index) {
      const auto first = candidates_[channel].begin();
      if (budget_.limits().memory && make_room(budget_.demand(std::get<2>(*first)))) return;
      return launch(channel, first);
    }
    SHARDWEAVE_EXPECTS(!ready_.empty());  // otherwise something depends on the output
    const std::uint32_t u = ready_.top().second;
    ready_.pop();
    emit(u);
  }

  void launch(std::uint32_t channel, std::set<by_urgency>::iterator at) {
    const std::uint32_t u = std::get<2>(*at);
    candidates_[channel].erase(at);
    for (const std::uint32_t v : p_.prelude[u])
      if (!progress_.is_done(v)) emit(v);
    emit(u);
  }

  void emit(std::uint32_t u) {
    const bucket_costs costs = p_.units.costs(u);
    budget_.take(u, oldest_);
    if (p_.kind(u) != task_kind::output) --work_left_;
    if (p_.units.is_collective(u)) {
      now_ += costs.pack;
      nanoseconds& clock = clock_[p_.units.channel(u)];
      clock = std::max(now_, clock) + costs.duration;
      end_[u] = clock;
      budget_.launch(u);
    } else {
      now_ += costs.duration + unpacking(u);
      if (const task_index c = p_.g.completes(p_.units.first(u)); c != no_index) budget_.pass_wait(p_.units.unit_of(c));
    }
    memory_.run(u);
    progress_.finish(u, [this](std::uint32_t next) { make_ready(next); });
    if (!may_be_pulled(u)) unblock(u);
  }

  /// Time to unpack a bucket, for the first wait for it.
  [[nodiscard]] nanoseconds unpacking(std::uint32_t u) const {
    const task_index c = p_.g.completes(p_.units.first(u));
    if (c == no_index || memory_.is_unpacked(p_.units.unit_of(c))) return nanoseconds(0);
    return p_.units.costs(p_.units.unit_of(c)).unpack;
  }

  void make_ready(std::uint32_t u) {
    if (progress_.is_done(u) || p_.units.is_collective(u)) return;
    const task_index c = p_.g.completes(p_.units.first(u));
    if (c != no_index && end_[p_.units.unit_of(c)] > now_) {
      stalling_.emplace(end_[p_.units.unit_of(c)], p_.rank[u], u);
    } else {
      make_free(u);
    }
  }
  void make_free(std::uint32_t u) {
    ready_.emplace(p_.kind(u) == task_kind::output ? no_index : p_.rank[u], u);
    if (may_be_pulled(u)) unblock(u);
  }
  /// Whether a unit unblocks collectives as soon as it could run without a stall, and not only when it is done: waits,
  /// with limited memory. Without a limit gathers would start too early, before what is needed sooner: steps end later
  /// as often as earlier.
  [[nodiscard]] bool may_be_pulled(std::uint32_t u) const { return budget_.limits().memory && p_.is_wait(u); }
  void unblock(std::uint32_t u) {
    for (const std::uint32_t v : p_.blocks[u])
      if (--blockers_[v] == 0) offer(v);
  }
  void offer(std::uint32_t u) { candidates_[p_.units.channel(u)].emplace(budget_.need(u), p_.rank[u], u); }

  const list_plan& p_;
  unit_memory memory_;
  unit_progress progress_;
  launch_budget budget_;
  std::vector<std::uint32_t> blockers_;
  std::vector<nanoseconds> clock_;                // by channel
  std::vector<std::set<by_urgency>> candidates_;  // by channel
  std::vector<nanoseconds> end_;                  // of launched collectives
  std::priority_queue<by_rank, std::vector<by_rank>, std::greater<>> ready_;
  std::set<by_end> stalling_;
  nanoseconds now_;            // of the compute stream
  std::size_t work_left_ = 0;  // units other than outputs
  std::uint32_t oldest_ = 0;   // smallest rank of a unit that is not emitted and that a computation needs
};

}  // namespace shardweave::inline v0::detail

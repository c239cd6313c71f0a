#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/unit_memory.hpp>
#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/overlap/detail/exposure_account.hpp>
#include <shardweave/schedule/overlap/detail/launch_candidates.hpp>
#include <shardweave/schedule/overlap/detail/launch_paths.hpp>
#include <shardweave/schedule/overlap/detail/memory_allowance.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap/detail/ready_units.hpp>
#include <shardweave/schedule/overlap/detail/share_of.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// \file
/// The main loop of exposure-driven scheduling.

namespace shardweave::inline v0::detail {

/// A run over the units of a task graph. Computations keep their order; each window, that is, a task with a duration or
/// a stall at a wait, first hides what is in flight and then launches what it can hide.
///
/// Coordinates the parts, and is the only one to change them. `overlap_facts` are constant; `unit_progress`,
/// `exposure_account` and `unit_memory` follow each step; `ready_units`, `launch_candidates`, `launch_paths` and
/// `memory_allowance` derive from these what may come next. A wait that stalls is a window, too, and may be nested in
/// another one.
/// Complexity: O((V + E) log V), and `candidates` per window.
class overlap_run {
 public:
  /// \param order  a topological order of the units, whose places break ties
  /// \pre all arguments outlive this
  overlap_run(const task_graph& g, const launch_units& units, std::span<const std::uint32_t> order,
              const overlap_settings& settings, const storage_uses& uses)
      : g_(g),
        units_(units),
        settings_(settings),
        facts_(g, units, order),
        progress_(g, units),
        account_(facts_, units, g.groups().size(), settings.merging_saves_latency),
        memory_(g, units, uses),
        allowance_(g, units, order, memory_, settings),
        paths_(g, units, facts_, progress_, account_),
        ready_(g, units, facts_, progress_, account_, settings),
        candidates_(facts_, progress_, account_, settings, g.groups().size()) {
    for (const std::uint32_t u : order)
      if (progress_.is_ready(u)) ready_.add(u);
  }
  overlap_run(const overlap_run&) = delete;  // members refer to each other
  overlap_run& operator=(const overlap_run&) = delete;

  void run() {
    while (!ready_.empty()) {
      while (!unpacking_.empty()) {  // other collectives run during unpacking, but there is no task to name in records
        const std::uint32_t u = unpacking_.back();
        unpacking_.pop_back();
        overlap(u, units_.costs(facts_.start_of[u]).unpack, no_index, false);
      }
      if (account_.in_flight_bytes() >= settings_.in_flight) {
        if (const std::uint32_t c = account_.oldest(); c != no_index && !account_.is_waited_for(c)) {
          wait(facts_.first_wait[c]);
          continue;
        }
      }
      for (const std::uint32_t u : ready_.next(allowance_.is_exceeded_by(memory_.live())))
        if (!progress_.is_done(u)) take(u);
    }
  }

  /// The units in the order in which they were taken.
  [[nodiscard]] std::span<const std::uint32_t> as_launched() const { return progress_.order(); }
  /// Records by this scheduler's own account, for each collective that something waits for, in the original order.
  [[nodiscard]] std::vector<hiding_record> records() const { return account_.records(); }
  [[nodiscard]] nanoseconds wasted() const { return account_.wasted(); }

 private:
  void take(std::uint32_t u) {
    if (facts_.is_start(u))
      launch(u);
    else if (facts_.is_wait(u))
      wait(u);
    else
      work(u);
    ready_.take(u);
  }

  void emit(std::uint32_t u) {
    memory_.run(u);
    // parts of gathered buckets are copied out, parts of reduced ones are views
    if (facts_.is_wait(u)) {
      const std::uint32_t c = facts_.start_of[u];
      if (facts_.first_wait[c] == u && units_.is_bucket(c) &&
          g_.collective(units_.first(c)).op == collective::all_gather)
        unpacking_.push_back(u);
    }
    progress_.finish(u, [this](std::uint32_t next) { ready_.add(next); });
  }
  void work(std::uint32_t u) {
    const nanoseconds takes = units_.is_collective(u) ? nanoseconds(0) : units_.costs(u).duration;
    const bool computes = g_.kind(units_.first(u)) == task_kind::compute;
    if (takes > nanoseconds(0) || computes) {
      const nanoseconds available(share_of(takes.count(), settings_.compute_share));
      overlap(u, available, no_index);
    }
    emit(u);
    if (computes) candidates_.advance();
  }
  void launch(std::uint32_t c) {
    account_.launch(c);
    candidates_.launch(c);
    ready_.launch(c);
    emit(c);
  }
  void wait(std::uint32_t u) {
    const std::uint32_t c = facts_.start_of[u], channel = facts_.channel[c];
    for (const auto& e : units_.graph().in(u))
      if (!progress_.is_done(e.source)) emit(e.source);  // the part of it that is waited for
    if (!account_.is_in_flight(c)) return emit(u);
    // a channel works in order: earlier launches are done, too
    while (account_.oldest_on(channel) != c) wait(facts_.first_wait[account_.oldest_on(channel)]);
    account_.begin_wait(c);
    if (account_.is_exposed(c)) overlap(u, account_.exposed(c), channel);
    account_.land(c);
    emit(u);
  }

  /// A window of `time` for `v`: hides what is in flight, and launches more.
  void overlap(std::uint32_t v, nanoseconds time, std::uint32_t excluded, bool is_counted = true) {
    exposure_window window = account_.open(v, time, excluded, is_counted);
    if (window.is_full()) return;
    const std::vector<std::uint32_t> candidates = candidates_.look(window);
    paths_.begin_window(candidates_.farthest());
    for (const std::uint32_t c : candidates) {
      if (progress_.is_done(c) || window.left[facts_.channel[c]] <= nanoseconds(0) || !admit(c, v)) continue;
      const std::vector<std::uint32_t> path = paths_.found();  // a copy, since a wait in it may search again
      for (const std::uint32_t u : path) {
        if (progress_.is_done(u)) continue;
        facts_.is_wait(u) ? wait(u) : emit(u);
      }
      launch(c);
      allowance_.take(progress_.computed(), facts_.need[c], facts_.size[c]);
      account_.hide(c, window);
      if (window.is_full()) break;
    }
    account_.close(window);
  }

  [[nodiscard]] bool has_room(std::uint32_t c) const {
    return settings_.in_flight - account_.in_flight_bytes() >= facts_.size[c];
  }
  [[nodiscard]] bool fits(std::uint32_t c) const {
    return allowance_.fits(memory_.live(), progress_.computed(), facts_.need[c], facts_.size[c]);
  }
  /// Whether waiting for the oldest in flight is free: it is hidden, and not by `v`.
  [[nodiscard]] bool may_wait(std::uint32_t v) const {
    const std::uint32_t c = account_.oldest();
    return c != no_index && !account_.is_waited_for(c) && !account_.is_exposed(c) && !account_.hides(v, c);
  }
  /// Whether `c` may be launched before `v`; waits for others to make room in flight if it can. Leaves the path in
  /// `paths_`.
  [[nodiscard]] bool admit(std::uint32_t c, std::uint32_t v) {
    if (has_room(c)) return paths_.find(c, v) && fits(c);
    if (!may_wait(v) || !fits(c) || paths_.leads_to(v, c)) return false;
    while (!has_room(c) && may_wait(v)) wait(facts_.first_wait[account_.oldest()]);
    return !progress_.is_done(c) && has_room(c) && paths_.find(c, v);
  }

  const task_graph& g_;
  const launch_units& units_;
  const overlap_settings& settings_;
  overlap_facts facts_;
  unit_progress progress_;
  exposure_account account_;
  unit_memory memory_;
  memory_allowance allowance_;
  launch_paths paths_;
  ready_units ready_;
  launch_candidates candidates_;
  std::vector<std::uint32_t> unpacking_;  // first waits for buckets whose parts have not been copied out
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a step's end-to-end time is made of: the chain of work in which each piece starts as the one before it ends.

namespace shardweave::inline v0 {

/// What a piece of the chain does.
enum class critical_work : std::uint8_t { computation, communication, packing, unpacking, host };

/// Why a piece of the chain did not start earlier.
enum class critical_reason : std::uint8_t {
  start,         ///< it starts at 0
  dependency,    ///< it needs what the piece before computes, perhaps through views
  compute_busy,  ///< the compute stream was busy with the piece before, which it does not need
  channel_busy,  ///< the channel of its group was busy with the collective before
  wait,          ///< the compute stream waited for the collective before
  packing,       ///< the compute stream packed or unpacked
  host_launch    ///< the host had not launched it
};

/// One word, for people and files: "computation".
[[nodiscard]] constexpr std::string_view to_string(critical_work work) {
  constexpr std::string_view names[] = {"computation", "communication", "packing", "unpacking", "host"};
  return names[static_cast<std::size_t>(work)];
}
/// One word, for people and files: "channel_busy".
[[nodiscard]] constexpr std::string_view to_string(critical_reason reason) {
  constexpr std::string_view names[] = {"start", "dependency", "compute_busy", "channel_busy",
                                        "wait",  "packing",    "host_launch"};
  return names[static_cast<std::size_t>(reason)];
}

/// A piece of the chain.
struct critical_step {
  /// A bucket, its packing and its unpacking stand under its first member; the host under what it launched last.
  task_index task = no_index;
  critical_work work = critical_work::computation;
  critical_reason reason = critical_reason::start;
  nanoseconds start;
  nanoseconds end;
  friend bool operator==(const critical_step&, const critical_step&) = default;
};

namespace detail {
class critical_walk {
 public:
  critical_walk(const task_graph& g, const schedule& s, const timeline& line, std::span<const nanoseconds> pack_end,
                std::span<const nanoseconds> launched)
      : g_(g),
        s_(s),
        line_(line),
        launched_(launched),
        leader_(launch_leaders(g.size(), s.buckets)),
        launch_(g.size()),
        seen_(g.size()),
        position_(g.size()) {
    std::vector<std::size_t> waiting;
    std::vector<bool> unpacked(s.buckets.size());
    const std::vector<std::uint32_t> owner = bucket_of_tasks(g.size(), s.buckets);
    for (const bucket& b : s.buckets) waiting.push_back(b.members.size());
    std::vector<task_index> last(g.groups().size(), no_index);
    for (std::uint32_t at = 0; at < s.order.size(); ++at) {
      const task_index t = s.order[at];
      position_[t] = at;
      if (g.is_collective(t)) {
        const std::uint32_t b = owner[t];
        if (b != no_index && --waiting[b] > 0) continue;
        if (b != no_index) push(t, critical_work::packing, b, line.buckets[b].pack_start, pack_end[b]);
        launch_[leader_[t]] = {pieces_.size(), last[g.collective(t).group], b, at};
        last[g.collective(t).group] = leader_[t];
      } else {
        const bool waits = g.kind(t) == task_kind::wait;
        push(t, waits ? critical_work::communication : critical_work::computation, no_index, line.start[t],
             line.end[t]);
        if (const task_index c = g.completes(t); c != no_index && owner[c] != no_index && !unpacked[owner[c]]) {
          const std::uint32_t b = owner[c];
          unpacked[b] = true;
          push(t, critical_work::unpacking, b, line.buckets[b].unpack_start, line.buckets[b].unpack_end);
        }
      }
    }
    last_ = std::move(last);
  }

  [[nodiscard]] std::vector<critical_step> run() {
    clock_ = line_.end_to_end;
    std::size_t next = pieces_.size();  // pieces below it come before
    if (next == 0 || pieces_.back().end < clock_)
      for (const task_index c : last_)
        if (c != no_index && line_.end[c] == clock_) {
          next = through_channel(c);
          break;
        }
    while (clock_ > nanoseconds(0)) {
      if (next == 0 || pieces_[next - 1].end < clock_) {
        wait_for_host();
        break;
      }
      const piece& p = pieces_[--next];
      if (p.start == p.end) continue;
      if (p.work == critical_work::communication) {
        explain(critical_reason::wait);
        next = through_channel(leader_[g_.completes(p.task)]);
      } else {
        explain(p.work != critical_work::computation ? critical_reason::packing
                : needs(p)                           ? critical_reason::dependency
                                                     : critical_reason::compute_busy);
        add(p.bucket == no_index ? p.task : s_.buckets[p.bucket].members.front(), p.work, p.start);
        top_ = position_[p.task];
      }
    }
    return std::move(steps_);
  }

 private:
  /// What the compute stream does, one after the other; a stall is a piece of communication.
  struct piece {
    task_index task;
    critical_work work;
    std::uint32_t bucket;
    nanoseconds start, end;
  };
  struct launch {
    std::size_t pieces = 0;        // of the compute stream before it
    task_index before = no_index;  // on its channel
    std::uint32_t bucket = no_index;
    std::uint32_t position = 0;
  };
  void push(task_index t, critical_work work, std::uint32_t bucket, nanoseconds start, nanoseconds end) {
    pieces_.push_back({t, work, bucket, start, end});
  }
  void add(task_index t, critical_work work, nanoseconds start) {
    steps_.push_back({t, work, critical_reason::start, start, clock_});
    clock_ = start;
  }
  void explain(critical_reason reason) {
    if (!steps_.empty()) steps_.back().reason = reason;
  }
  /// Collectives one behind the other, the last of which ends now; returns how many pieces come before the first.
  std::size_t through_channel(task_index c) {
    for (;;) {
      add(c, critical_work::communication, line_.start[c]);
      const launch& l = launch_[c];
      top_ = l.position;
      const nanoseconds reached = l.pieces == 0 ? nanoseconds(0) : pieces_[l.pieces - 1].end;
      const bool queued = l.before != no_index && line_.end[l.before] == clock_;
      if (clock_ == nanoseconds(0) || reached == clock_ || !queued) return l.pieces;
      explain(critical_reason::channel_busy);
      c = l.before;
    }
  }
  void wait_for_host() {
    SHARDWEAVE_EXPECTS(!launched_.empty());
    const task_index waiting = steps_.empty() ? s_.order.back() : steps_.back().task;
    explain(critical_reason::host_launch);
    add(waiting, critical_work::host, nanoseconds(0));
  }
  /// Does the last step need this piece, through tasks that take no time? Between the two in the order there are no
  /// others on the compute stream, so each position is looked at once for all steps.
  bool needs(const piece& p) {
    if (steps_.empty()) return false;
    const task_index last = steps_.back().task;
    const std::uint32_t bottom = position_[p.task];
    std::vector<task_index>& open = open_;
    open.clear();
    if (g_.is_collective(last) && launch_[last].bucket != no_index) {
      const bucket& all = s_.buckets[launch_[last].bucket];
      // an unpacking needs no more than its wait
      if (steps_.back().work == critical_work::unpacking) {
        open.push_back(s_.order[top_]);
      } else {
        open.assign(all.members.begin(), all.members.end());
      }
    } else {
      open.push_back(last);
    }
    while (!open.empty()) {
      const task_index t = open.back();
      open.pop_back();
      for (const auto& e : g_.dependencies().in(t)) {
        if (e.source == p.task) return true;
        const bool passes = !g_.is_collective(e.source) && position_[e.source] > bottom && !seen_[e.source];
        if (!passes) continue;
        seen_[e.source] = true;
        open.push_back(e.source);
      }
    }
    return false;
  }

  const task_graph& g_;
  const schedule& s_;
  const timeline& line_;
  std::span<const nanoseconds> launched_;
  std::vector<task_index> leader_, last_, open_;
  std::vector<launch> launch_;  // by first member
  std::vector<bool> seen_;
  std::vector<std::uint32_t> position_;
  std::vector<piece> pieces_;
  std::vector<critical_step> steps_;
  nanoseconds clock_;
  std::uint32_t top_ = 0;
};
}  // namespace detail

/// The chain of work that makes the end-to-end time, from the end back to 0: each step starts when the next one in the
/// list ends, so their lengths sum to the end-to-end time. Where several chains are as long, the compute stream goes
/// before the channel, the channel before the host. A stall does not appear: the collective does, for which the
/// compute stream waits.
/// \pre `line` is what `simulate` gives for this graph and schedule
/// Complexity: O(V + E)
[[nodiscard]] inline std::vector<critical_step> critical_path(const task_graph& g, const schedule& s,
                                                              const timeline& line) {
  std::vector<nanoseconds> pack_end;
  for (std::size_t b = 0; b < s.buckets.size(); ++b)
    pack_end.push_back(line.buckets[b].pack_start + costs_of(g, s.buckets[b]).pack);
  return detail::critical_walk(g, s, line, pack_end, {}).run();
}

/// The same on a machine. The host never waits, so a chain that reaches it ends there, in one step from 0.
/// \pre `run` is what `simulate` gives for this graph and schedule
[[nodiscard]] inline std::vector<critical_step> critical_path(const task_graph& g, const schedule& s,
                                                              const machine_timeline& run) {
  return detail::critical_walk(g, s, run.line, run.pack_end, run.launched).run();
}

}  // namespace shardweave::inline v0

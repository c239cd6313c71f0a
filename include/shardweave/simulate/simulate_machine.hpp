#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/detail/host_walk.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// What a schedule takes on a machine whose launches cost time and whose streams disturb each other.

namespace shardweave::inline v0 {

namespace detail {
/// Events of the compute stream and of the channels.
template <class Interference>
class machine_simulation {
 public:
  /// \param reference  timing and memory of the same schedule by the reference rule: memory is that of the order
  machine_simulation(const task_graph& g, const schedule& s, const machine<Interference>& m, timeline reference)
      : g_(g),
        s_(s),
        m_(m),
        host_(g, s, m.launches),
        lanes_(g.groups().size() + 1),
        queue_(g.groups().size()),
        done_(g.size()),
        stalled_(g.size()),
        passed_(g.size()) {
    line().start.resize(g.size());
    line().end.resize(g.size());
    line().buckets.resize(s.buckets.size());
    line().channel_busy.resize(g.groups().size());
    line().memory = std::move(reference.memory);
    line().peak = reference.peak;
    run_.pack_end.resize(s.buckets.size());
    run_.launched = std::move(host_.launched);
    run_.host = host_.end;
  }

  [[nodiscard]] machine_timeline run() {
    do {
      for (bool moved = true; moved;) {
        moved = advance_compute();
        for (std::uint32_t c = 0; c < queue_.size(); ++c) moved = advance_channel(c) || moved;
      }
      set_paces();
      now_ = never;
      for (const lane& l : lanes_) now_ = std::min(now_, l.until);
    } while (now_ != never);
    SHARDWEAVE_EXPECTS(at_ == host_.actions.size());
    timeline& l = line();
    l.end_to_end = std::max(clock_, last_);
    l.tail = l.end_to_end - clock_;
    l.hidden = l.communication - l.exposed - l.tail;
    l.hidden_count = l.collectives - stalls_;
    for (memory_sample& sample : l.memory) sample.time = passed_[sample.task];
    return std::move(run_);
  }

 private:
  static constexpr nanoseconds never = nanoseconds(std::numeric_limits<std::int64_t>::max());
  using action = stream_action;
  struct lane {
    paced_work work = {};
    nanoseconds until = never;  // whatever comes next on this lane
    bool busy = false, delayed = false;
    std::size_t action = 0;
  };
  timeline& line() { return run_.line; }
  task_index leader(const action& a) const {
    return a.bucket == no_index ? a.task : s_.buckets[a.bucket].members.front();
  }

  bool advance_compute() {
    lane& me = lanes_[0];
    const std::size_t before = at_;
    if (me.busy) {
      if (me.until > now_) return false;
      me.busy = false;
      changed_ = true;
      finish_work();
    }
    for (me.until = never; at_ < host_.actions.size();) {
      const action& a = host_.actions[at_];
      passed_[a.task] = clock_;
      if (a.what == stream_step::skip || a.what == stream_step::launch) {
        if (a.what == stream_step::launch)
          queue_[g_.collective(a.task).group].push_back({at_, std::max(clock_, a.launched)});
        ++at_;
        continue;
      }
      if ((a.what == stream_step::stall || a.duration > nanoseconds(0)) && a.launched > clock_) {
        if (a.launched > now_) {
          me.until = a.launched;
          break;
        }
        run_.starved += a.launched - clock_;
        clock_ = a.launched;
      }
      if (a.what == stream_step::stall) {
        if (!stall(a)) break;
      } else if (began_ = clock_; a.duration > nanoseconds(0)) {
        begin(me, at_);
        break;
      } else {
        finish_work();
      }
    }
    return at_ != before;
  }
  /// False: its collective is not done.
  bool stall(const action& a) {
    const task_index c = g_.completes(a.task);
    line().start[a.task] = clock_;
    if (c != no_index && !done_[c]) return false;
    if (c != no_index && line().end[c] > clock_) {
      line().exposed += line().end[c] - clock_;
      clock_ = line().end[c];
      const task_index launch = host_.owner[c] == no_index ? c : s_.buckets[host_.owner[c]].members.front();
      stalls_ += !stalled_[launch];
      stalled_[launch] = true;
    }
    line().end[a.task] = passed_[a.task] = clock_;
    ++at_;
    return true;
  }
  void finish_work() {
    const action& a = host_.actions[at_++];
    if (a.duration > nanoseconds(0)) clock_ = now_;
    const nanoseconds spent = clock_ - began_;
    run_.compute_slowed += spent - a.duration;
    (a.what == stream_step::compute ? line().compute : line().packing) += spent;
    if (a.what == stream_step::compute) {
      line().start[a.task] = began_;
      line().end[a.task] = clock_;
    } else if (a.what == stream_step::pack) {
      line().buckets[a.bucket].pack_start = began_;
      run_.pack_end[a.bucket] = clock_;
    } else {
      line().buckets[a.bucket].unpack_start = began_;
      line().buckets[a.bucket].unpack_end = clock_;
    }
    passed_[a.task] = clock_;
  }

  bool advance_channel(std::uint32_t channel) {
    lane& me = lanes_[channel + 1];
    for (bool moved = false;; moved = true) {
      if (me.busy || me.delayed) {
        if (me.until > now_) return moved;
        const bool moves = me.delayed && host_.actions[me.action].duration > nanoseconds(0);
        changed_ = changed_ || me.busy;
        me.busy = me.delayed = false;
        me.until = never;
        moves ? begin(me, me.action) : finish_collective(me.action, channel);
        continue;
      }
      auto& waiting = queue_[channel];
      me.until = waiting.empty() ? never : waiting.front().second;
      if (me.until > now_) return moved;
      me.action = waiting.front().first;
      waiting.pop_front();
      set_span(me.action, &timeline::start, &bucket_times::start);
      me.delayed = true;  // a latency of none ends at once
      me.until = now_ + m_.launches.latency;
    }
  }
  void finish_collective(std::size_t index, std::uint32_t channel) {
    const action& a = host_.actions[index];
    const nanoseconds spent = now_ - line().start[a.task];
    line().channel_busy[channel] += spent;
    line().communication += spent;
    ++line().collectives;
    run_.communication_slowed += spent - a.duration - m_.launches.latency;
    set_span(index, &timeline::end, &bucket_times::end);
    last_ = std::max(last_, now_);
    done_[a.task] = true;
    if (a.bucket != no_index)
      for (const task_index t : s_.buckets[a.bucket].members) done_[t] = true;
  }
  void set_span(std::size_t index, std::vector<nanoseconds> timeline::*of_tasks, nanoseconds bucket_times::*of_bucket) {
    const action& a = host_.actions[index];
    (line().*of_tasks)[a.task] = now_;
    if (a.bucket == no_index) return;
    line().buckets[a.bucket].*of_bucket = now_;
    for (const task_index t : s_.buckets[a.bucket].members) (line().*of_tasks)[t] = now_;
  }

  void begin(lane& l, std::size_t index) {
    l.busy = changed_ = true;
    l.action = index;
    l.work = paced_work(host_.actions[index].duration);
  }
  void set_paces() {
    if (!changed_) return;
    changed_ = false;
    communicating_.clear();
    for (std::uint32_t c = 0; c < queue_.size(); ++c)
      if (lanes_[c + 1].busy) communicating_.push_back({c, leader(host_.actions[lanes_[c + 1].action])});
    const running_work now{lanes_[0].busy ? leader(host_.actions[lanes_[0].action]) : no_index, communicating_};
    if (lanes_[0].busy) set_pace(lanes_[0], m_.interference.compute_slowdown(now));
    for (std::size_t i = 0; i < communicating_.size(); ++i)
      set_pace(lanes_[communicating_[i].channel + 1], m_.interference.collective_slowdown(now, i));
  }
  void set_pace(lane& l, double slowdown) {
    if (!(slowdown >= 1 && std::isfinite(slowdown)))
      refuse(error_category::input, "the interference policy slows " + g_.label(leader(host_.actions[l.action])) +
                                        " by " + number_text(slowdown) + ", expected a finite factor of 1 or more");
    l.until = l.work.end_at(now_, slowdown);
  }

  const task_graph& g_;
  const schedule& s_;
  const machine<Interference>& m_;
  host_walk host_;
  std::vector<lane> lanes_;                                             // the compute stream, then the channels
  std::vector<std::deque<std::pair<std::size_t, nanoseconds>>> queue_;  // by channel: launched, and from when on
  std::vector<bool> done_, stalled_;
  std::vector<nanoseconds> passed_;  // the compute stream's clock after a task
  std::vector<busy_channel> communicating_;
  std::size_t at_ = 0, stalls_ = 0;
  bool changed_ = false;
  nanoseconds now_, clock_, began_, last_;
  machine_timeline run_;
};
}  // namespace detail

/// Simulates the schedule on a machine, event by event. As in the reference timing, except that
///  - the host launches all work, in the order of the schedule: no work, launch or wait of the device begins before the
///    host has launched it;
///  - a launched collective holds its channel for the latency before its data move;
///  - while data move or the compute stream works, each takes as many times longer as the machine's policy says for
///    what runs at that moment. An end falls on the next whole nanosecond.
/// Memory is that of the order, as in the reference timing.
///
/// \pre `options.validate` is set, or the schedule is valid
/// \throws error (input) as `simulate` without a machine, or if the policy gives a factor below 1 or not finite
/// Complexity: O(E + V * groups), and at most 1 + groups calls of the policy per start or end of work
template <class Interference>
[[nodiscard]] machine_timeline simulate(const task_graph& g, const schedule& s, const machine<Interference>& m,
                                        const simulate_options& options = {}) {
  return detail::machine_simulation(g, s, m, simulate(g, s, options)).run();
}

}  // namespace shardweave::inline v0

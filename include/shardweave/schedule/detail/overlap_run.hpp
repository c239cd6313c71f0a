#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/schedule/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The state of exposure-driven scheduling, and its steps.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// One run over the units of a task graph. Computations keep their order; each window, that is a task with a duration
/// or a stall at a wait, first hides what is in flight and then launches what it can hide.
class overlap_run {
 public:
  /// \param order  a topological order of the units: ties are broken by the places in it
  /// \pre all arguments outlive this
  overlap_run(const task_graph& g, const launch_units& units, std::span<const std::uint32_t> order,
              const overlap_settings& settings, const storage_uses& uses)
      : plan_(g, units, order),
        g_(g),
        units_(units),
        settings_(settings),
        memory_(uses, g.storages().size()),
        missing_(units.size()),
        done_(units.size()),
        exposed_(units.size()),
        hiding_(units.size()),
        launched_at_(units.size()),
        in_flight_(g.groups().size()),
        uncovered_(g.groups().size()),
        open_(g.groups().size()),
        active_(g.groups().size()),
        ready_bytes_(plan_.key_count),
        flying_(plan_.latency_key_count),
        groups_(plan_.key_count),
        seen_(units.size()),
        after_(units.size()) {
    const bytes base = measure_order(order);
    bytes more;
    if (settings.memory_increase) more = *settings.memory_increase;
    if (settings.memory_ratio)
      more =
          std::max(more, bytes(static_cast<std::int64_t>(*settings.memory_ratio * static_cast<double>(base.count()))));
    if (settings.memory_increase || settings.memory_ratio) allowed_ = base + more;
    for (std::uint32_t u = 0; u < units.size(); ++u) {
      missing_[u] = static_cast<std::uint32_t>(units.graph().in(u).size());
      if (plan_.first_wait[u] != no_index) exposed_[u] = units.costs(u).duration;
    }
    off_path_starts_.resize(plan_.key_count);
    by_need_.resize(plan_.compute_count);
    for (const std::uint32_t u : order) {
      if (plan_.first_wait[u] == no_index) continue;
      if (plan_.need[u] == never || plan_.need[u] <= settings.compute_ahead)
        open_[plan_.channel[u]].insert(plan_.rank[u]);
      else
        by_need_[plan_.need[u]].push_back(u);
    }
    for (const std::uint32_t u : order)
      if (missing_[u] == 0) ready(u);
  }

  void run() {
    while (!on_path_.empty() || !off_path_.empty()) {
      while (!unpacking_.empty()) {  // other collectives run meanwhile, but no task is there to be counted on
        const std::uint32_t u = unpacking_.back();
        unpacking_.pop_back();
        overlap(u, units_.costs(plan_.start_of[u]).unpack, no_index, false);
      }
      if (in_flight_bytes_ >= settings_.in_flight && flying_count_ > 0 && !reenters(oldest())) {
        wait(plan_.first_wait[oldest()]);
        continue;
      }
      for (const std::uint32_t u : next()) {
        if (done_[u]) continue;
        take(u);
      }
    }
  }

  /// Units in the order in which they are taken.
  [[nodiscard]] std::span<const std::uint32_t> as_launched() const { return emitted_; }
  /// By this scheduler's own account, for each collective that something waits for, in the original order.
  [[nodiscard]] std::vector<hiding_record> records() const {
    std::vector<hiding_record> all;
    for (const std::uint32_t u : plan_.order) {
      if (plan_.first_wait[u] == no_index) continue;
      hiding_record r{.collective = units_.first(u), .exposed = exposed_[u]};
      r.hidden = units_.costs(u).duration - exposed_[u];
      for (const std::uint32_t v : hiding_[u]) r.behind.push_back(units_.first(v));
      all.push_back(std::move(r));
    }
    return all;
  }
  [[nodiscard]] nanoseconds wasted() const { return wasted_; }
  [[nodiscard]] std::optional<bytes> allowed_peak() const { return allowed_; }

 private:
  static constexpr std::uint32_t never = overlap_facts::never;

  /// Bytes alive in the given order: returns the most after any task, and keeps that before each computation.
  bytes measure_order(std::span<const std::uint32_t> order) {
    memory_tracker tracker = memory_;
    std::vector<bool> unpacked(units_.size());
    std::vector<bytes> before;
    bytes most, recent;
    for (const std::uint32_t u : order) {
      run_in(tracker, u, unpacked);
      most = std::max(most, tracker.live());
      recent = std::max(recent, tracker.live());
      if (g_.kind(units_.first(u)) == task_kind::compute) {
        before.push_back(recent);
        recent = tracker.live();
      }
    }
    alive_ = memory_profile(before);
    ahead_ = memory_profile(std::vector<bytes>(before.size()));
    unpacked_.assign(units_.size(), false);
    return most;
  }
  void run_in(memory_tracker& tracker, std::uint32_t u, std::vector<bool>& unpacked) const {
    if (units_.is_bucket(u)) return tracker.launch(units_.bucket_at(u));
    if (const task_index c = g_.completes(units_.first(u)); c != no_index) {
      const std::uint32_t launched = units_.unit_of(c);
      if (units_.is_bucket(launched) && !unpacked[launched]) {
        unpacked[launched] = true;
        tracker.unpack(units_.bucket_at(launched));
      }
    }
    tracker.run(units_.first(u));
  }

  [[nodiscard]] bool is_start(std::uint32_t u) const { return plan_.first_wait[u] != no_index; }
  [[nodiscard]] bool is_wait(std::uint32_t u) const { return plan_.start_of[u] != no_index; }
  [[nodiscard]] bool is_compute(std::uint32_t u) const { return g_.kind(units_.first(u)) == task_kind::compute; }

  // --- what may come next ---------------------------------------------------------------------------------------

  /// Views, and element-wise operations by their usual names.
  [[nodiscard]] bool is_cheap(std::uint32_t u) const {
    const task_index t = units_.first(u);
    if (g_.kind(t) == task_kind::view) return g_.op(t) != "getitem";
    if (g_.kind(t) != task_kind::other) return false;
    return settings_.is_elementwise(g_.op(t));
  }
  /// All that a unit leads to, one to one through cheap tasks, is a collective that is not launched yet.
  [[nodiscard]] bool leads_to_collective(std::uint32_t u) const {
    for (;;) {
      const std::uint32_t user = only_end(units_.graph().out(u), [](const auto& e) { return e.target; });
      if (user == no_index || only_end(units_.graph().in(user), [](const auto& e) { return e.source; }) == no_index)
        return false;
      if (is_start(user) && !done_[user]) return true;
      if (units_.is_collective(user) || !is_cheap(user)) return false;
      u = user;
    }
  }
  template <class Edges, class End>
  static std::uint32_t only_end(const Edges& edges, End end) {
    if (edges.empty()) return no_index;
    for (const auto& e : edges)
      if (end(e) != end(edges.front())) return no_index;
    return end(edges.front());
  }

  void ready(std::uint32_t u) {
    if (plan_.need[u] == never) {
      const std::tuple entry(plan_.feeds_scatter[u] ? 0U : 1U, plan_.rank[u], u);
      off_path_.insert(entry);
      if (is_start(u)) {
        off_path_starts_[plan_.key[u]].insert(entry);
        ready_bytes_[plan_.key[u]] += plan_.size[u];
      }
      return;
    }
    int local = 0;
    if (is_wait(u))
      local = exposed_[plan_.start_of[u]] > nanoseconds(0) ? 1 : 0;
    else if (leads_to_collective(u))
      local = -1;
    on_path_.emplace(plan_.need[u], local, plan_.rank[u], u);
  }

  [[nodiscard]] bool off_path_is_next(std::uint32_t u) const {
    if (on_path_.empty() || done_[u] != 0) return true;
    if (is_wait(u)) {
      const std::uint32_t c = plan_.start_of[u];
      return exposed_[c] == nanoseconds(0) || (allowed_ && memory_.live() > *allowed_);
    }
    if (is_start(u) && settings_.off_path_batch) return ready_bytes_[plan_.key[u]] >= *settings_.off_path_batch;
    return plan_.feeds_scatter[u] && static_cast<std::int64_t>(plan_.rank[u]) <= last_on_path_;
  }

  std::vector<std::uint32_t> next() {
    if (!off_path_.empty()) {
      const auto top = *off_path_.begin();
      const std::uint32_t u = std::get<2>(top);
      if (off_path_is_next(u)) {
        off_path_.erase(off_path_.begin());
        std::vector<std::uint32_t> all = {u};
        if (!settings_.off_path_batch || !is_start(u) || (done_[u] != 0 && settings_.exact_batches)) return all;
        bytes total = plan_.size[u];
        by_key& partners = off_path_starts_[plan_.key[u]];
        partners.erase(top);
        for (auto at = partners.begin();
             at != partners.end() && total + plan_.least_size[plan_.key[u]] <= *settings_.off_path_batch;) {
          const std::uint32_t other = std::get<2>(*at);
          if (!done_[other] && total + plan_.size[other] > *settings_.off_path_batch) {
            ++at;
            continue;
          }
          if (!done_[other]) {
            all.push_back(other);
            total += plan_.size[other];
            off_path_.erase(*at);
          }
          at = partners.erase(at);
        }
        return all;
      }
    }
    const std::uint32_t u = std::get<3>(*on_path_.begin());
    on_path_.erase(on_path_.begin());
    return {u};
  }

  void take(std::uint32_t u) {
    if (is_start(u))
      launch(u);
    else if (is_wait(u))
      wait(u);
    else
      work(u);
    if (plan_.need[u] != never)
      last_on_path_ = std::max<std::int64_t>(last_on_path_, plan_.rank[u]);
    else if (is_start(u) && !settings_.exact_batches)
      ready_bytes_[plan_.key[u]] -= plan_.size[u];
  }

  // --- steps ----------------------------------------------------------------------------------------------------

  void emit(std::uint32_t u) {
    done_[u] = 1;
    emitted_.push_back(u);
    run_in(memory_, u, unpacked_);
    // parts of what is gathered are copied out, parts of what is reduced are views
    if (is_wait(u) && plan_.first_wait[plan_.start_of[u]] == u && units_.is_bucket(plan_.start_of[u]) &&
        g_.collective(units_.first(plan_.start_of[u])).op == "all_gather")
      unpacking_.push_back(u);
    for (const auto& e : units_.graph().out(u))
      if (--missing_[e.target] == 0) ready(e.target);
  }

  void work(std::uint32_t u) {
    const nanoseconds takes = units_.is_collective(u) ? nanoseconds(0) : units_.costs(u).duration;
    const bool computes = is_compute(u);
    if (takes > nanoseconds(0) || computes) {
      const nanoseconds available(
          static_cast<std::int64_t>(settings_.compute_share * static_cast<double>(takes.count())));
      overlap(u, available, no_index);
    }
    emit(u);
    if (!computes) return;
    ++computed_;
    if (const std::size_t need = computed_ + settings_.compute_ahead; need < by_need_.size())
      for (const std::uint32_t c : by_need_[need])
        if (!done_[c]) open_[plan_.channel[c]].insert(plan_.rank[c]);
  }

  void launch(std::uint32_t u) {
    const std::uint32_t channel = plan_.channel[u];
    if (settings_.merging_saves_latency && plan_.latency_key[u] != no_index && flying_[plan_.latency_key[u]] > 0)
      exposed_[u] = std::max(nanoseconds(0), exposed_[u] - plan_.latency[u]);
    launched_at_[u] = ++launches_;
    in_flight_[channel].push_back(u);
    if (exposed_[u] > nanoseconds(0)) uncovered_[channel].push_back(u);
    in_flight_bytes_ += plan_.size[u];
    ++flying_count_;
    if (plan_.latency_key[u] != no_index) ++flying_[plan_.latency_key[u]];
    open_[channel].erase(plan_.rank[u]);
    if (plan_.need[u] == never && settings_.exact_batches) ready_bytes_[plan_.key[u]] -= plan_.size[u];
    emit(u);
  }

  [[nodiscard]] bool is_in_flight(std::uint32_t c) const {
    const auto& line = in_flight_[plan_.channel[c]];
    return done_[c] && !line.empty() && launched_at_[line.front()] <= launched_at_[c];
  }

  void wait(std::uint32_t u) {
    const std::uint32_t c = plan_.start_of[u], channel = plan_.channel[c];
    if (!is_in_flight(c)) return emit(u);
    // a channel works in order: what was launched before is done, too
    while (in_flight_[channel].front() != c) wait(plan_.first_wait[in_flight_[channel].front()]);
    ++active_[channel];
    if (exposed_[c] > nanoseconds(0)) overlap(u, exposed_[c], channel);
    --active_[channel];
    in_flight_[channel].pop_front();
    in_flight_bytes_ -= plan_.size[c];
    --flying_count_;
    if (plan_.latency_key[c] != no_index) --flying_[plan_.latency_key[c]];
    emit(u);
  }

  [[nodiscard]] std::uint32_t oldest() const {
    std::uint32_t found = no_index;
    for (const auto& line : in_flight_)
      if (!line.empty() && (found == no_index || launched_at_[line.front()] < launched_at_[found]))
        found = line.front();
    return found;
  }
  /// A wait for it would have to be done within itself.
  [[nodiscard]] bool reenters(std::uint32_t c) const { return active_[plan_.channel[c]] > 0; }
  [[nodiscard]] bool hides(std::uint32_t v, std::uint32_t c) const {
    return std::find(hiding_[c].begin(), hiding_[c].end(), v) != hiding_[c].end();
  }

  // --- windows --------------------------------------------------------------------------------------------------

  /// While `v` takes `time`: what is in flight becomes hidden, and more is launched.
  void overlap(std::uint32_t v, nanoseconds time, std::uint32_t excluded, bool counted = true) {
    std::vector<nanoseconds> left(in_flight_.size(), nanoseconds(-1));
    for (std::uint32_t channel = 0; channel < left.size(); ++channel) {
      if (channel == excluded) continue;
      left[channel] = time;
      auto& line = uncovered_[channel];
      while (!line.empty() && left[channel] > nanoseconds(0)) {
        const std::uint32_t c = line.front();
        if (is_in_flight(c) && exposed_[c] > nanoseconds(0)) {
          const nanoseconds hidden = std::min(exposed_[c], left[channel]);
          exposed_[c] -= hidden;
          left[channel] -= hidden;
          if (counted) hiding_[c].push_back(v);
          if (exposed_[c] > nanoseconds(0)) break;
        }
        line.pop_front();
      }
    }
    if (std::none_of(left.begin(), left.end(), [](nanoseconds l) { return l > nanoseconds(0); })) return;
    for (const std::uint32_t c : candidates(left)) {
      nanoseconds& rest = left[plan_.channel[c]];
      if (done_[c] || rest <= nanoseconds(0) || !admit(c, v)) continue;
      std::vector<std::uint32_t> path = path_;
      std::sort(path.begin(), path.end(), [&](auto a, auto b) { return plan_.rank[a] < plan_.rank[b]; });
      for (const std::uint32_t u : path) {
        if (done_[u]) continue;
        is_wait(u) ? wait(u) : emit(u);
      }
      launch(c);
      if (plan_.need[c] != never) {
        ahead_.raise(computed_, plan_.need[c], plan_.size[c]);
        alive_.raise(computed_, plan_.need[c], plan_.size[c]);
      }
      const nanoseconds hidden = std::min(rest, exposed_[c]);
      exposed_[c] -= hidden;
      rest -= hidden;
      if (counted) hiding_[c].push_back(v);
      if (std::none_of(left.begin(), left.end(), [](nanoseconds l) { return l > nanoseconds(0); })) break;
    }
    nanoseconds least = time;
    for (const nanoseconds l : left)
      if (l >= nanoseconds(0)) least = std::min(least, l);
    wasted_ += least;
  }

  struct candidate {
    std::tuple<int, std::uint32_t, std::int64_t, std::uint32_t> urgency;  // class, need, -hidden, rank
    std::uint32_t unit;
  };
  struct key_group {
    std::tuple<int, std::uint32_t, std::int64_t, std::uint32_t> first;
    std::int64_t size = 0;
    std::uint64_t stamp = 0;
  };

  /// Collectives that may be launched in a window, the most urgent first.
  std::vector<std::uint32_t> candidates(const std::vector<nanoseconds>& left) {
    std::vector<candidate>& found = found_;
    found.clear();
    std::vector<std::pair<std::set<std::uint32_t>::const_iterator, std::uint32_t>> at;
    for (std::uint32_t channel = 0; channel < left.size(); ++channel)
      if (left[channel] > nanoseconds(0) && !open_[channel].empty()) at.emplace_back(open_[channel].begin(), channel);
    ++window_;
    farthest_ = 0;
    for (std::size_t i = 0; i < settings_.candidates && !at.empty(); ++i) {
      auto first = at.begin();
      for (auto other = at.begin(); other != at.end(); ++other)
        if (*other->first < *first->first) first = other;
      const std::uint32_t c = plan_.order[*first->first];
      if (++first->first == open_[first->second].end()) at.erase(first);
      const bool on_path = plan_.need[c] != never;
      const int urgency = plan_.need[c] == computed_ + 1 ? 0 : !on_path && plan_.feeds_scatter[c] ? 1 : on_path ? 2 : 3;
      const std::tuple key(urgency, plan_.need[c], -std::min(left[plan_.channel[c]], exposed_[c]).count(),
                           plan_.rank[c]);
      if (settings_.group_by_key) {
        key_group& group = groups_[plan_.key[c]];
        if (group.stamp != window_) group = {key, 0, window_};
        group.first = std::min(group.first, key);
        ++group.size;
      }
      found.push_back({key, c});
    }
    // what waits for a computation that is still to come cannot be reached; it matters only where it is so large that
    // room is made for it all the same
    bytes most = in_flight_bytes_;
    for (const candidate& f : found) {
      farthest_ = std::max(farthest_, plan_.rank[f.unit]);
      if (plan_.compute_before[f.unit] <= computed_) most += plan_.size[f.unit];
    }
    std::erase_if(found, [&](const candidate& f) {
      return plan_.compute_before[f.unit] > computed_ && most + plan_.size[f.unit] <= settings_.in_flight;
    });
    std::sort(found.begin(), found.end(), [&](const candidate& a, const candidate& b) {
      if (settings_.group_by_key) {
        const key_group& x = groups_[plan_.key[a.unit]];
        const key_group& y = groups_[plan_.key[b.unit]];
        if (x.first != y.first) return std::tuple(x.first, -x.size) < std::tuple(y.first, -y.size);
      }
      return a.urgency < b.urgency;
    });
    std::vector<std::uint32_t> units;
    for (const candidate& c : found) units.push_back(c.unit);
    return units;
  }

  /// Collects in `path_` what must be emitted before `c` is; false if that is not allowed now.
  bool find_path(std::uint32_t c, std::uint32_t v) {
    path_.clear();
    if (plan_.compute_before[c] > computed_) return false;
    ++stamp_;
    const auto visit = [&](std::uint32_t u) {
      for (const auto& e : units_.graph().in(u)) {
        if (done_[e.source] || seen_[e.source] == stamp_) continue;
        seen_[e.source] = stamp_;
        path_.push_back(e.source);
      }
    };
    visit(c);
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const std::uint32_t u = path_[i];
      if (u == v || is_start(u)) return false;
      if (is_wait(u)) {
        const std::uint32_t s = plan_.start_of[u];
        if (exposed_[s] > nanoseconds(0) || hides(v, s) || reenters(s)) return false;
      } else if (const std::string_view op = g_.op(units_.first(u));
                 op.find("c10") != std::string_view::npos || op.find("_dtensor") != std::string_view::npos) {
        return false;
      }
      visit(u);
    }
    return true;
  }

  /// Whether `c` may be launched before `v`; makes room in flight if it can. Leaves the way there in `path_`.
  bool admit(std::uint32_t c, std::uint32_t v) {
    const auto room = [&] { return settings_.in_flight - in_flight_bytes_ >= plan_.size[c]; };
    if (room()) return find_path(c, v) && fits(c);
    const auto may_wait = [&] {
      const std::uint32_t first = oldest();
      return first != no_index && !reenters(first) && exposed_[first] == nanoseconds(0) && !hides(v, first);
    };
    if (!may_wait() || !fits(c) || leads_to(v, c)) return false;
    while (!room() && may_wait()) wait(plan_.first_wait[oldest()]);
    return !done_[c] && room() && find_path(c, v);
  }

  /// Whether `c`, which is not done, needs `v`, which is about to be.
  bool leads_to(std::uint32_t v, std::uint32_t c) {
    if (told_ != window_) {  // all that `v` leads to, up to the last candidate
      told_ = window_;
      std::vector<std::uint32_t> stack = {v};
      while (!stack.empty()) {
        const std::uint32_t u = stack.back();
        stack.pop_back();
        for (const auto& e : units_.graph().out(u)) {
          if (plan_.rank[e.target] > farthest_ || after_[e.target] == window_) continue;
          after_[e.target] = window_;
          stack.push_back(e.target);
        }
      }
    }
    return after_[c] == window_;
  }

  bool fits(std::uint32_t c) const {
    if (!allowed_ || plan_.need[c] == never) return true;
    if (memory_.live() + plan_.size[c] > *allowed_) return false;
    if (plan_.need[c] <= computed_) return true;
    return ahead_.most(computed_, plan_.need[c]) + plan_.size[c] <= settings_.in_flight &&
           alive_.most(computed_, plan_.need[c]) + plan_.size[c] <= *allowed_;
  }

  overlap_facts plan_;
  const task_graph& g_;
  const launch_units& units_;
  const overlap_settings& settings_;
  memory_tracker memory_;
  memory_profile alive_, ahead_;  // by computation: bytes in the given order and launched early; those alone
  std::optional<bytes> allowed_;
  std::vector<bool> unpacked_;
  std::vector<std::uint32_t> missing_;
  std::vector<std::uint8_t> done_;
  std::vector<nanoseconds> exposed_;
  std::vector<std::vector<std::uint32_t>> hiding_;
  std::vector<std::uint64_t> launched_at_;
  std::vector<std::deque<std::uint32_t>> in_flight_, uncovered_;  // by channel, in launch order
  std::vector<std::set<std::uint32_t>> open_;                     // ranks of what may be launched, by channel
  std::vector<std::uint32_t> active_;
  std::vector<bytes> ready_bytes_;     // of ready collectives off the path, by key
  std::vector<std::uint32_t> flying_;  // by latency key
  std::vector<key_group> groups_;
  std::vector<std::vector<std::uint32_t>> by_need_;
  std::vector<std::uint64_t> seen_, after_;
  std::set<std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>> on_path_;
  using by_key = std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>>;
  by_key off_path_;
  std::vector<by_key> off_path_starts_;  // collectives among them, by key
  std::vector<std::uint32_t> emitted_, path_, unpacking_;
  std::vector<candidate> found_;
  nanoseconds wasted_;
  bytes in_flight_bytes_;
  std::size_t flying_count_ = 0;
  std::uint32_t computed_ = 0;
  std::int64_t last_on_path_ = -1;
  std::uint64_t launches_ = 0, window_ = 0, told_ = 0, stamp_ = 0;
  std::uint32_t farthest_ = 0;  // rank of the last candidate
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/bound/detail/activity_network.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Definition of `exact`.

namespace shardweave::inline v0 {

namespace detail {

/// Depth-first search over all orders of units. A state is pruned by its bound, or if another state with the same units
/// done was no later in all clocks and ends of collectives in flight, and had no more live bytes.
class exact_run {
 public:
  exact_run(const task_graph& g, const launch_units& units, std::optional<bytes> memory, const solve_control& control)
      : g_(g),
        units_(units),
        memory_(memory),
        clock_(control),
        uses_(g),
        may_keep_(units.size()),
        rest_(units.size()),
        work_left_(1 + g.groups().size()) {
    const activity_network net(units, [&](std::uint32_t u) {
      const nanoseconds takes = units.costs(u).duration;
      return collective_floor{takes, takes, takes, {}};
    });
    const auto tail = net.heads<true>(64);
    std::vector<bool> returned(g.storages().size());
    for (task_index t = 0; t < g.size(); ++t)
      if (uses_.keeps_inputs(t))
        for (const std::uint32_t s : uses_.used(t)) returned[s] = true;
    for (std::uint32_t u = 0; u < units.size(); ++u) {
      for (const std::uint32_t s : uses_.used(units.first(u))) may_keep_[u] = may_keep_[u] || returned[s];
      const std::uint32_t a = net.launch_of(u);
      rest_[u] = net[a].duration + tail[a];
      const bucket_costs c = units.costs(u);
      work_left_[0] += units.is_collective(u) ? c.pack : c.duration;
      if (units.is_collective(u)) work_left_[1 + units.channel(u)] += c.duration;
    }
  }

  /// \param known  the end to be beaten
  void run(nanoseconds known, std::size_t most) {
    best_ = known;
    most_ = most;
    state s{.memory = memory_tracker(uses_, g_.storages().size()),
            .done = std::vector<bool>(units_.size()),
            .missing = std::vector<std::uint32_t>(units_.size()),
            .end = std::vector<nanoseconds>(units_.size()),
            .unpacked = std::vector<bool>(units_.size()),
            .clocks = std::vector<nanoseconds>(g_.groups().size())};
    for (std::uint32_t u = 0; u < units_.size(); ++u)
      s.missing[u] = static_cast<std::uint32_t>(units_.graph().in(u).size());
    proven_ = true;
    if (!memory_ || s.memory.peak() <= *memory_) visit(s);
  }

  [[nodiscard]] bool proven() const { return proven_; }
  [[nodiscard]] std::size_t visited() const { return visited_; }
  /// Units in the best order; empty if none ends before the known end.
  [[nodiscard]] const std::vector<std::uint32_t>& order() const { return found_; }

 private:
  struct state {
    memory_tracker memory;
    std::vector<bool> done;
    std::vector<std::uint32_t> missing;
    std::vector<nanoseconds> end;  // of launched collectives
    std::vector<bool> unpacked;
    std::vector<nanoseconds> clocks;
    nanoseconds now = {};
  };
  struct set_hash {
    std::size_t operator()(const std::vector<bool>& set) const { return std::hash<std::vector<bool>>{}(set); }
  };

  void visit(const state& s) {
    if (++visited_ > most_ || clock_.expired()) {
      proven_ = false;
      return;
    }
    if (path_.size() == units_.size()) {
      nanoseconds last = s.now;
      for (const nanoseconds c : s.clocks) last = std::max(last, c);
      if (last < best_) {
        best_ = last;
        found_ = path_;
      }
      return;
    }
    if (bound(s) >= best_ || is_dominated(s)) return;
    std::vector<std::uint32_t> ready;
    for (std::uint32_t u = 0; u < units_.size(); ++u)
      if (!s.done[u] && s.missing[u] == 0) ready.push_back(u);
    // a unit without time and memory may come first
    for (const std::uint32_t u : ready)
      if (is_free(s, u)) {
        ready.assign(1, u);
        break;
      }
    for (const std::uint32_t u : ready) {
      if (!proven_) return;  // after the search has ended, no more states are copied
      state next = s;
      const nanoseconds before = units_.is_collective(u) ? units_.costs(u).pack : units_.costs(u).duration;
      emit(next, u);
      if (memory_ && next.memory.peak() > *memory_) continue;
      path_.push_back(u);
      work_left_[0] -= before;
      if (units_.is_collective(u)) work_left_[1 + units_.channel(u)] -= units_.costs(u).duration;
      visit(next);
      if (units_.is_collective(u)) work_left_[1 + units_.channel(u)] += units_.costs(u).duration;
      work_left_[0] += before;
      path_.pop_back();
    }
  }

  [[nodiscard]] std::uint32_t completed(std::uint32_t u) const {
    const task_index c = g_.completes(units_.first(u));
    return c == no_index ? no_index : units_.unit_of(c);
  }
  [[nodiscard]] bool is_free(const state& s, std::uint32_t u) const {
    if (units_.is_collective(u) || units_.costs(u).duration > nanoseconds(0)) return false;
    if (const std::uint32_t c = completed(u); c != no_index && (s.end[c] > s.now || units_.is_bucket(c))) return false;
    return !memory_ || (s.memory.demand(units_.first(u)) == bytes(0) && !may_keep_[u]);
  }

  void emit(state& s, std::uint32_t u) const {
    const task_index t = units_.first(u);
    const bucket_costs c = units_.costs(u);
    s.done[u] = true;
    if (units_.is_collective(u)) {
      s.now += c.pack;
      nanoseconds& clock = s.clocks[units_.channel(u)];
      clock = s.end[u] = std::max(clock, s.now) + c.duration;
      units_.is_bucket(u) ? s.memory.launch(units_.bucket_at(u)) : s.memory.run(t);
    } else {
      s.now += c.duration;
      if (const std::uint32_t launched = completed(u); launched != no_index) {
        s.now = std::max(s.now, s.end[launched]);
        if (units_.is_bucket(launched) && !s.unpacked[launched]) {
          s.unpacked[launched] = true;
          s.now += units_.costs(launched).unpack;
          s.memory.unpack(units_.bucket_at(launched));
        }
      }
      s.memory.run(t);
    }
    for (const auto& e : units_.graph().out(u)) --s.missing[e.target];
  }

  /// A lower bound on the end of all completions of the state.
  [[nodiscard]] nanoseconds bound(const state& s) const {
    nanoseconds least = s.now + work_left_[0];
    for (std::size_t c = 0; c < s.clocks.size(); ++c) {
      const nanoseconds left = work_left_[1 + c];
      least = std::max(least, left > nanoseconds(0) ? std::max(s.clocks[c], s.now) + left : s.clocks[c]);
    }
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      if (s.done[u]) continue;
      nanoseconds begin = s.now;
      if (const std::uint32_t c = completed(u); c != no_index && s.done[c]) begin = std::max(begin, s.end[c]);
      least = std::max(least, begin + rest_[u]);
    }
    return least;
  }

  /// Whether a known state with the same units done dominates this one; otherwise remembers it.
  bool is_dominated(const state& s) {
    std::vector<nanoseconds> times = {s.now};
    times.insert(times.end(), s.clocks.begin(), s.clocks.end());
    for (std::uint32_t u = 0; u < units_.size(); ++u)
      if (s.done[u] && units_.is_collective(u)) times.push_back(std::max(s.end[u], s.now));
    // live bytes are not determined by the set of units: whether the output's inputs are kept depends on who used them
    // first
    if (memory_) times.emplace_back(s.memory.live().count());
    std::vector<std::vector<nanoseconds>>& known = seen_[s.done];
    const auto no_later = [](const auto& a, const auto& b) {
      return std::equal(a.begin(), a.end(), b.begin(), [](nanoseconds x, nanoseconds y) { return x <= y; });
    };
    for (const auto& other : known)
      if (no_later(other, times)) return true;
    std::erase_if(known, [&](const auto& other) { return no_later(times, other); });
    known.push_back(std::move(times));
    return false;
  }

  const task_graph& g_;
  const launch_units& units_;
  std::optional<bytes> memory_;
  deadline clock_;
  storage_uses uses_;
  std::vector<bool> may_keep_;          // units that use what the output returns, which decide what is freed
  std::vector<nanoseconds> rest_;       // the longest chain that starts with a unit
  std::vector<nanoseconds> work_left_;  // on the compute stream, then on the channels
  std::unordered_map<std::vector<bool>, std::vector<std::vector<nanoseconds>>, set_hash> seen_;
  std::vector<std::uint32_t> path_, found_;
  nanoseconds best_;
  std::size_t visited_ = 0, most_ = 0;
  bool proven_ = false;
};

}  // namespace detail

SHARDWEAVE_INLINE schedule exact::operator()(const task_graph& g, const bucketing_result& buckets,
                                             const solve_control& control) const {
  schedule s = prefetch{.memory = memory}(g, buckets, control);
  const launch_units units(g, s.buckets);
  detail::exact_run run(g, units, memory, control);
  // any order that keeps the budget beats one that does not
  const nanoseconds known = s.within_memory ? simulate(g, s, {.validate = false}).end_to_end
                                            : nanoseconds(std::numeric_limits<std::int64_t>::max());
  constexpr std::size_t deepest = 4096;  // units: the search recurses into one after the other
  if (units.size() <= deepest) run.run(known, std::min(states, control.iterations));
  if (!run.order().empty()) {
    s.order.clear();
    for (const std::uint32_t u : run.order())
      for (const task_index t : units.tasks(u)) s.order.push_back(t);
    s.within_memory = true;
    s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
  }
  // what only has to come after one member of a bucket may precede its launch: such orders are not looked at
  const bool all_orders = std::ranges::none_of(
      units.graph().all_edges(), [&](const auto& e) { return units.is_bucket(e.source) && !units.is_completion(e); });
  s.statistics = {{"proven", run.proven() && all_orders ? 1.0 : 0.0}, {"states", static_cast<double>(run.visited())}};
  return s;
}

}  // namespace shardweave::inline v0

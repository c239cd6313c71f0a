#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/schedule/bound/detail/machine_bounds.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// A task graph as activities on machines, and the earliest that each of them can begin.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// A piece of work on one machine. In a chain it lasts `duration`; of its machine's time it takes `share`, which
/// is less where it may be one of several that are merged.
struct activity {
  std::uint32_t machine = 0;  ///< 0 = the compute stream, else 1 + the channel
  nanoseconds duration;
  nanoseconds share;
  nanoseconds alone = {};    ///< of a collective: its machine's time if it is not merged
  nanoseconds packing = {};  ///< of a collective: what merging it adds to the compute stream at least
};

/// The least that a collective may cost, alone or merged.
struct collective_floor {
  nanoseconds duration;  ///< of the launch that it is part of
  nanoseconds share;     ///< of the channel's time
  nanoseconds alone;     ///< of the channel's time, if it is not merged
  nanoseconds packing;   ///< of the compute stream's time, if it is
};

/// Activities in a topological order. A collective is a launch (on the compute stream: packing) and a run (on its
/// channel), a bucket an unpacking beside; what waits for it follows the run or the unpacking, what only has to
/// come after the launch follows that.
class activity_network {
 public:
  /// \param floor  what each collective unit may cost at least; called as floor(unit)
  template <class Floor>
  activity_network(const launch_units& units, const Floor& floor) {
    std::vector<std::uint32_t> done(units.size());
    std::vector<std::uint32_t>& launch = launch_;
    launch.resize(units.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const std::uint32_t u : units.order()) {
      const bucket_costs c = units.costs(u);
      const bool communicates = units.is_collective(u);
      launch[u] = done[u] = add(0, communicates ? c.pack : c.duration);
      for (const auto& e : units.graph().in(u))
        edges.emplace_back(units.is_completion(e) ? done[e.source] : launch[e.source], launch[u]);
      if (!communicates) continue;
      const collective_floor least = floor(u);
      done[u] = add(1 + units.channel(u), least.duration, least.share);
      all_.back().alone = least.alone;
      all_.back().packing = least.packing;
      edges.emplace_back(launch[u], done[u]);
      if (c.unpack == nanoseconds(0)) continue;
      const std::uint32_t unpacking = add(0, c.unpack);
      edges.emplace_back(done[u], unpacking);
      done[u] = unpacking;
    }
    graph_ = compressed_graph(all_.size(), edges);
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// The first activity of a unit.
  [[nodiscard]] std::uint32_t launch_of(std::uint32_t unit) const { return launch_[unit]; }
  [[nodiscard]] const activity& operator[](std::uint32_t a) const { return all_[a]; }

  /// The earliest begin of every activity, or, backward, the least time from its end to the end of all: the longest
  /// chain that leads to it, and wherever chains join, each machine on the nearest `reach` activities before it.
  /// Complexity: O((V + E) reach log reach)
  template <bool Backward>
  [[nodiscard]] std::vector<nanoseconds> heads(std::size_t reach) const {
    const auto n = static_cast<std::uint32_t>(size());
    std::vector<nanoseconds> head(n), rest(n);
    std::vector<std::uint32_t> stamp(n, no_index), nearest;
    std::vector<std::vector<machine_job>> jobs;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t v = Backward ? n - 1 - i : i;
      const auto before = Backward ? graph_.out(v) : graph_.in(v);
      for (const auto& e : before) {
        const std::uint32_t p = Backward ? e.target : e.source;
        head[v] = std::max(head[v], head[p] + all_[p].duration);
      }
      if (before.size() < 2 || reach == 0) continue;
      for (std::vector<machine_job>& some : jobs) some.clear();
      const auto further = [](std::uint32_t a, std::uint32_t b) { return Backward ? a > b : a < b; };
      const auto lead = [&](std::uint32_t to, nanoseconds from_there) {
        for (const auto& e : Backward ? graph_.out(to) : graph_.in(to)) {
          const std::uint32_t p = Backward ? e.target : e.source;
          if (stamp[p] != v) {
            stamp[p] = v;
            rest[p] = from_there;
            nearest.push_back(p);
            std::push_heap(nearest.begin(), nearest.end(), further);
          } else {
            rest[p] = std::max(rest[p], from_there);
          }
        }
      };
      nearest.clear();
      lead(v, nanoseconds(0));
      for (std::size_t seen = 0; seen < reach && !nearest.empty(); ++seen) {
        std::pop_heap(nearest.begin(), nearest.end(), further);
        const std::uint32_t p = nearest.back();
        nearest.pop_back();
        const activity& a = all_[p];
        if (a.share > nanoseconds(0)) {
          if (jobs.size() <= a.machine) jobs.resize(a.machine + 1);
          jobs[a.machine].push_back({head[p], a.share, rest[p]});
        }
        lead(p, rest[p] + a.duration);
      }
      for (const std::vector<machine_job>& some : jobs)
        if (some.size() > 1) head[v] = std::max(head[v], preemptive_bound(some));
    }
    return head;
  }

  /// What one collective `last` and all others of its channel add to the work of the compute stream: all that leads
  /// to `last` is one job of two machines with it, each other collective is one with what leads to it and not to
  /// `last`. So work that must be communicated itself cannot hide `last`. Backward, the same with time reversed.
  /// Work that leads to no collective of the channel, but to those of another one, is weighed against that one.
  /// \param head  of the same direction
  /// Complexity: O(V log V + E) per machine
  template <bool Backward>
  [[nodiscard]] nanoseconds around(std::uint32_t last, const std::vector<nanoseconds>& head,
                                   std::uint32_t machines) const {
    const auto n = static_cast<std::uint32_t>(size());
    const auto at = [&](std::uint32_t i) { return Backward ? n - 1 - i : i; };
    std::vector<bool> leads(n);
    std::vector<std::uint32_t> next(n, no_index);  // of its channel: the first that an activity leads to
    std::vector<two_machine_job> by_collective(n), jobs;
    std::vector<mergeable_job> choices;
    two_machine_job whole{{}, all_[last].share};
    nanoseconds lone;  // leads to no collective of the channel
    leads[last] = true;
    std::optional<nanoseconds> begin;
    for (std::uint32_t i = n; i-- > 0;) {
      const std::uint32_t v = at(i);
      const activity& a = all_[v];
      std::uint32_t first = no_index;
      for (const auto& e : Backward ? graph_.in(v) : graph_.out(v)) {
        const std::uint32_t s = Backward ? e.source : e.target;
        if (leads[s]) leads[v] = true;
        if (next[s] != no_index && (first == no_index || (Backward ? next[s] > first : next[s] < first)))
          first = next[s];
      }
      next[v] = first;
      if (!leads[v] && a.machine == all_[last].machine) {
        next[v] = v;
        by_collective[v].second = a.share;
      }
      if (a.share == nanoseconds(0) || (a.machine != 0 && a.machine != all_[last].machine)) continue;
      begin = std::min(begin.value_or(head[v]), head[v]);  // of either machine
      if (a.machine != 0) continue;
      if (leads[v])
        whole.first += a.share;
      else if (next[v] != no_index)
        by_collective[next[v]].first += a.share;
      else
        lone += a.share;
    }
    jobs.push_back({lone, {}});
    jobs.push_back(whole);
    for (std::uint32_t v = 0; v < n; ++v) {
      if (by_collective[v].first == nanoseconds(0)) continue;
      jobs.push_back(by_collective[v]);
      choices.push_back({by_collective[v].first, all_[v].alone, all_[v].share, all_[v].packing});
    }
    // what is launched together with `last` stands before it: those behind have to wait for all of its launch
    const mergeable_job own{whole.first, all_[last].alone, all_[last].duration, all_[last].packing};
    nanoseconds bound = std::max(two_machine_bound(std::move(jobs)), weighed_bound(own, lone, choices));
    for (std::uint32_t machine = 1; machine < machines && lone > nanoseconds(0); ++machine) {
      if (machine == all_[last].machine) continue;
      nanoseconds left = lone;
      std::vector<mergeable_job> beside;
      for (const auto& [v, work] : work_for<Backward>(machine, leads, next)) {
        beside.push_back({work, all_[v].alone, all_[v].share, all_[v].packing});
        left -= work;
      }
      if (!beside.empty()) bound = std::max(bound, weighed_bound(own, left, choices, beside));
    }
    return begin.value_or(nanoseconds(0)) + bound;
  }

 private:
  /// Work of the compute stream that leads to no collective that `next` tells and is not among `leads`, by the first
  /// collective of a machine that it leads to.
  template <bool Backward>
  [[nodiscard]] std::vector<std::pair<std::uint32_t, nanoseconds>> work_for(
      std::uint32_t machine, const std::vector<bool>& leads, const std::vector<std::uint32_t>& next) const {
    const auto n = static_cast<std::uint32_t>(size());
    std::vector<std::uint32_t> first(n, no_index);
    std::vector<nanoseconds> work(n);
    for (std::uint32_t i = n; i-- > 0;) {
      const std::uint32_t v = Backward ? n - 1 - i : i;
      for (const auto& e : Backward ? graph_.in(v) : graph_.out(v)) {
        const std::uint32_t s = Backward ? e.source : e.target;
        if (first[s] != no_index && (first[v] == no_index || (Backward ? first[s] > first[v] : first[s] < first[v])))
          first[v] = first[s];
      }
      if (all_[v].machine == machine) first[v] = v;
      if (all_[v].machine == 0 && !leads[v] && next[v] == no_index && first[v] != no_index)
        work[first[v]] += all_[v].share;
    }
    std::vector<std::pair<std::uint32_t, nanoseconds>> found;
    for (std::uint32_t v = 0; v < n; ++v)
      if (work[v] > nanoseconds(0)) found.emplace_back(v, work[v]);
    return found;
  }

  std::uint32_t add(std::uint32_t machine, nanoseconds duration, nanoseconds share) {
    all_.push_back({machine, duration, share});
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  std::uint32_t add(std::uint32_t machine, nanoseconds duration) { return add(machine, duration, duration); }

  std::vector<activity> all_;
  std::vector<std::uint32_t> launch_;
  compressed_graph graph_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/core/last_moment.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/schedule/bound/detail/machine_bounds.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A task graph as activities on machines, and lower bounds on the start of each.

namespace shardweave::inline v0::detail {

/// A piece of work on one machine. `duration` counts in chains, `share` as load of the machine; it is less if the
/// activity may be merged with others.
struct activity {
  std::uint32_t machine = 0;  ///< 0 = the compute stream, else 1 + the channel
  nanoseconds duration;
  nanoseconds share;
  nanoseconds alone = {};    ///< of a collective: its load if it is not merged
  nanoseconds packing = {};  ///< of a collective: lower bound on what merging it adds to the compute stream
  activity_number number = 0;
};

/// Lower bounds on the cost of a collective, alone or merged.
struct collective_floor {
  nanoseconds duration;  ///< of the launch that it is part of
  nanoseconds share;     ///< of its load on the channel
  nanoseconds alone;     ///< load on the channel if it is not merged
  nanoseconds packing;   ///< load on the compute stream if it is merged
};

/// The result of `activity_network::around`: a bound, the weights that give it (all 0: Johnson's rule), and the third
/// machine in it, if there is one.
struct row_bound {
  nanoseconds value;
  weighed_mix mix;
  std::uint32_t beside = no_index;
};

/// Activities in a topological order. A collective is a launch (on the compute stream: packing) and a run (on its
/// channel), a bucket also an unpacking. Tasks that wait for it follow the run or the unpacking, tasks that only have
/// to come after its launch follow the launch; but what only has to come after one member of a bucket may precede the
/// bucket's launch.
class activity_network {
 public:
  /// \param floor  called as floor(unit): lower bounds on the cost of a collective unit
  template <class Floor>
  activity_network(const launch_units& units, const Floor& floor) {
    std::vector<std::uint32_t> done(units.size());
    std::vector<std::uint32_t>& launch = launch_;
    launch.resize(units.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const std::uint32_t u : units.order()) {
      const bucket_costs c = units.costs(u);
      const bool communicates = units.is_collective(u);
      const activity_number number = 3 * units.first(u);
      launch[u] = done[u] = add(0, number, communicates ? c.pack : c.duration);
      for (const auto& e : units.graph().in(u)) {
        if (units.is_completion(e))
          edges.emplace_back(done[e.source], launch[u]);
        else if (!units.is_bucket(e.source))
          edges.emplace_back(launch[e.source], launch[u]);
      }
      if (!communicates) continue;
      const collective_floor least = floor(u);
      done[u] = add(1 + units.channel(u), number + 1, least.duration, least.share);
      all_.back().alone = least.alone;
      all_.back().packing = least.packing;
      edges.emplace_back(launch[u], done[u]);
      if (!units.is_bucket(u)) continue;
      const std::uint32_t unpacking = add(0, number + 2, c.unpack);
      edges.emplace_back(done[u], unpacking);
      done[u] = unpacking;
    }
    graph_ = compressed_graph(all_.size(), edges);
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// The first activity of a unit.
  [[nodiscard]] std::uint32_t launch_of(std::uint32_t unit) const { return launch_[unit]; }
  [[nodiscard]] const activity& operator[](std::uint32_t a) const { return all_[a]; }

  /// Scratch memory of `nearest_before`, to be reused: the longest chains from activities to one that follows them.
  struct ways {
    std::vector<std::uint32_t> stamp = {}, nearest = {};
    std::vector<nanoseconds> rest = {};
  };

  /// Calls found(p, way) for the nearest `reach` predecessors of `v` (backward: successors), the nearest one first,
  /// with the longest chain between them. Complexity: O(reach log reach), and their edges
  template <bool Backward, class Found>
  void nearest_before(std::uint32_t v, std::size_t reach, ways& w, const Found& found) const {
    w.stamp.resize(size(), no_index);
    w.rest.resize(size());
    w.nearest.clear();
    const auto further = [](std::uint32_t a, std::uint32_t b) { return Backward ? a > b : a < b; };
    const auto lead = [&](std::uint32_t to, nanoseconds from_there) {
      for (const auto& e : Backward ? graph_.out(to) : graph_.in(to)) {
        const std::uint32_t p = Backward ? e.target : e.source;
        if (w.stamp[p] != v) {
          w.stamp[p] = v;
          w.rest[p] = from_there;
          w.nearest.push_back(p);
          std::push_heap(w.nearest.begin(), w.nearest.end(), further);
        } else {
          w.rest[p] = std::max(w.rest[p], from_there);
        }
      }
    };
    lead(v, nanoseconds(0));
    for (std::size_t seen = 0; seen < reach && !w.nearest.empty(); ++seen) {
      std::pop_heap(w.nearest.begin(), w.nearest.end(), further);
      const std::uint32_t p = w.nearest.back();
      w.nearest.pop_back();
      found(p, w.rest[p]);
      lead(p, w.rest[p] + all_[p].duration);
    }
  }

  /// The edges to the direct predecessors of an activity (backward: to its successors).
  template <bool Backward>
  [[nodiscard]] std::span<const compressed_graph::edge_descriptor> before(std::uint32_t v) const {
    return Backward ? graph_.out(v) : graph_.in(v);
  }
  template <bool Backward>
  [[nodiscard]] static std::uint32_t end_of(const compressed_graph::edge_descriptor& e) {
    return Backward ? e.target : e.source;
  }

  /// The work of each machine among the nearest `reach` predecessors of `v`, as jobs that end before `v` starts. Only
  /// where several edges join: with one edge, its chain is no worse. `jobs` are reused.
  template <bool Backward>
  void jobs_before(std::uint32_t v, const std::vector<nanoseconds>& head, std::size_t reach, ways& w,
                   std::vector<std::vector<machine_job>>& jobs) const {
    for (std::vector<machine_job>& some : jobs) some.clear();
    if (before<Backward>(v).size() < 2 || reach == 0) return;
    nearest_before<Backward>(v, reach, w, [&](std::uint32_t p, nanoseconds way) {
      const activity& a = all_[p];
      if (a.share == nanoseconds(0)) return;
      if (jobs.size() <= a.machine) jobs.resize(a.machine + 1);
      jobs[a.machine].push_back({head[p], a.share, way, p});
    });
  }

  /// The earliest start of every activity, or, backward, the least time from its end to the end of the schedule: the
  /// longest chain that leads to it, and, where chains join, the one-machine bound of each machine on its nearest
  /// `reach` predecessors.
  /// \param moment  after it only chains are used for the rest
  /// Complexity: O((V + E) reach log reach)
  template <bool Backward>
  [[nodiscard]] std::vector<nanoseconds> heads(std::size_t reach, last_moment* moment = nullptr) const {
    const auto n = static_cast<std::uint32_t>(size());
    std::vector<nanoseconds> head(n);
    ways w;
    std::vector<std::vector<machine_job>> jobs;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t v = Backward ? n - 1 - i : i;
      for (const auto& e : before<Backward>(v)) {
        const std::uint32_t p = end_of<Backward>(e);
        head[v] = std::max(head[v], head[p] + all_[p].duration);
      }
      if (moment != nullptr && moment->is_over()) reach = 0;
      jobs_before<Backward>(v, head, reach, w, jobs);
      for (const std::vector<machine_job>& some : jobs)
        if (some.size() > 1) head[v] = std::max(head[v], preemptive_bound(some));
    }
    return head;
  }

  /// Assigns each activity to a collective: to `last` if it precedes that, otherwise to the first collective of its
  /// channel that it precedes, `no_index` if there is none; a collective of the channel to itself. Backward: with time
  /// reversed. Successors of work for a collective are assigned to it, too, unless they are its own. Complexity: O(V +
  /// E)
  template <bool Backward>
  [[nodiscard]] std::vector<std::uint32_t> jobs_around(std::uint32_t last) const {
    std::vector<std::uint32_t> job(size(), no_index);
    job[last] = last;
    assign_jobs<Backward>(all_[last].machine, last, job);
    return job;
  }
  /// The same for another machine, for activities without assignment.
  template <bool Backward>
  void add_jobs(std::uint32_t machine, std::vector<std::uint32_t>& job) const {
    assign_jobs<Backward>(machine, no_index, job);
  }

  /// A two-machine flow-shop bound around a collective `last` and all others of its channel: all work before `last` is
  /// one job with it, and each other collective is a job with the work that precedes it and not `last`. So work that
  /// must be communicated itself cannot hide `last`. Backward: with time reversed. Work that precedes no collective of
  /// this channel, but some of another one, is weighed against that channel.
  /// \param head  of the same direction
  /// Complexity: O(V log V + E) per machine
  template <bool Backward>
  [[nodiscard]] row_bound around(std::uint32_t last, const std::vector<nanoseconds>& head,
                                 std::uint32_t machines) const {
    const auto n = static_cast<std::uint32_t>(size());
    const std::uint32_t channel = all_[last].machine;
    const std::vector<std::uint32_t> job = jobs_around<Backward>(last);
    std::vector<nanoseconds> first(n);  // by collective
    nanoseconds lone;                   // precedes no collective of the channel
    std::optional<nanoseconds> begin;
    for (std::uint32_t v = 0; v < n; ++v) {
      const activity& a = all_[v];
      if (a.share == nanoseconds(0) || (a.machine != 0 && a.machine != channel)) continue;
      begin = std::min(begin.value_or(head[v]), head[v]);  // on either machine
      if (a.machine == 0) (job[v] == no_index ? lone : first[job[v]]) += a.share;
    }
    std::vector<two_machine_job> jobs{{lone, {}}, {first[last], all_[last].share}};
    std::vector<mergeable_job> choices;
    for (std::uint32_t v = 0; v < n; ++v) {
      if (v == last || first[v] == nanoseconds(0)) continue;
      jobs.push_back({first[v], all_[v].share});
      choices.push_back({first[v], all_[v].alone, all_[v].share, all_[v].packing});
    }
    // what is launched together with `last` precedes it: the other jobs wait for all of its launch
    const mergeable_job own{first[last], all_[last].alone, all_[last].duration, all_[last].packing};
    row_bound best{two_machine_bound(std::move(jobs)), {}, no_index};
    const auto weigh = [&](const weighed_mix& mix, std::uint32_t beside) {
      if (mix.bound > best.value) best = {mix.bound, mix, beside};
    };
    weigh(weighed_bound(own, lone, choices), no_index);
    for (std::uint32_t machine = 1; machine < machines && lone > nanoseconds(0); ++machine) {
      if (machine == channel) continue;
      std::vector<std::uint32_t> more = job;
      add_jobs<Backward>(machine, more);
      std::vector<nanoseconds> work(n);
      for (std::uint32_t v = 0; v < n; ++v)
        if (all_[v].machine == 0 && job[v] == no_index && more[v] != no_index) work[more[v]] += all_[v].share;
      nanoseconds left = lone;
      std::vector<mergeable_job> beside;
      for (std::uint32_t v = 0; v < n; ++v) {
        if (work[v] == nanoseconds(0)) continue;
        beside.push_back({work[v], all_[v].alone, all_[v].share, all_[v].packing});
        left -= work[v];
      }
      if (!beside.empty()) weigh(weighed_bound(own, left, choices, beside), machine);
    }
    best.value += begin.value_or(nanoseconds(0));
    return best;
  }

 private:
  /// \param last  the collective that gets all work before it; `no_index`: none
  template <bool Backward>
  void assign_jobs(std::uint32_t machine, std::uint32_t last, std::vector<std::uint32_t>& job) const {
    const auto n = static_cast<std::uint32_t>(size());
    for (std::uint32_t i = n; i-- > 0;) {
      const std::uint32_t v = Backward ? n - 1 - i : i;
      if (job[v] != no_index) continue;
      std::uint32_t first = no_index;
      for (const auto& e : before<!Backward>(v)) {
        const std::uint32_t s = job[end_of<!Backward>(e)];
        if (s == no_index) continue;
        if (s == last) first = last;
        if (first == last && last != no_index) break;
        if (first == no_index || (Backward ? s > first : s < first)) first = s;
      }
      const bool leads = first == last && last != no_index;
      job[v] = all_[v].machine == machine && !leads ? v : first;
    }
  }

  std::uint32_t add(std::uint32_t machine, activity_number number, nanoseconds duration, nanoseconds share) {
    all_.push_back({machine, duration, share, {}, {}, number});
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  std::uint32_t add(std::uint32_t machine, activity_number number, nanoseconds duration) {
    return add(machine, number, duration, duration);
  }

  std::vector<activity> all_;
  std::vector<std::uint32_t> launch_;
  compressed_graph graph_;
};

}  // namespace shardweave::inline v0::detail

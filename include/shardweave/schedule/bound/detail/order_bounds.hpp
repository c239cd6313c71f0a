#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/bound/detail/activity_network.hpp>
#include <shardweave/schedule/bound/detail/cheapest_in_bucket.hpp>
#include <shardweave/schedule/bound/detail/machine_bounds.hpp>
#include <shardweave/schedule/makespan_bounds.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Computation of the bounds, and the proof of the best one.

namespace shardweave::inline v0::detail {

/// The network of a graph with exactly the buckets of its units.
[[nodiscard]] inline activity_network network_with(const launch_units& units) {
  return {units, [&](std::uint32_t u) {
            const nanoseconds takes = units.costs(u).duration;
            return collective_floor{takes, takes, takes, {}};
          }};
}

/// The network of a graph with any buckets.
/// \param units  without buckets
[[nodiscard]] inline activity_network network_of_all_bucketings(const task_graph& g, const launch_units& units) {
  const std::vector<std::uint32_t> keys = bucket_keys(g);
  std::vector<bytes> total;
  for (task_index t = 0; t < g.size(); ++t) {
    if (keys[t] == no_index) continue;
    if (total.size() <= keys[t]) total.resize(keys[t] + 1);
    total[keys[t]] += g.collective(t).bytes_in;
  }
  return {units, [&](std::uint32_t u) {
            const task_index t = units.first(u);
            const collective_info c = g.collective(t);
            const duration_table* table = keys[t] == no_index ? nullptr : g.table(c.op, c.group);
            if (table == nullptr) return collective_floor{g.duration(t), g.duration(t), g.duration(t), {}};
            collective_floor least = cheapest_in_bucket(*table, g.duration(t), c.bytes_in, total[keys[t]]);
            // copies of a bucket are rounded as a whole, so a member's part of each of the two may be a nanosecond less
            const nanoseconds copies = copy_time(c.bytes_in + c.bytes_out, g.device().dram_bytes_per_ns);
            least.packing = std::max(copies - nanoseconds(2), nanoseconds(0));
            return least;
          }};
}

/// The lower bounds of a network.
class order_bounds {
 public:
  /// \param moment  after it only chains are used for the rest
  order_bounds(activity_network net, std::size_t machines, std::size_t reach, last_moment& moment)
      : net_(std::move(net)),
        machines_(static_cast<std::uint32_t>(machines)),
        reach_(reach),
        head_(net_.heads<false>(reach, &moment)),
        tail_(net_.heads<true>(reach, &moment)),
        before_(net_.heads<false>(0)),
        after_(net_.heads<true>(0)),
        jobs_(machines),
        busy_(machines) {
    for (std::uint32_t a = 0; a < net_.size(); ++a) {
      bounds_.critical_path = std::max(bounds_.critical_path, before_[a] + net_[a].duration + after_[a]);
      bounds_.released = std::max(bounds_.released, head_[a] + net_[a].duration + tail_[a]);
      busy_[net_[a].machine] += net_[a].share;
      if (net_[a].share > nanoseconds(0)) jobs_[net_[a].machine].push_back({head_[a], net_[a].share, tail_[a], a});
    }
    bounds_.compute = busy_[0];
    for (std::size_t m = 0; m < machines; ++m) {
      if (m > 0) bounds_.channel = std::max(bounds_.channel, busy_[m]);
      bounds_.released = std::max(bounds_.released, preemptive_bound(jobs_[m]));
    }
    for (std::uint32_t m = 1; m < machines_; ++m) {
      const std::optional<std::uint32_t> first = farthest(m, head_), last = farthest(m, tail_);
      if (first) look_at(*first);
      if (last && last != first) look_at(*last);
    }
  }

  [[nodiscard]] const makespan_bounds& bounds() const { return bounds_; }

  /// A certificate of `bounds().value()`; its buckets are left empty.
  [[nodiscard]] order_certificate proof() const {
    order_certificate c{.lower_bound = bounds_.value()};
    if (c.lower_bound <= nanoseconds(0)) return c;
    const std::string_view by = bounds_.limited_by();
    std::vector<nanoseconds> head(net_.size()), tail(net_.size());  // values that the conclusion relies on
    const auto together = [&](const std::vector<machine_job>& jobs) {
      nanoseconds first = jobs.front().release, last = jobs.front().rest;
      for (const machine_job& j : jobs) {
        first = std::min(first, j.release);
        last = std::min(last, j.rest);
      }
      for (const machine_job& j : jobs) {
        c.together.push_back(net_[j.number].number);
        head[j.number] = first;
        tail[j.number] = last;
      }
      std::sort(c.together.begin(), c.together.end());
    };
    if (by == "in_a_row") {
      backward_ ? row_of<true>(c, tail) : row_of<false>(c, head);
    } else if (by == "compute" || by == "channel") {
      for (const machine_job& j : *std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& jobs) {
             const auto m = static_cast<std::size_t>(&jobs - jobs_.data());
             return (m == 0) == (by == "compute") && busy_[m] == c.lower_bound;
           }))
        c.together.push_back(net_[j.number].number);
      std::sort(c.together.begin(), c.together.end());
    } else if (const auto chain =
                   on_chain(by == "critical_path" ? before_ : head_, by == "critical_path" ? after_ : tail_)) {
      together({{(by == "critical_path" ? before_ : head_)[*chain],
                 {},
                 (by == "critical_path" ? after_ : tail_)[*chain],
                 *chain}});
    } else {
      for (const std::vector<machine_job>& jobs : jobs_)
        if (c.together.empty() && preemptive_bound(jobs) == c.lower_bound) together(critical_jobs(jobs));
    }
    c.heads = joins<false>(std::move(head));
    c.tails = joins<true>(std::move(tail));
    return c;
  }

 private:
  /// The collective of a channel with the longest chain before it, or after it, itself included; the first of equal
  /// ones.
  [[nodiscard]] std::optional<std::uint32_t> farthest(std::uint32_t machine,
                                                      const std::vector<nanoseconds>& way) const {
    std::optional<std::uint32_t> found;
    for (const machine_job& j : jobs_[machine])
      if (!found || way[j.number] + j.duration > way[*found] + net_[*found].share) found = j.number;
    return found;
  }

  void look_at(std::uint32_t collective) {
    look_at<false>(collective);
    look_at<true>(collective);
  }
  template <bool Backward>
  void look_at(std::uint32_t collective) {
    const row_bound found = net_.around<Backward>(collective, Backward ? tail_ : head_, machines_);
    if (found.value <= bounds_.in_a_row) return;
    bounds_.in_a_row = found.value;
    row_ = found;
    pivot_ = collective;
    backward_ = Backward;
  }

  /// An activity on a chain whose length is the bound.
  [[nodiscard]] std::optional<std::uint32_t> on_chain(const std::vector<nanoseconds>& head,
                                                      const std::vector<nanoseconds>& tail) const {
    for (std::uint32_t a = 0; a < net_.size(); ++a)
      if (head[a] + net_[a].duration + tail[a] == bounds_.value()) return a;
    return std::nullopt;
  }

  /// Writes the row of the certificate.
  /// \param head  receives the starts that the row relies on
  template <bool Backward>
  void row_of(order_certificate& c, std::vector<nanoseconds>& head) const {
    const std::uint32_t channel = net_[pivot_].machine;
    const auto task_of = [&](std::uint32_t a) { return net_[a].number / 3; };
    order_row& row = c.row.emplace();
    row.collective = task_of(pivot_);
    row.backward = Backward;
    std::vector<std::uint32_t> job = net_.jobs_around<Backward>(pivot_);
    if (row_.mix.first + row_.mix.second + row_.mix.third > 0)
      row.weights = {row_.mix.first, row_.mix.second, row_.mix.third};
    if (row_.beside != no_index) net_.add_jobs<Backward>(row_.beside, job);
    std::vector<std::vector<activity_number>> work(net_.size());
    std::vector<nanoseconds> first(net_.size());
    std::optional<nanoseconds> begin;
    const std::vector<nanoseconds>& known = Backward ? tail_ : head_;
    const auto counts = [&](std::uint32_t a) {
      return net_[a].share > nanoseconds(0) && (net_[a].machine == 0 || net_[a].machine == channel);
    };
    for (std::uint32_t a = 0; a < net_.size(); ++a) {
      if (counts(a)) begin = std::min(begin.value_or(known[a]), known[a]);
      if (job[a] == no_index || job[a] == a) continue;
      work[job[a]].push_back(net_[a].number);
      if (net_[a].machine == 0) first[job[a]] += net_[a].share;
    }
    for (std::uint32_t a = 0; a < net_.size(); ++a) {
      if (counts(a)) head[a] = *begin;
      if (first[a] == nanoseconds(0)) continue;
      std::sort(work[a].begin(), work[a].end());
      row.jobs.push_back({task_of(a), std::move(work[a])});
    }
  }

  /// Joins that prove heads of at least `needed`; none where chains suffice.
  template <bool Backward>
  [[nodiscard]] std::vector<order_join> joins(std::vector<nanoseconds> needed) const {
    const auto n = static_cast<std::uint32_t>(net_.size());
    const std::vector<nanoseconds>& head = Backward ? tail_ : head_;
    const std::vector<nanoseconds>& chain = Backward ? after_ : before_;
    std::vector<order_join> found;
    activity_network::ways ways;
    std::vector<std::vector<machine_job>> jobs;
    for (std::uint32_t i = n; i-- > 0;) {
      const std::uint32_t v = Backward ? n - 1 - i : i;
      if (needed[v] <= chain[v]) continue;
      const auto need = [&](std::uint32_t p, nanoseconds least) { needed[p] = std::max(needed[p], least); };
      std::optional<std::uint32_t> by;  // the last activity of a chain
      for (const auto& e : net_.before<Backward>(v)) {
        const std::uint32_t p = activity_network::end_of<Backward>(e);
        if (head[p] + net_[p].duration >= needed[v] &&
            (!by || chain[p] + net_[p].duration > chain[*by] + net_[*by].duration))
          by = p;
      }
      if (by) {
        need(*by, needed[v] - net_[*by].duration);
        continue;
      }
      net_.jobs_before<Backward>(v, head, reach_, ways, jobs);
      for (const std::vector<machine_job>& some : jobs) {
        if (some.size() < 2 || preemptive_bound(some) < needed[v]) continue;
        order_join join{net_[v].number, {}};
        nanoseconds sum, way;
        const std::vector<machine_job> critical = critical_jobs(some);
        for (const machine_job& j : critical) {
          join.work.push_back(net_[j.number].number);
          way = join.work.size() == 1 ? j.rest : std::min(way, j.rest);
          sum += j.duration;
        }
        for (const machine_job& j : critical) need(j.number, needed[v] - sum - way);
        std::sort(join.work.begin(), join.work.end());
        found.push_back(std::move(join));
        break;
      }
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  activity_network net_;
  std::uint32_t machines_;
  std::size_t reach_;
  std::vector<nanoseconds> head_, tail_, before_, after_;  ///< with joins; with chains only
  std::vector<std::vector<machine_job>> jobs_;             ///< by machine
  std::vector<nanoseconds> busy_;
  makespan_bounds bounds_;
  row_bound row_;
  std::uint32_t pivot_ = no_index;
  bool backward_ = false;
};

/// \param machines  streams: the compute stream and one per group
/// \param reach     activities that a join looks back at; after a stop only for a moment more, and not at all if it
///                  came before
[[nodiscard]] inline order_bounds bounds_by(activity_network net, std::size_t machines, std::size_t reach,
                                            const stop_token& stop) {
  const solve_control control{.stop = stop};
  const deadline limit(control);
  last_moment moment(limit, stop.stop_requested() ? 0 : 0.01);
  return {std::move(net), machines, reach, moment};
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// How proofs about orders are checked.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Goes through one proof. Each step returns whether it holds; the first that does not says why.
class order_checker {
 public:
  order_checker(const task_graph& g, const order_certificate& c) : g_(g), c_(c), all_(3 * g.size()) {}

  [[nodiscard]] order_verdict run() {
    wide_integer proven = 0;
    const bool holds = draw_buckets() && draw_activities() && bound<false>() && bound<true>() && conclude(proven);
    order_verdict verdict{.accepted = holds, .failure = failure_, .steps = steps_};
    if (!holds) return verdict;
    verdict.bound = nanoseconds(static_cast<std::int64_t>(std::min<wide_integer>(proven, most)));
    if (proven < c_.lower_bound.count()) {
      verdict.accepted = false;
      verdict.failure = "proves " + std::to_string(verdict.bound.count()) + " ns, expected no less than " +
                        std::to_string(c_.lower_bound.count()) + ", which is claimed";
    }
    return verdict;
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

  /// What an activity takes at least.
  struct work {
    std::uint32_t machine = no_index;  ///< 0 = the compute stream, else 1 + the channel; `no_index` = is not there
    wide_integer duration = 0;         ///< in a chain
    wide_integer share = 0;            ///< of its machine's time: less where it may be a part of a launch
    wide_integer alone = 0;            ///< of a run: of its channel's time, if it is no part of a bucket
    wide_integer packing = 0;          ///< of a run: of the stream's time, if it is one
  };

  bool fail(std::string what) {
    failure_ = std::move(what);
    return false;
  }

  [[nodiscard]] std::string label(activity_number a) const {
    if (a >= all_.size() || all_[a].machine == no_index) return "activity " + std::to_string(a);
    constexpr std::array<std::string_view, 3> part = {"", "run of ", "unpacking of "};
    return "activity " + std::to_string(a) + ", " + std::string(part[a % 3]) + g_.label(a / 3) + ",";
  }

  bool draw_buckets() {
    unit_.resize(g_.size());
    for (task_index t = 0; t < g_.size(); ++t) unit_[t] = t;
    merged_.resize(g_.size());
    if (!c_.buckets) return true;
    std::vector<bool> taken(g_.size());
    for (std::size_t b = 0; b < c_.buckets->size(); ++b) {
      const std::vector<task_index>& members = (*c_.buckets)[b].members;
      const std::string who = "buckets[" + std::to_string(b) + "]";
      if (members.size() < 2) return fail(who + " has fewer than two members");
      for (const task_index t : members) {
        if (t >= g_.size() || !g_.is_collective(t))
          return fail(who + ": task " + std::to_string(t) + " is no collective of the graph");
        if (taken[t]) return fail(who + ": " + g_.label(t) + " is a member twice");
        taken[t] = true;
        if (key_of(t) != key_of(members.front()) || !is_mergeable(g_.collective(t).op))
          return fail(who + ": " + g_.label(t) + " cannot be merged with " + g_.label(members.front()));
      }
      const task_index first = *std::min_element(members.begin(), members.end());
      if (table_of(first) == nullptr) return fail(who + ": no table prices it");
      bucket summed = make_bucket(g_, members);
      summed.coalesced = (*c_.buckets)[b].coalesced;
      for (const task_index t : members) unit_[t] = first;
      merged_[first] = true;
      costs_.emplace(first, costs_of(g_, summed));
    }
    return true;
  }

  using key = std::tuple<collective, std::uint32_t, std::string_view, std::string_view>;
  [[nodiscard]] key key_of(task_index t) const {
    const collective_info c = g_.collective(t);
    return {c.op, c.group, c.dtype, c.reduce};
  }
  [[nodiscard]] const duration_table* table_of(task_index t) const {
    return g_.table(g_.collective(t).op, g_.collective(t).group);
  }

  /// The least that a collective may cost in whatever packed bucket of its kind, or alone.
  [[nodiscard]] work least_of(task_index t, bytes all) const {
    const collective_info c = g_.collective(t);
    const wide_integer alone = g_.duration(t).count();
    work least{1 + c.group, alone, alone, alone, 0};
    const duration_table* table = table_of(t);
    if (!is_mergeable(c.op) || table == nullptr) return least;
    // time over size is monotone between the points of a table: the least is at one of them, or at an end
    std::vector<bytes> sizes = table->bytes_in();
    sizes.push_back(c.bytes_in);
    sizes.push_back(all);
    for (const bytes size : sizes) {
      if (size < c.bytes_in || size > all) continue;
      const wide_integer time = (*table)(size).count();
      least.duration = std::min(least.duration, time);
      // a nanosecond less, for what the table rounded
      const wide_integer part = std::max<wide_integer>(time - 1, 0) * c.bytes_in.count();
      least.share = std::min<wide_integer>(least.share, size == bytes(0) ? 0 : part / size.count());
    }
    // a bucket's copies are rounded as a whole
    const wide_integer copies = copy_time(c.bytes_in + c.bytes_out, g_.device().dram_bytes_per_ns).count();
    least.packing = std::max<wide_integer>(copies - 2, 0);
    return least;
  }

  bool draw_activities() {
    std::map<key, bytes> total;
    for (task_index t = 0; t < g_.size(); ++t)
      if (g_.is_collective(t)) total[key_of(t)] += g_.collective(t).bytes_in;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (task_index t = 0; t < g_.size(); ++t) {
      if (unit_[t] != t) continue;
      const auto stream = [&](activity_number a, nanoseconds time) { all_[a] = {0, time.count(), time.count()}; };
      if (!g_.is_collective(t)) {
        stream(3 * t, g_.kind(t) == task_kind::wait ? nanoseconds(0) : g_.duration(t));
        continue;
      }
      if (merged_[t]) {
        const bucket_costs& c = costs_.at(t);
        const wide_integer takes = c.duration.count();
        stream(3 * t, c.pack);
        all_[3 * t + 1] = {1 + g_.collective(t).group, takes, takes, takes, 0};
        stream(3 * t + 2, c.unpack);
        edges.emplace_back(3 * t + 1, 3 * t + 2);
      } else {
        stream(3 * t, nanoseconds(0));
        const wide_integer takes = g_.duration(t).count();
        all_[3 * t + 1] =
            c_.buckets ? work{1 + g_.collective(t).group, takes, takes, takes, 0} : least_of(t, total[key_of(t)]);
      }
      edges.emplace_back(3 * t, 3 * t + 1);
    }
    for (const auto& e : g_.dependencies().all_edges()) {
      const task_index from = unit_[e.source], to = unit_[e.target];
      if (g_.completes(e.target) == e.source)
        edges.emplace_back(3 * from + (merged_[from] ? 2 : 1), 3 * to);
      else if (!merged_[from])  // what only has to come after a member need not come after all of them
        edges.emplace_back(3 * from, 3 * to);
    }
    graph_ = compressed_graph(all_.size(), edges);
    std::vector<std::size_t> missing(all_.size());
    for (activity_number a = 0; a < all_.size(); ++a) {
      missing[a] = graph_.in(a).size();
      if (missing[a] == 0) order_.push_back(a);
    }
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const auto& e : graph_.out(order_[i]))
        if (--missing[e.target] == 0) order_.push_back(e.target);
    if (order_.size() != all_.size()) return fail("the buckets close a cycle");
    place_.resize(all_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    return true;
  }

  template <bool Backward>
  [[nodiscard]] std::span<const compressed_graph::edge_descriptor> before(activity_number a) const {
    return Backward ? graph_.out(a) : graph_.in(a);
  }
  template <bool Backward>
  [[nodiscard]] static activity_number end_of(const compressed_graph::edge_descriptor& e) {
    return Backward ? e.target : e.source;
  }

  /// Work is not empty, of one machine, and names nothing twice.
  bool is_of_one_machine(const std::string& who, const std::vector<activity_number>& set) {
    if (set.empty()) return fail(who + ": there is no work");
    std::vector<activity_number> sorted = set;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const activity_number a = sorted[i];
      if (a >= all_.size() || all_[a].machine == no_index) return fail(who + ": " + label(a) + " is not there");
      if (i > 0 && a == sorted[i - 1]) return fail(who + ": " + label(a) + " is there twice");
      if (all_[a].machine != all_[sorted.front()].machine)
        return fail(who + ": " + label(a) + " is of another machine than " + label(sorted.front()));
    }
    return true;
  }

  /// What work takes of its machine.
  [[nodiscard]] wide_integer sum_of(const std::vector<activity_number>& set) const {
    wide_integer sum = 0;
    for (const activity_number a : set) sum += all_[a].share;
    return sum;
  }

  /// The earliest begin of every activity; backward, the least time from its end to the end of all.
  template <bool Backward>
  bool bound() {
    const std::vector<order_join>& joins = Backward ? c_.tails : c_.heads;
    const std::string name = Backward ? "tails" : "heads";
    std::vector<wide_integer>& head = Backward ? tail_ : head_;
    head.resize(all_.size());
    std::vector<std::vector<std::size_t>> joins_at(joins.empty() ? 0 : all_.size());
    for (std::size_t j = 0; j < joins.size(); ++j) {
      const activity_number v = joins[j].activity;
      const std::string who = name + "[" + std::to_string(j) + "]";
      if (v >= all_.size() || all_[v].machine == no_index) return fail(who + ": " + label(v) + " is not there");
      if (!is_of_one_machine(who, joins[j].work)) return false;
      joins_at[v].push_back(j);
    }
    std::vector<wide_integer> rest(joins_at.size());
    std::vector<std::size_t> seen(joins_at.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const activity_number v = order_[Backward ? order_.size() - 1 - i : i];
      for (const auto& e : before<Backward>(v)) {
        const activity_number p = end_of<Backward>(e);
        head[v] = std::max(head[v], head[p] + all_[p].duration);
      }
      if (joins_at.empty()) continue;
      for (const std::size_t j : joins_at[v]) {
        // chains from all work to v: what lies between, nearest first
        std::uint32_t last = place_[v];
        for (const activity_number a : joins[j].work)
          last = Backward ? std::max(last, place_[a]) : std::min(last, place_[a]);
        seen[v] = j + 1;
        rest[v] = 0;
        for (std::uint32_t at = place_[v];; Backward ? ++at : --at) {
          const activity_number x = order_[at];
          if (seen[x] == j + 1) {
            const wide_integer from_there = x == v ? 0 : rest[x] + all_[x].duration;
            for (const auto& e : before<Backward>(x)) {
              const activity_number p = end_of<Backward>(e);
              rest[p] = seen[p] == j + 1 ? std::max(rest[p], from_there) : from_there;
              seen[p] = j + 1;
            }
          }
          if (at == last) break;
        }
        wide_integer first = most, way = most;
        for (const activity_number a : joins[j].work) {
          if (a == v || seen[a] != j + 1)
            return fail(name + "[" + std::to_string(j) + "]: " + label(a) + " does not come " +
                        (Backward ? "after " : "before ") + label(v));
          first = std::min(first, head[a]);
          way = std::min(way, rest[a]);
        }
        head[v] = std::max(head[v], first + sum_of(joins[j].work) + way);
        ++steps_;
      }
    }
    return true;
  }

  bool conclude(wide_integer& proven) {
    if (!c_.together.empty() && c_.row) return fail("has together and row, expected one of them");
    if (c_.row) return c_.row->backward ? in_a_row<true>(proven) : in_a_row<false>(proven);
    if (c_.together.empty()) return true;  // nothing ends before 0
    if (!is_of_one_machine("together", c_.together)) return false;
    wide_integer first = most, last = most;
    for (const activity_number a : c_.together) {
      first = std::min(first, head_[a]);
      last = std::min(last, tail_[a]);
    }
    // one alone is a part of a chain
    proven = first + (c_.together.size() == 1 ? all_[c_.together.front()].duration : sum_of(c_.together)) + last;
    ++steps_;
    return true;
  }

  /// A job of the stream, and then of its collective.
  struct job {
    activity_number run;
    wide_integer first = 0;  ///< work of the stream
  };

  template <bool Backward>
  bool in_a_row(wide_integer& proven) {
    const order_row& row = *c_.row;
    const auto run_of = [&](task_index t) -> activity_number {
      return t < g_.size() && g_.is_collective(t) && unit_[t] == t ? 3 * t + 1 : no_index;
    };
    const activity_number own = run_of(row.collective);
    if (own == no_index) return fail("row: task " + std::to_string(row.collective) + " launches nothing");
    if (!row.weights.empty() && row.weights.size() != 3)
      return fail("row: there are " + std::to_string(row.weights.size()) + " weights, expected 3 or none");
    wide_integer unit = 0;
    for (const std::int64_t w : row.weights) {
      if (w < 0 || w > 1'000'000) return fail("row: a weight is not from 0 to 1000000");
      unit += w;
    }
    if (!row.weights.empty() && unit == 0) return fail("row: all weights are 0");
    const std::uint32_t channel = all_[own].machine;
    std::uint32_t beside = no_index;
    std::vector<job> jobs;
    std::vector<std::size_t> job_of(all_.size(), no_job);
    for (std::size_t i = 0; i < row.jobs.size(); ++i) {
      const std::string who = "row: jobs[" + std::to_string(i) + "]";
      const activity_number run = run_of(row.jobs[i].collective);
      if (run == no_index) return fail(who + ": task " + std::to_string(row.jobs[i].collective) + " launches nothing");
      for (const job& other : jobs)
        if (other.run == run) return fail(who + ": " + label(run) + " has two jobs");
      if (all_[run].machine != channel) {
        if (beside != no_index && beside != all_[run].machine) return fail(who + " is of a third channel");
        if (row.weights.empty()) return fail(who + " is of another channel");
        beside = all_[run].machine;
      }
      jobs.push_back({run});
      for (const activity_number a : row.jobs[i].work) {
        if (a >= all_.size() || all_[a].machine == no_index) return fail(who + ": " + label(a) + " is not there");
        if (job_of[a] != no_job) return fail(who + ": " + label(a) + " is in two jobs");
        job_of[a] = i;
        if (all_[a].machine == 0) jobs.back().first += all_[a].share;
      }
    }
    // each leads to its collective, since one that it leads to at once does
    for (activity_number a = 0; a < all_.size(); ++a) {
      if (job_of[a] == no_job) continue;
      const auto after = before<!Backward>(a);
      const bool leads = std::any_of(after.begin(), after.end(), [&](const auto& e) {
        const activity_number s = end_of<!Backward>(e);
        return s == jobs[job_of[a]].run || job_of[s] == job_of[a];
      });
      if (!leads)
        return fail("row: jobs[" + std::to_string(job_of[a]) + "]: " + label(a) +
                    (Backward ? " does not follow " : " does not lead to ") + label(jobs[job_of[a]].run));
    }
    const std::vector<wide_integer>& head = Backward ? tail_ : head_;
    wide_integer begin = most, lone = 0;  // of either machine; work in no job
    for (activity_number a = 0; a < all_.size(); ++a) {
      if (all_[a].share <= 0 || (all_[a].machine != 0 && all_[a].machine != channel)) continue;
      begin = std::min(begin, head[a]);
      if (all_[a].machine == 0) lone += all_[a].share;
    }
    for (const job& j : jobs) lone -= j.first;
    const wide_integer sum = row.weights.empty() ? by_johnson(own, jobs, lone) : by_weights(own, jobs, lone, channel);
    proven = (begin == most ? 0 : begin) + (row.weights.empty() ? sum : (sum + unit - 1) / unit);
    ++steps_;
    return true;
  }

  /// The least end of two machines that all jobs pass one after the other.
  [[nodiscard]] wide_integer by_johnson(activity_number own, const std::vector<job>& jobs, wide_integer lone) const {
    std::vector<std::pair<wide_integer, wide_integer>> both{{lone, 0}};
    for (const job& j : jobs) both.emplace_back(j.first, all_[j.run].share);
    if (std::none_of(jobs.begin(), jobs.end(), [&](const job& j) { return j.run == own; }))
      both.emplace_back(0, all_[own].share);
    std::sort(both.begin(), both.end(), [](const auto& a, const auto& b) {
      const bool early = a.first < a.second;
      if (early != (b.first < b.second)) return early;
      return early ? a.first < b.first : a.second > b.second;
    });
    wide_integer first = 0, second = 0;
    for (const auto& [on_stream, on_channel] : both) {
      first += on_stream;
      second = std::max(first, second) + on_channel;
    }
    return std::max(first, second);
  }

  /// The mixture of three sums that the end is no less than, each job where it makes the mixture least.
  [[nodiscard]] wide_integer by_weights(activity_number own, const std::vector<job>& jobs, wide_integer lone,
                                        std::uint32_t channel) const {
    const std::vector<std::int64_t>& weights = c_.row->weights;
    const wide_integer stream = weights[0], all = stream + weights[1] + weights[2];
    wide_integer sum = stream * lone + std::min(weights[1] * all_[own].alone,
                                                stream * all_[own].packing + weights[1] * all_[own].duration);
    for (const job& j : jobs) {
      if (j.run == own) {
        sum += all * j.first;
        continue;
      }
      const work& run = all_[j.run];
      const wide_integer then = weights[run.machine == channel ? 1 : 2];
      sum += std::min(all * j.first,
                      stream * j.first + std::min(then * run.alone, stream * run.packing + then * run.share));
    }
    return sum;
  }

  static constexpr std::size_t no_job = std::numeric_limits<std::size_t>::max();

  const task_graph& g_;
  const order_certificate& c_;
  std::vector<task_index> unit_;
  std::vector<bool> merged_;
  std::map<task_index, bucket_costs> costs_;
  std::vector<work> all_;
  compressed_graph graph_;
  std::vector<activity_number> order_;
  std::vector<std::uint32_t> place_;
  std::vector<wide_integer> head_, tail_;
  std::size_t steps_ = 0;
  std::string failure_;
};

}  // namespace detail

SHARDWEAVE_INLINE order_verdict check_certificate(const task_graph& g, const order_certificate& c) {
  return detail::order_checker(g, c).run();
}

}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/detail/hiding_intervals.hpp>
#include <shardweave/bucketing/detail/member_relations.hpp>
#include <shardweave/bucketing/detail/overlap_account.hpp>
#include <shardweave/bucketing/detail/overlap_timeline.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Definition of `merge_preserving_overlap`.

namespace shardweave::inline v0 {

namespace detail {

/// Finds the buckets, by channel and key.
class preserving_run {
 public:
  preserving_run(const task_graph& g, const schedule& s, const overlap_preserving& options)
      : g_(g),
        options_(options),
        units_(g, s.buckets),
        account_(units_, s),
        graph_(units_.graph(), account_.order),
        event_of_(units_.size()),
        bucket_of_(units_.size(), no_index),
        relations_(units_, account_),
        intervals_(units_, account_) {
    account_.for_each_hiding([this](std::uint32_t before, std::uint32_t after) { graph_.add(before, after); });
    for (std::uint32_t c = 0; c < g.groups().size(); ++c) {
      bool used = false;
      for (const std::uint32_t u : account_.order) used = used || (account_.is_start(u) && units_.channel(u) == c);
      channels_.push_back(used ? c : no_index);
    }
    for (const std::uint32_t c : channels_)
      if (c != no_index) lines_.emplace(c, overlap_timeline(g, units_, account_, c, graph_));
  }

  preserving_run(const preserving_run&) = delete;  // members refer to each other
  preserving_run& operator=(const preserving_run&) = delete;

  void run() {
    const std::vector<bool> gathers = gathering_channels();
    const std::vector<std::uint32_t> keys = bucket_keys(g_);
    const std::vector<bool> fit = fit_for_buckets(g_);
    for (auto& [channel, line] : lines_) {
      line_ = &line;
      line.enter(event_of_);
      std::map<std::uint32_t, std::vector<std::uint32_t>> groups;  // by key, in the order of the schedule
      for (const std::uint32_t u : account_.order)
        if (account_.is_start(u) && units_.channel(u) == channel && fit[units_.first(u)])
          groups[keys[units_.first(u)]].push_back(u);
      for (auto& [key, group] : groups) fill(group, options_.exposed_first.value_or(gathers[channel]));
    }
  }

  /// The schedule with the buckets found, without hiding records.
  [[nodiscard]] schedule result(const schedule& before) const {
    schedule s;
    s.statistics = before.statistics;
    s.decisions = before.decisions;
    s.decisions.insert(s.decisions.end(), refused_.begin(), refused_.end());
    for (std::uint32_t u = 0; u < units_.size(); ++u)
      if (units_.is_bucket(u) && bucket_of_[u] == no_index) s.buckets.push_back(units_.bucket_at(u));
    for (const std::vector<std::uint32_t>& members : buckets_) {
      std::vector<task_index> tasks;
      for (const std::uint32_t u : members) tasks.insert(tasks.end(), units_.tasks(u).begin(), units_.tasks(u).end());
      s.buckets.push_back(make_bucket(g_, std::move(tasks)));
      s.buckets.back().coalesced = options_.coalesce_scatters &&
                                   g_.collective(s.buckets.back().members.front()).op == collective::reduce_scatter;
    }
    // a bucket and its waits stand at the places of the first member, and move only as far as necessary
    std::vector<std::uint32_t> listed;
    for (const std::uint32_t u : account_.order) {
      const std::uint32_t launched = account_.start_of[u] == no_index ? u : account_.start_of[u];
      if (bucket_of_[launched] == no_index) {
        listed.push_back(graph_.set_of(u));
      } else if (u == buckets_[bucket_of_[launched]].front()) {
        listed.push_back(graph_.set_of(u));
        listed.push_back(graph_.set_of(account_.wait_of[u]));
      }
    }
    const auto sorted =
        parked_topological_order(listed, [&](std::uint32_t set, const auto& f) { graph_.for_each_dependency(set, f); });
    std::vector<std::uint32_t> last;
    for (const std::uint32_t set : sorted)
      for (const std::uint32_t u : graph_.members(set)) {
        if (g_.kind(units_.first(u)) == task_kind::output && units_.graph().out(u).empty()) {
          last.push_back(u);
          continue;
        }
        s.order.insert(s.order.end(), units_.tasks(u).begin(), units_.tasks(u).end());
      }
    for (const std::uint32_t u : last) s.order.push_back(units_.first(u));
    return s;
  }

 private:
  /// Channels whose first all-gather in the original order is a gather of one parameter.
  [[nodiscard]] std::vector<bool> gathering_channels() const {
    const std::vector<bool> tags = fsdp_tags(g_);
    std::vector<bool> known(g_.groups().size()), gathers(g_.groups().size());
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      if (!account_.is_start(u) || g_.collective(units_.first(u)).op != collective::all_gather ||
          known[units_.channel(u)])
        continue;
      known[units_.channel(u)] = true;
      gathers[units_.channel(u)] = tags[units_.first(u)] && !units_.is_bucket(u);
    }
    return gathers;
  }

  [[nodiscard]] bytes size_of(std::uint32_t u) const {
    bytes sum;
    for (const task_index t : units_.tasks(u)) sum += g_.collective(t).bytes_in + g_.collective(t).bytes_out;
    return g_.collective(units_.first(u)).op == collective::all_reduce ? sum / 2 : sum;
  }
  /// The hidden fraction of the time, from 0 to 1.
  [[nodiscard]] double hidden_share(std::uint32_t u) const {
    const auto takes = static_cast<double>(units_.costs(u).duration.count());
    return takes > 0 ? (takes - static_cast<double>(account_.exposed[u].count())) / takes : 0;
  }

  /// Makes one bucket after the other, each starting with the first collective that is in none.
  void fill(std::vector<std::uint32_t>& group, bool exposed_first) {
    if (exposed_first)
      std::stable_sort(group.begin(), group.end(), [&](auto a, auto b) { return hidden_share(a) < hidden_share(b); });
    std::vector<bool> taken(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint32_t seed = group[i];
      if (taken[i] || account_.hides_others(seed)) continue;
      taken[i] = true;
      std::vector<std::uint32_t> members = {seed};
      bytes total = size_of(seed);
      std::size_t refusals = 0, seen_to = i + 1;
      const std::size_t end = i + 1 + std::min(options_.distance, group.size() - i - 1);
      for (std::size_t k = i + 1; k < end && refusals < options_.patience; ++k) {
        const std::uint32_t c = group[k];
        const bytes size = size_of(c);
        if (total + size > options_.cap) {
          refuse_one(decision_reason::byte_cap, c, seed, (total + size).count(), options_.cap.count());
          break;
        }
        if (taken[k]) continue;
        if (exposed_first && account_.distance(seed, c) > options_.nearby) continue;
        if (k >= seen_to) {
          seen_to = k + std::min(end - k, 2 * std::min(options_.patience, end));
          relations_.look_around(members, std::span(group).subspan(k, seen_to - k));
        }
        if (try_add(members, c)) {
          members.push_back(c);
          total += size;
          taken[k] = true;
          refusals = 0;
          relations_.add(c);
        } else {
          ++refusals;
        }
      }
      if (members.size() < 2) continue;
      for (const std::uint32_t u : members) bucket_of_[u] = static_cast<std::uint32_t>(buckets_.size());
      buckets_.push_back(std::move(members));
    }
  }
  bool refuse_one(decision_reason reason, std::uint32_t c, std::uint32_t seed, std::int64_t found = 0,
                  std::int64_t limit = 0) {
    refused_.push_back({reason, units_.first(c), units_.first(seed), found, limit});
    return false;
  }

  /// Adds `c`, at the first of four pairs of launch and wait that keeps everything hidden.
  bool try_add(const std::vector<std::uint32_t>& members, std::uint32_t c) {
    const std::uint32_t seed = members.front();
    if (account_.hides_others(c)) return refuse_one(decision_reason::overlap, c, seed);
    if (relations_.is_related(c)) return refuse_one(decision_reason::dependency, c, seed);
    bool keeps = false;
    for (const auto& [start, wait] : {std::pair(seed, c), std::pair(seed, seed), std::pair(c, c), std::pair(c, seed)}) {
      if (!intervals_.stay(*line_, members, c, start, account_.wait_of[wait])) continue;
      keeps = true;
      if (join(seed, c, start, account_.wait_of[wait])) return true;
    }
    return refuse_one(keeps ? decision_reason::cycle : decision_reason::overlap, c, seed);
  }

  /// Merges launches and waits in the graph and in the list, unless that closes a cycle.
  bool join(std::uint32_t seed, std::uint32_t c, std::uint32_t start, std::uint32_t wait) {
    const std::uint32_t seed_wait = account_.wait_of[seed], c_wait = account_.wait_of[c];
    const std::uint32_t moved = line_->event_of(start == seed ? c : seed);
    const std::uint32_t moved_wait = line_->event_of(wait == seed_wait ? c_wait : seed_wait);
    graph_.begin();
    line_->unlink(moved);
    if (!graph_.merge(seed, c)) {
      graph_.rollback();
      line_->relink(moved);
      return false;
    }
    line_->unlink(moved_wait);
    if (!graph_.merge(seed_wait, c_wait)) {
      graph_.rollback();
      line_->relink(moved_wait);
      line_->relink(moved);
      return false;
    }
    graph_.commit();
    const std::uint32_t stands = line_->event_of(start), waits = line_->event_of(wait);
    for (const std::uint32_t u : {seed, c}) line_->stand_for(u, stands);
    for (const std::uint32_t u : {seed_wait, c_wait}) line_->stand_for(u, waits);
    return true;
  }

  const task_graph& g_;
  const overlap_preserving& options_;
  launch_units units_;
  overlap_account account_;
  augmented_graph graph_;
  std::vector<std::uint32_t> channels_, event_of_;
  std::map<std::uint32_t, overlap_timeline> lines_;
  overlap_timeline* line_ = nullptr;
  std::vector<std::vector<std::uint32_t>> buckets_;  // units; the first member comes first
  std::vector<std::uint32_t> bucket_of_;
  std::vector<decision> refused_;
  member_relations relations_;
  hiding_intervals intervals_;
};

}  // namespace detail

SHARDWEAVE_INLINE schedule merge_preserving_overlap(const task_graph& g, const schedule& s,
                                                    const overlap_preserving& options) {
  detail::preserving_run run(g, s, options);
  run.run();
  return run.result(s);
}

}  // namespace shardweave::inline v0

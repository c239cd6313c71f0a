#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/detail/overlap_timeline.hpp>
#include <shardweave/bucketing/fsdp_tags.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Merges collectives of a schedule without exposing what is hidden in it.

namespace shardweave {
inline namespace v0 {

/// Settings of `merge_preserving_overlap`.
struct overlap_preserving {
  static constexpr std::string_view name = "overlap_preserving";

  bytes cap = gibibytes(2);    ///< of a bucket: bytes in and out, those of an all_reduce once
  std::size_t distance = 200;  ///< collectives of a key looked at after the first member
  std::size_t patience = 20;   ///< refusals in a row after which a bucket is closed
  /// Begin with what is least hidden, and merge with what is `nearby`; absent: on channels that gather parameters.
  std::optional<bool> exposed_first = std::nullopt;
  std::uint32_t nearby = 20;  ///< places in the schedule, where the least hidden come first
};

namespace detail {

/// Finds the buckets, channel by channel and key by key.
class preserving_run {
 public:
  preserving_run(const task_graph& g, const schedule& s, const overlap_preserving& options)
      : g_(g),
        options_(options),
        units_(g, s.buckets),
        account_(g, units_, s),
        known_(with_hiding()),
        graph_(units_.graph(), account_.order),
        event_of_(units_.size()),
        bucket_of_(units_.size(), no_index),
        marks_(5, std::vector<std::uint32_t>(units_.size())) {
    for (const std::uint32_t u : account_.order)
      if (account_.is_start(u) && account_.is_hidden(u))
        for (const std::uint32_t h : account_.hidden_by[u]) {
          graph_.add(u, h);
          graph_.add(h, account_.wait_of[u]);
        }
    for (std::uint32_t c = 0; c < g.groups().size(); ++c) {
      bool used = false;
      for (const std::uint32_t u : account_.order) used = used || (account_.is_start(u) && units_.channel(u) == c);
      channels_.push_back(used ? c : no_index);
    }
    for (const std::uint32_t c : channels_)
      if (c != no_index) lines_.emplace(c, overlap_timeline(g, units_, account_, c, graph_));
  }

  void run() {
    const std::vector<bool> gathers = gathering_channels();
    const std::vector<std::uint32_t> keys = bucket_keys(g_);
    for (auto& [channel, line] : lines_) {
      line_ = &line;
      line.enter(event_of_);
      std::map<std::uint32_t, std::vector<std::uint32_t>> groups;  // by key, in the order of the schedule
      for (const std::uint32_t u : account_.order)
        if (account_.is_start(u) && units_.channel(u) == channel && keys[units_.first(u)] != no_index)
          groups[keys[units_.first(u)]].push_back(u);
      for (auto& [key, group] : groups) fill(group, options_.exposed_first.value_or(gathers[channel]));
    }
  }

  /// The schedule with the buckets found; what hides what is not known any more.
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
    }
    // a bucket and its waits stand where the first member stood, and move only as far as they must
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
  struct interval {
    std::uint32_t from, to;
    [[nodiscard]] bool encloses(const interval& other) const { return from < other.from && other.to < to; }
  };
  enum mark : std::size_t { after_start, before_start, after_wait, before_wait, before_hiding };

  /// Units, and what must lie between launches and waits so that they stay hidden.
  [[nodiscard]] compressed_graph with_hiding() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
    for (const auto& e : units_.graph().all_edges()) ends.emplace_back(e.source, e.target);
    for (const std::uint32_t u : account_.order)
      if (account_.is_start(u) && account_.is_hidden(u))
        for (const std::uint32_t h : account_.hidden_by[u]) {
          ends.emplace_back(u, h);
          ends.emplace_back(h, account_.wait_of[u]);
        }
    return compressed_graph(units_.size(), ends);
  }

  /// Channels whose first all_gather in the original order gathers a parameter, and only one.
  [[nodiscard]] std::vector<bool> gathering_channels() const {
    const std::vector<bool> tags = fsdp_tags(g_);
    std::vector<bool> known(g_.groups().size()), gathers(g_.groups().size());
    for (std::uint32_t u = 0; u < units_.size(); ++u) {
      if (!account_.is_start(u) || g_.collective(units_.first(u)).op != "all_gather" || known[units_.channel(u)])
        continue;
      known[units_.channel(u)] = true;
      gathers[units_.channel(u)] = tags[units_.first(u)] && !units_.is_bucket(u);
    }
    return gathers;
  }

  [[nodiscard]] bytes size_of(std::uint32_t u) const {
    bytes sum;
    for (const task_index t : units_.tasks(u)) sum += g_.collective(t).bytes_in + g_.collective(t).bytes_out;
    return g_.collective(units_.first(u)).op == "all_reduce" ? sum / 2 : sum;
  }
  /// Hidden part of the time, from 0 to 1.
  [[nodiscard]] double hidden_share(std::uint32_t u) const {
    const auto takes = static_cast<double>(units_.costs(u).duration.count());
    return takes > 0 ? (takes - static_cast<double>(account_.exposed[u].count())) / takes : 0;
  }
  [[nodiscard]] bool hides_others(std::uint32_t u) const {
    return account_.hides[u] || account_.hides[account_.wait_of[u]];
  }

  void fill(std::vector<std::uint32_t>& group, bool exposed_first) {
    if (exposed_first)
      std::stable_sort(group.begin(), group.end(), [&](auto a, auto b) { return hidden_share(a) < hidden_share(b); });
    std::vector<bool> taken(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::uint32_t seed = group[i];
      if (taken[i] || hides_others(seed)) continue;
      taken[i] = true;
      std::vector<std::uint32_t> members = {seed};
      bytes total = size_of(seed);
      std::size_t refusals = 0, seen_to = i + 1;
      const std::size_t end = std::min(group.size(), i + 1 + options_.distance);
      for (std::size_t k = i + 1; k < end && refusals < options_.patience; ++k) {
        const std::uint32_t c = group[k];
        const bytes size = size_of(c);
        if (total + size > options_.cap) {
          refuse_one(decision_reason::byte_cap, c, seed, (total + size).count(), options_.cap.count());
          break;
        }
        if (taken[k]) continue;
        if (exposed_first && distance(seed, c) > options_.nearby) continue;
        if (k >= seen_to) {
          seen_to = std::min(end, k + 2 * options_.patience);
          look_around(members, group, k, seen_to);
        }
        if (can_add(members, c)) {
          members.push_back(c);
          total += size;
          taken[k] = true;
          refusals = 0;
          mark_relatives(c);
        } else {
          ++refusals;
        }
      }
      if (members.size() < 2) continue;
      for (const std::uint32_t u : members) bucket_of_[u] = static_cast<std::uint32_t>(buckets_.size());
      buckets_.push_back(std::move(members));
    }
  }
  /// Tasks from one launch to the other.
  [[nodiscard]] std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t x = account_.steps[a], y = account_.steps[b];
    return std::max(x, y) - std::min(x, y);
  }
  bool refuse_one(decision_reason reason, std::uint32_t c, std::uint32_t seed, std::int64_t found = 0,
                  std::int64_t limit = 0) {
    refused_.push_back({reason, units_.first(c), units_.first(seed), found, limit});
    return false;
  }

  // --- who needs whom -------------------------------------------------------------------------------------------

  /// Marks what the members lead to, and what leads to them, as far as the next candidates lie.
  void look_around(const std::vector<std::uint32_t>& members, const std::vector<std::uint32_t>& group, std::size_t from,
                   std::size_t to) {
    ++stamp_;
    first_ = account_.place[members.front()];
    last_ = 0;
    const auto cover = [&](std::uint32_t u) {
      first_ = std::min(first_, account_.place[u]);
      last_ = std::max(last_, account_.place[u]);
    };
    for (std::size_t k = from; k < to; ++k) {
      cover(group[k]);
      cover(account_.wait_of[group[k]]);
      for (const std::uint32_t h : account_.hidden_by[group[k]]) cover(h);
    }
    for (const std::uint32_t m : members) mark_relatives(m);
  }
  void mark_relatives(std::uint32_t member) {
    const std::uint32_t wait = account_.wait_of[member];
    spread<true>(after_start, member);
    spread<false>(before_start, member);
    spread<true>(after_wait, wait);
    spread<false>(before_wait, wait);
    for (const std::uint32_t h : account_.hidden_by[member]) spread<false>(before_hiding, h);
  }
  template <bool Forward>
  void spread(mark which, std::uint32_t from) {
    stack_.assign(1, from);
    while (!stack_.empty()) {
      const std::uint32_t u = stack_.back();
      stack_.pop_back();
      for (const auto& e : Forward ? known_.out(u) : known_.in(u)) {
        const std::uint32_t n = Forward ? e.target : e.source;
        if (marks_[which][n] == stamp_ || (Forward ? account_.place[n] > last_ : account_.place[n] < first_)) continue;
        marks_[which][n] = stamp_;
        stack_.push_back(n);
      }
    }
  }
  [[nodiscard]] bool is_marked(mark which, std::uint32_t u) const { return marks_[which][u] == stamp_; }
  [[nodiscard]] bool is_related(std::uint32_t c) const {
    const std::uint32_t wait = account_.wait_of[c];
    if (is_marked(after_start, c) || is_marked(before_start, c) || is_marked(after_wait, wait) ||
        is_marked(before_wait, wait) || is_marked(before_hiding, wait))
      return true;
    const auto& hidden_by = account_.hidden_by[c];
    return std::any_of(hidden_by.begin(), hidden_by.end(), [&](auto h) { return is_marked(after_wait, h); });
  }

  // --- where a merged launch and its wait may stand -------------------------------------------------------------

  bool can_add(const std::vector<std::uint32_t>& members, std::uint32_t c) {
    const std::uint32_t seed = members.front();
    if (hides_others(c)) return refuse_one(decision_reason::overlap, c, seed);
    if (is_related(c)) return refuse_one(decision_reason::dependency, c, seed);
    bool keeps = false;
    for (const auto& [start, wait] : {std::pair(seed, c), std::pair(seed, seed), std::pair(c, c), std::pair(c, seed)}) {
      if (!keeps_hidden(members, c, start, account_.wait_of[wait])) continue;
      keeps = true;
      if (join(seed, c, start, account_.wait_of[wait])) return true;
    }
    return refuse_one(keeps ? decision_reason::cycle : decision_reason::overlap, c, seed);
  }

  /// A wait ends all that was launched before on its channel: nothing may be waited for before what hides it.
  bool keeps_hidden(const std::vector<std::uint32_t>& members, std::uint32_t c, std::uint32_t start,
                    std::uint32_t wait) {
    const std::uint32_t seed = members.front();
    const auto at = [&](std::uint32_t u) { return line_->event_of(u); };
    const interval all{at(start), at(wait)};
    inside_.clear();
    running_.assign(1, all);
    const auto own = [&](std::uint32_t u) {
      for (const std::uint32_t h : account_.hidden_by[u]) {
        if (at(h) <= all.from || at(h) >= all.to) return false;
        inside_.push_back({all.from, at(h)});
      }
      return true;
    };
    if (!own(c) || !std::all_of(members.begin(), members.end(), own)) return false;
    const std::uint32_t latest = std::max(at(c), at(seed));
    const std::uint32_t earliest = std::min(at(account_.wait_of[c]), at(account_.wait_of[seed]));
    const auto look = [&](std::uint32_t event) {
      const std::uint32_t u = line_->unit_at(event);
      const std::uint32_t launched = account_.is_start(u) ? u : account_.start_of[u];
      if (launched == no_index || launched == c || !account_.is_start(launched) ||
          std::find(members.begin(), members.end(), launched) != members.end() ||
          units_.channel(launched) != units_.channel(c))
        return;
      running_.push_back({at(launched), at(account_.wait_of[launched])});
      for (const std::uint32_t h : account_.hidden_by[launched]) inside_.push_back({at(launched), at(h)});
    };
    for (auto e = line_->next(all.from); e != overlap_timeline::none && e < latest; e = line_->next(e)) look(e);
    for (auto e = line_->previous(all.to); e != overlap_timeline::none && e > earliest; e = line_->previous(e)) look(e);
    for (const interval& outer : running_)
      if (std::any_of(inside_.begin(), inside_.end(), [&](const interval& i) { return outer.encloses(i); }))
        return false;
    return true;
  }

  /// Merges launches and waits in the graph and in the list, if that closes no cycle.
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
  compressed_graph known_;
  augmented_graph graph_;
  std::vector<std::uint32_t> channels_, event_of_;
  std::map<std::uint32_t, overlap_timeline> lines_;
  overlap_timeline* line_ = nullptr;
  std::vector<std::vector<std::uint32_t>> buckets_;  // units, the first member first
  std::vector<std::uint32_t> bucket_of_;
  std::vector<decision> refused_;
  std::vector<std::vector<std::uint32_t>> marks_;
  std::vector<std::uint32_t> stack_;
  std::vector<interval> running_, inside_;
  std::uint32_t stamp_ = 0, first_ = 0, last_ = 0;
};

}  // namespace detail

/// Merges collectives of a schedule whose `hides` says what hides what; buckets that are there count as one
/// collective. Of each key and channel, collectives are tried in the order of the schedule, or the least hidden first;
/// the merged launch stands at one of the two launches, its wait at one of the two waits, so that no task of the
/// account slips out from between a launch and its wait, on this channel or by way of its in-order execution, and no
/// cycle is closed. A refused attempt leaves no trace. The result has no `hides`: simulate it.
///
/// Source: PyTorch's overlap-preserving bucketing, with complete undoing and an order that is kept, not searched.
/// Complexity: O(V + E) per channel, and one bounded search per collective and bucket tried
/// \pre s is valid for g
[[nodiscard]] inline schedule merge_preserving_overlap(const task_graph& g, const schedule& s,
                                                       const overlap_preserving& options = {}) {
  detail::preserving_run run(g, s, options);
  run.run();
  return run.result(s);
}

}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/unit_progress.hpp>
#include <shardweave/schedule/overlap/detail/exposure_account.hpp>
#include <shardweave/schedule/overlap/detail/overlap_facts.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

/// \file
/// The units that can be taken now, and the choice of the next one.

namespace shardweave::inline v0::detail {

/// Ready units of two kinds: on the path, which some computation needs, ordered by that computation; and off it, which
/// none needs, such as reductions of gradients. The latter are taken when nothing else is ready, when their place in
/// the original order is reached and they lead to a reduction, when their wait does not stall, or when enough bytes of
/// a key are ready to be launched together. Complexity: O(log V) per unit.
class ready_units {
 public:
  /// \pre all arguments outlive this
  ready_units(const task_graph& g, const launch_units& units, const overlap_facts& facts, const unit_progress& progress,
              const exposure_account& account, const overlap_settings& settings)
      : g_(&g),
        units_(&units),
        facts_(&facts),
        progress_(&progress),
        account_(&account),
        settings_(&settings),
        off_path_starts_(facts.key_count),
        ready_bytes_(facts.key_count),
        leads_(units.size()) {
    // what a unit leads to is not launched before the unit is done: so this never changes
    for (std::size_t i = facts.order.size(); i-- > 0;) {
      const std::uint32_t u = facts.order[i];
      const std::uint32_t user = only_end(units.graph().out(u), [](const auto& e) { return e.target; });
      if (user == no_index || only_end(units.graph().in(user), [](const auto& e) { return e.source; }) == no_index)
        continue;
      leads_[u] = facts.is_start(user) || (!units.is_collective(user) && is_cheap(user) && leads_[user]);
    }
  }

  [[nodiscard]] bool empty() const { return on_path_.empty() && off_path_.empty(); }

  /// To be called when all inputs of the unit are done.
  void add(std::uint32_t u) {
    if (facts_->need[u] == overlap_facts::never) {
      const off_path_entry entry(facts_->feeds_scatter[u] ? 0U : 1U, facts_->rank[u], u);
      off_path_.insert(entry);
      if (facts_->is_start(u)) {
        off_path_starts_[facts_->key[u]].insert(entry);
        ready_bytes_[facts_->key[u]] += facts_->size[u];
      }
      return;
    }
    int late = 0;
    if (facts_->is_wait(u))
      late = account_->is_exposed(facts_->start_of[u]) ? 1 : 0;
    else if (leads_[u])
      late = -1;
    on_path_.emplace(facts_->need[u], late, facts_->rank[u], u);
  }
  /// One unit, or collectives that are launched together; some may be done already.
  /// \param memory_is_short  takes waits that free memory even if they stall
  /// \pre not empty
  [[nodiscard]] std::vector<std::uint32_t> next(bool memory_is_short) {
    if (!off_path_.empty()) {
      const off_path_entry top = *off_path_.begin();
      if (is_off_path_next(std::get<2>(top), memory_is_short)) return next_off_path(top);
    }
    const std::uint32_t u = std::get<3>(*on_path_.begin());
    on_path_.erase(on_path_.begin());
    return {u};
  }
  /// To be called when `u` was launched, in its turn or early.
  void launch(std::uint32_t u) {
    if (facts_->need[u] == overlap_facts::never && settings_->exact_batches)
      ready_bytes_[facts_->key[u]] -= facts_->size[u];
  }
  /// To be called when `u`, from `next`, was taken.
  void take(std::uint32_t u) {
    if (facts_->need[u] != overlap_facts::never)
      last_on_path_ = std::max<std::int64_t>(last_on_path_, facts_->rank[u]);
    else if (facts_->is_start(u) && !settings_->exact_batches)
      ready_bytes_[facts_->key[u]] -= facts_->size[u];
  }

 private:
  using on_path_entry = std::tuple<std::uint32_t, int, std::uint32_t, std::uint32_t>;  // need, late, rank, unit
  using off_path_entry = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;      // feeds no reduction, rank, unit

  /// The unit at one end of all edges; no_index if they differ.
  template <class Edges, class End>
  [[nodiscard]] static std::uint32_t only_end(const Edges& edges, End end) {
    if (edges.empty()) return no_index;
    for (const auto& e : edges)
      if (end(e) != end(edges.front())) return no_index;
    return end(edges.front());
  }
  /// Views, and element-wise operations by their usual names.
  [[nodiscard]] bool is_cheap(std::uint32_t u) const {
    const task_index t = units_->first(u);
    if (g_->kind(t) == task_kind::view) return g_->op(t) != "getitem";
    return g_->kind(t) == task_kind::other && settings_->is_elementwise(g_->op(t));
  }

  [[nodiscard]] bool is_off_path_next(std::uint32_t u, bool memory_is_short) const {
    if (on_path_.empty() || progress_->is_done(u)) return true;
    if (facts_->is_wait(u)) return !account_->is_exposed(facts_->start_of[u]) || memory_is_short;
    if (facts_->is_start(u) && settings_->off_path_batch)
      return ready_bytes_[facts_->key[u]] >= *settings_->off_path_batch;
    return facts_->feeds_scatter[u] && static_cast<std::int64_t>(facts_->rank[u]) <= last_on_path_;
  }
  /// A unit, or a collective with all others of its key that fit into the batch.
  [[nodiscard]] std::vector<std::uint32_t> next_off_path(const off_path_entry& top) {
    const std::uint32_t u = std::get<2>(top);
    off_path_.erase(off_path_.begin());
    std::vector<std::uint32_t> all = {u};
    if (!settings_->off_path_batch || !facts_->is_start(u) || (progress_->is_done(u) && settings_->exact_batches))
      return all;
    bytes total = facts_->size[u];
    const std::uint32_t key = facts_->key[u];
    std::set<off_path_entry>& partners = off_path_starts_[key];
    partners.erase(top);
    for (auto at = partners.begin();
         at != partners.end() && total + facts_->least_size[key] <= *settings_->off_path_batch;) {
      const std::uint32_t other = std::get<2>(*at);
      if (!progress_->is_done(other)) {
        if (total + facts_->size[other] > *settings_->off_path_batch) {
          ++at;
          continue;
        }
        all.push_back(other);
        total += facts_->size[other];
        off_path_.erase(*at);
      }
      at = partners.erase(at);
    }
    return all;
  }

  const task_graph* g_;
  const launch_units* units_;
  const overlap_facts* facts_;
  const unit_progress* progress_;
  const exposure_account* account_;
  const overlap_settings* settings_;
  std::set<on_path_entry> on_path_;
  std::set<off_path_entry> off_path_;
  std::vector<std::set<off_path_entry>> off_path_starts_;  // collectives off the path, by key
  std::vector<bytes> ready_bytes_;                         // of these, by key
  std::vector<bool> leads_;                                // one to one through cheap tasks, only to a collective
  std::int64_t last_on_path_ = -1;                         // the largest rank that was taken
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/bucketing/detail/overlap_account.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// The events of one channel, in the order of a schedule.

namespace shardweave::inline v0::detail {

/// The launches and waits of one channel, the computations, and all other tasks that hide its collectives, as a linked
/// list; neighbours become dependencies of the graph. An event may be represented by another one and removed.
class overlap_timeline {
 public:
  static constexpr std::uint32_t none = no_index;

  overlap_timeline(const task_graph& g, const launch_units& units, const overlap_account& account,
                   std::uint32_t channel, augmented_graph& graph)
      : graph_(&graph) {
    std::vector<bool> hides(units.size());
    for (const std::uint32_t u : account.order) {
      bool belongs = hides[u] || g.kind(units.first(u)) == task_kind::compute;
      if (account.is_start(u)) {
        belongs = units.channel(u) == channel;
        if (belongs)
          for (const std::uint32_t h : account.hidden_by[u]) hides[h] = true;
      } else if (account.start_of[u] != no_index) {
        belongs = hides[u] || units.channel(account.start_of[u]) == channel;
      }
      if (!belongs) continue;
      const auto e = static_cast<std::uint32_t>(events_.size());
      events_.push_back({u, e == 0 ? none : e - 1, none});
      if (e == 0) continue;
      events_[e - 1].next = e;
      graph.add(events_[e - 1].unit, u);
    }
  }

  /// Makes this list the one in which `event_of` finds units.
  void enter(std::vector<std::uint32_t>& event_of) {
    event_of_ = &event_of;
    for (std::uint32_t e = 0; e < events_.size(); ++e) event_of[events_[e].unit] = e;
  }
  [[nodiscard]] std::uint32_t event_of(std::uint32_t unit) const { return (*event_of_)[unit]; }
  void stand_for(std::uint32_t unit, std::uint32_t at) { (*event_of_)[unit] = at; }
  [[nodiscard]] std::uint32_t unit_at(std::uint32_t at) const { return events_[at].unit; }
  [[nodiscard]] std::uint32_t next(std::uint32_t at) const { return events_[at].next; }
  [[nodiscard]] std::uint32_t previous(std::uint32_t at) const { return events_[at].previous; }

  /// Removes an event, and makes its neighbours depend on each other.
  void unlink(std::uint32_t e) {
    const auto [unit, p, n] = events_[e];
    if (p != none) graph_->remove(events_[p].unit, unit);
    if (n != none) graph_->remove(unit, events_[n].unit);
    if (p != none && n != none) graph_->add(events_[p].unit, events_[n].unit);
    if (p != none) events_[p].next = n;
    if (n != none) events_[n].previous = p;
  }
  /// Puts an event back into the list only; the caller rolls back the graph.
  void relink(std::uint32_t e) {
    if (events_[e].previous != none) events_[events_[e].previous].next = e;
    if (events_[e].next != none) events_[events_[e].next].previous = e;
  }

 private:
  struct event {
    std::uint32_t unit, previous, next;
  };
  std::vector<event> events_;
  augmented_graph* graph_;
  std::vector<std::uint32_t>* event_of_ = nullptr;
};

}  // namespace shardweave::inline v0::detail

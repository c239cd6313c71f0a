#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// One run of the list scheduler behind `prefetch`.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What limits a run.
struct list_limits {
  bytes in_flight;
  std::size_t compute_ahead = 0;
  std::size_t window = 0;
  std::optional<bytes> memory = std::nullopt;
  std::optional<std::uint32_t> lag = std::nullopt;  ///< by which a launch that nothing computes with may be late
  memory_profile ahead = {};                        ///< bytes alive in the original order; only with `memory`
};

/// What all runs on one graph share: units, needs, and what each collective has to wait for.
struct list_plan {
  list_plan(const task_graph& graph, std::span<const bucket> buckets)
      : g(graph),
        units(graph, buckets),
        uses(graph),
        order(units.order().begin(), units.order().end()),
        rank(units.size()),
        need(units.size(), no_index),
        compute_before(units.size() + 1),
        blockers(units.size()),
        blocks(units.size()),
        prelude(units.size()) {
    set_order();
  }

  /// Most bytes alive while each unit runs in the order nearest to the original, by rank.
  [[nodiscard]] std::vector<bytes> memory_in_order() const {
    memory_tracker memory(uses, g.storages().size());
    std::vector<bytes> along;
    along.reserve(units.size());
    std::vector<bool> unpacked(units.size());
    for (const std::uint32_t u : order) {
      memory.restart_peak();
      const task_index t = units.first(u);
      if (const task_index c = g.completes(t); c != no_index) {
        const std::uint32_t launched = units.unit_of(c);
        if (units.is_bucket(launched) && !unpacked[launched]) memory.unpack(units.bucket_at(launched));
        unpacked[launched] = true;
      }
      units.is_bucket(u) ? memory.launch(units.bucket_at(u)) : memory.run(t);
      along.push_back(memory.peak());
    }
    return along;
  }

  [[nodiscard]] task_kind kind(std::uint32_t u) const { return g.kind(units.first(u)); }
  [[nodiscard]] bool is_compute(std::uint32_t u) const { return kind(u) == task_kind::compute; }

  const task_graph& g;
  launch_units units;
  storage_uses uses;
  std::vector<std::uint32_t> order;           // that the list goes by: nearest to the original, if not said otherwise
  std::vector<std::uint32_t> rank;            // place in the order nearest to the original
  std::vector<std::uint32_t> need;            // rank of the first computation that needs the unit; no_index: none does
  std::vector<std::uint32_t> compute_before;  // computations among the ranks below
  std::vector<std::uint32_t> blockers;        // of a collective: units that must be done before it may be pulled
  std::vector<std::vector<std::uint32_t>> blocks;   // the reverse
  std::vector<std::vector<std::uint32_t>> prelude;  // of a collective: light tasks that lead to it, by rank

 private:
  void set_order() {
    const std::size_t n = units.size();
    for (std::uint32_t i = 0; i < n; ++i) {
      rank[order[i]] = i;
      compute_before[i + 1] = compute_before[i] + (is_compute(order[i]) ? 1 : 0);
    }
    std::fill(need.begin(), need.end(), no_index);
    for (std::size_t i = n; i-- > 0;) {
      const std::uint32_t u = order[i];
      if (is_compute(u))
        need[u] = rank[u];
      else
        for (const auto& e : units.graph().out(u)) need[u] = std::min(need[u], need[e.target]);
    }
    for (std::vector<std::uint32_t>& some : blocks) some.clear();
    std::vector<std::uint32_t> seen(n, no_index);
    for (std::uint32_t u = 0; u < n; ++u)
      if (units.is_collective(u)) find_prelude(u, seen);
  }

  /// Casts and views before a collective are pulled together with it; computations, waits and other
  /// collectives are not. Beyond a number of tasks nothing is pulled.
  void find_prelude(std::uint32_t u, std::vector<std::uint32_t>& seen) {
    const std::size_t most = 64 * units.tasks(u).size();
    std::vector<std::uint32_t> found = {u}, stops;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const auto& e : units.graph().in(found[i])) {
        if (seen[e.source] == u) continue;
        seen[e.source] = u;
        const task_kind k = kind(e.source);
        const bool pulled = k == task_kind::view || k == task_kind::other || k == task_kind::input;
        (pulled && found.size() <= most ? found : stops).push_back(e.source);
      }
    found.erase(found.begin());
    std::sort(found.begin(), found.end(), [this](auto a, auto b) { return rank[a] < rank[b]; });
    for (const std::uint32_t s : stops) blocks[s].push_back(u);
    blockers[u] = static_cast<std::uint32_t>(stops.size());
    prelude[u] = std::move(found);
  }
};

/// Emits units one by one, keeping the clocks of the reference timing. The compute stream takes what may run
/// without a stall, in the original order; before it gets busy, channels that would fall idle meanwhile get
/// their most urgent collective.
class list_run {
 public:
  list_run(const list_plan& plan, const list_limits& limits)
      : p_(plan),
        limits_(limits),
        memory_(plan.uses, plan.g.storages().size()),
        missing_(plan.units.size()),
        blockers_(plan.blockers),
        done_(plan.units.size()),
        clock_(plan.g.groups().size()),
        candidates_(plan.g.groups().size()),
        end_(plan.units.size()),
        unpacked_(plan.units.size()),
        waits_left_(plan.units.size()) {
    order_.reserve(plan.g.size());
    for (task_index t = 0; t < plan.g.size(); ++t)
      if (plan.g.completes(t) != no_index) ++waits_left_[plan.units.unit_of(plan.g.completes(t))];
    for (std::uint32_t u = 0; u < plan.units.size(); ++u) {
      missing_[u] = static_cast<std::uint32_t>(plan.units.graph().in(u).size());
      if (plan.units.is_collective(u) && blockers_[u] == 0) offer(u);
      if (missing_[u] == 0) make_ready(u);
      if (plan.kind(u) != task_kind::output) ++work_left_;
    }
    if (limits.memory) ahead_ = limits.ahead;
  }

  [[nodiscard]] std::vector<task_index> run() {
    while (emitted_ < p_.units.size()) step();
    return std::move(order_);
  }
  [[nodiscard]] bytes peak() const { return memory_.peak(); }
  [[nodiscard]] nanoseconds end_to_end() const {
    nanoseconds last = now_;
    for (const nanoseconds clock : clock_) last = std::max(last, clock);
    return last;
  }
  [[nodiscard]] std::vector<decision> refusals() const { return refusals_; }

 private:
  using by_rank = std::pair<std::uint32_t, std::uint32_t>;  // rank, unit
  // need (none last), rank, unit
  using by_urgency = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  using by_end = std::tuple<nanoseconds, std::uint32_t, std::uint32_t>;  // end, rank, wait

  void step() {
    while (!stalling_.empty() && std::get<0>(stalling_.top()) <= now_) {  // done meanwhile: a wait is free now
      const std::uint32_t w = std::get<2>(stalling_.top());
      stalling_.pop();
      ready_.emplace(p_.rank[w], w);
    }
    while (!ready_.empty() && done_[ready_.top().second]) ready_.pop();
    // what nothing computes with (gradients on their way out) may lag behind without holding others up
    while (oldest_ < p_.units.size() && (done_[p_.order[oldest_]] || p_.need[p_.order[oldest_]] == no_index)) ++oldest_;
    // the output stays last, even where others are not among what it returns
    const bool may_run = !ready_.empty() && (p_.kind(ready_.top().second) != task_kind::output || work_left_ == 0);
    if (may_run && (may_overtake(ready_.top()) || (stalling_.empty() && no_candidates()))) {
      const std::uint32_t u = ready_.top().second;
      if (limits_.lag && launch_overdue()) return;
      if (limits_.memory && make_room(memory_.demand(p_.units.first(u)))) return;
      const nanoseconds busy = p_.units.costs(u).duration + unpacking(u);
      if (busy > nanoseconds(0) && fill(now_ + busy)) return;  // look again: the clock may have moved
      ready_.pop();
      emit(u);
    } else if (!stalling_.empty()) {
      const auto [end, rank, wait] = stalling_.top();
      if (fill(end)) return;
      stalling_.pop();
      now_ = std::max(now_, end);
      emit(wait);
    } else {
      launch_most_urgent();
    }
  }

  /// What stands first in the order may always run; what would overtake it only near by and where memory has room.
  bool may_overtake(const by_rank& next) {
    if (next.first <= oldest_) return true;
    if (next.first > oldest_ + limits_.window) return stalling_.empty() && !limits_.memory;
    return !limits_.memory || has_room(next.first, memory_.demand(p_.units.first(next.second)));
  }
  /// Whether so much may be made alive now that the order wants alive from a rank on.
  [[nodiscard]] bool has_room(std::uint32_t rank, bytes demand) const {
    return memory_.live() + demand <= *limits_.memory &&
           (demand == bytes(0) || ahead_.most(oldest_, rank) + demand <= *limits_.memory);
  }
  /// Launches what nothing computes with, which frees what it sends, until there is room; true if any was.
  bool make_room(bytes demand) {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      while (memory_.live() + demand > *limits_.memory) {
        const auto next = candidates_[c].lower_bound({no_index, 0, 0});
        if (next == candidates_[c].end()) break;
        launch(c, next);
        any = true;
      }
    return any;
  }
  /// Launches what nothing computes with and what has been passed over for long, where there is room.
  bool launch_overdue() {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      for (;;) {
        const auto next = candidates_[c].lower_bound({no_index, 0, 0});
        if (next == candidates_[c].end() || std::get<1>(*next) + *limits_.lag > oldest_) break;
        if (limits_.memory && memory_.live() + demand(std::get<2>(*next)) > *limits_.memory) break;
        launch(c, next);
        any = true;
      }
    return any;
  }
  [[nodiscard]] bool no_candidates() const {
    return std::all_of(candidates_.begin(), candidates_.end(), [](const auto& some) { return some.empty(); });
  }

  /// Launches on every channel that would be idle before `until`; true if anything was launched.
  bool fill(nanoseconds until) {
    bool any = false;
    for (std::uint32_t c = 0; c < clock_.size(); ++c)
      while (clock_[c] < until && !candidates_[c].empty()) {
        auto next = candidates_[c].begin();
        if (!may_launch(std::get<2>(*next))) next = candidates_[c].lower_bound({no_index, 0, 0});
        if (next == candidates_[c].end()) break;
        launch(c, next);
        any = true;
      }
    return any;
  }

  /// Those that nothing computes with are always welcome: they free what they send.
  bool may_launch(std::uint32_t u) {
    if (p_.need[u] == no_index) return true;
    const std::size_t oldest_compute = p_.compute_before[std::min<std::size_t>(oldest_, p_.units.size())];
    decision no{.subject = p_.units.first(u)};
    if (p_.compute_before[p_.need[u]] > oldest_compute + limits_.compute_ahead) {
      no.reason = decision_reason::distance_limit;
      no.found = static_cast<std::int64_t>(p_.compute_before[p_.need[u]] - oldest_compute);
      no.limit = static_cast<std::int64_t>(limits_.compute_ahead);
    } else if (in_flight_ + size_of(u) > limits_.in_flight && in_flight_ > bytes(0)) {
      no.reason = decision_reason::in_flight_limit;
      no.found = (in_flight_ + size_of(u)).count();
      no.limit = limits_.in_flight.count();
    } else if (limits_.memory && !has_room(p_.rank[u], demand(u))) {
      no.reason = decision_reason::memory_limit;
      no.found = (std::max(memory_.live(), ahead_.most(oldest_, p_.rank[u])) + demand(u)).count();
      no.limit = limits_.memory->count();
    } else {
      return true;
    }
    if (refused_ != u) refusals_.push_back(no);  // once, not at every look
    refused_ = u;
    return false;
  }

  /// Nothing may run before some collective: the one that is needed first, whatever the limits say.
  void launch_most_urgent() {
    std::uint32_t channel = no_index;
    for (std::uint32_t c = 0; c < candidates_.size(); ++c)
      if (!candidates_[c].empty() && (channel == no_index || *candidates_[c].begin() < *candidates_[channel].begin()))
        channel = c;
    if (channel != no_index) return launch(channel, candidates_[channel].begin());
    SHARDWEAVE_EXPECTS(!ready_.empty());  // something depends on the output
    const std::uint32_t u = ready_.top().second;
    ready_.pop();
    emit(u);
  }

  void launch(std::uint32_t channel, std::set<by_urgency>::iterator at) {
    const std::uint32_t u = std::get<2>(*at);
    candidates_[channel].erase(at);
    for (const std::uint32_t v : p_.prelude[u])
      if (!done_[v]) emit(v);
    emit(u);
  }

  void emit(std::uint32_t u) {
    const task_index t = p_.units.first(u);
    const bucket_costs c = p_.units.costs(u);
    done_[u] = true;
    ++emitted_;
    if (limits_.memory && p_.rank[u] > oldest_) ahead_.raise(oldest_, p_.rank[u], demand_of(u));
    if (p_.kind(u) != task_kind::output) --work_left_;
    for (const task_index member : p_.units.tasks(u)) order_.push_back(member);
    if (p_.units.is_collective(u)) {
      now_ += c.pack;
      nanoseconds& clock = clock_[p_.units.channel(u)];
      clock = std::max(now_, clock) + c.duration;
      end_[u] = clock;
      if (waits_left_[u] > 0 && p_.need[u] != no_index) in_flight_ += size_of(u);
      p_.units.is_bucket(u) ? memory_.launch(p_.units.bucket_at(u)) : memory_.run(t);
    } else {
      now_ += c.duration + unpacking(u);
      if (const task_index done = p_.g.completes(t); done != no_index) finish(p_.units.unit_of(done));
      memory_.run(t);
    }
    for (const auto& e : p_.units.graph().out(u))
      if (--missing_[e.target] == 0) make_ready(e.target);
    for (const std::uint32_t v : p_.blocks[u])
      if (--blockers_[v] == 0) offer(v);
  }

  /// A wait for this collective is passed.
  void finish(std::uint32_t c) {
    if (p_.units.is_bucket(c) && !unpacked_[c]) memory_.unpack(p_.units.bucket_at(c));
    unpacked_[c] = true;
    if (--waits_left_[c] == 0 && p_.need[c] != no_index) in_flight_ -= size_of(c);
  }
  [[nodiscard]] nanoseconds unpacking(std::uint32_t u) const {
    const task_index c = p_.g.completes(p_.units.first(u));
    if (c == no_index || unpacked_[p_.units.unit_of(c)]) return nanoseconds(0);
    return p_.units.costs(p_.units.unit_of(c)).unpack;
  }

  void make_ready(std::uint32_t u) {
    if (done_[u] || p_.units.is_collective(u)) return;
    const task_index c = p_.g.completes(p_.units.first(u));
    if (c != no_index && end_[p_.units.unit_of(c)] > now_) {
      stalling_.emplace(end_[p_.units.unit_of(c)], p_.rank[u], u);
    } else {
      ready_.emplace(p_.kind(u) == task_kind::output ? no_index : p_.rank[u], u);
    }
  }
  void offer(std::uint32_t u) { candidates_[p_.units.channel(u)].emplace(p_.need[u], p_.rank[u], u); }

  [[nodiscard]] bytes size_of(std::uint32_t u) const {
    bytes sum;
    for (const task_index t : p_.units.tasks(u)) sum += p_.g.collective(t).bytes_in + p_.g.collective(t).bytes_out;
    return sum;
  }
  [[nodiscard]] bytes demand_of(std::uint32_t u) const {
    return p_.units.is_bucket(u) ? size_of(u) : memory_.demand(p_.units.first(u));
  }
  /// Bytes that pulling a collective makes live at most.
  [[nodiscard]] bytes demand(std::uint32_t u) const {
    bytes sum = demand_of(u);
    for (const std::uint32_t v : p_.prelude[u])
      if (!done_[v]) sum += memory_.demand(p_.units.first(v));
    return sum;
  }

  const list_plan& p_;
  list_limits limits_;
  memory_tracker memory_;
  memory_profile ahead_;
  std::vector<std::uint32_t> missing_, blockers_;
  std::vector<bool> done_;
  std::vector<nanoseconds> clock_;
  std::vector<std::set<by_urgency>> candidates_;  // by channel
  std::vector<nanoseconds> end_;                  // of launched collectives
  std::vector<bool> unpacked_;
  std::vector<std::uint32_t> waits_left_;
  std::priority_queue<by_rank, std::vector<by_rank>, std::greater<>> ready_;
  std::priority_queue<by_end, std::vector<by_end>, std::greater<>> stalling_;
  std::vector<task_index> order_;
  std::vector<decision> refusals_;
  nanoseconds now_;
  bytes in_flight_;
  std::size_t emitted_ = 0;
  std::size_t work_left_ = 0;  // units that are no output
  std::uint32_t oldest_ = 0;   // smallest rank of a unit that is not emitted and that a computation needs
  std::uint32_t refused_ = no_index;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

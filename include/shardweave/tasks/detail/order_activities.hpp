#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// What an order launches, as a proof about all orders counts it.

namespace shardweave::inline v0::detail {

/// What an activity takes at least, in nanoseconds.
struct activity_work {
  std::uint32_t machine = no_index;  ///< 0 = the compute stream, else 1 + the channel; `no_index` = is not there
  wide_integer duration = 0;         ///< in a chain
  wide_integer share = 0;            ///< of its machine's time: less where it may be a part of a launch
  wide_integer alone = 0;            ///< of a run: of its channel's time, if it is no part of a bucket
  wide_integer packing = 0;          ///< of a run: of the stream's time, if it is one
};

/// The activities of a graph as a proof about orders sees it, drawn from the graph and the proof's buckets alone, and
/// the dependencies between them. With the numbers of `activity_number`: 3 t of a task, 3 t + 1 of the run of its
/// launch, 3 t + 2 of its unpacking.
class order_activities {
 public:
  /// \pre both outlive this object
  order_activities(const task_graph& g, const order_certificate& c) : g_(g), c_(c), all_(3 * g.size()) {}

  /// \returns what is wrong with the buckets; the other members are for when nothing is
  /// Complexity: O((V + E) log V), times the points of the tables
  [[nodiscard]] std::optional<std::string> draw() {
    if (auto wrong = draw_buckets()) return wrong;
    return draw_activities();
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] bool is_there(activity_number a) const { return a < all_.size() && all_[a].machine != no_index; }
  /// \pre it is there
  [[nodiscard]] const activity_work& operator[](activity_number a) const { return all_[a]; }
  /// In a topological order, and its position there.
  [[nodiscard]] const std::vector<activity_number>& order() const { return order_; }
  [[nodiscard]] std::uint32_t place(activity_number a) const { return place_[a]; }
  /// The run of what a task launches, for all of a bucket its first member; `no_index` if it launches nothing.
  [[nodiscard]] activity_number run_of(task_index t) const {
    return t < g_.size() && g_.is_collective(t) && unit_[t] == t ? 3 * t + 1 : no_index;
  }
  template <bool Backward>
  [[nodiscard]] std::span<const compressed_graph::edge_descriptor> before(activity_number a) const {
    return Backward ? graph_.out(a) : graph_.in(a);
  }
  template <bool Backward>
  [[nodiscard]] static activity_number end_of(const compressed_graph::edge_descriptor& e) {
    return Backward ? e.target : e.source;
  }

  [[nodiscard]] std::string label(activity_number a) const {
    if (!is_there(a)) return "activity " + std::to_string(a);
    constexpr std::array<std::string_view, 3> part = {"", "run of ", "unpacking of "};
    return "activity " + std::to_string(a) + ", " + std::string(part[a % 3]) + g_.label(a / 3) + ",";
  }

  /// Work is not empty, of one machine, and names nothing twice, or this says what is wrong with it.
  [[nodiscard]] std::optional<std::string> complaint_about(const std::string& who,
                                                           const std::vector<activity_number>& set) const {
    if (set.empty()) return who + ": there is no work";
    std::vector<activity_number> sorted = set;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const activity_number a = sorted[i];
      if (!is_there(a)) return who + ": " + label(a) + " is not there";
      if (i > 0 && a == sorted[i - 1]) return who + ": " + label(a) + " is there twice";
      if (all_[a].machine != all_[sorted.front()].machine)
        return who + ": " + label(a) + " is of another machine than " + label(sorted.front());
    }
    return std::nullopt;
  }

  /// What work takes of its machine.
  [[nodiscard]] wide_integer sum_of(const std::vector<activity_number>& set) const {
    wide_integer sum = 0;
    for (const activity_number a : set) sum += all_[a].share;
    return sum;
  }

 private:
  [[nodiscard]] std::optional<std::string> draw_buckets() {
    unit_.resize(g_.size());
    for (task_index t = 0; t < g_.size(); ++t) unit_[t] = t;
    merged_.resize(g_.size());
    if (!c_.buckets) return std::nullopt;
    std::vector<bool> taken(g_.size());
    for (std::size_t b = 0; b < c_.buckets->size(); ++b) {
      const std::vector<task_index>& members = (*c_.buckets)[b].members;
      const std::string who = "buckets[" + std::to_string(b) + "]";
      if (members.size() < 2) return who + " has fewer than two members";
      for (const task_index t : members) {
        if (t >= g_.size() || !g_.is_collective(t))
          return who + ": task " + std::to_string(t) + " is no collective of the graph";
        if (taken[t]) return who + ": " + g_.label(t) + " is a member twice";
        taken[t] = true;
        if (key_of(t) != key_of(members.front()) || !is_mergeable(g_.collective(t).op))
          return who + ": " + g_.label(t) + " cannot be merged with " + g_.label(members.front());
      }
      const task_index first = *std::min_element(members.begin(), members.end());
      if (table_of(first) == nullptr) return who + ": no table prices it";
      bucket summed = make_bucket(g_, members);
      summed.coalesced = (*c_.buckets)[b].coalesced;
      for (const task_index t : members) unit_[t] = first;
      merged_[first] = true;
      costs_.emplace(first, costs_of(g_, summed));
    }
    return std::nullopt;
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
  [[nodiscard]] activity_work least_of(task_index t, bytes all) const {
    const collective_info c = g_.collective(t);
    const wide_integer alone = g_.duration(t).count();
    activity_work least{1 + c.group, alone, alone, alone, 0};
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

  [[nodiscard]] std::optional<std::string> draw_activities() {
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
        all_[3 * t + 1] = c_.buckets ? activity_work{1 + g_.collective(t).group, takes, takes, takes, 0}
                                     : least_of(t, total[key_of(t)]);
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
    if (order_.size() != all_.size()) return "the buckets close a cycle";
    place_.resize(all_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    return std::nullopt;
  }

  const task_graph& g_;
  const order_certificate& c_;
  std::vector<task_index> unit_;  ///< by task: itself, or of a bucket's members the first
  std::vector<bool> merged_;
  std::map<task_index, bucket_costs> costs_;
  std::vector<activity_work> all_;
  compressed_graph graph_;
  std::vector<activity_number> order_;
  std::vector<std::uint32_t> place_;
};

}  // namespace shardweave::inline v0::detail

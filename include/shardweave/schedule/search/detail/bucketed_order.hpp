#pragma once

#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// An order of tasks with its buckets, with edits in place and undo.

namespace shardweave::inline v0::detail {

/// A topological order of tasks in which the members of each bucket stand together; the last of them launches it. Its
/// existence shows that contracting each bucket leaves the graph acyclic. Edits (those of `order_edits` keep the order
/// topological) are open until they are committed or undone, all together.
/// Complexity: O(V + E) to build; an edit, and its undo, is linear in the places and members it names.
class bucketed_order {
 public:
  /// \param order  topological, with members of a bucket in sequence
  /// \pre g outlives this
  bucketed_order(const task_graph& g, std::vector<bucket> buckets, std::vector<task_index> order)
      : g_(&g),
        order_(std::move(order)),
        place_(order_.size()),
        buckets_(std::move(buckets)),
        bucket_of_(bucket_of_tasks(order_.size(), buckets_)) {
    for (std::uint32_t i = 0; i < order_.size(); ++i) place_[order_[i]] = i;
    for (const bucket& b : buckets_) costs_.push_back(costs_of(g, b));
    std::vector<std::vector<task_index>> waits(order_.size());
    for (task_index t = 0; t < order_.size(); ++t)
      if (const task_index c = g.completes(t); c != no_index) waits[c].push_back(t);
    for (const auto& some : waits) {
      waits_.insert(waits_.end(), some.begin(), some.end());
      waits_start_.push_back(static_cast<std::uint32_t>(waits_.size()));
    }
    commit();
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(order_.size()); }
  [[nodiscard]] std::span<const task_index> tasks() const { return order_; }
  [[nodiscard]] task_index operator[](std::uint32_t place) const { return order_[place]; }
  [[nodiscard]] std::uint32_t place_of(task_index t) const { return place_[t]; }
  /// `no_index` for what is in no bucket.
  [[nodiscard]] std::uint32_t bucket_of(task_index t) const { return bucket_of_[t]; }
  /// Buckets without members are unused.
  [[nodiscard]] std::span<const bucket> buckets() const { return buckets_; }
  [[nodiscard]] const bucket& bucket_at(std::uint32_t b) const { return buckets_[b]; }
  [[nodiscard]] const bucket_costs& costs(std::uint32_t b) const { return costs_[b]; }
  /// All that is launched together with a task.
  [[nodiscard]] std::span<const task_index> together(task_index t) const {
    if (bucket_of_[t] != no_index) return buckets_[bucket_of_[t]].members;
    return std::span(order_).subspan(place_[t], 1);
  }
  [[nodiscard]] bool is_coalesced(task_index t) const {
    return bucket_of_[t] != no_index && buckets_[bucket_of_[t]].coalesced;
  }
  [[nodiscard]] bool is_together(task_index a, task_index b) const {
    return a == b || (bucket_of_[a] != no_index && bucket_of_[a] == bucket_of_[b]);
  }
  /// The first and the last place of what is launched together with the task at a place.
  [[nodiscard]] std::uint32_t first_place(std::uint32_t place) const {
    while (place > 0 && is_together(order_[place - 1], order_[place])) --place;
    return place;
  }
  [[nodiscard]] std::uint32_t last_place(std::uint32_t place) const {
    while (place + 1 < order_.size() && is_together(order_[place + 1], order_[place])) ++place;
    return place;
  }
  [[nodiscard]] std::span<const task_index> waits_for(task_index collective) const {
    return std::span(waits_).subspan(waits_start_[collective], waits_start_[collective + 1] - waits_start_[collective]);
  }
  /// The place of the first wait for a collective.
  [[nodiscard]] std::uint32_t first_wait(task_index collective) const {
    std::uint32_t place = size();
    for (const task_index w : waits_for(collective)) place = std::min(place, place_[w]);
    return place;
  }

  /// Writes tasks at places: a permutation of those that stand there.
  void write(std::uint32_t first, std::span<const task_index> tasks) {
    save(first, first + static_cast<std::uint32_t>(tasks.size()) - 1);
    for (std::uint32_t i = 0; i < tasks.size(); ++i) put(tasks[i], first + i);
  }
  /// Stable sort of a range of places by class, 0 to 3.
  template <class ClassOf>
  void arrange(std::uint32_t first, std::uint32_t last, const ClassOf& class_of) {
    save(first, last);
    const std::span<const task_index> before = std::span(saved_).subspan(stretches_.back().begin);
    classes_.clear();
    std::uint32_t at[5] = {};
    for (const task_index t : before) {
      classes_.push_back(static_cast<std::uint8_t>(class_of(t)));
      ++at[classes_.back() + 1];
    }
    for (int k = 1; k < 5; ++k) at[k] += at[k - 1];
    for (std::size_t i = 0; i < before.size(); ++i) put(before[i], first + at[classes_[i]]++);
  }
  /// The number of a bucket without members.
  [[nodiscard]] std::uint32_t empty_bucket() {
    const auto found =
        std::find_if(buckets_.begin(), buckets_.end(), [](const bucket& b) { return b.members.empty(); });
    const auto number = static_cast<std::uint32_t>(found - buckets_.begin());
    if (found == buckets_.end()) {
      buckets_.emplace_back();
      costs_.emplace_back();
    }
    return number;
  }
  /// Replaces the members of a bucket: by several, or by none.
  void fill(std::uint32_t b, std::vector<task_index> members) {
    for (const task_index t : buckets_[b].members) bucket_of_[t] = no_index;
    regrouped_.insert(regrouped_.end(), buckets_[b].members.begin(), buckets_[b].members.end());
    old_buckets_.push_back({b, std::move(buckets_[b]), costs_[b]});
    buckets_[b] = {};
    if (members.empty()) return;
    for (const task_index t : members) bucket_of_[t] = b;
    regrouped_.insert(regrouped_.end(), members.begin(), members.end());
    std::sort(members.begin(), members.end());  // packed alike whatever their origin
    buckets_[b] = make_bucket(*g_, std::move(members));
    costs_[b] = costs_of(*g_, buckets_[b]);
  }

  [[nodiscard]] bool is_edited() const { return !stretches_.empty(); }
  /// Open edits changed nothing before this place.
  [[nodiscard]] std::uint32_t first_edited() const { return first_edited_; }
  /// From the place after this one on nothing changed: the same tasks have run, and collectives that were regrouped
  /// have been waited for.
  [[nodiscard]] std::uint32_t last_edited() const {
    std::uint32_t last = last_edited_;
    for (const task_index c : regrouped_)
      for (const task_index w : waits_for(c)) last = std::max(last, place_[w]);
    return last;
  }
  void commit() {
    stretches_.clear();
    saved_.clear();
    old_buckets_.clear();
    regrouped_.clear();
    first_edited_ = size();
    last_edited_ = 0;
  }
  void undo() {
    while (!stretches_.empty()) {
      const auto [first, begin] = stretches_.back();
      for (std::size_t i = begin; i < saved_.size(); ++i) put(saved_[i], first + static_cast<std::uint32_t>(i - begin));
      saved_.resize(begin);
      stretches_.pop_back();
    }
    for (const task_index t : regrouped_) bucket_of_[t] = no_index;
    for (; !old_buckets_.empty(); old_buckets_.pop_back()) {
      old_bucket& old = old_buckets_.back();
      buckets_[old.number] = std::move(old.value);
      costs_[old.number] = old.costs;
    }
    // tasks that were regrouped are in a restored bucket, or alone
    for (std::uint32_t b = 0; b < buckets_.size() && !regrouped_.empty(); ++b)
      for (const task_index t : buckets_[b].members) bucket_of_[t] = b;
    commit();
  }

 private:
  struct stretch {
    std::uint32_t first;
    std::size_t begin;  // in `saved_`
  };
  struct old_bucket {
    std::uint32_t number;
    bucket value;
    bucket_costs costs;
  };

  void save(std::uint32_t first, std::uint32_t last) {
    stretches_.push_back({first, saved_.size()});
    saved_.insert(saved_.end(), order_.begin() + first, order_.begin() + last + 1);
    first_edited_ = std::min(first_edited_, first);
    last_edited_ = std::max(last_edited_, last);
  }
  void put(task_index t, std::uint32_t place) {
    order_[place] = t;
    place_[t] = place;
  }

  const task_graph* g_;
  std::vector<task_index> order_;
  std::vector<std::uint32_t> place_;
  std::vector<bucket> buckets_;
  std::vector<bucket_costs> costs_;
  std::vector<std::uint32_t> bucket_of_;
  std::vector<task_index> waits_;
  std::vector<std::uint32_t> waits_start_ = {0};
  std::vector<stretch> stretches_;  // open edits
  std::vector<task_index> saved_;
  std::vector<old_bucket> old_buckets_;
  std::vector<task_index> regrouped_;  // members of buckets that were changed
  std::vector<std::uint8_t> classes_;
  std::uint32_t first_edited_ = 0, last_edited_ = 0;
};

}  // namespace shardweave::inline v0::detail

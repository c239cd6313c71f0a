#pragma once

#include <shardweave/overlap/detail/chain_tree.hpp>
#include <shardweave/overlap/detail/sweep.hpp>
#include <shardweave/overlap/detail/window_sweep.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/segments.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <vector>

/// \file
/// Savings under changes, for searches that try one move after the other.

namespace shardweave::inline v0 {

/// Keeps the value of `hide(computation, demands).total` while computation and amounts change; windows stay.
///
/// Demands with equal windows are one, positions that no window tells apart are one, and windows that no chain
/// of overlapping windows joins do not know of each other: the savings are the sum over such components.
/// - In a component whose windows all touch one of its ends (each form's prefix and suffix windows do), or
///   leave out one position of the order, a change costs O(log n).
/// - Elsewhere a change costs O(1), and the next `total` sweeps the components that changed: O(s + w) word operations
///   for s segments and w distinct windows in them.
/// Whole numbers are exact. Floating sums are added up anew after as many changes as there are positions and
/// demands, so that rounding stays that of one addition.
template <duration_value Time>
class savings_tracker {
 public:
  /// \throws error as `hide`
  /// Complexity: O((k n + m) log(n + m))
  template <class Computation, class Demands>
  savings_tracker(const Computation& computation, const Demands& demands) {
    if constexpr (detail::may_hide<Computation, Demands>()) {
      computation_.assign(std::ranges::begin(computation), std::ranges::end(computation));
      const auto by_channel = detail::checked<Time>(computation, demands);
      segments_ = segments_of(demands, computation_.size());
      for (const hideable<Time>& d : demands) amounts_.push_back(d.amount);
      group_of_.assign(amounts_.size(), no_position);
      const std::size_t s = segments_.size();
      component_of_.assign(by_channel.chosen.size() * s, no_position);
      for (std::size_t channel = 0; channel < by_channel.chosen.size(); ++channel)
        add_channel(demands, by_channel.chosen[channel], channel * s);
      add_up();
    }
  }

  /// \pre position is one of the order's
  /// \throws error if the time is negative or not a number
  void set_computation(std::size_t position, Time value) {
    detail::refuse_unless_time(value, "the computation at position", position);
    const Time change = Time(value - computation_[position]);
    computation_[position] = value;
    if (change == Time{} || segments_.segment_of[position] == no_position) return;
    change_segment(segments_.segment_of[position], change);
    count_change();
  }

  /// \pre d is one of the demands given
  /// \throws error if the time is negative or not a number
  void set_amount(std::size_t d, Time value) {
    detail::refuse_unless_time(value, "the amount of demand", d);
    const Time change = Time(value - amounts_[d]);
    amounts_[d] = value;
    if (change == Time{} || group_of_[d] == no_position) return;
    change_group(group_of_[d], change);
    count_change();
  }

  [[nodiscard]] Time computation(std::size_t position) const { return computation_[position]; }
  [[nodiscard]] Time amount(std::size_t d) const { return amounts_[d]; }

  /// The savings now.
  [[nodiscard]] Time total() {
    for (const std::size_t c : changed_) {
      component& k = components_[c];
      const Time before = k.value;
      k.value = k.is_chain ? k.tree.savings(k.whole) : k.sweep.savings(sums_);
      total_ += Time(k.value - before);
      k.is_changed = false;
    }
    changed_.clear();
    return total_;
  }

 private:
  /// Demands with equal windows.
  struct group {
    window where;  ///< in segments
    std::size_t component = 0;
    std::size_t number = 0;  ///< in its component
  };
  /// Groups whose windows meet.
  struct component {
    std::size_t first = 0;  ///< segments
    std::size_t last = 0;
    std::vector<window> windows = {};
    bool is_chain = true;
    bool is_changed = false;
    Time value{};
    Time whole{};                           ///< of a chain: amounts of windows over all of it
    detail::chain_tree<Time> tree = {};     ///< of a chain
    detail::window_sweep<Time> sweep = {};  ///< of any other
  };

  template <class Demands>
  void add_channel(const Demands& demands, const std::vector<std::size_t>& chosen, std::size_t row) {
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> equal;
    for (const std::size_t d : chosen) {
      const window w = segments_(demands[d].where);
      equal[{w.first, w.last, w.except}].push_back(d);
    }
    const std::size_t old = components_.size();
    for (const auto& [key, members] : equal) {
      const auto [first, last, except] = key;
      if (components_.size() == old || first > components_.back().last) components_.push_back({.first = first});
      component& k = components_.back();
      k.last = std::max(k.last, last);
      for (const std::size_t d : members) group_of_[d] = groups_.size();
      groups_.push_back({{first, last, except}, components_.size() - 1, k.windows.size()});
      k.windows.push_back(groups_.back().where);
    }
    for (std::size_t c = old; c < components_.size(); ++c) {
      component& k = components_[c];
      k.is_chain =
          std::ranges::all_of(k.windows, [&](const window& w) { return w.first == k.first || w.last == k.last; });
      if (!k.is_chain) k.sweep = detail::window_sweep<Time>(k.first, k.last, k.windows);
      for (std::size_t s = k.first; s <= k.last; ++s) component_of_[row + s] = c;
    }
  }

  void touch(std::size_t c) {
    if (components_[c].is_changed) return;
    components_[c].is_changed = true;
    changed_.push_back(c);
  }

  void change_segment(std::size_t s, Time change) {
    sums_[s] += change;
    for (std::size_t i = s; i < component_of_.size(); i += segments_.size()) {
      if (component_of_[i] == no_position) continue;
      component& k = components_[component_of_[i]];
      if (k.is_chain) k.tree.edit(s - k.first, [&](auto& link) { link.computation += change; });
      touch(component_of_[i]);
    }
  }

  void change_group(std::size_t g, Time change) {
    const window& w = groups_[g].where;
    component& k = components_[groups_[g].component];
    touch(groups_[g].component);
    if (!k.is_chain)
      k.sweep.add_amount(groups_[g].number, change);
    else if (w.except != no_position)
      k.tree.edit(w.except - k.first, [&](auto& link) { link.without += change; });
    else if (w.first == k.first && w.last == k.last)
      k.whole += change;
    else if (w.first == k.first)
      k.tree.edit(w.last - k.first, [&](auto& link) { link.ending += change; });
    else
      k.tree.edit(w.first - k.first, [&](auto& link) { link.starting += change; });
  }

  void count_change() {
    if constexpr (std::is_floating_point_v<Time>)
      if (++changes_ > computation_.size() + amounts_.size()) add_up();
  }

  /// All sums from what was given.
  void add_up() {
    changes_ = 0;
    total_ = Time{};
    sums_.assign(segments_.size(), Time{});
    for (component& k : components_) {
      k.value = k.whole = Time{};
      if (k.is_chain)
        k.tree = detail::chain_tree<Time>(k.last - k.first + 1);
      else
        k.sweep.clear();
    }
    std::vector<Time> amounts(groups_.size());
    for (std::size_t d = 0; d < amounts_.size(); ++d)
      if (group_of_[d] != no_position) amounts[group_of_[d]] += amounts_[d];
    const std::vector<Time> sums = segments_.sums(computation_);
    for (std::size_t s = 0; s < sums.size(); ++s) change_segment(s, sums[s]);
    for (std::size_t g = 0; g < amounts.size(); ++g) change_group(g, amounts[g]);
  }

  order_segments segments_;
  std::vector<Time> computation_, amounts_;  ///< as given
  std::vector<Time> sums_;                   ///< computation by segment
  std::vector<std::size_t> group_of_;        ///< by demand
  std::vector<group> groups_;
  std::vector<component> components_;
  std::vector<std::size_t> component_of_;  ///< by channel and segment
  std::vector<std::size_t> changed_;       ///< components
  Time total_{};
  std::size_t changes_ = 0;
};

template <class Computation, class Demands>
savings_tracker(const Computation&, const Demands&) -> savings_tracker<typename detail::time_of<Computation>::type>;

}  // namespace shardweave::inline v0

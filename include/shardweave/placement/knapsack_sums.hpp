#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Least sums under a limit on weight.

namespace shardweave::inline v0 {

/// The multiple-choice knapsack problem: one option per item, weights of at most `room` (the capacity) in all, the
/// least sum of amounts.
/// Complexity: O(items * classes of equal weight * room) for `least`, and as much again, and O(classes * room) per
/// item, for `excess` of all; memory O(sqrt(items) * room + options): states of every sqrt(items)-th item are kept,
/// those between made again.
///
/// Source: the multiple-choice knapsack problem by dynamic programming; H. Kellerer, U. Pferschy and D. Pisinger,
/// Knapsack Problems (2004), chapter 11.
template <class Number>
class knapsack_sums {
 public:
  /// One of the choices of an item.
  struct option {
    std::uint32_t weight = 0;
    Number amount = 0;
  };

  /// \param room   the limit on the sum of weights
  /// \param items  how many are expected, for memory alone
  knapsack_sums(std::uint32_t room, std::size_t items)
      : stride_(1 + static_cast<std::size_t>(std::sqrt(static_cast<double>(items)))),
        all_(room + std::size_t{1}),
        after_(all_) {}

  /// Options heavier than the room do not count. \pre one option weighs nothing, and `excess` was not asked for
  void add(std::vector<option> options) {
    if (items_.size() % stride_ == 0) kept_.push_back(all_);
    item& added = items_.emplace_back(item{.options = std::move(options), .classes = {}});
    added.classes = added.options;
    std::ranges::sort(added.classes, [](const option& a, const option& b) {
      return a.weight != b.weight ? a.weight < b.weight : a.amount < b.amount;
    });
    const auto rest = std::ranges::unique(added.classes, {}, &option::weight);
    added.classes.erase(rest.begin(), rest.end());
    all_ = with(all_, added.classes);
    behind_ = items_.size();
  }

  [[nodiscard]] const Number& least() const { return all_.back(); }

  /// Per option of an item, how far the least sum with it is above `least()`; nothing where it does not fit.
  /// \pre no item after this one is asked for later: the last one comes first
  [[nodiscard]] std::vector<std::optional<Number>> excess(std::size_t number) {
    go_to(number);
    const item& one = items_[number];
    std::vector<std::optional<Number>> of_class;
    for (const option& o : one.classes) of_class.push_back(rest(number, o.weight));
    std::vector<std::optional<Number>> result;
    for (const option& o : one.options) {
      const auto at = std::ranges::lower_bound(one.classes, o.weight, {}, &option::weight);
      auto& more = result.emplace_back(of_class[static_cast<std::size_t>(at - one.classes.begin())]);
      if (more) *more += o.amount - least();
    }
    return result;
  }

 private:
  /// Per room from 0 on the least sum of some items.
  using state = std::vector<Number>;
  struct item {
    std::vector<option> options;
    std::vector<option> classes;  ///< by weight, of each the least amount
  };

  /// With one item more.
  [[nodiscard]] static state with(const state& known, std::span<const option> classes) {
    state result = known;
    for (Number& sum : result) sum += classes.front().amount;
    for (const option& o : classes.subspan(1))
      for (std::size_t k = o.weight; k < known.size(); ++k) {
        Number sum = known[k - o.weight] + o.amount;
        if (sum < result[k]) result[k] = std::move(sum);
      }
    return result;
  }
  /// Makes the states before and after an item.
  void go_to(std::size_t number) {
    for (; behind_ > number + 1; --behind_) after_ = with(after_, items_[behind_ - 1].classes);
    const std::size_t first = number / stride_ * stride_, end = std::min(first + stride_, items_.size());
    if (!before_.empty() && first == first_) return;
    first_ = first;
    before_.assign(1, kept_[number / stride_]);
    for (std::size_t i = first; i + 1 < end; ++i) before_.push_back(with(before_.back(), items_[i].classes));
  }
  /// The least sum of all other items, where this one has a weight. \pre the states are there
  [[nodiscard]] std::optional<Number> rest(std::size_t number, std::uint32_t weight) const {
    if (weight >= after_.size()) return std::nullopt;
    const state& before = before_[number - first_];
    const std::size_t room = after_.size() - 1 - weight;
    Number found = before[0] + after_[room];
    for (std::size_t k = 1; k <= room; ++k) {
      Number sum = before[k] + after_[room - k];
      if (sum < found) found = std::move(sum);
    }
    return found;
  }

  std::size_t stride_;
  std::vector<item> items_ = {};
  state all_;
  std::vector<state> kept_ = {};    ///< before every item whose number is a multiple of the stride
  std::vector<state> before_ = {};  ///< before each item from `first_` on, up to the next such number
  std::size_t first_ = 0;
  state after_;  ///< of items from `behind_` on
  std::size_t behind_ = 0;
};

}  // namespace shardweave::inline v0

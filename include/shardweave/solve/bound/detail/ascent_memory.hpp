#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/known_prices.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The state of an ascent in terms that survive reductions, for warm starts.

namespace shardweave::inline v0::detail {

/// Per variable of a reduced problem: its variable of the original problem, and its labels there.
using variable_origin = std::vector<std::pair<std::uint32_t, std::vector<strategy>>>;

/// That of the original problem itself: all of its labels.
template <cost_value Cost>
[[nodiscard]] variable_origin origin_of(const compact_problem<Cost>& whole) {
  variable_origin origin;
  for (std::uint32_t x = 0; x < whole.size(); ++x) {
    std::vector<strategy>& labels = origin.emplace_back(x, std::vector<strategy>(whole.label_count(x))).second;
    std::iota(labels.begin(), labels.end(), strategy{0});
  }
  return origin;
}
template <cost_value Cost>
[[nodiscard]] variable_origin origin_of(const restricted_problem<Cost>& rest) {
  variable_origin origin;
  for (const std::uint32_t x : rest.open) origin.emplace_back(x, rest.kept[x]);
  return origin;
}
/// Per label of all variables of a problem: whether it is in `kept`.
template <cost_value Cost>
[[nodiscard]] std::vector<char> allowed_in(const compact_problem<Cost>& p,
                                           const std::vector<std::vector<strategy>>& kept) {
  std::vector<char> allowed(p.total_labels());
  for (std::size_t x = 0; x < kept.size(); ++x)
    for (const strategy l : kept[x]) allowed[p.label_start(x) + l] = 1;
  return allowed;
}

/// Lists of values by label, each with a key, stored contiguously because a search keeps thousands of them.
class label_values {
 public:
  using key = std::uint64_t;

  /// \param labels  ascending
  /// \param number  the value of each label, by its position
  template <class Number>
  void add(key of, std::span<const strategy> labels, Number number) {
    lists_.push_back({of, values_.size(), labels.size()});
    for (std::size_t l = 0; l < labels.size(); ++l) values_.emplace_back(labels[l], number(l));
  }
  /// To be called after the last list is added, before `find`.
  void sort() {
    std::sort(lists_.begin(), lists_.end(), [](const list& a, const list& b) { return a.of < b.of; });
  }

  [[nodiscard]] bool empty() const { return lists_.empty(); }
  /// Calls `take` with the position of each of the labels for which the list of a key has a value, and that value.
  /// \param labels  ascending
  template <class Take>
  void find(key of, std::span<const strategy> labels, Take take) const {
    const auto at = std::lower_bound(lists_.begin(), lists_.end(), of, [](const list& a, key k) { return a.of < k; });
    if (at == lists_.end() || at->of != of) return;
    const auto values = std::span(values_).subspan(at->begin, at->size);
    std::size_t i = 0;
    for (std::size_t l = 0; l < labels.size(); ++l) {
      while (i < values.size() && values[i].first < labels[l]) ++i;
      if (i == values.size()) return;
      if (values[i].first == labels[l]) take(static_cast<strategy>(l), values[i].second);
    }
  }
  /// All values, for changes in place.
  [[nodiscard]] std::span<std::pair<strategy, double>> values() { return values_; }

 private:
  struct list {
    key of;
    std::size_t begin, size;  ///< of its values
  };
  std::vector<list> lists_;
  std::vector<std::pair<strategy, double>> values_;
};

/// The state of an ascent for warm starts of similar problems: prices of rows, and costs that variables have put into
/// row factors, by a row's budget and time; messages by variables and labels of the original problem. Any part may be
/// missing or wrong: bounds hold for any messages and prices.
struct ascent_memory {
  using row_name = std::pair<std::uint32_t, std::int64_t>;

  /// The key of a message.
  [[nodiscard]] static label_values::key direction(std::uint32_t from, std::uint32_t to) {
    return std::uint64_t{from} << 32 | to;
  }

  known_prices prices = {};
  label_values messages = {};                       ///< by `direction`, and label of `to`
  std::map<row_name, label_values> row_costs = {};  ///< of rows that were knapsack factors, by variable
};

/// The state of an ascent, to continue it on the same problem. Messages are rounded to save memory; bounds hold for
/// any.
struct ascent_position {
  std::vector<double> prices = {};
  std::vector<float> messages = {};
  double step = 1;    ///< length of the next price step
  double newest = 1;  ///< weight of the newest subgradient in the next direction
};

}  // namespace shardweave::inline v0::detail

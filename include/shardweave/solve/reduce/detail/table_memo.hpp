#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/solve/detail/min_plus.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// Memoized operations on tables: real problems repeat a table 20 to 50 times.

namespace shardweave::inline v0::detail {

/// Data on shared tables. Keyed by owner, so that no address is reused; only looked up, so that the order of addresses
/// has no effect.
template <cost_value Cost, class Known>
using by_table = std::unordered_map<std::shared_ptr<const cost_table<Cost>>, Known>;

/// Tables that are in use.
template <cost_value Cost>
using table_set = std::unordered_set<std::shared_ptr<const cost_table<Cost>>>;

/// Removes the data on tables that are not in use.
template <cost_value Cost, class Known>
void forget_others(by_table<Cost, Known>& known, const table_set<Cost>& used) {
  std::erase_if(known, [&](const auto& entry) { return !used.contains(entry.first); });
}

/// Memoized transposes, sums and selections of shared tables.
template <cost_value Cost>
class table_memo {
 public:
  using table = cost_table<Cost>;
  using table_pointer = std::shared_ptr<const table>;

  /// Class costs computed since `forget_others`.
  [[nodiscard]] std::size_t made() const { return made_; }
  /// Removes results on tables that are not in use. Little is lost: similar parts of a problem are reduced soon after
  /// each other.
  void forget_others(const table_set<Cost>& used) {
    detail::forget_others(flips_, used);
    detail::forget_others(packed_, used);
    for (results* of : {&sums_, &selections_, &least_})
      std::erase_if(*of, [&](const auto& known) {
        const auto& [a, b, number] = known.first;
        return !used.contains(a) || (b && !used.contains(b));
      });
    made_ = 0;
  }

  [[nodiscard]] table_pointer flipped(const table_pointer& t) {
    if (const auto known = flips_.find(t); known != flips_.end()) return known->second;
    const table_pointer other = hold(t->transposed());
    flips_[t] = other;
    flips_[other] = t;
    return other;
  }
  /// Packed, for tables that are kept long and read rarely.
  [[nodiscard]] table_pointer packed(const table_pointer& t) {
    table_pointer& known = packed_[t];
    if (known) return known;
    table small = t->packed();
    return known = small.is_packed() ? std::make_shared<const table>(std::move(small)) : t;
  }
  [[nodiscard]] table_pointer sum(const table_pointer& a, const table_pointer& b) {
    table_pointer& known = sums_[{a, b, 0}];
    if (!known) known = hold(*a + *b);
    return known;
  }
  /// The listed rows, all columns.
  [[nodiscard]] table_pointer selected(const table_pointer& t, std::span<const strategy> rows) {
    table_pointer& known = selections_[{t, nullptr, lists_(std::vector<strategy>(rows.begin(), rows.end()))}];
    if (!known) {
      std::vector<strategy> all(t->columns());
      std::iota(all.begin(), all.end(), strategy{0});
      known = hold(t->selected(rows, all));
    }
    return known;
  }
  /// For each pair of a column of `left` and one of `right`, the least over the rows that they share of the row's own
  /// cost and its costs in both.
  /// Complexity: O(row classes of `right` * column classes of both), and O(rows * column classes of `left`)
  [[nodiscard]] table_pointer least_between(const table_pointer& left, const std::vector<Cost>& own,
                                            const table_pointer& right) {
    table_pointer& known = least_[{left, right, own_costs_(own)}];
    if (known) return known;
    const std::size_t rows = left->column_classes(), stride = right->stride();
    std::vector<Cost> costs(rows * stride, forbidden<Cost>);
    std::vector<Cost> to_left(right->row_classes());
    std::vector<raised_row<Cost>> lines;
    for (std::size_t i = 0; i < rows; ++i) {
      std::fill(to_left.begin(), to_left.end(), forbidden<Cost>);
      for (strategy b = 0; b < own.size(); ++b) {
        Cost& least = to_left[right->row_class(b)];
        least = std::min(least, plus(own[b], left->class_cost(left->row_class(b), i)));
      }
      lines.clear();
      for (std::size_t r = 0; r < to_left.size(); ++r)
        if (!is_forbidden(to_left[r])) lines.push_back({to_left[r], right->class_row(r)});
      least_of_rows<Cost>(lines, stride, costs.data() + i * stride);
    }
    return known = hold(table::from_class_rows({left->column_class().begin(), left->column_class().end()},
                                               {right->column_class().begin(), right->column_class().end()}, rows,
                                               right->column_classes(), std::move(costs)));
  }

 private:
  /// By one or two tables, and a number that tells what else a result depends on.
  using results = std::map<std::tuple<table_pointer, table_pointer, std::uint32_t>, table_pointer>;

  table_pointer hold(table t) {
    made_ += t.row_classes() * t.stride();
    return std::make_shared<const table>(std::move(t));
  }

  std::size_t made_ = 0;
  interner<std::vector<strategy>, sequence_hash> lists_;
  interner<std::vector<Cost>, sequence_hash> own_costs_;
  by_table<Cost, table_pointer> flips_, packed_;
  results sums_, selections_, least_;
};

}  // namespace shardweave::inline v0::detail

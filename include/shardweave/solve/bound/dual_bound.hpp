#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// \file
/// Lower bounds from multipliers, valid for any multipliers and checked against rounding.

namespace shardweave::inline v0 {

/// Multipliers of the linear relaxation of a compact problem, in the unit of its costs. Any finite values give a valid
/// bound; those of an optimal LP solution the best one.
struct dual_values {
  /// Cost moved from labels of an edge's ends to its pairs, per class: edge by edge the row classes, then the column
  /// classes; `dual_offsets` has the start of each edge.
  std::vector<double> of_class = {};
  /// Price of usage, per row: positive for the limit `high`, negative for `low`.
  std::vector<double> of_row = {};
};

/// The upper limit of a row as a knapsack (Lagrangean decomposition, see `price_ascent::strengthen`): each member gives
/// part of its cost, one amount per label, to the knapsack. A labeling within the limit pays the knapsack at least its
/// optimum, the least sum of amounts within the limit. Any finite amounts are valid.
struct row_amounts {
  /// What one variable gives to the knapsack.
  struct member {
    std::uint32_t variable = 0;
    std::vector<double> amounts = {};  ///< per label
  };
  std::uint32_t row = 0;
  std::vector<member> members = {};  ///< each variable once
};

/// The first multiplier of each edge, with their total number as the last element.
template <cost_value Cost>
[[nodiscard]] std::vector<std::size_t> dual_offsets(const compact_problem<Cost>& p) {
  std::vector<std::size_t> offsets{0};
  for (const compact_edge& e : p.edges())
    offsets.push_back(offsets.back() + p.table(e).row_classes() + p.table(e).column_classes());
  return offsets;
}

/// Labels and pairs of classes that a wanted solution may still contain.
class presence {
 public:
  presence() = default;
  template <cost_value Cost>
  explicit presence(const compact_problem<Cost>& p) : labels_(p.total_labels(), 1) {
    pair_start_.push_back(0);
    for (const compact_edge& e : p.edges())
      pair_start_.push_back(pair_start_.back() + p.table(e).row_classes() * p.table(e).column_classes());
    pairs_.reserve(pair_start_.back());
    for (const compact_edge& e : p.edges()) {
      const auto& t = p.table(e);
      for (std::size_t i = 0; i < t.row_classes(); ++i)
        for (std::size_t j = 0; j < t.column_classes(); ++j) pairs_.push_back(is_forbidden(t.class_cost(i, j)) ? 0 : 1);
    }
  }
  /// Whether a label, by position among all labels, is present.
  [[nodiscard]] bool has_label(std::size_t position) const { return labels_[position] != 0; }
  void drop_label(std::size_t position) { labels_[position] = 0; }
  /// Whether a pair of classes, by position in the edge's class costs (row-major, no padding), is present.
  [[nodiscard]] bool has_pair(std::size_t edge, std::size_t position) const {
    return pairs_[pair_start_[edge] + position] != 0;
  }
  void drop_pair(std::size_t edge, std::size_t position) { pairs_[pair_start_[edge] + position] = 0; }
  [[nodiscard]] std::size_t labels() const { return count(labels_); }
  [[nodiscard]] std::size_t pairs() const { return count(pairs_); }

 private:
  static std::size_t count(const std::vector<char>& flags) {
    return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), char{1}));
  }
  std::vector<char> labels_, pairs_;
  std::vector<std::size_t> pair_start_;
};

namespace detail {

/// Removes labels without a partner over some edge, and pairs of classes without labels (arc consistency).
/// \returns false if some variable has no label left
/// Complexity: O(labels * degree + pairs) per round; few rounds in practice
template <cost_value Cost>
bool tighten(const compact_problem<Cost>& p, presence& present) {
  std::vector<char> row, column, row_met, column_met;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const compact_edge& edge = p.edges()[e];
      const auto& t = p.table(edge);
      const auto mark = [&](std::size_t x, auto classes, std::size_t count, std::vector<char>& seen) {
        seen.assign(count, 0);
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          if (present.has_label(p.label_start(x) + l)) seen[classes[l]] = 1;
      };
      mark(edge.first, t.row_class(), t.row_classes(), row);
      mark(edge.second, t.column_class(), t.column_classes(), column);
      row_met.assign(row.size(), 0);
      column_met.assign(column.size(), 0);
      for (std::size_t i = 0; i < row.size(); ++i)
        for (std::size_t j = 0; j < column.size(); ++j) {
          const std::size_t at = i * column.size() + j;
          if (!present.has_pair(e, at)) continue;
          if (row[i] != 0 && column[j] != 0) {
            row_met[i] = column_met[j] = 1;
          } else {
            present.drop_pair(e, at);
          }
        }
      const auto drop = [&](std::size_t x, auto classes, const std::vector<char>& met) {
        for (std::size_t l = 0; l < p.label_count(x); ++l)
          if (present.has_label(p.label_start(x) + l) && met[classes[l]] == 0) {
            present.drop_label(p.label_start(x) + l);
            changed = true;
          }
      };
      drop(edge.first, t.row_class(), row_met);
      drop(edge.second, t.column_class(), column_met);
    }
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    bool any = false;
    for (std::size_t l = 0; l < p.label_count(x); ++l) any = any || present.has_label(p.label_start(x) + l);
    if (!any) return false;
  }
  return true;
}

/// The problem with costs moved by multipliers; the sum of all minima is a lower bound.
template <cost_value Cost>
class reparametrization {
 public:
  /// \pre sizes of `dual` are those of `dual_offsets` and of the problem's rows, or 0 for all zeros
  reparametrization(const compact_problem<Cost>& p, const dual_values& dual, const presence& present)
      : p_(p), present_(present), offsets_(dual_offsets(p)), of_class_(dual.of_class) {
    of_class_.resize(offsets_.back());
    for (double& a : of_class_)
      if (!std::isfinite(a)) a = 0;
    move_unary(dual.of_row);
    add_up();
  }

  /// A lower bound on every assignment of present labels and pairs; +infinity if there is none.
  [[nodiscard]] double bound() const {
    // an upper bound on the error: each addition is off by at most half a unit in the last place of a sum of
    // magnitudes, and converting costs and products to long double adds as much
    if (std::isinf(bound_)) return std::numeric_limits<double>::infinity();
    const auto proved = static_cast<double>(bound_ - error_);
    return proved - std::abs(proved) * 0x1p-52;  // the conversion may have rounded up
  }

  /// Removes labels and pairs that no assignment below `limit` contains (reduced-cost fixing).
  /// \returns how many
  std::size_t drop_above(double limit, presence& present) const {
    std::size_t dropped = 0;
    const long double room = limit - bound_ + error_;
    std::vector<long double> excess(p_.total_labels());
    for (std::size_t x = 0; x < p_.size(); ++x)
      for (std::size_t l = p_.label_start(x); l < p_.label_start(x) + p_.label_count(x); ++l)
        excess[l] = unary_[l] - least_[x];
    for (std::size_t e = 0; e < p_.edges().size(); ++e) {
      const compact_edge& edge = p_.edges()[e];
      const auto& t = p_.table(edge);
      std::vector<long double> row(t.row_classes(), infinity), column(t.column_classes(), infinity);
      for_pairs(e, [&](std::size_t i, std::size_t j, long double cost) {
        row[i] = std::min(row[i], cost - least_pair_[e]);
        column[j] = std::min(column[j], cost - least_pair_[e]);
        if (cost - least_pair_[e] > room) {
          present.drop_pair(e, i * t.column_classes() + j);
          ++dropped;
        }
      });
      for (std::size_t a = 0; a < t.rows(); ++a) excess[p_.label_start(edge.first) + a] += row[t.row_class(a)];
      for (std::size_t b = 0; b < t.columns(); ++b)
        excess[p_.label_start(edge.second) + b] += column[t.column_class(b)];
    }
    for (std::size_t l = 0; l < excess.size(); ++l)
      if (present.has_label(l) && excess[l] > room) {
        present.drop_label(l);
        ++dropped;
      }
    return dropped;
  }

 private:
  static constexpr long double infinity = std::numeric_limits<long double>::infinity();

  /// Computes unary costs with the prices of usage, less the multipliers of edges.
  void move_unary(const std::vector<double>& price) {
    std::vector<long double> before(p_.rows().size() + 1);  // prices of rows 0..r-1
    long double all_prices = 0;
    for (std::size_t r = 0; r < p_.rows().size(); ++r) {
      double of_row = r < price.size() && std::isfinite(price[r]) ? price[r] : 0;
      // a price against a missing limit would make the bound invalid
      if (std::isinf(of_row > 0 ? p_.rows()[r].high : p_.rows()[r].low)) of_row = 0;
      before[r + 1] = before[r] + of_row;
      all_prices += std::abs(of_row);
      // usage counts as within a limit up to the tolerance of budgets
      if (of_row > 0) count(-static_cast<long double>(of_row) * (p_.rows()[r].high + budget_tolerance));
      if (of_row < 0) count(-static_cast<long double>(of_row) * (p_.rows()[r].low - budget_tolerance));
    }
    unary_.reserve(p_.total_labels());
    for (std::size_t x = 0; x < p_.size(); ++x) {
      const std::size_t start = unary_.size();
      for (const Cost c : p_.unary(x)) unary_.push_back(static_cast<long double>(c));
      std::vector<long double> magnitude(p_.label_count(x));
      for (std::size_t l = 0; l < magnitude.size(); ++l) magnitude[l] = std::abs(unary_[start + l]);
      for (const usage_segment& s : p_.segments(x)) {
        const long double unit = before[s.end] - before[s.begin];
        for (std::size_t l = 0; l < magnitude.size(); ++l) {
          unary_[start + l] += unit * s.usage[l];
          // differences of prefix sums have the error of the whole sum
          magnitude[l] += all_prices * std::abs(static_cast<long double>(s.usage[l]));
        }
      }
      for (const compact_link& link : p_.links(x)) {
        const auto& t = p_.table(p_.edges()[link.edge]);
        const auto classes = link.is_first ? t.row_class() : t.column_class();
        const double* of_class = of_class_.data() + offsets_[link.edge] + (link.is_first ? 0 : t.row_classes());
        for (std::size_t l = 0; l < magnitude.size(); ++l) {
          unary_[start + l] -= of_class[classes[l]];
          magnitude[l] += std::abs(of_class[classes[l]]);
        }
      }
      magnitude_ += magnitude.empty() ? 0 : *std::max_element(magnitude.begin(), magnitude.end());
      terms_ = std::max(terms_, p_.segments(x).size() + p_.links(x).size() + p_.rows().size());
    }
  }

  void add_up() {
    count(static_cast<long double>(p_.constant()));
    for (std::size_t x = 0; x < p_.size(); ++x) {
      long double least = infinity;
      for (std::size_t l = p_.label_start(x); l < p_.label_start(x) + p_.label_count(x); ++l)
        if (present_.has_label(l)) least = std::min(least, unary_[l]);
      least_.push_back(least);
      count(least);
    }
    for (std::size_t e = 0; e < p_.edges().size(); ++e) {
      long double least = infinity;
      for_pairs(e, [&](std::size_t, std::size_t, long double cost) { least = std::min(least, cost); });
      least_pair_.push_back(least);
      count(least);
    }
    terms_ += p_.size() + p_.edges().size() + p_.rows().size() + 8;
    error_ = magnitude_ * static_cast<long double>(terms_) * std::numeric_limits<long double>::epsilon();
  }

  void count(long double amount) {
    bound_ += amount;
    magnitude_ += std::abs(amount);
  }

  /// Calls f(row class, column class, moved cost) for every present pair.
  template <class F>
  void for_pairs(std::size_t e, F f) const {
    const auto& t = p_.table(p_.edges()[e]);
    const double* row = of_class_.data() + offsets_[e];
    const double* column = row + t.row_classes();
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j)
        if (present_.has_pair(e, i * t.column_classes() + j))
          f(i, j, static_cast<long double>(t.class_cost(i, j)) + row[i] + column[j]);
  }

  const compact_problem<Cost>& p_;
  presence present_;
  std::vector<std::size_t> offsets_;
  std::vector<double> of_class_;
  std::vector<long double> unary_, least_, least_pair_;
  long double bound_ = 0, magnitude_ = 0, error_ = 0;
  std::size_t terms_ = 0;
};

}  // namespace detail

/// The lower bound that multipliers prove. They move costs from the labels of a variable to the pairs of its edges, and
/// from usage to prices, which changes no assignment's total cost, or only lowers it; so the sum of all minima is a
/// lower bound. Rounding errors are subtracted: the bound holds in exact arithmetic.
///
/// Source: the dual of the local polytope; T. Werner, A linear programming approach to max-sum problem: a
/// review, PAMI 29 (2007), equation 14; prices on budgets are Lagrange multipliers.
///
/// \param present  labels and pairs to consider; excluded ones must be known to be useless
/// \returns +infinity if some variable or edge has nothing left
/// Complexity: O(labels * degree + pairs of classes + rows)
template <cost_value Cost>
[[nodiscard]] double dual_bound(const compact_problem<Cost>& p, const dual_values& dual, const presence& present) {
  return detail::reparametrization<Cost>(p, dual, present).bound();
}

template <cost_value Cost>
[[nodiscard]] double dual_bound(const compact_problem<Cost>& p, const dual_values& dual) {
  return dual_bound(p, dual, presence(p));
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/row_prices.hpp>
#include <shardweave/solve/proof/detail/row_sums.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Bounds on labels from multipliers of the local polytope, and from rows as knapsacks.

namespace shardweave::inline v0::detail {

/// The bound that multipliers prove: a constant plus the least reparametrized cost (belief) of each variable, and the
/// least sum of each knapsack.
struct label_beliefs {
  double bound = 0;
  /// Per label of all variables: how far any labeling with it is above the bound. Its belief above the least one of its
  /// variable, and for each neighbour the least of what that is, and the edge costs, above theirs; and how far the
  /// least sum of each knapsack with it is above that without; infinite where a knapsack has no room for it.
  std::vector<double> excess;
};

/// Adds to the excess of labels what they cost their neighbours.
/// \param rests  per edge and row class the least that messages leave of the edge's costs
template <cost_value Cost>
[[nodiscard]] std::vector<double> with_neighbours(const compact_problem<Cost>& p, const dual_values& dual,
                                                  const std::vector<std::vector<double>>& rests,
                                                  const std::vector<double>& excess) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> result = excess;
  const std::vector<std::size_t> offsets = dual_offsets(p);
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    const double* given = dual.of_class.data() + offsets[e] + t.row_classes();
    const auto least_of = [&](std::uint32_t x, std::size_t classes, auto class_of) {
      std::vector<double> least(classes, infinity);
      for (strategy l = 0; l < p.label_count(x); ++l)
        least[class_of(l)] = std::min(least[class_of(l)], excess[p.label_start(x) + l]);
      return least;
    };
    const auto row = [&](strategy l) { return t.row_class(l); };
    const auto column = [&](strategy l) { return t.column_class(l); };
    const std::vector<double> of_rows = least_of(edge.first, t.row_classes(), row);
    const std::vector<double> of_columns = least_of(edge.second, t.column_classes(), column);
    std::vector<double> to_rows(t.row_classes(), infinity), to_columns(t.column_classes(), infinity);
    for (std::size_t i = 0; i < t.row_classes(); ++i) {
      const auto cost = [&](std::size_t j) { return in_double(t.class_cost(i, j)) + given[j]; };
      const double rest = rests[e][i];
      for (std::size_t j = 0; j < t.column_classes() && rest < infinity; ++j) {
        to_rows[i] = std::min(to_rows[i], of_columns[j] + (cost(j) - rest));
        to_columns[j] = std::min(to_columns[j], of_rows[i] + (cost(j) - rest));
      }
    }
    for (strategy l = 0; l < t.rows(); ++l) result[p.label_start(edge.first) + l] += to_rows[row(l)];
    for (strategy l = 0; l < t.columns(); ++l) result[p.label_start(edge.second) + l] += to_columns[column(l)];
  }
  return result;
}

/// Costs of labels with usage at prices.
struct priced_labels {
  double apart = 0;              ///< of no label: the problem's constant, less limits at their prices
  std::vector<double> of_label;  ///< per label of all variables
};
/// \param of_row  a price per row, of the sign of the limit that it is against
template <cost_value Cost>
[[nodiscard]] priced_labels labels_at_prices(const compact_problem<Cost>& p, const std::vector<double>& of_row) {
  row_prices<Cost> prices(p);
  prices.values() = of_row;
  prices.confine();
  priced_labels result{static_cast<double>(p.constant()) - prices.earned(certificate_tolerance),
                       std::vector<double>(p.total_labels())};
  prices.add_to(result.of_label);
  return result;
}

/// Takes what is put into rows off the beliefs of labels, and adds their least sums to the bound, which is infinite if
/// no labeling keeps them.
/// \returns per label how far these sums are higher with it; empty without rows
template <cost_value Cost>
[[nodiscard]] std::vector<double> put_in(const compact_problem<Cost>& p, std::span<const row_amounts> rows,
                                         std::vector<double>& belief, double& bound) {
  std::vector<double> more(rows.empty() ? 0 : belief.size());
  for (const row_amounts& row : rows) {
    const std::optional<row_sums> sums = row_sums_of(p, row);
    bound += sums ? sums->least : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; sums && i < row.members.size(); ++i) {
      const std::size_t start = p.label_start(row.members[i].variable);
      for (std::size_t l = 0; l < row.members[i].amounts.size(); ++l) {
        belief[start + l] -= row.members[i].amounts[l];
        more[start + l] += sums->more[i][l];
      }
    }
  }
  return more;
}

/// The beliefs under multipliers `dual`.
/// \param rows  with an upper limit, as knapsacks
/// Complexity: O(labels * degree + pairs of classes + labels * rows), and that of `row_sums_of` for each of `rows`
template <cost_value Cost>
[[nodiscard]] label_beliefs beliefs_by(const compact_problem<Cost>& p, const dual_values& dual,
                                       std::span<const row_amounts> rows = {}) {
  priced_labels priced = labels_at_prices(p, dual.of_row);
  label_beliefs result{priced.apart, std::move(priced.of_label)};
  std::vector<double>& belief = result.excess;
  const std::vector<std::size_t> offsets = dual_offsets(p);
  std::vector<std::vector<double>> rests;
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    const double* given = dual.of_class.data() + offsets[e] + t.row_classes();
    for (strategy l = 0; l < t.columns(); ++l) belief[p.label_start(edge.second) + l] -= given[t.column_class(l)];
    std::vector<double> rest(t.row_classes(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j)
        if (!is_forbidden(t.class_cost(i, j)))
          rest[i] = std::min(rest[i], static_cast<double>(t.class_cost(i, j)) + given[j]);
    for (strategy l = 0; l < t.rows(); ++l) belief[p.label_start(edge.first) + l] += rest[t.row_class(l)];
    rests.push_back(std::move(rest));
  }
  const std::vector<double> more = put_in(p, rows, belief, result.bound);
  for (std::size_t x = 0; x < p.size(); ++x) {
    const auto of = std::span(belief).subspan(p.label_start(x), p.label_count(x));
    const double least = *std::min_element(of.begin(), of.end());
    result.bound += least;
    for (double& b : of) b -= least;
  }
  belief = with_neighbours(p, dual, rests, belief);
  for (std::size_t l = 0; l < more.size(); ++l) belief[l] += more[l];
  return result;
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/solve/bound/dual_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Message passing that keeps its state as multipliers (`dual_values`), so that what it reaches is proved by
/// `dual_bound` and excludes labels like an LP's multipliers do. The bound never falls; it is that of
/// tree-reweighted message passing and mostly within a percent of the LP's. Rows are not priced.
///
/// A visit of a variable takes what its edges' tables can spare into its labels and hands shares of what it
/// has on to the edges ahead.
/// Source: V. Kolmogorov, A new look at reweighted message passing, PAMI 37 (2015), for pairwise costs.
template <cost_value Cost>
class multiplier_sweeps {
 public:
  explicit multiplier_sweeps(const compact_problem<Cost>& p) : p_(p), offsets_(dual_offsets(p)) {
    dual_.of_class.resize(offsets_.back());
  }

  /// Complexity of a pass: O(labels * degree + pairs of classes)
  void forward(const presence& present) {
    for (std::size_t x = 0; x < p_.size(); ++x) visit(x, true, present);
  }
  void backward(const presence& present) {
    for (std::size_t x = p_.size(); x-- > 0;) visit(x, false, present);
  }
  [[nodiscard]] const dual_values& values() const { return dual_; }

  /// Labels in the order of the variables, each best with those decided before it and, as far as the
  /// multipliers tell, with the others.
  [[nodiscard]] std::vector<strategy> decode(const presence& present) const {
    std::vector<strategy> labels(p_.size());
    for (std::size_t x = 0; x < p_.size(); ++x) {
      std::vector<double> belief = own_costs(x, present);
      for (const compact_link& link : p_.links(x)) {
        const auto& t = p_.table(p_.edges()[link.edge]);
        const auto classes = link.is_first ? t.row_class() : t.column_class();
        const double* of_class = dual_.of_class.data() + offsets_[link.edge] + (link.is_first ? 0 : t.row_classes());
        if (link.is_first) {
          const std::vector<double> least = spare(link, present);
          for (std::size_t l = 0; l < belief.size(); ++l) belief[l] += least[classes[l]];
        } else {
          // in place of what the multipliers took on this edge, its true costs
          for (strategy l = 0; l < belief.size(); ++l) {
            const Cost c = p_.link_cost(link, l, labels[link.other]);
            belief[l] += is_forbidden(c) ? infinity : static_cast<double>(c) + of_class[classes[l]];
          }
        }
      }
      labels[x] = static_cast<strategy>(std::min_element(belief.begin(), belief.end()) - belief.begin());
    }
    return labels;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// Unary costs less what was handed to edges; +infinity for absent labels.
  [[nodiscard]] std::vector<double> own_costs(std::size_t x, const presence& present) const {
    std::vector<double> cost(p_.label_count(x));
    for (std::size_t l = 0; l < cost.size(); ++l)
      cost[l] = present.has_label(p_.label_start(x) + l) ? static_cast<double>(p_.unary(x)[l]) : infinity;
    for (const compact_link& link : p_.links(x)) {
      const auto& t = p_.table(p_.edges()[link.edge]);
      const auto classes = link.is_first ? t.row_class() : t.column_class();
      const double* of_class = dual_.of_class.data() + offsets_[link.edge] + (link.is_first ? 0 : t.row_classes());
      for (std::size_t l = 0; l < cost.size(); ++l) cost[l] -= of_class[classes[l]];
    }
    return cost;
  }

  /// Per class of this end, the least moved cost of its present pairs; +infinity for a class without.
  [[nodiscard]] std::vector<double> spare(const compact_link& link, const presence& present) const {
    const auto& t = p_.table(p_.edges()[link.edge]);
    const double* row = dual_.of_class.data() + offsets_[link.edge];
    const double* column = row + t.row_classes();
    std::vector<double> least(link.is_first ? t.row_classes() : t.column_classes(), infinity);
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        if (!present.has_pair(link.edge, i * t.column_classes() + j)) continue;
        double& at = least[link.is_first ? i : j];
        at = std::min(at, static_cast<double>(t.class_cost(i, j)) + row[i] + column[j]);
      }
    return least;
  }

  void visit(std::size_t x, bool ascending, const presence& present) {
    const auto links = p_.links(x);
    if (links.empty()) return;
    const auto own = [&](const compact_link& link) {
      return dual_.of_class.data() + offsets_[link.edge] +
             (link.is_first ? 0 : p_.table(p_.edges()[link.edge]).row_classes());
    };
    for (const compact_link& link : links) {
      const std::vector<double> least = spare(link, present);
      double* of_class = own(link);
      for (std::size_t i = 0; i < least.size(); ++i)
        if (least[i] < infinity) of_class[i] -= least[i];
    }
    std::vector<double> belief = own_costs(x, present);
    const double floor = *std::min_element(belief.begin(), belief.end());
    const auto ahead = static_cast<std::size_t>(
        std::count_if(links.begin(), links.end(), [&](const compact_link& l) { return l.is_first == ascending; }));
    if (ahead == 0 || floor == infinity) return;
    const double share = 1.0 / static_cast<double>(std::max(ahead, links.size() - ahead));
    for (const compact_link& link : links) {
      if (link.is_first != ascending) continue;
      const auto& t = p_.table(p_.edges()[link.edge]);
      const auto classes = link.is_first ? t.row_class() : t.column_class();
      std::vector<double> least(link.is_first ? t.row_classes() : t.column_classes(), infinity);
      for (std::size_t l = 0; l < belief.size(); ++l)
        least[classes[l]] = std::min(least[classes[l]], belief[l] - floor);
      double* of_class = own(link);
      for (std::size_t i = 0; i < least.size(); ++i)
        if (least[i] < infinity) of_class[i] += share * least[i];
    }
  }

  const compact_problem<Cost>& p_;
  std::vector<std::size_t> offsets_;
  dual_values dual_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/detail/tighten.hpp>
#include <shardweave/solve/detail/usage_rows.hpp>
#include <shardweave/solve/dual_bound.hpp>
#include <shardweave/solve/linear_model.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A compact problem as a linear program.

namespace shardweave {
inline namespace v0 {
/// The local polytope of a compact problem with its rows, over the labels and pairs that are present.
///
/// A column per label of every variable that has a choice, a column per pair of *classes* of an edge, so that
/// a table of 700 x 700 entries in 100 x 100 classes costs 10 000 columns; forbidden pairs are absent, never
/// expensive. Rows: each variable takes one label; the labels of a class weigh as much as its pairs. An edge
/// with one class left at an end, or whose costs are a sum of one per end, has no columns: its costs go to
/// the labels. Rows of usage that follow each other are chained, U(r) - U(r-1) = what begins or ends at r,
/// so that the weights count segments and not their lengths.
///
/// Costs are shifted to start at zero, which goes to the offset, and scaled by a power of two so that the
/// greatest is about a million: backends compare with tolerances around 1e-7 whatever the unit is, and with
/// costs of 1e12 or 1e-12 those mean nothing. Usage is scaled so that the greatest is one.
template <cost_value Cost>
class local_polytope {
 public:
  /// \pre every variable has a label in `present`, every present label a present partner over every edge; no
  ///      row's lower limit is above its upper one; `p` outlives this object
  /// \throws error (input) for a cost that is not a number, naming the variable and label
  local_polytope(const compact_problem<Cost>& p, const presence& present, bool whole_numbers)
      : p_(&p), present_(present), whole_(whole_numbers), offsets_(dual_offsets(p)) {
    base_.of_class.resize(offsets_.back());
    base_.of_row.resize(p.rows().size());
    cost_.reserve(p.total_labels());
    for (std::size_t x = 0; x < p.size(); ++x)
      for (std::size_t l = 0; l < p.label_count(x); ++l) {
        cost_.push_back(static_cast<double>(p.unary(x)[l]));
        if (!std::isfinite(cost_.back()))
          refuse(error_category::input, "variable " + std::to_string(x) + " has cost " + std::to_string(cost_.back()) +
                                            " at label " + std::to_string(l) + ", expected a finite number");
      }
    count_choices();
    fold_edges();
    add_labels();
    add_pairs();
    scale_costs();
    usage_.emplace(p, present_, choices_, column_, model_);
    sort_entries(model_);
  }

  [[nodiscard]] const linear_model& model() const { return model_; }
  /// Names that lead back to the problem: column `v7.s3` is strategy 3 of vertex 7 (of tied vertices, the first),
  /// `pair5.r0.c2` a pair of classes of the compact problem's edge 5, `level4` what row 4 uses; row `v7` says that
  /// vertex 7 takes one strategy, `pair5.v7.r0` that its class 0 weighs as much as the pairs of it, `budget4` limits
  /// row 4, `cover0` was added first.
  /// \pre `problem` holds the compact problem of this polytope
  [[nodiscard]] linear_names names(const placement_problem<Cost>& problem) const {
    linear_names names{std::vector<std::string>(model_.columns.size()), std::vector<std::string>(model_.rows.size())};
    std::vector<std::string> vertex(p_->size());
    for (std::size_t v = problem.vertex_count(); v-- > 0;) vertex[problem.variable_of(v)] = "v" + std::to_string(v);
    std::size_t next = 0;
    for (std::size_t x = 0; x < p_->size(); ++x) {
      if (decided(x)) continue;
      names.rows[next++] = vertex[x];
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (const std::uint32_t c = column_[p_->label_start(x) + l]; c != absent)
          names.columns[c] = vertex[x] + ".s" + std::to_string(problem.strategy_of(x, l));
    }
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      const std::size_t rows = p_->table(edge).row_classes();
      for (std::size_t k = offsets_[e]; k < offsets_[e + 1]; ++k) {
        if (class_row_[k] == absent) continue;
        const std::size_t i = k - offsets_[e];
        names.rows[class_row_[k]] = "pair" + std::to_string(e) + "." +
                                    (i < rows ? vertex[edge.first] + ".r" + std::to_string(i)
                                              : vertex[edge.second] + ".c" + std::to_string(i - rows));
      }
    }
    for (const pair_column& pair : pairs_)
      names.columns[pair.number] =
          "pair" + std::to_string(pair.edge) + ".r" + std::to_string(pair.row) + ".c" + std::to_string(pair.column);
    usage_->name(names);
    for (std::size_t c = 0; c < covers_; ++c) names.rows[names.rows.size() - covers_ + c] = "cover" + std::to_string(c);
    return names;
  }
  /// Model costs per cost of the problem.
  [[nodiscard]] double scale() const { return scale_; }
  /// What a backend's tolerances make of the model's objective; zero if there is nothing to decide.
  [[nodiscard]] double resolution() const { return has_costs_ ? greatest_cost * 1e-12 : 0; }
  /// A model objective in the problem's unit.
  [[nodiscard]] double unscaled(double objective) const { return objective / scale_; }

  /// The label of greatest weight of every variable.
  [[nodiscard]] std::vector<strategy> labels_of(std::span<const double> primal) const {
    std::vector<strategy> labels(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      double most = -1;
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (const double w = weight(x, l, primal); w > most) {
          most = w;
          labels[x] = l;
        }
    }
    return labels;
  }
  /// Weight of a label: its column's value, or 1 if the variable has no choice, 0 if the label is absent.
  [[nodiscard]] double weight(std::size_t x, strategy l, std::span<const double> primal) const {
    const std::size_t at = p_->label_start(x) + l;
    if (column_[at] != absent) return primal[column_[at]];
    return present_.has_label(at) ? 1 : 0;
  }

  /// The values of all columns that stand for labels; empty if a label or pair of them is absent.
  [[nodiscard]] std::vector<double> primal_of(std::span<const strategy> labels) const {
    std::vector<double> value(model_.columns.size());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t at = p_->label_start(x) + labels[x];
      if (!present_.has_label(at)) return {};
      if (column_[at] != absent) value[column_[at]] = 1;
    }
    for (const pair_column& pair : pairs_) {
      const compact_edge& e = p_->edges()[pair.edge];
      const auto& t = p_->table(e);
      if (t.row_class(labels[e.first]) == pair.row && t.column_class(labels[e.second]) == pair.column)
        value[pair.number] = 1;
    }
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      const auto& t = p_->table(edge);
      if (!present_.has_pair(
              e, t.row_class(labels[edge.first]) * t.column_classes() + t.column_class(labels[edge.second])))
        return {};
    }
    usage_->set_levels(labels, value);
    return value;
  }

  /// The multipliers of the compact problem behind those of the model's rows; rows that were added later are
  /// not counted.
  [[nodiscard]] dual_values duals_of(std::span<const double> duals) const {
    dual_values result = base_;
    for (std::size_t k = 0; k < class_row_.size(); ++k)
      if (class_row_[k] != absent) result.of_class[k] += duals[class_row_[k]] / scale_;
    result.of_row = usage_->prices(duals, scale_);
    return result;
  }

  /// Adds: of the listed labels (positions among all labels) at most `most` are taken. To be used for labels
  /// that break a row together although a backend's tolerance let them pass.
  void add_cover(std::span<const std::size_t> positions, std::size_t most) {
    double room = static_cast<double>(most);
    const std::uint32_t row = model_.add_row({});
    for (const std::size_t at : positions) {
      if (column_[at] != absent) {
        model_.add_entry(row, column_[at], 1);
      } else if (present_.has_label(at)) {
        room -= 1;
      }
    }
    model_.rows[row].high = room;
    ++covers_;
  }

 private:
  static constexpr std::uint32_t absent = detail::usage_rows<Cost>::absent;
  static constexpr double greatest_cost = 0x1p20;

  struct pair_column {
    std::uint32_t edge, row, column, number;
  };
  [[nodiscard]] bool decided(std::size_t x) const { return choices_[x] == 1; }

  void count_choices() {
    choices_.resize(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (std::size_t l = 0; l < p_->label_count(x); ++l)
        if (present_.has_label(p_->label_start(x) + l)) ++choices_[x];
  }

  /// Finds the edges that need no columns: those whose costs over present pairs are a sum of one per end.
  void fold_edges() {
    folded_.assign(p_->edges().size(), 0);
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      const auto& t = p_->table(edge);
      std::vector<char> row(t.row_classes()), column(t.column_classes());
      std::size_t pairs = 0;
      for (std::size_t i = 0; i < row.size(); ++i)
        for (std::size_t j = 0; j < column.size(); ++j)
          if (present_.has_pair(e, i * column.size() + j)) {
            row[i] = column[j] = 1;
            ++pairs;
          }
      const auto rows = static_cast<std::size_t>(std::count(row.begin(), row.end(), char{1}));
      const auto columns = static_cast<std::size_t>(std::count(column.begin(), column.end(), char{1}));
      if (pairs != rows * columns || pairs == 0) continue;
      const auto i0 = static_cast<std::size_t>(std::find(row.begin(), row.end(), char{1}) - row.begin());
      const auto j0 = static_cast<std::size_t>(std::find(column.begin(), column.end(), char{1}) - column.begin());
      const auto at = [&](std::size_t i, std::size_t j) { return static_cast<double>(t.class_cost(i, j)); };
      bool sum = true;  // one row is, whatever rounding says
      for (std::size_t i = 0; i < row.size() && sum && rows > 1; ++i)
        for (std::size_t j = 0; j < column.size() && sum; ++j)
          sum = row[i] == 0 || column[j] == 0 || at(i, j) == at(i, j0) + (at(i0, j) - at(i0, j0));
      if (!sum) continue;
      folded_[e] = 1;
      double* of_class = base_.of_class.data() + offsets_[e];
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] != 0) of_class[i] = rows > 1 ? -at(i, j0) : 0;
      for (std::size_t j = 0; j < column.size(); ++j)
        if (column[j] != 0) of_class[row.size() + j] = rows > 1 ? -(at(i0, j) - at(i0, j0)) : -at(i0, j);
      for (std::size_t a = 0; a < t.rows(); ++a) cost_[p_->label_start(edge.first) + a] -= of_class[t.row_class(a)];
      for (std::size_t b = 0; b < t.columns(); ++b)
        cost_[p_->label_start(edge.second) + b] -= of_class[row.size() + t.column_class(b)];
    }
  }

  void add_labels() {
    column_.assign(p_->total_labels(), absent);
    model_.offset = static_cast<double>(p_->constant());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t at = p_->label_start(x); at < p_->label_start(x) + p_->label_count(x); ++at)
        if (present_.has_label(at)) least = std::min(least, cost_[at]);
      model_.offset += least;
      if (decided(x)) continue;
      const std::uint32_t one = model_.add_row({1, 1});
      for (std::size_t at = p_->label_start(x); at < p_->label_start(x) + p_->label_count(x); ++at) {
        if (!present_.has_label(at)) continue;
        // for an LP the row implies the upper limit, and a column without one is simpler
        const double high = whole_ ? 1 : std::numeric_limits<double>::infinity();
        column_[at] = model_.add_column({0, high, cost_[at] - least, whole_});
        model_.add_entry(one, column_[at], 1);
      }
    }
  }

  void add_pairs() {
    class_row_.assign(offsets_.back(), absent);
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      if (folded_[e] != 0) continue;
      const compact_edge& edge = p_->edges()[e];
      const auto& t = p_->table(edge);
      double least = std::numeric_limits<double>::infinity();
      const auto for_pairs = [&](auto f) {
        for (std::size_t i = 0; i < t.row_classes(); ++i)
          for (std::size_t j = 0; j < t.column_classes(); ++j)
            if (present_.has_pair(e, i * t.column_classes() + j)) f(i, j, static_cast<double>(t.class_cost(i, j)));
      };
      std::vector<char> seen(t.row_classes() + t.column_classes());
      for_pairs([&](std::size_t i, std::size_t j, double c) {
        if (std::isnan(c))
          refuse(error_category::input, "the edge between variables " + std::to_string(edge.first) + " and " +
                                            std::to_string(edge.second) + " has a cost that is not a number");
        least = std::min(least, c);
        seen[i] = seen[t.row_classes() + j] = 1;
      });
      model_.offset += least;
      std::uint32_t* rows = class_row_.data() + offsets_[e];
      for (std::size_t k = 0; k < seen.size(); ++k)
        if (seen[k] != 0) rows[k] = model_.add_row({0, 0});
      // the rows of one side add up to those of the other: one of them says nothing
      const auto last = std::find_if(seen.rbegin(), seen.rend(), [](char s) { return s != 0; });
      const auto spare = static_cast<std::size_t>(seen.rend() - last) - 1;
      model_.rows.pop_back();
      rows[spare] = absent;
      for_pairs([&](std::size_t i, std::size_t j, double c) {
        const std::uint32_t number = model_.add_column({0, std::numeric_limits<double>::infinity(), c - least, false});
        pairs_.push_back(
            {static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), number});
        if (rows[i] != absent) model_.add_entry(rows[i], number, -1);
        if (rows[t.row_classes() + j] != absent) model_.add_entry(rows[t.row_classes() + j], number, -1);
      });
      const auto join = [&](std::size_t x, auto classes, std::size_t first) {
        for (std::size_t l = 0; l < p_->label_count(x); ++l)
          if (const std::uint32_t c = column_[p_->label_start(x) + l];
              c != absent && rows[first + classes[l]] != absent)
            model_.add_entry(rows[first + classes[l]], c, 1);
      };
      join(edge.first, t.row_class(), 0);
      join(edge.second, t.column_class(), t.row_classes());
    }
  }

  void scale_costs() {
    double most = 0;
    for (const linear_column& c : model_.columns) most = std::max(most, c.objective);
    has_costs_ = most > 0;
    if (has_costs_ && std::isfinite(most)) scale_ = std::exp2(std::floor(std::log2(greatest_cost / most)));
    if (!(scale_ > 0) || !std::isfinite(scale_) || !std::isfinite(model_.offset * scale_)) scale_ = 1;
    for (linear_column& c : model_.columns) c.objective *= scale_;
    model_.offset *= scale_;
  }

  const compact_problem<Cost>* p_;
  presence present_;
  bool whole_;
  std::vector<std::size_t> offsets_;
  linear_model model_;
  std::size_t covers_ = 0;  ///< rows added later
  double scale_ = 1;
  bool has_costs_ = false;
  dual_values base_;                      ///< what folding moved
  std::vector<double> cost_;              ///< per label, folded edges included
  std::vector<std::size_t> choices_;      ///< present labels per variable
  std::vector<char> folded_;              ///< per edge
  std::vector<std::uint32_t> column_;     ///< per label
  std::vector<std::uint32_t> class_row_;  ///< per class of every edge
  std::vector<pair_column> pairs_;
  std::optional<detail::usage_rows<Cost>> usage_;  ///< once labels have columns
};

}  // namespace v0
}  // namespace shardweave

#pragma once

#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/linear/model/detail/polytope_layout.hpp>
#include <shardweave/solve/linear/model/detail/savings_rows.hpp>
#include <shardweave/solve/linear/model/detail/usage_rows.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// \file
/// A compact problem as a linear program.

namespace shardweave::inline v0 {
/// The local polytope of a compact problem with its rows, over the labels and pairs that are present.
///
/// A column per label of every variable that has a choice, a column per pair of *classes* of an edge, so that
/// a table of 700 x 700 entries in 100 x 100 classes costs 10 000 columns; forbidden pairs are absent, never
/// expensive. Rows: the values of a variable's labels add up to 1; those of the labels of a class to the sum over the
/// pairs of that class (marginalization). An edge with one class left at an end, or whose costs are a sum of one per
/// end, has no columns: its costs go to the labels. Rows of usage that follow each other are chained, U(r) - U(r-1) =
/// what begins or ends at r, so that the nonzeros grow with the number of segments and not with their lengths.
/// Source: T. Werner, A linear programming approach to max-sum problem: a review, PAMI 29 (2007).
///
/// Costs are shifted to start at zero, which goes to the offset, and scaled by a power of two so that the
/// greatest is about a million: backends compare with tolerances around 1e-7 whatever the unit is, and with
/// costs of 1e12 or 1e-12 those mean nothing. Usage is scaled so that the greatest is one.
template <cost_value Cost>
class local_polytope {
 public:
  /// \param terms  savings; their communication is no part of the costs of `p`, and the classes of its tables tell
  ///               their amounts apart (see `savings_program`)
  /// \pre every variable has a label in `present`, every present label a present partner over every edge; no
  ///      row's lower limit is above its upper one; `p` and the terms outlive this object
  /// \throws error (input) for a cost that is not a number, naming the variable and label
  local_polytope(const compact_problem<Cost>& p, const presence& present, bool whole_numbers,
                 const savings_terms<Cost>* terms = nullptr)
      : p_(&p), present_(present), whole_(whole_numbers) {
    at_.offsets = dual_offsets(p);
    base_.of_class.resize(at_.offsets.back());
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
    fold_edges(terms);
    add_labels();
    detail::add_pair_columns(p, present_, at_, model_);
    scale_costs(terms);
    usage_.emplace(p, present_, at_.choices, at_.column, model_);
    if (terms != nullptr) savings_.emplace(p, *terms, present_, at_, scale_, model_);
    sort_entries(model_);
  }

  [[nodiscard]] const linear_model& model() const { return model_; }
  /// Names that lead back to the problem: column `v7.s3` is strategy 3 of vertex 7 (of tied vertices, the first),
  /// `pair5.r0.c2` a pair of classes of the compact problem's edge 5, `level4` what row 4 uses; row `v7` says that
  /// vertex 7 takes one strategy, `pair5.v7.r0` that its class 0 weighs as much as the pairs of it, `budget4` limits
  /// row 4, `cover0` was added first. For those of savings see `detail::savings_rows`.
  /// \pre `problem` has the variables of this polytope
  template <cost_value Stated>
  [[nodiscard]] linear_names names(const placement_problem<Stated>& problem) const {
    linear_names names{std::vector<std::string>(model_.columns.size()), std::vector<std::string>(model_.rows.size())};
    detail::name_labels_and_pairs(*p_, problem, at_, names);
    usage_->name(names);
    if (savings_) savings_->name(names);
    for (std::size_t c = 0; c < covers_; ++c) names.rows[names.rows.size() - covers_ + c] = "cover" + std::to_string(c);
    return names;
  }
  /// Model costs per cost of the problem.
  [[nodiscard]] double scale() const { return scale_; }
  /// The error of the model's objective by a backend's tolerances; 0 if there is nothing to decide.
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
    if (at_.column[at] != absent) return primal[at_.column[at]];
    return present_.has_label(at) ? 1 : 0;
  }

  /// The values of all columns for a labeling; empty if a label or pair of it is absent.
  [[nodiscard]] std::vector<double> primal_of(std::span<const strategy> labels) const {
    std::vector<double> value(model_.columns.size());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t at = p_->label_start(x) + labels[x];
      if (!present_.has_label(at)) return {};
      if (at_.column[at] != absent) value[at_.column[at]] = 1;
    }
    for (const auto& pair : at_.pairs) {
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
    if (savings_) savings_->set_values(labels, value);
    return value;
  }

  /// The multipliers of the compact problem that correspond to those of the model's rows; cover rows are not counted.
  [[nodiscard]] dual_values duals_of(std::span<const double> duals) const { return duals_of(duals, *p_); }
  /// The same for a problem with tables of the same classes but other costs: the one with priced savings.
  [[nodiscard]] dual_values duals_of(std::span<const double> duals, const compact_problem<Cost>& costs) const {
    dual_values result = base_;
    for (std::size_t e = 0; e < p_->edges().size() && &costs != p_; ++e)
      if (at_.folded[e] != 0)
        static_cast<void>(detail::fold_edge(costs.table(costs.edges()[e]), e, present_, false,
                                            result.of_class.data() + at_.offsets[e]));
    for (std::size_t k = 0; k < at_.class_row.size(); ++k)
      if (at_.class_row[k] != absent) result.of_class[k] += duals[at_.class_row[k]] / scale_;
    result.of_row = usage_->prices(duals, scale_);
    return result;
  }
  /// Prices of computation that correspond to the multipliers of the model's rows, as `chain_prices::values`.
  /// \pre made with savings
  [[nodiscard]] std::vector<double> chain_prices_of(std::span<const double> duals) const {
    return savings_->prices(duals);
  }
  /// Hidden communication per demand.
  /// \pre made with savings
  [[nodiscard]] std::vector<double> hidden(std::span<const double> primal) const { return savings_->hidden(primal); }

  /// Adds a cover row: of the listed labels (positions among all labels) at most `most` are taken. For labels that
  /// together violate a row within a backend's tolerance.
  void add_cover(std::span<const std::size_t> positions, std::size_t most) {
    double room = static_cast<double>(most);
    const std::uint32_t row = model_.add_row({});
    for (const std::size_t at : positions) {
      if (at_.column[at] != absent) {
        model_.add_entry(row, at_.column[at], 1);
      } else if (present_.has_label(at)) {
        room -= 1;
      }
    }
    model_.rows[row].high = room;
    ++covers_;
  }

 private:
  static constexpr std::uint32_t absent = detail::polytope_layout::absent;
  static constexpr double greatest_cost = 0x1p20;

  void count_choices() {
    at_.choices.resize(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (std::size_t l = 0; l < p_->label_count(x); ++l)
        if (present_.has_label(p_->label_start(x) + l)) ++at_.choices[x];
  }

  void fold_edges(const savings_terms<Cost>* terms) {
    at_.folded.assign(p_->edges().size(), 0);
    std::vector<char> shared(p_->edges().size());  // with amounts that depend on both ends
    if (terms != nullptr)
      for (const std::uint32_t e : detail::edges_of_amounts(*p_, *terms)) shared[e] = 1;
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const compact_edge& edge = p_->edges()[e];
      const auto& t = p_->table(edge);
      double* of_class = base_.of_class.data() + at_.offsets[e];
      if (!detail::fold_edge(t, e, present_, shared[e] != 0, of_class)) continue;
      at_.folded[e] = 1;
      for (std::size_t a = 0; a < t.rows(); ++a) cost_[p_->label_start(edge.first) + a] -= of_class[t.row_class(a)];
      for (std::size_t b = 0; b < t.columns(); ++b)
        cost_[p_->label_start(edge.second) + b] -= of_class[t.row_classes() + t.column_class(b)];
    }
  }

  void add_labels() {
    at_.column.assign(p_->total_labels(), absent);
    model_.offset = static_cast<double>(p_->constant());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t at = p_->label_start(x); at < p_->label_start(x) + p_->label_count(x); ++at)
        if (present_.has_label(at)) least = std::min(least, cost_[at]);
      model_.offset += least;
      if (at_.decided(x)) continue;
      const std::uint32_t one = model_.add_row({1, 1});
      for (std::size_t at = p_->label_start(x); at < p_->label_start(x) + p_->label_count(x); ++at) {
        if (!present_.has_label(at)) continue;
        // for an LP the row implies the upper limit, and a column without one is simpler
        const double high = whole_ ? 1 : std::numeric_limits<double>::infinity();
        at_.column[at] = model_.add_column({0, high, cost_[at] - least, whole_});
        model_.add_entry(one, at_.column[at], 1);
      }
    }
  }

  void scale_costs(const savings_terms<Cost>* terms) {
    double most = terms == nullptr ? 0 : detail::greatest_amount(*terms);
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
  detail::polytope_layout at_;
  linear_model model_;
  std::size_t covers_ = 0;  ///< rows added later
  double scale_ = 1;
  bool has_costs_ = false;
  dual_values base_;                               ///< multipliers of folded edges
  std::vector<double> cost_;                       ///< per label, folded edges included
  std::optional<detail::usage_rows<Cost>> usage_;  ///< once labels have columns
  std::optional<detail::savings_rows<Cost>> savings_;
};

}  // namespace shardweave::inline v0

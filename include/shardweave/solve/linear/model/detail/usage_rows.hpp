#pragma once

#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Limits on usage as rows of a linear program.

namespace shardweave::inline v0::detail {

/// Adds the rows of a compact problem to a linear model whose labels have columns. Consecutive rows are chained if that
/// needs fewer entries: U(r) - U(r-1) = usage that begins or ends at r, so that the number of entries is that of
/// segments and not their length. Usage is scaled so that the greatest of a chain is one; usage of decided variables is
/// subtracted from the limits.
template <cost_value Cost>
class usage_rows {
 public:
  static constexpr std::uint32_t absent = ~std::uint32_t{0};

  /// \param choices  labels present per variable; a variable with one is decided
  /// \param column   per label, its column or `absent`
  /// \pre `p` outlives this object
  usage_rows(const compact_problem<Cost>& p, const presence& present, std::span<const std::size_t> choices,
             std::span<const std::uint32_t> column, linear_model& model)
      : p_(&p) {
    add_rows(present, choices, model);
    add_segments(choices, column, model);
  }

  /// Sets the columns that stand for levels of usage to what a labeling uses.
  void set_levels(std::span<const strategy> labels, std::span<double> value) const {
    const std::vector<double> used = p_->usage(labels);
    for (const auto& [r, number] : levels_) value[number] = (used[r] - decided_usage_[r]) / scale_[r];
  }

  /// "budgetR" for the row that limits or chains row R of the problem, "levelR" for the column of its level.
  void name(linear_names& names) const {
    for (std::size_t r = 0; r < place_.size(); ++r) names.rows[place_[r].number] = "budget" + std::to_string(r);
    for (const auto& [r, number] : levels_) names.columns[number] = "level" + std::to_string(r);
  }

  /// The price of usage per row that corresponds to the duals of the model's rows.
  [[nodiscard]] std::vector<double> prices(std::span<const double> duals, double cost_scale) const {
    std::vector<double> result(place_.size());
    for (std::size_t r = 0; r < place_.size(); ++r) {
      double price = duals[place_[r].number];
      if (place_[r].chained) {
        if (r + 1 < place_.size() && place_[r + 1].chain == place_[r].chain) price -= duals[place_[r + 1].number];
      } else {
        price = -price;
      }
      result[r] = price / cost_scale / scale_[r];
    }
    return result;
  }

 private:
  struct place {
    std::uint32_t number = absent, chain = 0;
    bool chained = false;
  };

  void add_rows(const presence& present, std::span<const std::size_t> choices, linear_model& model) {
    const std::size_t rows = p_->rows().size();
    place_.resize(rows);
    scale_.assign(rows, 0);
    range_sums decided(rows);
    std::vector<std::size_t> direct(rows + 1), chained(rows + 1);  // weights that either form needs, as steps
    std::vector<std::int64_t> joined(rows + 1);                    // whether a segment covers r - 1 and r, as steps
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (const usage_segment& s : p_->segments(x)) {
        if (s.begin == s.end) continue;
        ++joined[s.begin + 1];
        --joined[s.end];
        double most = 0;
        for (std::size_t l = 0; l < s.usage.size(); ++l) {
          if (!present.has_label(p_->label_start(x) + l)) continue;
          most = std::max(most, std::abs(s.usage[l]));
          if (choices[x] == 1) decided.add(s.begin, s.end, s.usage[l]);
        }
        if (choices[x] == 1) continue;
        scale_[s.begin] = std::max(scale_[s.begin], most);
        direct[s.begin] += (s.end - s.begin) * s.usage.size();
        chained[s.begin] += 2 * s.usage.size();
      }
    for (std::size_t r = 1; r < rows; ++r) joined[r] += joined[r - 1];
    decided_usage_ = decided.values();
    for (std::size_t begin = 0, end = 0; begin < rows; begin = end) {
      std::size_t long_form = 0, short_form = 0;
      double most = 0;
      for (end = begin; end == begin || (end < rows && joined[end] > 0); ++end) {
        long_form += direct[end];
        short_form += chained[end] + 3;
        most = std::max(most, scale_[end]);
      }
      for (std::size_t r = begin; r < end; ++r) {
        scale_[r] = most > 0 ? most : 1;
        place_[r].chain = static_cast<std::uint32_t>(begin);
        place_[r].chained = end - begin > 1 && short_form < long_form;
        // usage within the tolerance of budgets is within the limit
        const double low = (p_->rows()[r].low - budget_tolerance - decided_usage_[r]) / scale_[r];
        const double high = (p_->rows()[r].high + budget_tolerance - decided_usage_[r]) / scale_[r];
        place_[r].number = place_[r].chained ? model.add_row({0, 0}) : model.add_row({low, high});
        if (!place_[r].chained) continue;
        const std::uint32_t level = model.add_column({low, high, 0, false});
        levels_.push_back({static_cast<std::uint32_t>(r), level});
        model.add_entry(place_[r].number, level, 1);
        if (r > begin) model.add_entry(place_[r].number, level - 1, -1);
      }
    }
  }

  /// Two segments of a variable may meet in a row, where their weights add up.
  void add_segments(std::span<const std::size_t> choices, std::span<const std::uint32_t> column,
                    linear_model& model) const {
    std::vector<linear_entry> weights;
    for (std::size_t x = 0; x < p_->size(); ++x) {
      if (choices[x] == 1) continue;
      weights.clear();
      for (const usage_segment& s : p_->segments(x))
        for (std::size_t l = 0; l < s.usage.size() && s.begin < s.end; ++l) {
          const std::uint32_t c = column[p_->label_start(x) + l];
          if (c == absent) continue;
          const double amount = s.usage[l] / scale_[s.begin];
          if (!place_[s.begin].chained) {
            for (std::size_t r = s.begin; r < s.end; ++r) weights.push_back({place_[r].number, c, amount});
          } else {
            weights.push_back({place_[s.begin].number, c, -amount});
            if (s.end < place_.size() && place_[s.end].chain == place_[s.begin].chain)
              weights.push_back({place_[s.end].number, c, amount});
          }
        }
      std::stable_sort(weights.begin(), weights.end(), [](const linear_entry& a, const linear_entry& b) {
        return std::pair(a.row, a.column) < std::pair(b.row, b.column);
      });
      for (std::size_t i = 0, end = 0; i < weights.size(); i = end) {
        double sum = 0;
        for (end = i;
             end < weights.size() && weights[end].row == weights[i].row && weights[end].column == weights[i].column;
             ++end)
          sum += weights[end].value;
        // a remainder of rounding carries no information, and makes simplex methods cycle
        if (std::abs(sum) > std::numeric_limits<double>::epsilon())
          model.add_entry(weights[i].row, weights[i].column, sum);
      }
    }
  }

  const compact_problem<Cost>* p_;
  std::vector<place> place_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> levels_;  ///< row, and the column of its level
  std::vector<double> scale_, decided_usage_;
};

}  // namespace shardweave::inline v0::detail

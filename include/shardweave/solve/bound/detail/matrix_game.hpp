#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A zero-sum matrix game whose rows and columns are added over time.

namespace shardweave::inline v0::detail {

/// A payoff matrix; columns maximize, rows minimize. Both play by regret matching (CFR+): strategies that would have
/// earned more are played more, and the mixture is the average of all rounds, weighted by their number, an approximate
/// equilibrium. Regrets are kept when rows and columns are added (warm start). A row may have a penalty in addition,
/// which may change between calls.
///
/// Source: O. Tammelin, Solving large imperfect information games using CFR+ (2014).
/// Complexity: O(rows * columns) per round.
class matrix_game {
 public:
  [[nodiscard]] std::size_t rows() const { return payoff_.size(); }
  [[nodiscard]] std::size_t columns() const { return weight_.size(); }
  /// The mixtures of the last `play`, of columns (`weight`) and of rows (`share`); strategies added since have none.
  [[nodiscard]] const std::vector<double>& weight() const { return weight_; }
  [[nodiscard]] const std::vector<double>& share() const { return share_; }

  /// \param payoff_of  a row's payoff against the new column, called for each row
  template <class Payoff>
  void add_column(const Payoff& payoff_of) {
    for (std::size_t k = 0; k < payoff_.size(); ++k) payoff_[k].push_back(payoff_of(k));
    weight_.push_back(0);
    column_regret_.push_back(0);
  }
  /// \param payoff  against each column
  void add_row(std::vector<double> payoff) {
    payoff_.push_back(std::move(payoff));
    share_.push_back(0);
    row_regret_.push_back(0);
  }
  /// Gives all columns equal weight.
  void level() { weight_.assign(columns(), 1.0 / static_cast<double>(columns())); }

  /// Plays at least one round.
  /// \param penalty  of each row
  /// \pre there is a row and a column
  void play(std::span<const double> penalty, std::size_t rounds) {
    std::vector<std::size_t> all(rows());
    std::iota(all.begin(), all.end(), std::size_t{0});
    mixtures m{std::move(column_regret_), std::move(row_regret_), {}, {}};
    play(all, penalty, m, rounds);
    column_regret_ = std::move(m.column_regret);
    row_regret_ = std::move(m.row_regret);
    weight_ = std::move(m.weight);
    share_ = std::move(m.share);
  }
  /// The value of the game with rows restricted to `allowed`: the least that the columns' mixture earns against them, a
  /// lower bound on the exact value. Starts without regrets and keeps none.
  /// \param penalty  of each of the rows allowed
  /// \pre a row is allowed
  [[nodiscard]] double value_of(std::span<const std::size_t> allowed, std::span<const double> penalty,
                                std::size_t rounds) const {
    mixtures m{std::vector<double>(columns()), std::vector<double>(allowed.size()), {}, {}};
    play(allowed, penalty, m, rounds);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      double sum = penalty[i];
      for (std::size_t j = 0; j < columns(); ++j) sum += m.weight[j] * payoff_[allowed[i]][j];
      least = std::min(least, sum);
    }
    return least;
  }

 private:
  struct mixtures {
    std::vector<double> column_regret, row_regret, weight, share;
  };

  /// The mixture in proportion to regrets; uniform if there are none.
  static void mix(const std::vector<double>& regret, std::vector<double>& mixture) {
    double sum = 0;
    for (const double r : regret) sum += r;
    for (std::size_t i = 0; i < regret.size(); ++i)
      mixture[i] = sum > 0 ? regret[i] / sum : 1 / static_cast<double>(regret.size());
  }
  void play(std::span<const std::size_t> allowed, std::span<const double> penalty, mixtures& m,
            std::size_t rounds) const {
    const std::size_t columns = weight_.size(), rows = allowed.size();
    std::vector<double> w(columns), y(rows), of_column(columns), of_row(rows);
    m.weight.assign(columns, 0.0);
    m.share.assign(rows, 0.0);
    double total = 0;
    for (std::size_t round = 1; round <= std::max<std::size_t>(rounds, 1); ++round) {
      mix(m.column_regret, w);
      mix(m.row_regret, y);
      std::fill(of_column.begin(), of_column.end(), 0.0);
      double value = 0;
      for (std::size_t k = 0; k < rows; ++k) {
        const double* row = payoff_[allowed[k]].data();
        double sum = penalty[k];
        for (std::size_t j = 0; j < columns; ++j) sum += w[j] * row[j];
        of_row[k] = sum;
        value += y[k] * sum;
        if (y[k] > 0)
          for (std::size_t j = 0; j < columns; ++j) of_column[j] += y[k] * (row[j] + penalty[k]);
      }
      for (std::size_t j = 0; j < columns; ++j)
        m.column_regret[j] = std::max(0.0, m.column_regret[j] + of_column[j] - value);
      for (std::size_t k = 0; k < rows; ++k) m.row_regret[k] = std::max(0.0, m.row_regret[k] + value - of_row[k]);
      const auto late = static_cast<double>(round);
      total += late;
      for (std::size_t j = 0; j < columns; ++j) m.weight[j] += late * w[j];
      for (std::size_t k = 0; k < rows; ++k) m.share[k] += late * y[k];
    }
    for (double& weight : m.weight) weight /= total;
    for (double& share : m.share) share /= total;
  }

  std::vector<std::vector<double>> payoff_;  // by row
  std::vector<double> weight_, column_regret_, share_, row_regret_;
};

}  // namespace shardweave::inline v0::detail

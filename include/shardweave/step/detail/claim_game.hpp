#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/game_value.hpp>
#include <shardweave/step/detail/placed_work.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The matrix game of claims against placements, whose value bounds the makespan of every plan from below.

namespace shardweave::inline v0::detail {

/// The known part of the game. Rows are claims and maximize; columns minimize: each is a placement with a choice of
/// ways for its edges (`edge_work::otherwise`). Columns of one placement are stored as their differences from its first
/// ways.
class claim_game {
 public:
  /// \param work  the work that claims are evaluated on; it must outlive the game
  /// \param tolerance  a row or column that improves on the game's value by less, relative to it, is not added
  claim_game(const step_work& work, std::vector<step_claim> claims, double tolerance)
      : work_(&work), tolerance_(tolerance) {
    for (step_claim& claim : claims) add_claim(std::move(claim));
  }

  [[nodiscard]] const std::vector<step_claim>& claims() const { return claims_; }
  [[nodiscard]] std::size_t column_count() const { return columns_.size(); }
  /// \pre there is a column
  [[nodiscard]] game_value value() const { return value_of_game(gain_); }

  /// Evaluates columns on this work of the same graph from now on, and forgets all placements. It must outlive the
  /// game.
  void count(const step_work& work) {
    counted_ = &work;
    placed_.clear();
    taken_.clear();
    columns_.clear();
    for (std::size_t r = 0; r < claims_.size(); ++r) {
      first_gain_[r].clear();
      gain_[r].clear();
    }
  }
  /// Adds a placement with each edge in the way of least cost.
  /// \param placement  its number: one that is known, or the next one
  /// \pre `count` was called
  /// \returns false if this column is known
  bool add_placement(std::size_t placement, std::span<const strategy> choice, const work_prices& prices) {
    if (placement == placed_.size()) {
      taken_.push_back(work_of(*counted_, choice));
      placed_.emplace_back(*counted_, choice);
      for (std::size_t r = 0; r < claims_.size(); ++r)
        first_gain_[r].push_back(value_of(claims_[r], *work_, taken_.back()));
    }
    return add_column({placement, placed_[placement].cheapest(prices)});
  }

  /// Adds the claims whose value for the mixture of columns `at` exceeds that of the game. \returns whether there were
  /// any
  bool add_claims(claim_search& search, const game_value& at) {
    bool fresh = false;
    const taken_work mixture = mixture_at(at.columns);
    for (step_claim& claim : search.largest(mixture)) {
      if (value_of(claim, *work_, mixture) <= at.value * (1 + tolerance_)) continue;
      if (std::ranges::find(claims_, claim) != claims_.end()) continue;
      add_claim(std::move(claim));
      fresh = true;
    }
    return fresh;
  }
  /// Adds known placements with other ways, if their cost under the mixture of claims `at` is below the value of the
  /// game.
  /// \returns whether there were any
  bool add_ways(const game_value& at) {
    const work_prices prices = prices_of(claims_, at.rows, *work_);
    bool fresh = false;
    for (std::size_t p = 0; p < placed_.size(); ++p) {
      column some{p, placed_[p].cheapest(prices)};
      double cost = 0;
      for (std::size_t r = 0; r < claims_.size(); ++r)
        if (at.rows[r] > 0) cost += at.rows[r] * gain_of(r, some);
      if (cost < at.value * (1 - tolerance_)) fresh = add_column(std::move(some)) || fresh;
    }
    return fresh;
  }

  /// The placement of least cost under these weights of claims.
  /// \pre there is a column
  [[nodiscard]] std::size_t cheapest(std::span<const double> weights) const {
    std::vector<double> cost(columns_.size());
    for (std::size_t r = 0; r < claims_.size(); ++r)
      for (std::size_t i = 0; i < cost.size(); ++i) cost[i] += weights[r] * gain_[r][i];
    return columns_[static_cast<std::size_t>(std::ranges::min_element(cost) - cost.begin())].placement;
  }

 private:
  struct column {
    std::size_t placement = 0;
    std::vector<other_way> ways = {};

    friend bool operator==(const column&, const column&) = default;
  };

  bool add_column(column some) {
    if (std::ranges::find(columns_, some) != columns_.end()) return false;
    for (std::size_t r = 0; r < claims_.size(); ++r) gain_[r].push_back(gain_of(r, some));
    columns_.push_back(std::move(some));
    return true;
  }
  void add_claim(step_claim claim) {
    std::vector<bool>& counts = counts_.emplace_back(work_->edges.size());
    for (const std::uint32_t e : claim.edges) counts[e] = claim.channel != step_claim::path;
    claims_.push_back(std::move(claim));
    std::vector<double>& first = first_gain_.emplace_back();
    for (const taken_work& taken : taken_) first.push_back(value_of(claims_.back(), *work_, taken));
    std::vector<double>& row = gain_.emplace_back();
    for (const column& some : columns_) row.push_back(gain_of(claims_.size() - 1, some));
  }
  /// The value of a claim for a column: for the placement's first ways, plus what its other ways change.
  [[nodiscard]] double gain_of(std::size_t row, const column& some) const {
    const step_claim& claim = claims_[row];
    double sum = first_gain_[row][some.placement];
    for (const other_way& way : some.ways) {
      const std::span<const double> more = placed_[some.placement].more(way);
      if (counts_[row][way.edge]) sum += more[claim.channel];
      if (claim.price > 0) sum += claim.price * more[claim.held];
    }
    return sum;
  }
  [[nodiscard]] taken_work mixture_at(std::span<const double> weights) const {
    std::vector<double> share(placed_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) share[columns_[i].placement] += weights[i];
    taken_work mixture = mixture_of(taken_, share);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (weights[i] == 0) continue;
      for (const other_way& way : columns_[i].ways) {
        const std::span<const double> more = placed_[columns_[i].placement].more(way);
        for (std::size_t c = 0; c < more.size(); ++c) mixture.load[way.edge * more.size() + c] += weights[i] * more[c];
      }
    }
    return mixture;
  }

  const step_work* work_;
  double tolerance_;
  std::vector<step_claim> claims_;
  std::vector<std::vector<bool>> counts_;  ///< per claim, by edge: whether its load counts
  const step_work* counted_ = nullptr;
  std::vector<placed_work> placed_;              ///< per placement
  std::vector<taken_work> taken_;                ///< per placement: the work in first ways
  std::vector<std::vector<double>> first_gain_;  ///< per claim, its value for each placement in first ways
  std::vector<column> columns_;
  std::vector<std::vector<double>> gain_;  ///< per claim, its value for each column
};

}  // namespace shardweave::inline v0::detail

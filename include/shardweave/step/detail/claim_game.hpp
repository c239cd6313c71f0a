#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/game_value.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Claims about the step against placements: the game whose value no plan ends before.

namespace shardweave::inline v0::detail {

/// The part of the game that is known so far. Rows are claims; columns are placements, each in some way to do its work
/// (`edge_work::otherwise`): one placement may have several.
class claim_game {
 public:
  /// \param work  what claims are priced by; it must outlive the game
  /// \param tolerance  what pays less than this, relative to the game's value, is not added
  claim_game(const step_work& work, std::vector<step_claim> claims, double tolerance)
      : work_(&work), claims_(std::move(claims)), tolerance_(tolerance), gain_(claims_.size()) {}

  [[nodiscard]] const std::vector<step_claim>& claims() const { return claims_; }
  [[nodiscard]] std::size_t column_count() const { return taken_.size(); }
  /// \pre there is a column
  [[nodiscard]] game_value value() const { return value_of_game(gain_); }

  /// False if it is known.
  bool add_column(std::size_t placement, taken_work taken) {
    for (std::size_t i = 0; i < taken_.size(); ++i)
      if (placement_of_[i] == placement && taken_[i].load == taken.load) return false;
    placement_of_.push_back(placement);
    taken_.push_back(std::move(taken));
    for (std::size_t r = 0; r < claims_.size(); ++r) gain_[r].push_back(value_of(claims_[r], *work_, taken_.back()));
    return true;
  }
  void forget_columns() {
    placement_of_.clear();
    taken_.clear();
    for (std::vector<double>& row : gain_) row.clear();
  }

  /// Adds claims that are worth more against the mixture of columns `at` than the game. Tells whether there were any.
  bool add_claims(claim_search& search, const game_value& at) {
    bool fresh = false;
    for (step_claim& claim : search.largest(mixture_of(taken_, at.columns))) {
      if (std::ranges::find(claims_, claim) != claims_.end()) continue;
      std::vector<double> row;
      double worth = 0;
      for (std::size_t i = 0; i < taken_.size(); ++i) {
        row.push_back(value_of(claim, *work_, taken_[i]));
        worth += at.columns[i] * row.back();
      }
      if (worth <= at.value * (1 + tolerance_)) continue;
      claims_.push_back(std::move(claim));
      gain_.push_back(std::move(row));
      fresh = true;
    }
    return fresh;
  }
  /// Adds placements in the ways to do their work that cost less under the mixture of claims `at` than the game. Tells
  /// whether there were any.
  bool add_ways(std::span<const assignment> placements, const game_value& at) {
    const work_prices prices = prices_of(claims_, at.rows, *work_);
    const double owed = price_of_limits(claims_, at.rows, *work_);
    bool fresh = false;
    for (std::size_t p = 0; p < placements.size(); ++p) {
      taken_work some = work_of(*work_, placements[p], &prices);
      if (worth_of(some, prices) - owed < at.value * (1 - tolerance_)) fresh = add_column(p, std::move(some)) || fresh;
    }
    return fresh;
  }

  /// Which placement costs least when claims weigh so much.
  /// \pre there is a column
  [[nodiscard]] std::size_t cheapest(std::span<const double> weights) const {
    std::vector<double> cost(taken_.size());
    for (std::size_t r = 0; r < claims_.size(); ++r)
      for (std::size_t i = 0; i < cost.size(); ++i) cost[i] += weights[r] * gain_[r][i];
    return placement_of_[static_cast<std::size_t>(std::ranges::min_element(cost) - cost.begin())];
  }

 private:
  const step_work* work_;
  std::vector<step_claim> claims_;
  double tolerance_;
  std::vector<std::size_t> placement_of_;  ///< of each column
  std::vector<taken_work> taken_;          ///< by each column
  std::vector<std::vector<double>> gain_;  ///< per claim, of each column
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/solve/bound/dual_ascent.hpp>
#include <shardweave/solve/bound/row_prices.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Message passing at prices that are nearly right.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Message passing on a problem that was cut out of one whose prices are known: a few sweeps while the prices stay,
/// then short steps of the prices. `price_ascent` starts from nothing and looks for the best bound; this starts from
/// something and must soon tell good labels from bad ones. Bounds are valid as there.
template <cost_value Cost>
class priced_sweeps {
 public:
  /// \param prices  one per row
  /// \pre `problem` outlives this object
  priced_sweeps(const compact_problem<Cost>& problem, std::vector<double> prices)
      : p_(&problem), messages_(problem), prices_(problem), direction_(prices.size()), labels_(problem.size()) {
    prices_.values() = std::move(prices);
    prices_.confine();
    prices_.add_to(messages_.unary());
  }

  /// One sweep. \returns the bound that it proves
  double sweep() {
    messages_.forward();
    reached_ = messages_.backward() - prices_.earned();
    bound_ = std::max(bound_, reached_);
    return reached_;
  }

  /// One step of the prices towards an assignment of cost `target`, by `length` of what Polyak's rule says.
  void step(double target, double length) {
    if (p_->rows().empty()) return;
    messages_.choose(labels_);
    const std::vector<double> slope = prices_.slope(labels_);
    double square = 0;
    for (std::size_t r = 0; r < slope.size(); ++r) {
      direction_[r] = 0.7 * direction_[r] + 0.3 * slope[r];
      if (!prices_.is_held(r, direction_[r])) square += direction_[r] * direction_[r];
    }
    if (square == 0) return;
    prices_.move(direction_, length * std::max(target - reached_, 1e-4 * std::abs(reached_)) / square);
    prices_.add_to(messages_.unary());
  }

  /// What each label costs more than the best one of its variable, the larger of both directions.
  [[nodiscard]] std::vector<double> excess() {
    std::vector<double> forward(p_->total_labels()), backward(p_->total_labels());
    messages_.forward(forward);
    bound_ = std::max(bound_, messages_.backward(backward) - prices_.earned());
    for (std::size_t i = 0; i < forward.size(); ++i) forward[i] = std::max(forward[i], backward[i]);
    return forward;
  }

  void decode(std::span<strategy> labels) { messages_.decode(labels); }
  [[nodiscard]] double bound() const { return bound_; }
  [[nodiscard]] const std::vector<double>& prices() const { return prices_.values(); }

 private:
  const compact_problem<Cost>* p_;
  dual_ascent<Cost> messages_;
  row_prices<Cost> prices_;
  std::vector<double> direction_;
  std::vector<strategy> labels_;
  double bound_ = -std::numeric_limits<double>::infinity();
  double reached_ = -std::numeric_limits<double>::infinity();
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

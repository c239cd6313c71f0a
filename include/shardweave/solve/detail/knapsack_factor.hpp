#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A row that limits usage as a factor of message passing: a knapsack in place of a price.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// The least of a sum of one cost per variable, over what keeps a row, by dynamic programming over the room that is
/// left. A price on a row bounds as the linear relaxation does; this bounds as the integer hull of the row does.
///
/// Usage is counted in cells, rounded down, so that what keeps the row keeps the factor. Members are the variables
/// that use the row, in ascending order. A pass visits each once, in order or in reverse, and calls `receive`, then
/// `send`; what it leaves behind serves the next pass in the other direction.
/// Complexity: O(cells * usage classes) per visit; memory O(members * cells)
class knapsack_factor {
 public:
  struct member {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> class_of = {};  ///< per label
    std::vector<std::uint32_t> weight = {};    ///< cells per class
    std::vector<double> cost = {};             ///< what the variable has put into the factor, per class
    std::vector<double> received = {};         ///< the least of the rest, per class, at the last visit
  };

  /// \param price  of usage, which is what the factor's costs start with, so that unary costs with the price and the
  ///               factor add up to what was given
  /// \pre no usage is negative, and the row has no lower limit
  template <cost_value Cost>
  knapsack_factor(const compact_problem<Cost>& p, std::uint32_t row, double price, std::size_t most_cells) : row_(row) {
    const double room = p.rows()[row].high + budget_tolerance;
    std::uint64_t common = 0;
    bool whole = true;
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x))
        if (s.begin <= row && row < s.end)
          for (const double u : s.usage) {
            whole = whole && u == std::floor(u) && u < 0x1p53;
            if (whole) common = std::gcd(common, static_cast<std::uint64_t>(u));
          }
    double cell = std::max(room, 1e-300) / static_cast<double>(most_cells);
    if (whole && common > 0 && room / static_cast<double>(common) <= static_cast<double>(most_cells))
      cell = static_cast<double>(common);
    // the last cell that can be reached, and one to spare for the rounding of divisions
    cells_ = static_cast<std::size_t>(std::floor(room / cell * (1 + 1e-12))) + 1;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      std::vector<double> usage(p.label_count(x));
      for (const usage_segment& s : p.segments(x))
        if (s.begin <= row && row < s.end)
          for (std::size_t l = 0; l < usage.size(); ++l) usage[l] += s.usage[l];
      if (*std::max_element(usage.begin(), usage.end()) == 0) continue;
      member m{.variable = x};
      std::map<double, std::uint32_t> known;
      for (const double u : usage) {
        const auto [at, fresh] = known.try_emplace(u, static_cast<std::uint32_t>(m.weight.size()));
        m.class_of.push_back(at->second);
        if (!fresh) continue;
        m.weight.push_back(static_cast<std::uint32_t>(std::min(std::floor(u / cell * (1 - 1e-12) + 1e-9), 2.0e9)));
        m.cost.push_back(-price * u);
      }
      m.received.assign(m.weight.size(), 0);
      members_.push_back(std::move(m));
    }
    table_.resize(members_.size() * cells_);
    state_.resize(cells_);
    other_.resize(cells_);
  }

  [[nodiscard]] std::span<const member> members() const { return members_; }
  [[nodiscard]] std::size_t cells() const { return cells_; }

  [[nodiscard]] std::uint32_t row() const { return row_; }
  /// Changes what a member has put in for a class; to be called between passes.
  void set_cost(std::size_t i, std::size_t usage_class, double cost) {
    members_[i].cost[usage_class] = cost;
    ready_ = direction::none;
  }

  /// Costs of all members, to be put back with `restore`.
  void save(std::vector<double>& to) const {
    for (const member& m : members_) to.insert(to.end(), m.cost.begin(), m.cost.end());
  }
  const double* restore(const double* from) {
    for (member& m : members_) {
      std::copy_n(from, m.cost.size(), m.cost.begin());
      from += m.cost.size();
    }
    ready_ = direction::none;
    return from;
  }

  /// To be called before a pass.
  void begin(bool ascending) {
    if (ready_ != (ascending ? direction::up : direction::down)) {
      // what the other direction would have left behind
      std::fill(state_.begin(), state_.end(), 0.0);
      for (std::size_t i = 0; i < members_.size(); ++i) {
        const std::size_t at = ascending ? members_.size() - 1 - i : i;
        std::copy(state_.begin(), state_.end(), row_of(at));
        take_in(members_[at]);
      }
    }
    std::fill(state_.begin(), state_.end(), 0.0);
    magnitude_ = 0;
  }

  /// The least of the rest for every class of a member; +infinity where the row cannot be kept.
  std::span<const double> receive(std::size_t i) {
    using lane = Eigen::Map<const Eigen::ArrayXd>;
    member& m = members_[i];
    const double* rest = row_of(i);  // reversed, so that both run upwards
    for (std::size_t j = 0; j < m.weight.size(); ++j) {
      const std::size_t w = m.weight[j];
      if (w >= cells_) {
        m.received[j] = infinity;
        continue;
      }
      // rooms a and b with a + b = cells - 1 - w
      const auto n = static_cast<Eigen::Index>(cells_ - w);
      m.received[j] = (lane(state_.data(), n) + lane(rest, n).reverse()).minCoeff();
    }
    return m.received;
  }

  /// Takes a share of what the variable has: `least` per class, not negative, and leaves a table for the way back.
  void send(std::size_t i, std::span<const double> least, double share) {
    member& m = members_[i];
    std::copy(state_.begin(), state_.end(), row_of(i));
    double most = 0;
    for (std::size_t j = 0; j < m.cost.size(); ++j) {
      m.cost[j] = std::isfinite(m.received[j]) && std::isfinite(least[j]) ? share * least[j] - m.received[j] : 0;
      most = std::max(most, std::abs(m.cost[j]));
    }
    magnitude_ += most;
    take_in(m);
  }

  /// After the last visit of a pass: the least of the whole.
  double finish(bool ascending) {
    ready_ = ascending ? direction::down : direction::up;
    return state_.back();
  }
  /// For the error of sums.
  [[nodiscard]] double magnitude() const { return magnitude_; }

 private:
  enum class direction : std::uint8_t { none, up, down };
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  [[nodiscard]] double* row_of(std::size_t i) { return table_.data() + i * cells_; }

  /// state[c]: the least of the members so far within room c
  void take_in(const member& m) {
    using lane = Eigen::Map<Eigen::ArrayXd>;
    std::fill(other_.begin(), other_.end(), infinity);
    for (std::size_t j = 0; j < m.weight.size(); ++j) {
      const std::size_t w = m.weight[j];
      if (w >= cells_) continue;
      const auto n = static_cast<Eigen::Index>(cells_ - w);
      lane to(other_.data() + w, n);
      to = to.min(lane(state_.data(), n) + m.cost[j]);
    }
    std::swap(state_, other_);
  }

  std::uint32_t row_;
  std::vector<member> members_;
  std::size_t cells_ = 0;
  std::vector<double> table_;  ///< per member, the state before it in the direction of the last pass
  std::vector<double> state_, other_;
  direction ready_ = direction::none;
  double magnitude_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave

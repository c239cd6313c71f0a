#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

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
/// A row as a knapsack factor of message passing, instead of a price.

namespace shardweave::inline v0::detail {

/// The least sum of one cost per variable that keeps a row, by dynamic programming over the remaining capacity. A price
/// on a row gives the bound of the linear relaxation, this factor that of the row's integer hull.
///
/// Usage is counted in cells and rounded down, so every labeling that keeps the row keeps the factor. Members are the
/// variables that use the row, in ascending order. A pass visits each of them once, in order or in reverse, and calls
/// `receive`, then `send`; the tables of a pass serve the next one in the opposite direction.
/// Complexity: O(cells * usage classes) per visit; memory O(members * cells)
class knapsack_factor {
 public:
  struct member {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> class_of = {};  ///< per label
    std::vector<std::uint32_t> weight = {};    ///< cells per class
    std::vector<double> cost = {};             ///< per class: the cost that the variable has put into the factor
    std::vector<double> received = {};         ///< per class: the least of the other members' costs, at the last visit
  };

  /// \param price  of usage, which the factor takes over: its costs start at -price * usage, so that they and unary
  ///               costs with the price add up to the given ones
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
    // the last reachable cell, and one more against rounding of divisions
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
    before_.assign(members_.size(), std::vector<double>(cells_));
    state_.resize(cells_);
  }

  [[nodiscard]] std::span<const member> members() const { return members_; }
  [[nodiscard]] std::size_t cells() const { return cells_; }

  [[nodiscard]] std::uint32_t row() const { return row_; }
  /// Sets the cost that a member has put in for a class; to be called between passes.
  void set_cost(std::size_t i, std::size_t usage_class, double cost) {
    members_[i].cost[usage_class] = cost;
    ready_ = direction::none;
  }

  /// Appends the costs of all members, for `restore`.
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
      // computes the tables that a pass in the other direction would have left
      ascending_ = !ascending;
      std::fill(state_.begin(), state_.end(), 0.0);
      for (std::size_t i = 0; i < members_.size(); ++i) take_in(ascending ? members_.size() - 1 - i : i);
    }
    ascending_ = ascending;
    std::fill(state_.begin(), state_.end(), 0.0);
    magnitude_ = 0;
  }

  /// What stands for the least cost of all others where the row cannot be kept, +infinity or a large number, from the
  /// next pass on.
  void set_without_room(double cost) { without_room_ = cost; }

  /// Per class of a member: the least cost of all others, `set_without_room` where the row cannot be kept.
  std::span<const double> receive(std::size_t i) {
    member& m = members_[i];
    const double* const up = (ascending_ ? state_ : before_[i]).data();
    const double* const down = (ascending_ ? before_[i] : state_).data();
    for (std::size_t j = 0; j < m.weight.size(); ++j) {
      const std::size_t w = m.weight[j];
      if (w >= cells_) {
        m.received[j] = without_room_;
        continue;
      }
      // capacities a and b with a + b = cells - 1 - w, of which the second stands at cells - 1 - b
      m.received[j] = std::min(without_room_, least_sum(up, down + w, cells_ - w));
    }
    return m.received;
  }

  /// Moves `share` of a variable's belief (`least`, per class, not negative) into the factor, and keeps a table for the
  /// next pass.
  void send(std::size_t i, std::span<const double> least, double share) {
    member& m = members_[i];
    double most = 0;
    for (std::size_t j = 0; j < m.cost.size(); ++j) {
      m.cost[j] = std::isfinite(m.received[j]) && std::isfinite(least[j]) ? share * least[j] - m.received[j] : 0;
      most = std::max(most, std::abs(m.cost[j]));
    }
    magnitude_ += most;
    take_in(i);
  }

  /// To be called after the last visit of a pass. \returns the least cost of the whole factor
  double finish(bool ascending) {
    ready_ = ascending ? direction::down : direction::up;
    return ascending ? state_.back() : state_.front();
  }
  /// Sum of the magnitudes of its costs, for error bounds.
  [[nodiscard]] double magnitude() const { return magnitude_; }

 private:
  enum class direction : std::uint8_t { none, up, down };
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  /// Sets to[k] to min(to[k], from[k] + cost).
  static void lower(double* to, const double* from, double cost, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const double other = from[k] + cost;
      to[k] = other < to[k] ? other : to[k];
    }
  }

  /// The minimum of a[k] + b[k], in eight independent chains.
  [[nodiscard]] static double least_sum(const double* a, const double* b, std::size_t count) {
    double least[8];
    std::fill_n(least, 8, infinity);
    std::size_t k = 0;
    for (; k + 8 <= count; k += 8)
      for (std::size_t i = 0; i < 8; ++i) {
        const double sum = a[k + i] + b[k + i];
        least[i] = sum < least[i] ? sum : least[i];
      }
    for (; k < count; ++k) least[0] = std::min(least[0], a[k] + b[k]);
    return *std::min_element(least, least + 8);
  }

  /// Adds a member to the state, and keeps the state before it.
  void take_in(std::size_t i) {
    const member& m = members_[i];
    std::swap(state_, before_[i]);
    bool is_first = true;
    for (std::size_t j = 0; j < m.weight.size(); ++j) {
      const std::size_t w = m.weight[j];
      if (w >= cells_) continue;
      double* const to = state_.data() + (ascending_ ? w : 0);
      const double* const from = before_[i].data() + (ascending_ ? 0 : w);
      if (is_first) {
        std::transform(from, from + (cells_ - w), to, [cost = m.cost[j]](double c) { return c + cost; });
        std::fill_n(ascending_ ? state_.begin() : state_.end() - static_cast<std::ptrdiff_t>(w), w, infinity);
        is_first = false;
      } else {
        lower(to, from, m.cost[j], cells_ - w);
      }
    }
    if (is_first) std::fill(state_.begin(), state_.end(), infinity);
  }

  std::uint32_t row_;
  std::vector<member> members_;
  std::size_t cells_ = 0;
  /// The least cost of the members so far within each capacity: in an ascending pass from the smallest capacity to the
  /// largest, in a descending one reversed, so that `receive` reads both in one direction.
  std::vector<double> state_;
  std::vector<std::vector<double>> before_;  ///< per member, the state before it in the direction of the last pass
  bool ascending_ = true;                    ///< of the present pass
  direction ready_ = direction::none;
  double magnitude_ = 0;
  double without_room_ = infinity;
};

}  // namespace shardweave::inline v0::detail

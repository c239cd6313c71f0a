#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// \file
/// Why no assignment of a placement problem costs less, as data about the problem as it is stated.

namespace shardweave::inline v0 {

/// What the edges between two vertices give to the second one: one amount per strategy of it. What is left of the
/// edges' costs is the first one's.
struct moved_cost {
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< vertices; of tied ones the first of each group, `first` before `second`
  std::span<const std::int64_t> amounts = {};
};

/// A list of them that owns the amounts. A proof may have millions, so they stand one behind the other.
class moved_costs {
 public:
  void add(const moved_cost& one) {
    ends_.push_back({one.first, one.second, amounts_.size() + one.amounts.size()});
    amounts_.insert(amounts_.end(), one.amounts.begin(), one.amounts.end());
  }
  void clear() { *this = {}; }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Valid until the list changes. \pre i < size()
  [[nodiscard]] moved_cost operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1].end;
    return {ends_[i].first, ends_[i].second, std::span(amounts_).subspan(begin, ends_[i].end - begin)};
  }
  /// Of all of them.
  [[nodiscard]] std::span<const std::int64_t> amounts() const { return amounts_; }

 private:
  struct ends {
    std::uint32_t first, second;
    std::size_t end;  ///< of its amounts
  };
  std::vector<ends> ends_;
  std::vector<std::int64_t> amounts_;
};

/// A price on the usage of a budget at one time.
struct row_price {
  std::uint32_t budget = 0;
  std::int64_t time = 0;   ///< where the budget has no live intervals any time is the same
  std::int64_t price = 0;  ///< above zero against the upper limit, below zero against the lower one
};

/// What computation is worth to the communication that it hides, per channel and position of the order in which
/// computation runs: zero, and from the position of each run on its price.
struct savings_prices {
  /// One price, in force on a channel from a position on.
  struct run {
    std::uint32_t channel = 0;
    std::uint32_t position = 0;
    std::int64_t price = 0;  ///< from 0 to 2^bits
  };
  int bits = 0;  ///< prices count in units of 2^-bits
  std::vector<run> runs = {};
};

/// Numbers that bound every assignment of a case, whatever they are: the sum, over vertices, of the least that a
/// strategy costs with what edges give and with priced usage, less what the limits are worth at these prices.
struct placement_multipliers {
  int message_bits = 0;  ///< amounts count in units of 2^-message_bits of the problem's cost
  int price_bits = 0;    ///< prices in units of 2^-price_bits of cost per unit of usage
  /// Costs count as nothing, only what is forbidden does: a bound above zero then says that nothing keeps the budgets.
  bool only_limits = false;
  /// Of a proof that counts savings: whose prices are taken off the costs. \pre there, unless `only_limits`
  std::optional<std::uint32_t> savings = std::nullopt;
  moved_costs messages = {};           ///< edges that are not listed give nothing
  std::vector<row_price> prices = {};  ///< rows that are not listed have no price
};

/// Strategies with which a limit of a budget is broken at some time even if all other vertices use the least that they
/// can (of a lower limit: the most).
struct strategies_ruled_out {
  std::uint32_t vertex = 0;
  std::vector<strategy> strategies = {};
  std::uint32_t budget = 0;
  std::int64_t time = 0;
  bool of_lower_limit = false;
};

/// A case of a proof, one of three: all that is left in it is bounded by multipliers; or multipliers drop the
/// strategies with which what is left costs the proof's `lower_bound` at least (with `only_limits`: breaks limits), and
/// one other case holds the rest; or it is split by the strategies of a vertex into other cases.
struct placement_case {
  std::optional<std::uint32_t> multipliers = std::nullopt;
  std::uint32_t vertex = 0;                       ///< of a split
  std::vector<std::vector<strategy>> parts = {};  ///< together all strategies that are left to it
  std::vector<std::uint32_t> cases = {};          ///< per part, or the one that is left; numbers above this case's own
};

/// A proof that no assignment costs less than `lower_bound`, or that none is feasible. `check_certificate` (or any
/// program that reads docs/proofs.md) says whether it is one. Case 0 holds all assignments.
template <cost_value Cost>
struct placement_certificate {
  std::string problem = {};                          ///< its name, for people
  Cost lower_bound{};                                ///< of the objective; nothing if `infeasible`
  bool infeasible = false;                           ///< no assignment keeps all constraints
  savings_form counted = savings_form::off;          ///< how savings count in the objective
  windows_form windows = {};                         ///< of that form
  std::vector<savings_prices> savings = {};          ///< that multipliers name
  std::vector<strategies_ruled_out> ruled_out = {};  ///< in this order
  std::vector<placement_multipliers> multipliers = {};
  std::vector<placement_case> cases = {};
};

}  // namespace shardweave::inline v0

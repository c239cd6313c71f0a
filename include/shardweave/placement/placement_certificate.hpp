#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Proofs of lower bounds on placement problems, stated for the problem before compilation.

namespace shardweave::inline v0 {

/// By how much usage may exceed a limit and still count as within it where a certificate is checked: slightly more than
/// `budget_tolerance`, with which assignments are judged, and a power of two.
inline constexpr double certificate_tolerance = 0x1p-18;

/// A message: the part of the costs of the edges between two vertices that the second one gets, one amount per strategy
/// of it. The rest of these costs is the first one's.
struct moved_cost {
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< vertices; of tied ones the first of each group, `first` before `second`
  std::span<const std::int64_t> amounts = {};
};

/// A list of messages that owns the amounts, stored contiguously, since a proof may have millions.
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
  /// The amounts of all messages.
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
  std::int64_t time = 0;   ///< any, for a budget without live intervals
  std::int64_t price = 0;  ///< positive for the upper limit, negative for the lower one
};

/// The upper limit of a budget at one time as a knapsack, in place of a price: each member gives part of its cost, one
/// amount per strategy, to the knapsack. An assignment within the limit pays the knapsack at least its optimum, the
/// least sum of amounts whose usage is within the limit. Since usage is not divisible, that may prove more than a
/// price.
/// Source: M. Guignard and S. Kim, Lagrangean decomposition, Math. Programming 39 (1987).
struct row_knapsack {
  /// What one vertex gives to the knapsack.
  struct member {
    std::uint32_t vertex = 0;                ///< of tied ones any
    std::vector<std::int64_t> amounts = {};  ///< per strategy, in the unit of messages
  };
  std::uint32_t budget = 0;
  std::int64_t time = 0;  ///< any, for a budget without live intervals
  /// Resolution: usage is counted in cells, fewer than this in all (`knapsack_room`); from 1 to 4,096.
  std::uint32_t cells = 1024;
  std::vector<member> members = {};  ///< each vertex once
};

/// Prices of computation that hides communication, per channel and position of the order of computation: zero at first,
/// and from the position of each run on its price.
struct savings_prices {
  /// A price on a channel from a position on.
  struct run {
    std::uint32_t channel = 0;
    std::uint32_t position = 0;
    std::int64_t price = 0;  ///< from 0 to 2^bits
  };
  int bits = 0;  ///< prices count in units of 2^-bits
  std::vector<run> runs = {};
};

/// Multipliers of a case. Whatever their values, they bound its assignments from below (weak duality) by this sum: over
/// all vertices the least cost of a strategy, as changed by messages, by priced usage and by what is given to
/// knapsacks; less prices times limits; plus the least sum of each knapsack.
struct placement_multipliers {
  int message_bits = 0;  ///< amounts are in units of 2^-message_bits of the problem's cost
  int price_bits = 0;    ///< prices are in units of 2^-price_bits of cost per unit of usage
  /// If set, costs count as 0 and only forbidden choices count: a positive bound then proves that no assignment keeps
  /// the budgets.
  bool only_limits = false;
  /// For proofs with savings: index of the prices that are subtracted from the costs. \pre set, unless `only_limits`
  std::optional<std::uint32_t> savings = std::nullopt;
  moved_costs messages = {};           ///< edges that are not listed have none
  std::vector<row_price> prices = {};  ///< rows that are not listed have price 0
  std::vector<row_knapsack> knapsacks = {};

  /// Adds the rows that count: budgets and times of prices other than zero, and of knapsacks.
  void add_rows(std::set<std::pair<std::uint32_t, std::int64_t>>& to) const {
    for (const row_price& p : prices)
      if (p.price != 0) to.emplace(p.budget, p.time);
    for (const row_knapsack& k : knapsacks) to.emplace(k.budget, k.time);
  }
};

/// Strategies with which a limit of a budget is exceeded at some time even if all other vertices have their least usage
/// (for a lower limit: their largest).
struct strategies_ruled_out {
  std::uint32_t vertex = 0;
  std::vector<strategy> strategies = {};
  std::uint32_t budget = 0;
  std::int64_t time = 0;
  bool of_lower_limit = false;
};

/// A row: a budget at one time.
struct budget_row {
  std::uint32_t budget = 0;
  std::int64_t time = 0;  ///< any, for a budget without live intervals
  friend bool operator==(const budget_row&, const budget_row&) = default;
};

/// A strategy that is removed where another one of its vertex is at least as good: it costs no more whatever the other
/// vertices do, and uses no more of any row that is kept. Otherwise it stays.
struct dominated_strategy {
  std::uint32_t step = 0;  ///< before which step of the reduction; the number of all steps: after them
  std::uint32_t vertex = 0;
  strategy removed = 0;
  strategy by = 0;
};

/// Eliminates vertices one after the other, and removes dominated strategies between the steps. The least cost and
/// least usage of an eliminated vertex, given its neighbours' strategies, move to these: what is left costs no more
/// than the whole, so a bound on it is a bound on the whole.
/// Source: R. Dechter and I. Rish, Mini-buckets: a general scheme for bounded inference, J. ACM 50 (2003).
struct placement_reduction {
  std::vector<budget_row> rows = {};  ///< that are kept; no others count in what is left
  /// Per step one to three vertices: the one that is eliminated, then up to two of its neighbours, the receivers. By
  /// minimization over its strategies its own cost and its costs with the receivers become a constant (no receiver), a
  /// cost of the one receiver, or a table between both. Each table with another neighbour becomes a table of that with
  /// the first receiver, or, without receivers, a cost of the neighbour.
  std::vector<std::vector<std::uint32_t>> steps = {};
  std::vector<dominated_strategy> dominated = {};  ///< by step, and in this order
};

/// A case of a proof: a set of assignments. It is of one of four kinds, told by the fields that are set:
///  - reduced (`reduction`): what the reduction leaves is the one case in `cases`;
///  - bounded (`multipliers`, no `cases`): the bound of the multipliers, or with an `elimination_order` the optimum
///    that a dynamic program finds at their prices, proves the claim;
///  - narrowed (`multipliers` and one of `cases`): strategies whose own bound by the multipliers is at least the
///    proof's `cutoff` (with `only_limits`: that exceed a limit) are removed, and the one case has the rest. Unless
///    `only_limits`, the bound before the removal holds for that case and all below it, too;
///  - split (neither): each of `parts`, strategies of `vertex`, makes one of `cases`.
struct placement_case {
  std::optional<std::uint32_t> reduction = std::nullopt;
  std::optional<std::uint32_t> multipliers = std::nullopt;
  /// Of a case that is bounded: the vertices that a dynamic program eliminates, in this order, and then all others; it
  /// finds the least cost with usage at the multipliers' prices, whatever their messages are. Empty: there is none.
  std::vector<std::uint32_t> elimination_order = {};
  std::uint32_t vertex = 0;                       ///< the vertex of a split
  std::vector<std::vector<strategy>> parts = {};  ///< a partition of its remaining strategies
  std::vector<std::uint32_t> cases = {};  ///< one per part, or the one for the rest; larger than this case's number
};

/// A proof that no assignment costs less than `lower_bound`, or that none is feasible. `check_certificate` (or any
/// program that implements docs/proofs.md) decides whether it is one. Case 0 contains all assignments.
template <cost_value Cost>
struct placement_certificate {
  std::string problem = {};  ///< its name, for people
  Cost lower_bound{};        ///< of the objective; nothing if `infeasible`
  /// Strategies are removed whose bound is at least this; no less than `lower_bound`, which it is if it is not set.
  std::optional<Cost> cutoff = std::nullopt;
  bool infeasible = false;                           ///< no assignment keeps all constraints
  savings_form counted = savings_form::off;          ///< how savings count in the objective
  windows_form windows = {};                         ///< of that form
  std::vector<savings_prices> savings = {};          ///< prices that multipliers refer to
  std::vector<strategies_ruled_out> ruled_out = {};  ///< applied in this order
  std::vector<placement_reduction> reductions = {};
  std::vector<placement_multipliers> multipliers = {};
  std::vector<placement_case> cases = {};
};

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/detail/usage_changes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Prices of rows in terms that survive reductions, for warm starts.

namespace shardweave::inline v0::detail {

/// Prices of rows, by what stays of a row when a problem is reduced or restricted: its budget and its time.
class known_prices {
 public:
  known_prices() = default;
  /// Complexity: O(usage amounts + rows) if any price is not zero
  template <cost_value Cost>
  known_prices(const compact_problem<Cost>& p, std::span<const double> prices) {
    if (std::ranges::all_of(prices, [](double price) { return price == 0; })) return;
    const std::vector<std::uint32_t> heir = heirs(p);
    for (std::size_t r = 0; r < prices.size(); ++r)
      if (prices[r] != 0)  // a price below zero is against a lower limit
        known_.push_back({place_of(p.rows()[r]), place_of(p.rows()[prices[r] > 0 ? heir[r] : r]), prices[r]});
  }

  /// One price per row of another problem. A row mostly goes because another one implies it, to which its price goes;
  /// if that is gone, too, or not known, to the nearest row of the budget in time, the later of two. Complexity:
  /// O((rows + prices) log rows)
  template <cost_value Cost>
  [[nodiscard]] std::vector<double> for_rows_of(const compact_problem<Cost>& p) const {
    std::vector<double> prices(p.rows().size());
    std::vector<std::pair<place, std::size_t>> rows;
    for (std::size_t r = 0; r < prices.size(); ++r) rows.emplace_back(place_of(p.rows()[r]), r);
    std::sort(rows.begin(), rows.end());
    const auto from = [&](place at) {
      return std::lower_bound(rows.begin(), rows.end(), std::pair(at, std::size_t{0}));
    };
    const auto nearest = [&](place at) {
      const auto after = from(at);
      const bool has_after = after != rows.end() && after->first.first == at.first;
      const bool has_before = after != rows.begin() && std::prev(after)->first.first == at.first;
      if (!has_before) return has_after ? after : rows.end();
      const auto before = std::prev(after);
      return has_after && after->first.second - at.second <= at.second - before->first.second ? after : before;
    };
    const auto is_at = [&](auto row, place at) { return row != rows.end() && row->first == at; };
    for (const auto& [at, heir, price] : known_) {
      auto to = from(at);
      if (!is_at(to, at)) to = from(heir);
      if (!is_at(to, at) && !is_at(to, heir)) to = nearest(at);
      if (to != rows.end()) prices[to->second] += price;
    }
    return prices;
  }

  [[nodiscard]] bool empty() const { return known_.empty(); }

 private:
  using place = std::pair<std::uint32_t, std::int64_t>;  ///< budget and time
  static place place_of(const usage_row& row) { return {row.budget, row.time}; }

  /// Per row, the one whose upper limit implies the least limit on its usage; the row itself where there is none, or
  /// one on each side.
  template <cost_value Cost>
  [[nodiscard]] static std::vector<std::uint32_t> heirs(const compact_problem<Cost>& p) {
    usage_changes changes(p.rows().size());
    for (std::uint32_t x = 0; x < p.size(); ++x) changes.add(p.segments(x));
    std::vector<std::uint32_t> heir(p.rows().size());
    std::iota(heir.begin(), heir.end(), 0U);
    std::vector<double> least(heir.size(), std::numeric_limits<double>::infinity());
    const auto note = [&](std::uint32_t r, const implied_limit& implied) {
      if (implied.value() <= least[r]) heir[r] = implied.value() < least[r] ? implied.by : r;
      least[r] = std::min(least[r], implied.value());
      return p.rows()[r].high;
    };
    changes.forward(p.rows(), note);
    changes.backward(p.rows(), note);
    return heir;
  }

  struct known {
    place at;
    place heir;  ///< see `heirs`
    double price;
  };
  std::vector<known> known_;
};

}  // namespace shardweave::inline v0::detail

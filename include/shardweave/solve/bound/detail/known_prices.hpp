#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  /// Complexity: O(usage amounts + rows log rows) if any price is not zero
  template <cost_value Cost>
  known_prices(const compact_problem<Cost>& p, std::span<const double> prices) {
    if (std::ranges::all_of(prices, [](double price) { return price == 0; })) return;
    const std::vector<double> lead = leads(p);
    for (std::size_t r = 0; r < prices.size(); ++r)  // a price below zero is against a lower limit
      if (prices[r] != 0) known_.push_back({place_of(p.rows()[r]), prices[r], prices[r] > 0 ? lead[r] : 0});
    std::ranges::sort(known_, {}, &known::at);
  }

  /// One price per row of another problem. A row mostly goes because a neighbour implies it: its price goes to the next
  /// row of its budget, earlier or later, on the side that came nearer to that; to the nearer in time if both sides
  /// came equally near, or that is not known. Complexity: O((rows + prices) log rows)
  template <cost_value Cost>
  [[nodiscard]] std::vector<double> for_rows_of(const compact_problem<Cost>& p) const {
    std::vector<double> prices(p.rows().size());
    std::vector<std::pair<place, std::size_t>> rows;
    for (std::size_t r = 0; r < prices.size(); ++r) rows.emplace_back(place_of(p.rows()[r]), r);
    std::sort(rows.begin(), rows.end());
    for (const auto& [at, price, lead] : known_) {
      const auto after = std::lower_bound(rows.begin(), rows.end(), std::pair(at, std::size_t{0}));
      if (after != rows.end() && after->first == at) {
        prices[after->second] += price;
        continue;
      }
      const bool has_after = after != rows.end() && after->first.first == at.first;
      const bool has_before = after != rows.begin() && std::prev(after)->first.first == at.first;
      if (!has_after && !has_before) continue;
      bool takes_after = !has_before;
      if (has_after && has_before) {
        const auto later = after->first.second - at.second, earlier = at.second - std::prev(after)->first.second;
        takes_after = lead != 0 ? lead < 0 : later <= earlier;
      }
      prices[(takes_after ? after : std::prev(after))->second] += price;
    }
    return prices;
  }

  [[nodiscard]] bool empty() const { return known_.empty(); }

 private:
  using place = std::pair<std::uint32_t, std::int64_t>;  ///< budget and time
  static place place_of(const usage_row& row) { return {row.budget, row.time}; }

  /// Per row, the margin by which the row before it implies its upper limit, less that of the row after it. The margin
  /// is what its limit is higher, less what labelings can use more of it at most; below zero the one may not imply the
  /// other. Zero where there is no such row, or no such limit.
  template <cost_value Cost>
  [[nodiscard]] static std::vector<double> leads(const compact_problem<Cost>& p) {
    const auto rows = p.rows();
    std::vector<double> rise(rows.size() + 1), fall(rows.size() + 1);  // at most, from each row to the next
    const auto step = [&](std::uint32_t r, std::span<const double> from, std::span<const double> to) {
      double most = -std::numeric_limits<double>::infinity(), least = -most;
      for (std::size_t l = 0; l < std::max(from.size(), to.size()); ++l) {
        const double change = (to.empty() ? 0 : to[l]) - (from.empty() ? 0 : from[l]);
        most = std::max(most, change);
        least = std::min(least, change);
      }
      rise[r] += most;
      fall[r] -= least;
    };
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      const usage_segment* last = nullptr;
      for (const usage_segment& s : p.segments(x)) {
        const bool joins = last != nullptr && last->end == s.begin;
        if (last != nullptr && !joins) step(last->end, last->usage, {});
        step(s.begin, joins ? std::span<const double>(last->usage) : std::span<const double>(), s.usage);
        last = &s;
      }
      if (last != nullptr) step(last->end, last->usage, {});
    }
    std::vector<double> result(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r == 0 || r + 1 == rows.size() || rows[r - 1].budget != rows[r + 1].budget) continue;
      const double lead = (rows[r + 1].high + fall[r + 1]) - (rows[r - 1].high + rise[r]);
      if (std::isfinite(lead)) result[r] = lead;
    }
    return result;
  }

  struct known {
    place at;
    double price;
    double lead;  ///< see `leads`
  };
  std::vector<known> known_;
};

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/knapsack_room.hpp>
#include <shardweave/placement/knapsack_sums.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The least sums of rows as knapsacks, as who checks a certificate counts them.

namespace shardweave::inline v0::detail {

/// Cells of a knapsack in a certificate, see `row_knapsack::cells`.
inline constexpr std::uint32_t row_cells = 1024;

/// What amounts in a row come to at least.
struct row_sums {
  double least = 0;
  /// Per member and label how far the least sum with it is above that; infinite where there is no room for it.
  std::vector<std::vector<double>> more = {};
};

/// What labels use of a row, per variable; empty if it uses nothing.
template <cost_value Cost>
[[nodiscard]] std::vector<std::vector<double>> usage_of_row(const compact_problem<Cost>& p, std::uint32_t row) {
  std::vector<std::vector<double>> used(p.size());
  for (std::uint32_t x = 0; x < p.size(); ++x)
    for (const usage_segment& s : p.segments(x)) {
      if (row < s.begin || s.end <= row) continue;
      used[x].resize(p.label_count(x));
      for (std::size_t l = 0; l < used[x].size(); ++l) used[x][l] += s.usage[l];
    }
  return used;
}

/// The least number of bits so that usages are whole multiples of 2^-bits, but not so many that a limit and the sum of
/// all usage need more than 52 bits.
[[nodiscard]] inline int usage_bits(const std::vector<std::vector<double>>& used, double limit) {
  double most = std::abs(limit) + 1;
  for (const auto& of : used) most += of.empty() ? 0 : *std::ranges::max_element(of);
  const int most_bits = 51 - std::ilogb(most);
  int bits = std::min(0, most_bits);
  for (const auto& of : used)
    for (const double u : of)
      while (bits < most_bits && std::ldexp(u, bits) != std::floor(std::ldexp(u, bits))) ++bits;
  return bits;
}

/// The least sums of a row, with usage in the cells of `check_certificate`, up to the unit in which it is whole: that
/// of the checker is that of all usage of the budget. Nothing if no labeling keeps the row. Complexity: O(labels *
/// segments), and that of `knapsack_sums` with `row_cells` \pre the row has an upper limit
template <cost_value Cost>
[[nodiscard]] std::optional<row_sums> row_sums_of(const compact_problem<Cost>& p, const row_amounts& of) {
  const double limit = p.rows()[of.row].high;
  const std::vector<std::vector<double>> used = usage_of_row(p, of.row);
  const int bits = usage_bits(used, limit);
  const auto whole = [bits](double u) { return static_cast<std::int64_t>(std::floor(std::ldexp(u, bits))); };
  knapsack_room<std::int64_t>::row_usage in_units(p.size());
  strategies_left all_left(p.size());
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    all_left[x].assign(p.label_count(x), 1);
    if (used[x].empty()) continue;
    std::vector<std::int64_t> units;
    for (const double u : used[x]) units.push_back(whole(u));
    in_units[x] = std::make_shared<const std::vector<std::int64_t>>(std::move(units));
  }
  std::vector<std::uint32_t> members;
  for (const row_amounts::member& m : of.members) members.push_back(m.variable);
  const knapsack_room<std::int64_t> room(std::move(in_units), whole(limit + certificate_tolerance), all_left, members,
                                         row_cells);
  if (room.is_exceeded()) return std::nullopt;
  knapsack_sums<double> sums(room.cells(), members.size());
  for (const row_amounts::member& m : of.members) {
    std::vector<knapsack_sums<double>::option> options;
    for (std::size_t l = 0; l < m.amounts.size(); ++l) options.push_back({room.weight(m.variable, l), m.amounts[l]});
    sums.add(std::move(options));
  }
  row_sums result{sums.least(), std::vector<std::vector<double>>(members.size())};
  for (std::size_t i = members.size(); i-- > 0;)
    for (const std::optional<double>& more : sums.excess(i))
      result.more[i].push_back(more.value_or(std::numeric_limits<double>::infinity()));
  return result;
}

}  // namespace shardweave::inline v0::detail

#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Precision and magnitude of the numbers with which a certificate is checked.

namespace shardweave::inline v0::detail {

/// `certificate_tolerance` is 2 to the power of minus this.
inline constexpr int tolerance_bits = 18;
static_assert(certificate_tolerance * (1 << tolerance_bits) == 1);

/// Precision of the numbers of a check, and a bound on their sums.
struct number_range {
  int bits = 0;            ///< all numbers are multiples of 2^-bits
  double magnitude = 0;    ///< upper bound on all sums, in units of cost
  std::vector<int> usage;  ///< per budget: usages and finite limits are multiples of 2^-usage

  void add(double value, double times = 1) { magnitude += std::abs(value) * times; }
  template <cost_value Cost>
  void see(Cost c) {
    if (!is_forbidden(c)) bits = std::max(bits, fraction_bits(c));
  }
};

/// Whether all sums of a check are below an eighth of what 128 bits hold; one bit is the sign.
[[nodiscard]] inline bool fits_128(const number_range& range) {
  return std::isfinite(range.magnitude) && std::ldexp(range.magnitude + 1, range.bits) < 0x1p122;
}

/// The precision of a problem's costs, and a bound on their sums.
template <cost_value Cost>
[[nodiscard]] number_range range_of_costs(const stated_form<Cost>& form) {
  number_range range;
  const auto most_of = [&](auto&& costs) {
    double most = 0;
    for (const Cost cost : costs) {
      range.see(cost);
      if (!is_forbidden(cost)) most = std::max(most, std::abs(static_cast<double>(cost)));
    }
    return most;
  };
  const auto times_of = [&](const auto& term) { return std::ldexp(static_cast<double>(term.times), -form.bits()); };
  for (std::uint32_t x = 0; x < form.size(); ++x) {
    for (const auto& l : form.lists(x))
      if (l.times != 0) range.add(most_of(l.costs), times_of(l));
    for (const auto& t : form.diagonals(x))
      for (strategy s = 0; t.times != 0 && s < form.strategies(x); ++s) {
        const Cost cost = t.at(s, s);
        range.see(cost);
        if (!is_forbidden(cost)) range.add(static_cast<double>(cost), times_of(t));
      }
  }
  std::vector<double> of_table;
  for (const auto& t : form.tables()) {
    double& most = of_table.emplace_back();
    for (const auto& term : t.terms) {
      if (term.times == 0) continue;
      double of_term = 0;
      for (std::size_t i = 0; i < term.table->row_classes(); ++i)
        of_term = std::max(of_term, most_of(std::span(term.table->class_row(i), term.table->column_classes())));
      most += of_term * times_of(term);
    }
  }
  for (const auto& p : form.pairs()) range.add(of_table[p.table], 4);
  range.bits += form.bits();
  return range;
}

/// The precision and magnitude that a check needs.
/// \param range  those of the problem's costs, the larger ones at any of the certificate's prices of savings
/// \pre the certificate has the problem's shape
template <cost_value Cost>
[[nodiscard]] number_range range_of(const placement_description<Cost>& d, number_range range,
                                    const placement_certificate<Cost>& c) {
  for (const budget& b : d.constraints.budgets) {
    int& bits = range.usage.emplace_back();
    for (const budget_term& term : b.terms)
      for (const double u : term.usage) bits = std::max(bits, fraction_bits(u));
  }
  std::vector<double> of_budget;
  for (const budget& b : d.constraints.budgets) {
    double& most = of_budget.emplace_back(1);
    for (const double limit : {b.low, b.high})
      if (std::isfinite(limit)) most += std::abs(limit);
    for (const budget_term& term : b.terms)
      if (!term.usage.empty()) most += *std::max_element(term.usage.begin(), term.usage.end());
  }
  double largest = 0;
  for (const placement_multipliers& m : c.multipliers) {
    range.bits = std::max(range.bits, m.message_bits);
    number_range one;
    const auto add_amounts = [&](std::span<const std::int64_t> amounts) {
      double most = 0;
      for (const std::int64_t a : amounts) most = std::max(most, std::abs(static_cast<double>(a)));
      one.add(std::ldexp(most, -m.message_bits), 4);
    };
    for (std::size_t i = 0; i < m.messages.size(); ++i) add_amounts(m.messages[i].amounts);
    for (const row_price& p : m.prices) {
      range.bits = std::max(range.bits, m.price_bits + range.usage[p.budget]);
      one.add(std::ldexp(static_cast<double>(p.price), -m.price_bits), of_budget[p.budget]);
    }
    for (const row_knapsack& k : m.knapsacks)
      for (const row_knapsack::member& of : k.members) add_amounts(of.amounts);
    largest = std::max(largest, one.magnitude);
  }
  // an elimination adds a table's span to other tables and costs once; tables span twice their largest cost; of each
  // case no vertex is eliminated twice
  std::size_t steps = 0;
  for (const placement_reduction& r : c.reductions) steps += r.steps.size();
  steps = std::min(steps, d.vertices.size());
  if (steps > 0) range.magnitude *= 2 * static_cast<double>(steps + 2);
  range.add(largest, steps > 0 ? 4 : 2);
  range.see(c.lower_bound);
  range.add(static_cast<double>(c.lower_bound));
  if (c.cutoff) {
    range.see(*c.cutoff);
    range.add(static_cast<double>(*c.cutoff));
  }
  // limits and usages are compared in a finer unit before they are rounded to this one
  for (std::size_t b = 0; b < of_budget.size(); ++b) {
    int finest = std::max(range.usage[b], tolerance_bits);
    for (const double limit : {d.constraints.budgets[b].low, d.constraints.budgets[b].high})
      finest = std::max(finest, fraction_bits(limit));
    range.add(std::ldexp(of_budget[b], std::max(0, finest - range.bits)));
  }
  return range;
}

}  // namespace shardweave::inline v0::detail

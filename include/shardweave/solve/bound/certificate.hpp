#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Lower bounds that a host can prove anew, in whole numbers, without trust in the solver that found them.

namespace shardweave {
inline namespace v0 {

/// Multipliers in whole numbers: whatever they are, they prove a bound (see `check`).
struct certificate {
  int cost_bits = 0;                        ///< messages count in units of 2^-cost_bits of the problem's cost
  int price_bits = 0;                       ///< prices in units of 2^-price_bits of cost per unit of usage
  std::vector<std::int64_t> prices = {};    ///< per row: above zero against its upper limit, below against its lower
  std::vector<std::int64_t> messages = {};  ///< edge by edge, per column class: from the first end to the second
  double lower_bound = -std::numeric_limits<double>::infinity();  ///< what is claimed
};

/// Labels that some variables are given.
using given_labels = std::vector<std::pair<std::uint32_t, strategy>>;

/// The leaves of a branching tree, each with multipliers that prove a bound of its labelings: at the root a variable is
/// given every one of its labels, below each of these another variable is, and so on (see `check`).
struct certificate_by_cases {
  struct part {
    given_labels given = {};
    certificate proof = {};
  };
  std::vector<part> parts = {};
  double lower_bound = -std::numeric_limits<double>::infinity();  ///< what is claimed
};

namespace detail {

__extension__ typedef __int128 wide_cost;
__extension__ typedef unsigned __int128 wide_bits;

/// Sums and products of 128 bits that remember whether one did not fit, and a value for what is forbidden.
class exact_sums {
 public:
  static constexpr wide_cost nothing = static_cast<wide_cost>(~wide_bits{0} >> 1);

  [[nodiscard]] bool has_failed() const { return failed_; }
  wide_cost add(wide_cost a, wide_cost b) {
    if (a == nothing || b == nothing) return nothing;
    wide_cost sum = 0;
    failed_ = failed_ || __builtin_add_overflow(a, b, &sum);
    return sum;
  }
  wide_cost multiply(wide_cost a, wide_cost b) {
    wide_cost product = 0;
    failed_ = failed_ || __builtin_mul_overflow(a, b, &product);
    return product;
  }
  /// a * 2^bits, rounded down.
  wide_cost shift(wide_cost a, int bits) {
    if (bits < 0) return a >> std::min(-bits, 127);
    if (bits > 100) failed_ = true;
    return multiply(a, wide_cost{1} << std::min(bits, 100));
  }
  template <cost_value Cost>
  wide_cost of_cost(Cost c, int bits) {
    if (is_forbidden(c)) return nothing;
    if constexpr (std::floating_point<Cost>) {
      return of_double(c, bits, false);
    } else {
      return shift(c, bits);
    }
  }
  wide_cost of_double(double value, int bits, bool up) {
    const double scaled = std::ldexp(value, bits);
    if (!(std::abs(scaled) < 0x1p120)) {
      failed_ = true;
      return 0;
    }
    return static_cast<wide_cost>(up ? std::ceil(scaled) : std::floor(scaled));
  }

 private:
  bool failed_ = false;
};

/// The prices of a certificate, applied to usage: everything rounded so that bounds can only be too low.
template <cost_value Cost>
class exact_prices {
 public:
  exact_prices(const compact_problem<Cost>& p, const certificate& c, exact_sums& sums)
      : sums_(sums), before_(p.rows().size() + 1), shift_(c.cost_bits - c.price_bits - usage_bits) {
    bool whole = true;
    for (std::size_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x))
        whole = whole && std::all_of(s.usage.begin(), s.usage.end(), [](double u) { return u == std::floor(u); });
    for (std::size_t r = 0; r < p.rows().size(); ++r) {
      const usage_row& row = p.rows()[r];
      std::int64_t price = c.prices.empty() ? 0 : c.prices[r];
      // a price against a limit that is not there buys nothing
      if (std::isinf(price > 0 ? row.high : row.low)) price = 0;
      before_[r + 1] = sums_.add(before_[r], price);
      if (price != 0) earned_ = sums_.add(earned_, sums_.multiply(price, limit_of(row, price > 0, whole)));
    }
  }

  /// What the usage of a segment costs at least.
  wide_cost of(const usage_segment& s, double usage) {
    const wide_cost per_unit = sums_.add(before_[s.end], -before_[s.begin]);
    if (per_unit == 0) return 0;
    return sums_.shift(sums_.multiply(per_unit, sums_.of_double(usage, usage_bits, per_unit < 0)), shift_);
  }
  /// What all rows earn at most when they are used up to their limits.
  [[nodiscard]] wide_cost earned() { return -sums_.shift(-earned_, shift_); }

 private:
  static constexpr int usage_bits = 20;

  /// Usage within the tolerance of budgets keeps a limit; usage in whole numbers cannot make use of it.
  wide_cost limit_of(const usage_row& row, bool is_high, bool whole) {
    const double limit = is_high ? row.high + budget_tolerance : row.low - budget_tolerance;
    if (whole) return sums_.of_double(is_high ? std::floor(limit) : std::ceil(limit), usage_bits, is_high);
    const double infinity = std::numeric_limits<double>::infinity();
    return sums_.of_double(std::nextafter(limit, is_high ? infinity : -infinity), usage_bits, is_high);
  }

  exact_sums& sums_;
  std::vector<wide_cost> before_;  ///< prices of the rows before each
  wide_cost earned_ = 0;
  int shift_;
};

/// One pass over the variables from the last to the first, in whole numbers.
template <cost_value Cost>
std::optional<wide_cost> exact_pass(const compact_problem<Cost>& p, const certificate& c, const given_labels& given) {
  exact_sums sums;
  exact_prices<Cost> prices(p, c, sums);
  std::vector<std::size_t> offset{0};
  for (const compact_edge& e : p.edges()) offset.push_back(offset.back() + p.table(e).column_classes());
  std::vector<std::vector<wide_cost>> sent(p.edges().size());  // to the first end, per row class
  wide_cost total = sums.add(sums.of_cost(p.constant(), c.cost_bits), -prices.earned());
  const auto take_least = [&](std::vector<wide_cost>& values) {
    const wide_cost least = *std::min_element(values.begin(), values.end());
    total = sums.add(total, least);
    if (least != exact_sums::nothing)
      for (wide_cost& v : values) v = sums.add(v, -least);
  };
  for (std::size_t x = p.size(); x-- > 0 && total != exact_sums::nothing;) {
    std::vector<wide_cost> belief;
    for (const Cost u : p.unary(x)) belief.push_back(sums.of_cost(u, c.cost_bits));
    for (const usage_segment& s : p.segments(x))
      for (std::size_t l = 0; l < belief.size(); ++l) belief[l] = sums.add(belief[l], prices.of(s, s.usage[l]));
    for (const auto& [variable, label] : given)
      for (std::size_t l = 0; variable == x && l < belief.size(); ++l)
        if (l != label) belief[l] = exact_sums::nothing;
    const auto received = [&](const compact_link& link, std::size_t l) -> wide_cost {
      const auto& t = p.table(p.edges()[link.edge]);
      if (link.is_first) return sent[link.edge][t.row_class()[l]];
      return c.messages.empty() ? 0 : c.messages[offset[link.edge] + t.column_class()[l]];
    };
    std::size_t later = 0, earlier = 0;
    for (const compact_link& link : p.links(x)) {
      ++(link.is_first ? later : earlier);
      for (std::size_t l = 0; l < belief.size(); ++l) belief[l] = sums.add(belief[l], received(link, l));
    }
    take_least(belief);
    const auto parts = static_cast<wide_cost>(std::max<std::size_t>({later, earlier, 1}));
    for (const compact_link& link : p.links(x)) {
      if (link.is_first || total == exact_sums::nothing) continue;
      const auto& t = p.table(p.edges()[link.edge]);
      std::vector<wide_cost> least(t.column_classes(), exact_sums::nothing);
      for (std::size_t l = 0; l < belief.size(); ++l)
        if (belief[l] != exact_sums::nothing) {  // not negative: division rounds down
          wide_cost& at = least[t.column_class()[l]];
          at = std::min(at, sums.add(belief[l] / parts, -received(link, l)));
        }
      std::vector<wide_cost>& out = sent[link.edge];
      out.assign(t.row_classes(), exact_sums::nothing);
      for (std::size_t i = 0; i < out.size(); ++i)
        for (std::size_t j = 0; j < least.size(); ++j)
          out[i] = std::min(out[i], sums.add(least[j], sums.of_cost(t.class_cost(i, j), c.cost_bits)));
      take_least(out);
    }
  }
  if (sums.has_failed()) return std::nullopt;
  return total;
}

}  // namespace detail

/// Proves a lower bound from multipliers alone: no assignment that keeps all rows costs less than what is returned.
/// All sums are of whole numbers of 128 bits, rounded towards a lower bound, so nothing is lost to floating point:
/// with costs in integers the bound is the least integer that the multipliers allow. Shares no code with solvers.
///
/// \param given  labels that some variables have in the assignments that are bounded
/// \returns the lowest number of the type if a sum did not fit; a forbidden cost if no assignment is allowed
/// \throws error (input) if the certificate is not of the problem's shape
/// Complexity: O(labels * degree + sum over the edges of row classes * column classes)
/// Source: the bound of one pass of sequential tree-reweighted message passing, which holds for any messages
/// (V. Kolmogorov, PAMI 28, 2006); prices are Lagrange multipliers of the rows.
template <cost_value Cost>
[[nodiscard]] Cost check(const compact_problem<Cost>& p, const certificate& c, const given_labels& given = {}) {
  std::size_t messages = 0;
  for (const compact_edge& e : p.edges()) messages += p.table(e).column_classes();
  const auto expect = [](const char* what, std::size_t found, std::size_t expected) {
    if (found != 0 && found != expected)
      refuse(error_category::input, "certificate: has " + std::to_string(found) + " " + what + ", expected " +
                                        std::to_string(expected) + " or none");
  };
  expect("prices", c.prices.size(), p.rows().size());
  expect("messages", c.messages.size(), messages);
  for (const int bits : {c.cost_bits, c.price_bits})
    if (bits < 0 || bits > 100)
      refuse(error_category::input, "certificate: has units of " + std::to_string(bits) + " bits, expected 0 to 100");
  const auto total = detail::exact_pass(p, c, given);
  if (!total) return std::numeric_limits<Cost>::lowest();
  if (*total == detail::exact_sums::nothing) return forbidden<Cost>;
  if constexpr (std::floating_point<Cost>) {
    auto value = static_cast<Cost>(*total);
    if (static_cast<detail::wide_cost>(value) > *total)
      value = std::nextafter(value, -std::numeric_limits<Cost>::infinity());
    return std::ldexp(value, -c.cost_bits);
  } else {
    const detail::wide_cost least = -(-*total >> c.cost_bits);  // whole costs: round up
    if (least < std::numeric_limits<Cost>::lowest() || least >= forbidden<Cost>)
      return std::numeric_limits<Cost>::lowest();
    return static_cast<Cost>(least);
  }
}

namespace detail {

/// Whether cases that agree in their first `depth` given labels leave none out.
template <cost_value Cost>
void expect_all_cases(const compact_problem<Cost>& p, std::span<const given_labels* const> cases, std::size_t depth) {
  if (cases.size() == 1 && cases.front()->size() == depth) return;
  const auto refuse_with = [](const std::string& what) { refuse(error_category::input, "certificate: " + what); };
  if (cases.empty() || cases.front()->size() == depth) return refuse_with("cases overlap, or there are none");
  const std::uint32_t x = (*cases.front())[depth].first;
  if (x >= p.size()) refuse_with("has variable " + std::to_string(x) + " of " + std::to_string(p.size()));
  std::vector<std::vector<const given_labels*>> with(p.label_count(x));
  for (const given_labels* c : cases) {
    if (c->size() == depth || (*c)[depth].first != x || (*c)[depth].second >= with.size())
      refuse_with("cases beside one of variable " + std::to_string(x) + " are not of its labels");
    with[(*c)[depth].second].push_back(c);
  }
  for (std::size_t l = 0; l < with.size(); ++l) {
    if (with[l].empty()) refuse_with("no case has label " + std::to_string(l) + " of variable " + std::to_string(x));
    expect_all_cases(p, std::span<const given_labels* const>(with[l]), depth + 1);
  }
}

}  // namespace detail

/// Proves a lower bound case by case: that the cases leave no assignment out, and a bound of each.
///
/// \returns the least of what `check` returns for the cases
/// \throws error (input) if cases are missing, or a certificate is not of the problem's shape
template <cost_value Cost>
[[nodiscard]] Cost check(const compact_problem<Cost>& p, const certificate_by_cases& c) {
  std::vector<const given_labels*> all;
  for (const certificate_by_cases::part& part : c.parts) all.push_back(&part.given);
  detail::expect_all_cases(p, std::span<const given_labels* const>(all), 0);
  Cost least = forbidden<Cost>;
  for (const certificate_by_cases::part& part : c.parts) least = std::min(least, check(p, part.proof, part.given));
  return least;
}

}  // namespace v0
}  // namespace shardweave

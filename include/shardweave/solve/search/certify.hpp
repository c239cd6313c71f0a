#pragma once

#include <shardweave/solve/bound/certificate.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bound_cases.hpp>
#include <shardweave/solve/search/detail/stated_multipliers.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Certificates from message passing.

namespace shardweave {
inline namespace v0 {

/// Rounds what a message passing has reached to whole numbers.
///
/// \param ascent  after a pass forward, with the prices in its unary costs
/// \param prices  one per row, or none
/// \param given   labels that some variables have in the assignments that are bounded
/// \returns a certificate whose claim is what `check` proves
template <cost_value Cost>
[[nodiscard]] certificate certificate_of(const compact_problem<Cost>& p, const dual_ascent<Cost>& ascent,
                                         const std::vector<double>& prices, const given_labels& given = {}) {
  certificate c;
  std::vector<double> messages;
  double most_message = 0, most_price = 0;
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const auto& t = p.table(p.edges()[e]);
    std::vector<double> of_class(t.column_classes());
    for (strategy l = 0; l < t.columns(); ++l) of_class[t.column_class(l)] = ascent.message(e, true, l);
    messages.insert(messages.end(), of_class.begin(), of_class.end());
  }
  for (const double m : messages)
    if (std::isfinite(m)) most_message = std::max(most_message, std::abs(m));
  for (const double price : prices) most_price = std::max(most_price, std::abs(price));
  // fine enough to lose nothing that matters, coarse enough for sums of 128 bits
  c.cost_bits = std::clamp(56 - detail::magnitude_bits(most_message), 0, std::floating_point<Cost> ? 40 : 16);
  c.price_bits = std::clamp(40 - detail::magnitude_bits(most_price), 0, 100);
  for (const double m : messages) c.messages.push_back(detail::rounded_down(m, c.cost_bits));
  for (const double price : prices) c.prices.push_back(detail::rounded_down(price, c.price_bits));
  c.lower_bound = static_cast<double>(check(p, c, given));
  if constexpr (!std::floating_point<Cost>)
    if (std::abs(c.lower_bound) > 0x1p53)
      c.lower_bound = std::nextafter(c.lower_bound, -std::numeric_limits<double>::infinity());
  return c;
}

/// Bounds a problem by message passing with prices on rows and certifies the bound. What reductions, knapsacks and
/// branching add to a solver's bound is not in it: it is near the linear relaxation's.
///
/// \param prices  that a solver found good, one per row, or none
/// \param steps   of the ascent, at most
template <cost_value Cost>
[[nodiscard]] certificate certify(const compact_problem<Cost>& p, std::vector<double> prices = {},
                                  std::size_t steps = 1000) {
  price_ascent<Cost> ascent(p);
  ascent.start(std::move(prices));
  for (std::size_t i = 0; i < steps && ascent.step(std::numeric_limits<double>::infinity()); ++i) {
  }
  return certificate_of(p, ascent.at_best(), ascent.prices());
}

/// Bounds a problem by branching (see `detail::bound_cases`) and certifies what the leaves prove.
///
/// \param known   cost of the best assignment known, if any: what is no better need not be bounded further
/// \param rounds  of work on the least case, at most
template <cost_value Cost>
[[nodiscard]] certificate_by_cases certify_by_cases(const compact_problem<Cost>& p, Cost known = forbidden<Cost>,
                                                    std::size_t steps = 1000, std::size_t rounds = 200) {
  detail::incumbent<Cost> best;
  best.set_cutoff(known);
  price_ascent<Cost> ascent(p);
  for (std::size_t i = 0; i < steps && ascent.step(best.upper()); ++i) {
  }
  const solve_control control;
  const deadline limit(control);
  detail::bound_cases<Cost> cases(p, ascent.position(), ascent.bound(), true);
  for (std::size_t i = 0; i < rounds && cases.work(best, limit); ++i) {
  }
  certificate_by_cases c{.lower_bound = std::numeric_limits<double>::infinity()};
  for (const auto& part : cases.cases()) {
    price_ascent<Cost>& at = cases.ascent_at(part, best);
    c.parts.push_back({part.given, certificate_of(p, at.at_best(), at.prices(), part.given)});
    c.lower_bound = std::min(c.lower_bound, c.parts.back().proof.lower_bound);
  }
  return c;
}

}  // namespace v0
}  // namespace shardweave

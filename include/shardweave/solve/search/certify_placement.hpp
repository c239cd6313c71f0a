#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/proof_at_hand.hpp>
#include <shardweave/solve/search/detail/proof_record.hpp>
#include <shardweave/solve/search/detail/proof_relaxation.hpp>
#include <shardweave/solve/search/detail/stated_multipliers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Certificates of lower bounds, stated for the problem before compilation, so that they can be checked without
/// solvers.

namespace shardweave::inline v0 {

/// Limits on the effort of a proof.
struct certify_options {
  std::size_t steps = 1000;  ///< steps of the ascent at the root, at most
  std::size_t nodes = 2000;  ///< subproblems, at most
};

namespace detail {

/// Strategies that compilation removed because of limits, each with the row that proves it.
/// \param wanted  strategies that compilation left, per unknown; empty: removes whatever can be
/// \param limit   ends the work; what was removed until then is returned
template <cost_value Cost>
[[nodiscard]] std::vector<strategies_ruled_out> ruled_out_by_limits(const placement_description<Cost>& d,
                                                                    const stated_form<Cost>& form,
                                                                    const strategies_left& wanted,
                                                                    const deadline& limit) {
  std::vector<strategies_ruled_out> result;
  strategies_left left = form.all_left();
  form.propagate(left);
  const std::vector<usage_row> rows = form.rows();
  const auto is_done = [&] {
    if (limit.expired() || left == wanted) return true;
    return std::any_of(left.begin(), left.end(),
                       [](const auto& of) { return std::count(of.begin(), of.end(), 1) == 0; });
  };
  for (bool changed = true; changed && !is_done();) {
    changed = false;
    for (const usage_row& row : rows)
      for (const bool of_low : {false, true}) {
        if (std::isinf(of_low ? row.low : row.high)) continue;
        if (limit.expired()) return result;
        const double sign = of_low ? -1 : 1;
        const double most = of_low ? -row.low : row.high;
        const auto used = form.template usage<double>(d.constraints.budgets[row.budget], row.time,
                                                      [&](double u) { return sign * u; });
        const auto least_of = [&](std::uint32_t x) {
          double least = std::numeric_limits<double>::infinity();
          for (std::size_t s = 0; s < used[x].size(); ++s)
            if (left[x][s] != 0) least = std::min(least, used[x][s]);
          return std::isfinite(least) ? least : 0;
        };
        double total = 0;
        for (std::uint32_t x = 0; x < form.size(); ++x) total += least_of(x);
        for (std::uint32_t x = 0; x < form.size(); ++x) {
          if (used[x].empty() && total <= most + budget_tolerance) continue;
          const double least = least_of(x);
          strategies_ruled_out found{form.first_vertex(x), {}, row.budget, row.time, of_low};
          for (strategy s = 0; s < left[x].size(); ++s)
            if (left[x][s] != 0 && (wanted.empty() || wanted[x][s] == 0) &&
                total - least + (used[x].empty() ? 0 : used[x][s]) > most + 4 * budget_tolerance)
              found.strategies.push_back(s);
          if (found.strategies.empty()) continue;
          for (const strategy s : found.strategies) left[x][s] = 0;
          form.propagate(left, {x});
          result.push_back(std::move(found));
          changed = true;
          if (is_done()) return result;
          total = 0;
          for (std::uint32_t y = 0; y < form.size(); ++y) total += least_of(y);
        }
      }
  }
  return result;
}

/// Proves a bound by branch and bound over the compiled problem, or over the same problem with the costs `other`.
/// \param known  as `certify_placement` has it
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certified_by_cases(const placement_problem<Cost>& problem,
                                                             const compact_problem<Cost>& p,
                                                             const costs_in_place<Cost>* other, Cost known,
                                                             const certify_options& options,
                                                             const solve_control& control) {
  const placement_description<Cost>& d = *problem.description();
  const deadline limit(control);
  last_moment moment(limit);
  const auto go_on = [&] {
    if (moment.is_over()) refuse_unchecked(d);
  };
  go_on();
  incumbent<Cost> best;
  best.set_cutoff(known);
  const stated_form<Cost> form(d, other);
  go_on();
  const stated_multipliers<Cost> in_stated(problem, form);
  proof_record<Cost> record(p, in_stated);
  proof_at_hand<Cost> proofs(d, other, record, best, control, limit, moment);
  kept_labels all(p.size());
  for (std::size_t x = 0; x < p.size(); ++x)
    for (strategy l = 0; l < p.label_count(x); ++l) all[x].push_back(l);
  go_on();
  proofs.begin_with(ruled_out_by_limits(d, form, in_stated.left(all), limit));
  go_on();
  constexpr double worthwhile = 0.02;  // share of labels that a round of reduced-cost fixing must remove
  proof_relaxation<Cost> bounds(problem, p, in_stated, best, proofs,
                                {.root_steps = options.steps, .nodes = options.nodes}, record);
  bounded_search<Cost, proof_relaxation<Cost>, proof_record<Cost>>(p, best, bounds, record, worthwhile).run();
  return proofs.last();
}

}  // namespace detail

/// A proof of infeasibility, if arc consistency and single rows suffice for one; nothing otherwise, or if time ran out.
template <cost_value Cost>
[[nodiscard]] std::optional<placement_certificate<Cost>> certify_infeasible(const placement_description<Cost>& d,
                                                                            const solve_control& control = {}) {
  const deadline limit(control);
  placement_certificate<Cost> c{.problem = d.name, .infeasible = true, .counted = d.counted, .windows = d.windows};
  c.ruled_out = detail::ruled_out_by_limits(d, stated_form<Cost>(d), {}, limit);
  c.multipliers.push_back({.only_limits = true});
  c.cases.push_back({.multipliers = 0});
  const certificate_verdict<Cost> proven = proven_by<Cost>(d, c, nullptr, limit.rest_for_part());
  if (!proven.accepted || !is_forbidden(proven.bound)) return std::nullopt;
  return c;
}

/// Proves a lower bound by message passing, prices on budgets and branching, and states it for the problem before
/// compilation, with savings. Whatever solvers prove by reductions, dynamic programs and knapsacks takes more cases
/// here: the certificate's `lower_bound` is what `check_certificate` accepts, and may be below a solver's.
///
/// \param known  cost of the best assignment known, if any: subproblems whose bound reaches it are not branched
///
/// A stop and the time limit cover all of this. Proofs are checked before they are returned: the last one that was
/// checked in time is, or, for small problems, one that can be checked in a moment.
/// \pre the problem has a description
/// \throws error (input) if it has none, or no proof of any bound is accepted; (stopped) if none was checked in time
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certify_placement(const placement_problem<Cost>& problem,
                                                            Cost known = forbidden<Cost>,
                                                            const certify_options& options = {},
                                                            const solve_control& control = {}) {
  if (problem.description() == nullptr)
    refuse(error_category::input, "a certificate is of a problem as it is stated, but this one has no description");
  return detail::certified_by_cases<Cost>(problem, problem.compact(), nullptr, known, options, control);
}

/// The same for the problem with other costs. \pre it counts no savings
/// \param p      the compiled problem with these costs, rounded
/// \param other  the exact costs
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certify_placement(
    const placement_problem<Cost>& problem, const compact_problem<Cost>& p, const costs_in_place<Cost>& other,
    Cost known = forbidden<Cost>, const certify_options& options = {}, const solve_control& control = {}) {
  if (problem.description() == nullptr)
    refuse(error_category::input, "a certificate is of a problem as it is stated, but this one has no description");
  return detail::certified_by_cases<Cost>(problem, p, &other, known, options, control);
}

#ifdef SHARDWEAVE_COMPILED
extern template std::optional<placement_certificate<double>> certify_infeasible(const placement_description<double>&,
                                                                                const solve_control&);
extern template placement_certificate<double> certify_placement(const placement_problem<double>&, double,
                                                                const certify_options&, const solve_control&);
extern template placement_certificate<double> certify_placement(const placement_problem<double>&,
                                                                const compact_problem<double>&,
                                                                const costs_in_place<double>&, double,
                                                                const certify_options&, const solve_control&);
extern template std::optional<placement_certificate<std::int64_t>> certify_infeasible(
    const placement_description<std::int64_t>&, const solve_control&);
extern template placement_certificate<std::int64_t> certify_placement(const placement_problem<std::int64_t>&,
                                                                      std::int64_t, const certify_options&,
                                                                      const solve_control&);
extern template placement_certificate<std::int64_t> certify_placement(const placement_problem<std::int64_t>&,
                                                                      const compact_problem<std::int64_t>&,
                                                                      const costs_in_place<std::int64_t>&, std::int64_t,
                                                                      const certify_options&, const solve_control&);
#endif

}  // namespace shardweave::inline v0

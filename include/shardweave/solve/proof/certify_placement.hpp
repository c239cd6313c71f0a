#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/proof/certify_options.hpp>
#include <shardweave/solve/proof/detail/proof_at_hand.hpp>
#include <shardweave/solve/proof/detail/proof_kernel.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>
#include <shardweave/solve/proof/detail/proof_relaxation.hpp>
#include <shardweave/solve/proof/detail/rest_relaxation.hpp>
#include <shardweave/solve/proof/detail/ruled_out.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

/// \file
/// Certificates of lower bounds, stated for the problem before compilation, so that they can be checked without
/// solvers.

namespace shardweave::inline v0 {

namespace detail {

/// Steps of the ascent at the root. An ascent of many steps begins with large ones, and is worth little if it is cut
/// short; of the contest's S a thousand take some seconds.
[[nodiscard]] inline std::size_t steps_within(std::size_t most, double seconds) {
  constexpr double least = 1000, a_second = 100;
  const double in_time = std::max(least, a_second * seconds);
  return in_time < static_cast<double>(most) ? static_cast<std::size_t>(in_time) : most;
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
  kept_labels all;
  for (const auto& [x, labels] : origin_of(p)) all.push_back(labels);
  go_on();
  auto [ruled_out, left] = ruled_out_by_limits(form, in_stated.left(all), limit);
  proofs.begin_with(std::move(ruled_out));
  go_on();
  const std::size_t root_steps = steps_within(options.steps, control.seconds);
  const proof_effort effort{.root_steps = root_steps, .nodes = options.nodes, .work = options.work};
  constexpr double worthwhile = 0.02;  // share of labels that a round of reduced-cost fixing must remove
  if (d.counted == savings_form::off) {
    proofs.look();
    proof_kernel<Cost> kernel(d, p, form, in_stated, std::move(left), best, proofs, limit);
    if (kernel.run(root_steps)) {
      if (kernel.is_proven()) return proofs.last();
      const std::shared_ptr<const proof_rest<Cost>> root = kernel.base();
      proof_record<Cost, rounded_problem> of_rest(*root->problem, *root->in_rest);
      kernel.follow(of_rest);
      rest_relaxation<Cost> bounds(kernel.reduce_further(), best, proofs, effort, of_rest, p.size());
      bounded_search<Cost, rest_relaxation<Cost>, proof_record<Cost, rounded_problem>>(*root->problem, best, bounds,
                                                                                       of_rest, worthwhile)
          .run({.messages = kernel.memory(), .root = root}, kernel.allowed());
      return proofs.last();
    }
  }
  proof_relaxation<Cost> bounds(problem, p, in_stated, best, proofs, effort, record);
  bounded_search<Cost, proof_relaxation<Cost>, proof_record<Cost>>(p, best, bounds, record, worthwhile).run({});
  return proofs.last();
}

}  // namespace detail

/// A proof of infeasibility, if arc consistency and single rows suffice for one; nothing otherwise, or if time ran out.
/// Complexity: that of arc consistency, and of a check of the proof
template <cost_value Cost>
[[nodiscard]] std::optional<placement_certificate<Cost>> certify_infeasible(const placement_description<Cost>& d,
                                                                            const solve_control& control = {}) {
  const deadline limit(control);
  placement_certificate<Cost> c{.problem = d.name, .infeasible = true, .counted = d.counted, .windows = d.windows};
  c.ruled_out = detail::ruled_out_by_limits(stated_form<Cost>(d), {}, limit).first;
  c.multipliers.push_back({.only_limits = true});
  c.cases.push_back({.multipliers = 0});
  const certificate_verdict<Cost> proven = proven_by<Cost>(d, c, nullptr, limit.rest_for_part());
  if (!proven.accepted || !is_forbidden(proven.bound)) return std::nullopt;
  return c;
}

/// Proves a lower bound by eliminations, dominated strategies, message passing, prices on budgets and budgets as
/// knapsacks, branching and dynamic programs, and states it for the problem before compilation; with savings by
/// messages, prices and branching alone. The certificate's `lower_bound` is what `check_certificate` accepts, and may
/// be below a solver's.
///
/// \param known  cost of the best assignment known, if any: subproblems whose bound reaches it are not branched
///
/// A stop and the time limit cover all of this. Proofs are checked before they are returned: the last one that was
/// checked in time is, or, for small problems, one that can be checked in a moment.
/// Complexity: exponential without a limit; `steps` of `price_ascent` at the root, fewer and a dynamic program of at
/// most `work` for each of at most `nodes` subproblems, and checks of the proof from time to time
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

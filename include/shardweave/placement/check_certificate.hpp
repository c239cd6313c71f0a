#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <cstddef>
#include <string>

/// \file
/// Checks proofs of lower bounds in exact integer arithmetic, without any code of the solvers.

namespace shardweave::inline v0 {

/// The result of a check.
template <cost_value Cost>
struct certificate_verdict {
  bool accepted = false;
  std::string failure = {};  ///< the step that does not hold: what was found and what was expected
  std::size_t steps = 0;  ///< number of steps that hold: strategies ruled out, cases reduced, narrowed, bounded, split
  Cost bound{};  ///< if accepted: the proven bound, no less than the claimed one; forbidden if nothing is feasible
};

/// Checks a proof against a problem as it is stated, neither compiled nor reduced.
///
/// Arithmetic is exact: costs are the rationals that doubles are, and sums are of integers in a unit that divides all
/// of them, of 128 bits where these suffice with certainty and of as many as needed otherwise. Nothing is rounded.
/// Usage within 2^-18 above an upper limit (below a lower one) counts as within it, since assignments are judged to
/// within 10^-6 in floating point; if all usages of a budget are whole numbers, so is the limit. Integer costs have
/// integer objectives: their proven bound is rounded up to the next integer.
///
/// Savings count in the form that the problem states, at the certificate's prices of savings: the bound is then one on
/// costs less savings. A certificate that counts them in another form is not accepted.
///
/// \param other  costs that replace those of the problem; null: none
/// \throws error (input) for a problem that `validate` refuses
/// Complexity: per case linear in vertices, strategies, pairs of strategy classes over all edges, and in the terms of
/// every priced budget, and per knapsack in cells times strategies of its members; per elimination strategies times
/// classes of the neighbours; in the memory of the problem's tables in 128 bits.
/// Source: weak duality of the local polytope and of Lagrange multipliers, and mini-buckets, see docs/proofs.md.
template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> check_certificate(const placement_description<Cost>& d,
                                                          const placement_certificate<Cost>& c,
                                                          const costs_in_place<Cost>* other = nullptr);

/// The same without regard to the claimed bound: `bound` is what the proof proves, if it is one.
/// \param control  after a stop or its time limit the proof is not accepted: `failure` says so
template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> proven_by(const placement_description<Cost>& d,
                                                  const placement_certificate<Cost>& c,
                                                  const costs_in_place<Cost>* other = nullptr,
                                                  const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/check_certificate.hpp>
#endif

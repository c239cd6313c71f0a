#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <cstddef>
#include <string>

/// \file
/// Proofs of lower bounds checked in whole numbers, without anything that solvers are made of.

namespace shardweave::inline v0 {

/// What a checker says.
template <cost_value Cost>
struct certificate_verdict {
  bool accepted = false;
  std::string failure = {};  ///< the step that does not hold: what was found and what was expected
  std::size_t steps = 0;     ///< that hold: strategies ruled out, splits, cases bounded
  Cost bound{};  ///< if accepted: what is proven, no less than what is claimed; forbidden if nothing is feasible
};

/// Checks a proof against a problem as it is stated, which nothing compiled or reduced.
///
/// All numbers are exact: costs are the rationals that doubles are, sums are of whole numbers in a unit that divides
/// all of them, of 128 bits where these are certain to hold them and of as many as it takes elsewhere. Nothing is
/// rounded. Usage within 2^-18 above an upper limit (below a lower one) counts as within it, since assignments are
/// judged to within 10^-6 in floating point; where all usages of a budget are whole, so is the limit. Whole costs make
/// whole objectives: there the proven bound may be below the claimed one by less than 1.
///
/// Savings are not seen: what is bounded are costs.
///
/// \param other  costs that count in place of the problem's own, if there are
/// \throws error (input) for a problem that `validate` refuses
/// Complexity: per case linear in vertices, strategies, pairs of strategy classes over all edges, and in the terms of
/// every priced budget; in the memory of the problem's tables in 128 bits
/// Source: weak duality of the local polytope and of Lagrange multipliers, see docs/proofs.md.
template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> check_certificate(const placement_description<Cost>& d,
                                                          const placement_certificate<Cost>& c,
                                                          const costs_in_place<Cost>* other = nullptr);

/// The same without regard to what is claimed: `bound` is what the proof proves, if it is one.
/// \param control  once it asks to stop, or its time is up, the proof is not accepted: `failure` says so
template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> proven_by(const placement_description<Cost>& d,
                                                  const placement_certificate<Cost>& c,
                                                  const costs_in_place<Cost>* other = nullptr,
                                                  const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/placement/impl/check_certificate.hpp>
#endif

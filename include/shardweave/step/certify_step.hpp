#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/proof/certify_options.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

/// \file
/// Certificates for lower bounds on the step.

namespace shardweave::inline v0 {

/// Certifies the claims and weights of a bound: branch and bound over placements at their prices, until the certificate
/// proves slightly more than the bound.
/// \param problem  with its description
/// \returns a certificate whose claim `check_certificate` accepts; it may be slightly below `found.bound`, which
///          solvers may have proven by other means
/// \throws error (input) if `problem` has no description, or no proof of any bound is accepted; (stopped) if none was
///         checked in time
/// Complexity: that of `certify_placement` on the problem at these prices
[[nodiscard]] step_certificate certify_step(const step_bounds& found, const placement_problem<double>& problem,
                                            const step_work& work, const certify_options& options = {},
                                            const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/step/impl/certify_step.hpp>
#endif

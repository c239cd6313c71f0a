#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/search/certify_placement.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_work.hpp>

/// \file
/// Certificates for the step.

namespace shardweave::inline v0 {

/// Certifies the prices that a bound was found with: branches over placements under these prices, up to a little above
/// the bound.
/// \param problem  with its description
/// \returns a certificate whose claim is what `check_certificate` accepts; it may be a little below the bound, which
///          solvers prove by other means, too
[[nodiscard]] step_certificate certify_step(const step_bounds& found, const placement_problem<double>& problem,
                                            const step_work& work, const certify_options& options = {},
                                            const solve_control& control = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/step/impl/certify_step.hpp>
#endif

#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/pipeline.hpp>

#include <optional>
#include <string>

/// \file
/// A plan's bound as a proof that others can check.

namespace programs {

/// What a certificate proves, and where it is.
struct certified_plan {
  bool of_step = false;
  std::string why_not = {};  ///< no certificate was written
  double bound = 0;          ///< nanoseconds of a step, or the problem's unit of a sum
  double claimed = 0;        ///< the bound that was found
  double seconds = 0;        ///< until there was a proof, or none, before it was written
  std::string certificate;
  std::string problem;  ///< empty if it was not written
};

/// Writes the problem that a plan's bound is about.
/// \param certificate  file, or empty for none
/// \param problem  file; empty: named after the certificate, and written only if there is time for one
[[nodiscard]] certified_plan state_problem(const shardweave::training_plan& plan,
                                           const std::optional<shardweave::fastest_plan_result>& fastest,
                                           const std::string& certificate, const std::string& problem,
                                           const shardweave::stop_token& stop);
/// Writes a proof of the bound, unless the time does not suffice for one.
/// \param stated  the problem is written
/// \throws error (input) if the bound is one that certificates do not know
void certify_plan(certified_plan& stated, const shardweave::training_plan& plan,
                  const std::optional<shardweave::fastest_plan_result>& fastest,
                  const shardweave::solve_control& control);

}  // namespace programs

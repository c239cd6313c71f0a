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
  std::string certificate;
  std::string problem;
};

/// Writes the problem that a plan's bound is about, and a proof of it, unless the time does not suffice for one.
/// \param certificate  file, or empty for none
/// \param problem  file; empty: named after the certificate
/// \throws error (input) if the bound is one that certificates do not know
[[nodiscard]] certified_plan certify_plan(const shardweave::training_plan& plan,
                                          const std::optional<shardweave::fastest_plan_result>& fastest,
                                          const std::string& certificate, const std::string& problem,
                                          const shardweave::solve_control& control);

}  // namespace programs

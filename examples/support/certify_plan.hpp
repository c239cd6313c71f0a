#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/solve/search/certify_placement.hpp>
#include <shardweave/step/certify_step.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A plan's bound as a proof that others can check.

namespace programs {

/// What a certificate proves, and where it is.
struct certified_plan {
  bool of_step = false;
  double bound = 0;    ///< nanoseconds of a step, or the problem's unit of a sum
  double claimed = 0;  ///< the bound that was found
  std::string certificate;
  std::string problem;
};

/// Writes the problem that a plan's bound is about, and a proof of it. \param certificate  file, or empty for none
/// \param problem  file; empty: named after the certificate
/// \throws error (input) if the bound is one that certificates do not know
[[nodiscard]] inline certified_plan certify_plan(const shardweave::training_plan& plan,
                                                 const std::optional<shardweave::fastest_plan_result>& fastest,
                                                 const std::string& certificate, const std::string& problem,
                                                 const shardweave::solve_control& control) {
  namespace sw = shardweave;
  certified_plan result{.of_step = fastest && fastest->work != nullptr,
                        .certificate = certificate,
                        .problem = problem.empty() ? certificate + ".problem.json.gz" : problem};
  if (result.of_step) {
    sw::write_step_problem(result.problem, *fastest->bounded, *fastest->work);
  } else {
    sw::write_placement(result.problem, *plan.problem);
  }
  if (certificate.empty()) return result;
  const sw::placement_problem<double> compiled =
      sw::compile(result.of_step ? fastest->bounded : plan.problem).without_savings();
  if (result.of_step) {
    const sw::step_certificate c = sw::certify_step(fastest->bounds, compiled, *fastest->work, {}, control);
    result.bound = sw::bound_of(c, *fastest->work);
    result.claimed = fastest->bounds.bound;
    sw::write_certificate(certificate, c);
    return result;
  }
  if (plan.problem->counted != sw::savings_form::off)
    sw::refuse(sw::error_category::input,
               "--certificate proves bounds of costs and of steps, and does not know "
               "savings: it needs --overlap off");
  const auto c = sw::certify_placement(compiled, plan.placement.objective, {}, control);
  result.bound = c.lower_bound;
  result.claimed = plan.placement.lower_bound;
  sw::write_certificate(certificate, c);
  return result;
}

/// One line or two; what rests on a solver's word is said.
[[nodiscard]] inline std::string certified_text(const certified_plan& c, const std::string& unit) {
  namespace sw = shardweave;
  if (c.certificate.empty()) return "\nThe problem is in " + c.problem + ".\n";
  const auto text_of = [&](double bound) {
    if (c.of_step) return sw::time_text(sw::nanoseconds(static_cast<std::int64_t>(std::floor(bound))));
    return sw::json_string([&](sw::json_writer& out) { out.value(bound); }) + " " + unit;
  };
  std::string text = "\n" + c.certificate + " proves, for " + c.problem + ", that no " +
                     (c.of_step ? "plan ends before " : "placement costs less than ") + text_of(c.bound) + ".\n";
  if (c.bound < c.claimed - 1e-6 * std::abs(c.claimed))
    text += "That it is " + text_of(c.claimed) + " rests on the solver's word.\n";
  return text;
}

inline void write_certified(shardweave::json_writer& out, const certified_plan& c) {
  out.key("certificate").begin_object().member("of", c.of_step ? "step" : "placement");
  out.member("lower_bound", c.bound).member("problem", c.problem).end_object();
}

}  // namespace programs

#include "certify_plan.hpp"

#include <shardweave/core/error.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/step/certify_step.hpp>

namespace programs {
namespace {

/// The plan remains where there was no time for a proof of its bound.
template <class Prove>
void in_time(certified_plan& result, Prove prove) {
  try {
    prove();
  } catch (const shardweave::error& e) {
    if (e.category() != shardweave::error_category::stopped) throw;
    result.why_not = e.what();
  }
}

}  // namespace

certified_plan state_problem(const shardweave::training_plan& plan,
                             const std::optional<shardweave::fastest_plan_result>& fastest,
                             const std::string& certificate, const std::string& problem,
                             const shardweave::stop_token& stop) {
  certified_plan result{.of_step = fastest && fastest->work != nullptr,
                        .certificate = certificate,
                        .problem = problem.empty() ? certificate + ".problem.json.gz" : problem};
  if (!certificate.empty() && stop.stop_requested()) result.why_not = "the stop came before a proof was looked for";
  if (problem.empty() && !result.why_not.empty()) {
    result.problem.clear();
    return result;
  }
  if (result.of_step) {
    shardweave::write_step_problem(result.problem, *fastest->bounded, *fastest->work);
  } else {
    shardweave::write_placement(result.problem, *plan.problem);
  }
  return result;
}

void certify_plan(certified_plan& stated, const shardweave::training_plan& plan,
                  const std::optional<shardweave::fastest_plan_result>& fastest,
                  const shardweave::solve_control& control) {
  if (stated.certificate.empty() || !stated.why_not.empty()) return;
  if (!stated.of_step && plan.problem->counted != shardweave::savings_form::off)
    shardweave::refuse(shardweave::error_category::input,
                       "--certificate proves bounds of costs and of steps, and does not know "
                       "savings: it needs --overlap off");
  const shardweave::deadline limit(control);
  const auto write = [&](const auto& proof) {
    stated.seconds = limit.elapsed();
    shardweave::write_certificate(stated.certificate, proof, control.stop);
  };
  in_time(stated, [&] {
    const shardweave::placement_problem<double> compiled =
        shardweave::compile(stated.of_step ? fastest->bounded : plan.problem, {.stop = control.stop}).without_savings();
    if (stated.of_step) {
      stated.claimed = fastest->bounds.bound;
      const auto c = shardweave::certify_step(fastest->bounds, compiled, *fastest->work, {}, limit.rest());
      stated.bound = shardweave::bound_of(c, *fastest->work);
      write(c);
    } else {
      stated.claimed = plan.placement.lower_bound;
      const auto c = shardweave::certify_placement(compiled, plan.placement.objective, {}, limit.rest());
      stated.bound = c.lower_bound;
      write(c);
    }
  });
  if (stated.seconds == 0) stated.seconds = limit.elapsed();
}

}  // namespace programs

#include "certify_plan.hpp"

#include <shardweave/core/error.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/search/certify_placement.hpp>
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

certified_plan certify_plan(const shardweave::training_plan& plan,
                            const std::optional<shardweave::fastest_plan_result>& fastest,
                            const std::string& certificate, const std::string& problem,
                            const shardweave::solve_control& control) {
  certified_plan result{.of_step = fastest && fastest->work != nullptr,
                        .certificate = certificate,
                        .problem = problem.empty() ? certificate + ".problem.json.gz" : problem};
  if (result.of_step) {
    shardweave::write_step_problem(result.problem, *fastest->bounded, *fastest->work);
  } else {
    shardweave::write_placement(result.problem, *plan.problem);
  }
  if (certificate.empty()) return result;
  const shardweave::placement_problem<double> compiled =
      shardweave::compile(result.of_step ? fastest->bounded : plan.problem).without_savings();
  if (result.of_step) {
    result.claimed = fastest->bounds.bound;
    in_time(result, [&] {
      const auto c = shardweave::certify_step(fastest->bounds, compiled, *fastest->work, {}, control);
      result.bound = shardweave::bound_of(c, *fastest->work);
      shardweave::write_certificate(certificate, c);
    });
    return result;
  }
  if (plan.problem->counted != shardweave::savings_form::off)
    shardweave::refuse(shardweave::error_category::input,
                       "--certificate proves bounds of costs and of steps, and does not know "
                       "savings: it needs --overlap off");
  result.claimed = plan.placement.lower_bound;
  in_time(result, [&] {
    const auto c = shardweave::certify_placement(compiled, plan.placement.objective, {}, control);
    result.bound = c.lower_bound;
    shardweave::write_certificate(certificate, c);
  });
  return result;
}

}  // namespace programs

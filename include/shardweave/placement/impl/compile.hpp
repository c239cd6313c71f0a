#pragma once

#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/detail/collect_savings.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/impl/compile_costs.hpp>

#include <memory>
#include <utility>

/// \file
/// Definition of `compile`.

namespace shardweave::inline v0 {

template <cost_value Cost>
placement_problem<Cost> compile(std::shared_ptr<const placement_description<Cost>> description,
                                const solve_control& control) {
  placement_problem<Cost> problem = compile_costs<Cost>(std::move(description), control);
  if (problem.description()->counted == savings_form::off) return problem;
  return problem.with_savings(detail::savings_collector<Cost>(problem).run());
}

}  // namespace shardweave::inline v0

#pragma once

// IWYU pragma: begin_exports
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/class_costs.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/compile_costs.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/dynamic_program.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/evaluation.hpp>
#include <shardweave/placement/exact_elimination.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/placement/knapsack_room.hpp>
#include <shardweave/placement/knapsack_sums.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/placement/savings_layout.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/placement/validate.hpp>
#include <shardweave/placement/work_model.hpp>
// IWYU pragma: end_exports

/// \file
/// Cost models, constraints, the compiled problem, evaluation.

#pragma once

#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/explain_step.hpp>
#include <shardweave/step/fastest_plan_options.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/step/memory_limit.hpp>
#include <shardweave/step/pipeline_planner.hpp>
#include <shardweave/step/predict_step.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/stated_step.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_planner.hpp>
#include <shardweave/step/step_search.hpp>
#include <shardweave/step/step_search_options.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

/// \file
/// The fastest plan: a bound on the step over all placements, buckets and orders.

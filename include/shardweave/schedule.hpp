#pragma once

// IWYU pragma: begin_exports
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/best_of.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/makespan_bounds.hpp>
#include <shardweave/schedule/module_plan.hpp>
#include <shardweave/schedule/overlap_counts.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/schedule/search.hpp>
// IWYU pragma: end_exports

/// \file
/// Launch order, and bounds on the end to end time.

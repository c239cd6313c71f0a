#pragma once

// IWYU pragma: begin_exports
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/launch_signature.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/profiled_run.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/split_phases.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>
#include <shardweave/tasks/task_maps.hpp>
#include <shardweave/tasks/task_tags.hpp>
// IWYU pragma: end_exports

/// \file
/// The task graph, its memory and durations.

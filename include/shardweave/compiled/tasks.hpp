#pragma once

#include <shardweave/tasks/impl/batch_parts.hpp>
#include <shardweave/tasks/impl/bucket_costs.hpp>
#include <shardweave/tasks/impl/check_order_certificate.hpp>
#include <shardweave/tasks/impl/duration_table.hpp>
#include <shardweave/tasks/impl/fsdp_tags.hpp>
#include <shardweave/tasks/impl/launch_units.hpp>
#include <shardweave/tasks/impl/memory_tracker.hpp>
#include <shardweave/tasks/impl/pieces.hpp>
#include <shardweave/tasks/impl/task_graph_builder.hpp>
#include <shardweave/tasks/impl/task_tags.hpp>

/// \file
/// The compiled part of room tasks; see `shardweave/compiled.hpp`.

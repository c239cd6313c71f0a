#pragma once

// IWYU pragma: begin_exports
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/lowering/fused_kernels.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_step.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/lowering/optimizer_step.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/lowering/whole_step.hpp>
// IWYU pragma: end_exports

/// \file
/// From a placement to tasks.

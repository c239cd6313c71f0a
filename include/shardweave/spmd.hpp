#pragma once

// IWYU pragma: begin_exports
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/conflicting_demands.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/demand.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/repeated_layers.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/contraction.hpp>
#include <shardweave/spmd/rules/convolution.hpp>
#include <shardweave/spmd/rules/indexing.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/rules/shape.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/smallest_conflict.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>
#include <shardweave/spmd/strategy_list.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/spmd/training_constraints.hpp>
// IWYU pragma: end_exports

/// \file
/// Meshes, shardings, redistribution, operator rules.

#pragma once

#include <shardweave/spmd/impl/block_ring.hpp>
#include <shardweave/spmd/impl/constraint_log.hpp>
#include <shardweave/spmd/impl/describe_spmd.hpp>
#include <shardweave/spmd/impl/hideable_edges.hpp>
#include <shardweave/spmd/impl/memory_budget.hpp>
#include <shardweave/spmd/impl/propagation.hpp>
#include <shardweave/spmd/impl/redistributor.hpp>
#include <shardweave/spmd/impl/repeated_layers.hpp>
#include <shardweave/spmd/impl/spmd_cost_model.hpp>
#include <shardweave/spmd/impl/standard_rules.hpp>
#include <shardweave/spmd/impl/strategies.hpp>
#include <shardweave/spmd/impl/strategy_list.hpp>
#include <shardweave/spmd/impl/training_constraints.hpp>

/// \file
/// The compiled part of room spmd; see `shardweave/compiled.hpp`.

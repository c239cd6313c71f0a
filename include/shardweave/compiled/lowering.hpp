#pragma once

#include <shardweave/lowering/impl/batch_parts_lowering.hpp>
#include <shardweave/lowering/impl/collective_tables.hpp>
#include <shardweave/lowering/impl/fused_kernels.hpp>
#include <shardweave/lowering/impl/held_values_of.hpp>
#include <shardweave/lowering/impl/lower.hpp>
#include <shardweave/lowering/impl/pipelined_collectives.hpp>
#include <shardweave/lowering/impl/spmd_lowering.hpp>
#include <shardweave/lowering/impl/whole_step.hpp>

/// \file
/// The compiled part of room lowering; see `shardweave/compiled.hpp`.

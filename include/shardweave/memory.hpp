#pragma once

// IWYU pragma: begin_exports
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/memory/memory_rows.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/memory/recompute_block.hpp>
// IWYU pragma: end_exports

/// \file
/// What a model keeps in memory between its forward and its backward part.

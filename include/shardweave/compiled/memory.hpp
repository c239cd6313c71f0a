#pragma once

#include <shardweave/memory/impl/activation_blocks.hpp>
#include <shardweave/memory/impl/block_policies.hpp>
#include <shardweave/memory/impl/block_policy.hpp>
#include <shardweave/memory/impl/choose_policies.hpp>
#include <shardweave/memory/impl/recomputation.hpp>
#include <shardweave/memory/impl/recomputation_choices.hpp>
#include <shardweave/memory/impl/recompute_block.hpp>

/// \file
/// The compiled part of room memory; see `shardweave/compiled.hpp`.

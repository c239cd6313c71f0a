#pragma once

#include <shardweave/models/impl/deepseek.hpp>
#include <shardweave/models/impl/f8_products.hpp>
#include <shardweave/models/impl/graph_builder.hpp>
#include <shardweave/models/impl/graph_operators.hpp>
#include <shardweave/models/impl/layout_constraints.hpp>
#include <shardweave/models/impl/llama.hpp>
#include <shardweave/models/impl/training_layout.hpp>

/// \file
/// The compiled part of room models; see `shardweave/compiled.hpp`.

#pragma once

#include <shardweave/graph/impl/compressed_graph.hpp>
#include <shardweave/graph/impl/repeated_layers.hpp>
#include <shardweave/graph/impl/stable_order.hpp>

/// \file
/// The compiled part of room graph; see `shardweave/compiled.hpp`.

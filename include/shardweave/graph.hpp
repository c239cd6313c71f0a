#pragma once

// IWYU pragma: begin_exports
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/graph/ready_order.hpp>
#include <shardweave/graph/repeated_layers.hpp>
#include <shardweave/graph/stable_order.hpp>
// IWYU pragma: end_exports

/// \file
/// Concepts over Boost.Graph, orders, compressed forms.

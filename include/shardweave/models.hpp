#pragma once

// IWYU pragma: begin_exports
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>
#include <shardweave/models/f8_products.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/models/shape_inference.hpp>
#include <shardweave/models/standard_backward_rules.hpp>
#include <shardweave/models/training_layout.hpp>
// IWYU pragma: end_exports

/// \file
/// Training graphs of models, a graph builder.

#pragma once

#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/models/standard_backward_rules.hpp>
#include <shardweave/spmd/computation.hpp>

/// \file
/// The joint forward and backward graph of what a builder holds: forward graph in, joint graph out.

namespace shardweave::inline v0 {

/// How the backward half is written.
struct joint_options {
  backward_rules rules = standard_backward_rules();
  bool of_inputs = false;  ///< gradients of real and complex inputs are results, too, not of parameters alone
};

/// Ends the graph of a training step: `b` holds the forward half and its results (a loss, or whatever else gradients
/// come in for); the backward half is written by a `backward_pass`, and aliases are inserted where a value may change
/// its placement.
/// \throws error if the graph has no results, or a gradient comes to an operator without a rule
[[nodiscard]] inline computation joint_graph(graph_builder b, const joint_options& options = {}) {
  backward_pass(b, options.rules, options.of_inputs).run();
  return insert_aliases(b.finish());
}

}  // namespace shardweave::inline v0

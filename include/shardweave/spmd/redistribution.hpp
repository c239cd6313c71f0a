#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <cstddef>
#include <optional>
#include <vector>

/// \file
/// How a tensor gets from one sharding to another, step by step.

namespace shardweave::inline v0 {

/// One change along one mesh dimension. Without a collective it is a slice of what a rank holds already.
struct redistribution_step {
  std::optional<collective> op;
  std::size_t mesh_dim = 0;
  dim_placement from;
  dim_placement to;
  bytes before{};      ///< on each rank
  bytes after{};       ///< on each rank
  double cost_us = 0;  ///< the collective and the copies around it
};

/// The steps from one sharding to another: those of the cheapest way, of equally cheap ones the one with the fewest
/// steps; without `redistribution_options::search`, one step per mesh dimension. Where no way exists `cost_us` is
/// +infinity, and there are no steps.
struct redistribution {
  double cost_us = 0;
  std::vector<redistribution_step> steps;
};

/// Which ways between shardings count.
struct redistribution_options {
  /// Where two mesh dimensions cut one tensor dimension, allow only steps that are exact for the nesting in
  /// mesh order: the last cut is undone first. Off, the order of nested cuts is left to the executor, who may
  /// let the second mesh dimension cut first (as sharded data parallelism on top of tensor parallelism does):
  /// then a tensor that arrives with nested cuts can have any of them undone; what is cut on the way nests
  /// inside what is there.
  bool strict_nesting = false;
  /// Search for the cheapest way. Off, there is one step per mesh dimension, in mesh order (the last first where all
  /// are partial and all become cut), and a slice does not make what follows smaller: what AutoParallel assumes, kept
  /// for comparison. Such steps need not be exact where cuts nest.
  bool search = true;
};

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// \file
/// Annotations, and what follows from them.

namespace shardweave::inline v0 {

/// Where the result of every operation whose name fits is to lie along one mesh dimension; other dimensions stay open.
struct annotation {
  std::string pattern = {};  ///< of names; * stands for any text
  std::size_t mesh_dim = 0;
  dim_placement where = {};
  std::optional<int> priority = std::nullopt;  ///< lower ones spread first; else 1 for parameters, 0 for all others
};

/// How annotations spread.
struct propagation_options {
  /// Pins what is bound to be replicated or partial too, not only what is bound to be cut.
  bool aggressive = false;
};

/// Arguments at which the placements of producer and consumer have nothing in common: a redistribution stays.
struct axis_boundary {
  std::uint32_t producer = 0;
  std::uint32_t consumer = 0;
  std::size_t argument = 0;
  std::size_t mesh_dim = 0;
  friend auto operator<=>(const axis_boundary&, const axis_boundary&) = default;
};

/// What follows from annotations.
struct propagation {
  std::vector<fixed_strategies> constraints = {};  ///< annotations, and what they determine; for a `constraint_set`
  /// Per operation and mesh dimension, where its result may still lie.
  std::vector<std::vector<std::set<dim_placement>>> left = {};
  std::vector<std::vector<std::size_t>> determined = {};  ///< per operation, the mesh dimensions that are pinned
  std::vector<axis_boundary> boundaries = {};             ///< in order
  std::size_t touched = 0;                                ///< operations that lost a way along some mesh dimension
  std::size_t strategies_before = 0;                      ///< of all operations
  std::size_t strategies_after = 0;                       ///< that keep the constraints
};

}  // namespace shardweave::inline v0

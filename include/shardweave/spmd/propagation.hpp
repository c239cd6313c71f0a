#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

/// \file
/// Annotations: a few placements, carried through a computation.

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

/// Carries annotations through a computation, one mesh dimension apart from the other, and states what they determine
/// as constraints. A solver then has less to decide; a user sees how far an annotation reaches.
///
/// Priority by priority annotations are set, then spread until nothing changes: an operation keeps the ways whose
/// arguments its producers can give, and, if it has one user, whose result that user can take; if no way is left it
/// keeps all, and the edge is a boundary. Parameters, inputs and constants do not follow their users. Gradients and
/// tangents are annotated with what they belong to. Of several annotations of one result along one mesh dimension the
/// last one set decides: that of the highest priority number, and of those the last listed. What is bound to be cut is
/// pinned, unless pairing decides about it.
///
/// It does not look at costs: a plan that redistributes where it need not is no longer found. Where annotations leave a
/// plan without such detours, and that is the best one, the optimum stays.
/// Source: compare the sharding propagation of GSPMD (Y. Xu et al., arXiv 2105.04663); narrowing what each end of an
/// edge may be is arc consistency (A. K. Mackworth, Consistency in networks of relations, Artificial Intelligence 8,
/// 1977).
///
/// \throws error (constraint) naming the annotation, if no operation fits, or one cannot lie so and what it offers
/// Complexity: O(edges * ways) per placement that goes
[[nodiscard]] propagation propagate(const spmd_cost_model& model, std::span<const annotation> annotations,
                                    const propagation_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/propagation.hpp>
#endif

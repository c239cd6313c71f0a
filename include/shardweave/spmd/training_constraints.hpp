#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What is usually demanded of a training graph, as constraints of the placement problem.

namespace shardweave::inline v0 {

/// What a parameter takes of its memory budget.
enum class parameter_unit : std::uint8_t {
  ratio,  ///< share of its elements that a device holds; every parameter weighs the same
  size    ///< bytes on a device
};

/// What is asked of a training step: where values lie, what devices may hold, and which layers are alike.
struct training_options {
  /// Where inputs lie (`inputs`), and where results lie that are not gradients (`results`); nothing = left open.
  std::optional<sharding> inputs = std::nullopt;
  std::optional<sharding> results = std::nullopt;
  /// Gradients lie as their parameters do, incoming gradients as the results they belong to.
  bool pair_gradients = true;
  /// What a device may hold of all parameters together: the sum, over the parameters, of this share of each, or of the
  /// least that a device can hold of it where that is more. From 0 to 1; a share below 1 / devices, such as the
  /// default, counts as 1 / devices. Nothing = no limit.
  std::optional<double> parameter_share = 0;
  parameter_unit unit = parameter_unit::ratio;
  /// What a device may hold in all at any time, counted as `memory` says; nothing = no limit. See `memory_budget`.
  std::optional<bytes> device_memory = std::nullopt;
  memory_options memory = {};
  /// Repeated layers are placed alike: see `tie_layers`. Without, every layer is placed for itself.
  bool tie_layers = true;
  /// Operations that other demands place. The usual placement of inputs and results and the share of parameters give
  /// way there, and where an operation is placed with one of these, as its gradient or in another layer. What a device
  /// can hold does not.
  std::vector<std::uint32_t> placed = {};
};

/// Strategies of an operation whose first result lies so.
/// \throws error naming the operation and the shardings it offers if there is none
/// Complexity: O(strategies of the operation)
[[nodiscard]] fixed_strategies result_placed(const spmd_cost_model& model, std::uint32_t v, const sharding& where,
                                             std::string why);

/// The same along one mesh dimension.
/// \throws error naming the operation and the shardings it offers if there is none, or no such mesh dimension
[[nodiscard]] fixed_strategies result_placed_along(const spmd_cost_model& model, std::uint32_t v, std::size_t mesh_dim,
                                                   dim_placement where, std::string why);

/// Both operations' first results are placed alike: all pairs of strategies of equal sharding.
/// Complexity: O(pairs of strategies)
[[nodiscard]] pairing results_alike(const spmd_cost_model& model, std::uint32_t a, std::uint32_t b, std::string why);

/// The limit on what a device holds of the parameters, as a budget with a term per parameter that `skip` does not list,
/// in bytes or as a sum of shares (`parameter_unit`). `share` and `unit` as in `training_options`.
/// \throws error (input) if the share is not from 0 to 1
[[nodiscard]] budget parameter_budget(const spmd_cost_model& model, double share, parameter_unit unit,
                                      const std::vector<std::uint32_t>& skip = {});

/// All inputs lie so, but those that `skip` lists.
void place_inputs(constraint_set& all, const spmd_cost_model& model, const sharding& where, const std::string& why,
                  const std::vector<std::uint32_t>& skip = {});

/// All results but gradients lie so, but those that `skip` lists.
void place_results(constraint_set& all, const spmd_cost_model& model, const sharding& where, const std::string& why,
                   const std::vector<std::uint32_t>& skip = {});

/// Gradients lie as their parameters do, incoming gradients as the results they belong to. Placements are compared, not
/// strategies: every way to produce a placement on one side goes with every way on the other.
/// \throws error naming two operations that have no placement in common
void pair_gradients(constraint_set& all, const spmd_cost_model& model, const std::string& why = {});

/// The limit of `parameter_budget`. One that leaves every parameter only its smallest pieces is stated as allowed
/// strategies, which is the same and easier to solve.
void share_parameters(constraint_set& all, const spmd_cost_model& model, double share, parameter_unit unit,
                      const std::vector<std::uint32_t>& skip = {}, const std::string& why = "parameter memory");

/// Operations that play the same part in repeated layers (`layer_sites`) and have equal strategies take the same one.
/// Where strategies differ, since a layer gets an argument that offers others, there is a tie for each list of them.
/// Complexity: that of `layer_sites`, and O(V log V)
void tie_layers(constraint_set& all, const spmd_cost_model& model, const std::string& why = "repeated layers");

/// These vertices, and whatever must be placed with one of them: by a tie, or by a pairing.
/// \return in ascending order \pre the vertices exist
/// Complexity: O(vertices + sizes of ties and pairings)
[[nodiscard]] std::vector<std::uint32_t> placed_together(const constraint_set& all,
                                                         std::vector<std::uint32_t> vertices);

/// The constraints of one training step.
///
/// \throws error if an input, a result or a pair cannot be placed as demanded
/// Complexity: linear in the strategies, but for pairs, which are listed
[[nodiscard]] constraint_set training_constraints(const spmd_cost_model& model, const training_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/training_constraints.hpp>
#endif

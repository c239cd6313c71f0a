#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <span>
#include <string_view>

/// \file
/// The lowering of a computation on a mesh, as a policy.

namespace shardweave::inline v0 {

class lowered_work;

/// `lower`, with its options.
struct spmd_lowering {
  static constexpr std::string_view name = "spmd";

  lowering_options options = {};

  [[nodiscard]] lowered_graph operator()(const spmd_cost_model& model, std::span<const strategy> chosen) const {
    return lower(model, chosen, options);
  }
  /// The same, unless a stop comes first.
  /// \throws error (stopped) then
  [[nodiscard]] lowered_graph operator()(const spmd_cost_model& model, std::span<const strategy> chosen,
                                         const stop_token& stop) const {
    return lower(model, chosen, options, stop);
  }
  /// The work of the tasks, without lowering; callers must include `lowering/lowered_work.hpp`.
  [[nodiscard]] lowered_work work(const spmd_cost_model& model, unsigned threads = 1) const;
};

static_assert(lowering_policy<spmd_lowering, spmd_cost_model>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/spmd_lowering.hpp>
#endif

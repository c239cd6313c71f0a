#pragma once

#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <span>
#include <string_view>

/// \file
/// The lowering of a computation on a mesh, as a policy.

namespace shardweave {
inline namespace v0 {

/// `lower`, with its options.
struct spmd_lowering {
  static constexpr std::string_view name = "spmd";

  lowering_options options = {};

  [[nodiscard]] lowered_graph operator()(const spmd_cost_model& model, std::span<const strategy> chosen) const {
    return lower(model, chosen, options);
  }
  /// What the tasks take, before there are any.
  [[nodiscard]] lowered_work work(const spmd_cost_model& model, unsigned threads = 1) const {
    return lowered_work(model, options, threads);
  }
};

static_assert(lowering_policy<spmd_lowering, spmd_cost_model>);

}  // namespace v0
}  // namespace shardweave

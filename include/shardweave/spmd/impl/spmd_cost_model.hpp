#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/detail/edges_before_casts.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <utility>

/// \file
/// How a computation is priced on a mesh.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE spmd_cost_model::data::data(computation g, device_mesh m, compute_profile c, any_collectives k,
                                              rule_table r, spmd_options o)
    : graph(std::move(g)),
      edges(graph.graph()),
      mesh(std::move(m)),
      compute(c),
      collectives(std::move(k)),
      rules(std::move(r)),
      options(o),
      space(enumerate_strategies(graph, mesh, compute, rules)) {
  for (const auto& list : space.lists) {
    labels.push_back(label_strategies(*list));
    std::vector<double>& waits = waits_us.emplace_back(list->rings.empty() ? 0 : list->size());
    for (strategy s = 0; s < waits.size(); ++s)
      if (const block_ring* ring = list->ring(s))
        waits[s] = unhidden_us(*ring, exchange_us(ring->part, ring->mesh_dim), exchange_us(ring->sums, ring->mesh_dim));
  }
  std::vector<bool> still(edges.all_edges().size());
  if (options.gather_after_cast) detail::mark_before_narrowing(graph, edges, still);
  if (options.reduce_after_cast) detail::mark_before_widening(graph, edges, still);
  prices = detail::edge_pricer(graph, edges, space, still).run([this] { return new_redistributor(); }, options.threads);
}

SHARDWEAVE_INLINE double spmd_cost_model::data::exchange_us(bytes moved, std::size_t mesh_dim) const {
  return collectives.estimate(collective::shift, moved, mesh.group_along(mesh_dim, compute.device.devices_per_node))
      .time_us;
}

SHARDWEAVE_INLINE redistributor spmd_cost_model::data::new_redistributor() const {
  return {mesh, compute, collectives, options.redistribution};
}

SHARDWEAVE_INLINE spmd_cost_model::spmd_cost_model(computation graph, device_mesh mesh, compute_profile compute,
                                                   any_collectives collectives, rule_table rules, spmd_options options)
    : data_(std::make_shared<const data>(std::move(graph), std::move(mesh), compute, std::move(collectives),
                                         std::move(rules), options)) {}

SHARDWEAVE_INLINE redistributor spmd_cost_model::new_redistributor() const { return data_->new_redistributor(); }

}  // namespace shardweave::inline v0

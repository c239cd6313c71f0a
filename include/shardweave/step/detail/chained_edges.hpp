#pragma once

#include <shardweave/step/detail/work_order.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Edges whose work lies between computations.

namespace shardweave::inline v0::detail {

/// Per edge, whether computation both precedes its work and follows it on some path. The others, such as gathers of
/// parameters and reductions of gradients, may run whenever their channel is idle, so they are priced apart. Criterion:
/// with the least time of each vertex over its strategies, the longest path that ends at the producer and the longest
/// one that starts at the consumer are both longer than 1 % of the longest path.
/// \throws error (input) if the edges form a cycle
/// Complexity: linear in vertices, strategies and edges
[[nodiscard]] inline std::vector<bool> chained_edges(const step_work& work) {
  const work_order order(work);
  std::vector<double> before(work.vertex_count()), after(work.vertex_count());  // with the vertex itself
  for (std::size_t v = 0; v < before.size(); ++v) before[v] = after[v] = std::ranges::min(work.times[work.times_of[v]]);
  const std::vector<double> alone = before;
  for (const std::uint32_t v : order.vertices)
    for (const std::uint32_t e : order.out[v]) {
      const std::uint32_t to = work.edges[e].to;
      before[to] = std::max(before[to], before[v] + alone[to]);
    }
  for (std::size_t i = order.vertices.size(); i-- > 0;) {
    const std::uint32_t v = order.vertices[i];
    for (const std::uint32_t e : order.out[v]) after[v] = std::max(after[v], alone[v] + after[work.edges[e].to]);
  }
  const double little = before.empty() ? 0 : std::ranges::max(before) / 100;
  std::vector<bool> chained;
  chained.reserve(work.edges.size());
  for (const work_edge& e : work.edges) chained.push_back(before[e.from] > little && after[e.to] > little);
  return chained;
}

}  // namespace shardweave::inline v0::detail

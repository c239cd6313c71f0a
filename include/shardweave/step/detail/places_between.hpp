#pragma once

#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Where work lies relative to the edges of a path.

namespace shardweave::inline v0::detail {

/// For edges of a path, in its order: which of them precede and which follow each vertex.
struct places_between {
  /// By vertex: the number of edges up to the last one whose consumer is this vertex or reaches it.
  std::vector<std::uint32_t> after;
  /// By vertex: the first edge whose producer is this vertex or reachable from it; `some.size()`: none.
  std::vector<std::uint32_t> before;

  /// Complexity: O(V + E)
  places_between(const step_work& work, std::span<const std::uint32_t> some)
      : after(work.vertex_count()), before(work.vertex_count(), static_cast<std::uint32_t>(some.size())) {
    const auto edges = static_cast<std::uint32_t>(work.edges.size());
    // linked lists of edges: per vertex its first edge, out and in; per edge the next one of the same vertex
    std::vector<std::uint32_t> first_out(work.vertex_count(), edges), first_in(work.vertex_count(), edges);
    std::vector<std::uint32_t> next_out(edges), next_in(edges);
    for (std::uint32_t e = 0; e < edges; ++e) {
      next_out[e] = std::exchange(first_out[work.edges[e].from], e);
      next_in[e] = std::exchange(first_in[work.edges[e].to], e);
    }
    std::vector<std::uint32_t> open;
    const auto mark = [&](std::uint32_t v, const auto& first, const auto& next, auto end, const auto& is_fresh) {
      if (!is_fresh(v)) return;
      for (open.push_back(v); !open.empty();) {
        const std::uint32_t at = open.back();
        open.pop_back();
        for (std::uint32_t e = first[at]; e < edges; e = next[e])
          if (is_fresh(work.edges[e].*end)) open.push_back(work.edges[e].*end);
      }
    };
    const auto many = static_cast<std::uint32_t>(some.size());
    for (std::uint32_t k = many; k-- > 0;)
      mark(work.edges[some[k]].to, first_out, next_out, &work_edge::to, [&](std::uint32_t v) {
        if (after[v] != 0) return false;
        after[v] = k + 1;
        return true;
      });
    for (std::uint32_t k = 0; k < many; ++k)
      mark(work.edges[some[k]].from, first_in, next_in, &work_edge::from, [&](std::uint32_t v) {
        if (before[v] != many) return false;
        before[v] = k;
        return true;
      });
  }

  /// The same for the work of an edge, which starts after its producer and its `since` and ends before its consumer.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> of(const work_edge& edge) const {
    std::uint32_t done = after[edge.from];
    if (edge.since != work_edge::no_vertex) done = std::max(done, after[edge.since]);
    return {done, before[edge.to]};
  }
};

}  // namespace shardweave::inline v0::detail

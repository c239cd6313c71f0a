#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/ready_order.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <functional>
#include <queue>

/// \file
/// How vertices are brought into order.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<std::uint32_t> ready_order(const compressed_graph& g,
                                                         std::vector<std::uint32_t>& waiting) {
  const std::size_t n = g.vertex_count();
  waiting.resize(n);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t v = 0; v < n; ++v) {
    waiting[v] = static_cast<std::uint32_t>(g.in(v).size());
    if (waiting[v] == 0) ready.push(v);
  }
  std::vector<std::uint32_t> order;
  order.reserve(n);
  while (!ready.empty()) {
    const std::uint32_t v = ready.top();
    ready.pop();
    order.push_back(v);
    for (const auto& e : g.out(v))
      if (--waiting[e.target] == 0) ready.push(e.target);
  }
  return order;
}

SHARDWEAVE_INLINE std::vector<std::uint32_t> stable_topological_order(const compressed_graph& g) {
  std::vector<std::uint32_t> waiting;
  std::vector<std::uint32_t> order = ready_order(g, waiting);
  if (order.size() == g.vertex_count()) return order;

  // Every vertex that was never ready has a producer that was never ready: walking back must close a cycle.
  std::uint32_t v = 0;
  while (waiting[v] == 0) ++v;
  std::vector<bool> seen(g.vertex_count());
  while (!seen[v]) {
    seen[v] = true;
    for (const auto& e : g.in(v))
      if (waiting[e.source] != 0) {
        v = e.source;
        break;
      }
  }
  refuse(error_category::input, "the graph has a cycle through vertex " + std::to_string(v));
}

}  // namespace shardweave::inline v0

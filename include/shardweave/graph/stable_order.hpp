#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/graph/compressed_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// The topological order that changes least.

namespace shardweave::inline v0 {

/// Lists the vertices so that every edge runs forward; among the vertices that may come next the one with
/// the smallest number comes first. An order that is topological already is returned as it is.
///
/// \throws error naming a vertex on a cycle
/// Complexity: O((V + E) log V)
/// Source: A. B. Kahn, Topological sorting of large networks, CACM 5 (1962).
[[nodiscard]] std::vector<std::uint32_t> stable_topological_order(const compressed_graph& g);

/// The same for any graph, as descriptors.
template <class G>
[[nodiscard]] std::vector<typename vertex_numbering<G>::vertex> stable_topological_order(const G& g) {
  const vertex_numbering<G> numbering(g);
  std::vector<typename vertex_numbering<G>::vertex> order;
  order.reserve(numbering.size());
  for (const std::uint32_t v : stable_topological_order(compress(g, numbering))) order.push_back(numbering[v]);
  return order;
}

/// Another stable order: vertices are taken as listed; one whose inputs are not all placed yet is moved back, right
/// behind the last of these inputs to be placed, and so are the vertices that wait for it. One early vertex with a late
/// input takes all that depends on it along; the inputs stay where they are.
/// Source: `stable_topological_sort` of PyTorch (torch/_inductor/pattern_matcher.py).
///
/// \param listed  each vertex once; an order that is topological already is returned as it is
/// \param inputs  calls its second argument for each vertex that must come before its first argument, in order
/// \throws error naming a vertex on a cycle, or that leads there
/// Complexity: O(V + E); `inputs` is called once for each vertex
template <class Inputs>
[[nodiscard]] std::vector<std::uint32_t> parked_topological_order(std::span<const std::uint32_t> listed,
                                                                  const Inputs& inputs) {
  std::uint32_t most = 0;
  for (const std::uint32_t v : listed) most = std::max(most, v + 1);
  std::vector<std::vector<std::uint32_t>> parked(most), missing(most);
  std::vector<bool> placed(most), known(most);
  std::vector<std::uint32_t> order, pending(listed.rbegin(), listed.rend());
  order.reserve(listed.size());
  while (!pending.empty()) {
    const std::uint32_t v = pending.back();
    pending.pop_back();
    if (!known[v])
      inputs(v, [&](std::uint32_t p) {
        if (!placed[p]) missing[v].push_back(p);
      });
    known[v] = true;
    while (!missing[v].empty() && placed[missing[v].back()]) missing[v].pop_back();
    if (!missing[v].empty()) {
      parked[missing[v].back()].push_back(v);
      continue;
    }
    placed[v] = true;
    order.push_back(v);
    pending.insert(pending.end(), parked[v].rbegin(), parked[v].rend());
    parked[v].clear();
  }
  for (const std::uint32_t v : listed)
    if (!placed[v]) refuse(error_category::input, "the graph has a cycle before vertex " + std::to_string(v));
  return order;
}

/// The counterpart: vertices are taken as listed, and what one misses, with all that this needs in turn, is pulled up
/// right before it, in the order of the list. One early vertex with many late needs moves these, and nothing else.
///
/// \param listed  each vertex once; an order that is topological already is returned as it is
/// \param inputs  calls its second argument for each vertex that must come before its first argument
/// \throws error naming a vertex on a cycle
/// Complexity: O(V + E log E); `inputs` is called once for each vertex
template <class Inputs>
[[nodiscard]] std::vector<std::uint32_t> pulled_topological_order(std::span<const std::uint32_t> listed,
                                                                  const Inputs& inputs) {
  std::uint32_t most = 0;
  for (const std::uint32_t v : listed) most = std::max(most, v + 1);
  std::vector<std::uint32_t> place(most), order, stack;
  for (std::uint32_t i = 0; i < listed.size(); ++i) place[listed[i]] = i;
  enum class state : std::uint8_t { untouched, entered, placed };
  std::vector<state> states(most, state::untouched);
  order.reserve(listed.size());
  for (const std::uint32_t first : listed) {
    stack.assign(1, first);
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      if (states[v] != state::untouched) {
        stack.pop_back();
        if (states[v] == state::entered) order.push_back(v);
        states[v] = state::placed;
        continue;
      }
      states[v] = state::entered;
      const auto begin = static_cast<std::ptrdiff_t>(stack.size());
      inputs(v, [&](std::uint32_t p) {
        if (states[p] == state::entered)
          refuse(error_category::input, "the graph has a cycle through vertex " + std::to_string(p));
        if (states[p] == state::untouched) stack.push_back(p);
      });
      std::sort(stack.begin() + begin, stack.end(), [&](auto a, auto b) { return place[a] > place[b]; });
    }
  }
  return order;
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/graph/impl/stable_order.hpp>
#endif

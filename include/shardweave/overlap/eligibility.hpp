#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/overlap/window.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// \file
/// Who may hide behind whom: what depends on parameters alone may come early, what only outputs wait for may
/// come late.

namespace shardweave::inline v0 {

/// Answers yes to everything.
struct always {
  template <class... T>
  constexpr bool operator()(const T&...) const {
    return true;
  }
};

namespace detail {

/// The seeds, and each vertex that has edges on the side of the seeds and nothing but members at their ends.
/// `into` lists the edges of a vertex on the side of the seeds, `onto` those on the other.
template <class Into, class Onto>
std::vector<bool> closure(std::size_t count, const std::vector<bool>& seeds, const std::vector<bool>& may_join,
                          Into into, Onto onto) {
  std::vector<bool> member(seeds);
  std::vector<std::size_t> missing(count);
  std::vector<std::uint32_t> fresh;
  for (std::uint32_t v = 0; v < count; ++v) {
    missing[v] = into(v).size();
    if (seeds[v]) fresh.push_back(v);
  }
  while (!fresh.empty()) {
    const std::uint32_t v = fresh.back();
    fresh.pop_back();
    for (const std::uint32_t w : onto(v))
      if (--missing[w] == 0 && !member[w] && may_join[w]) {
        member[w] = true;
        fresh.push_back(w);
      }
  }
  return member;
}

template <class G, class Predicate>
std::vector<bool> marked(const vertex_numbering<G>& numbering, Predicate& predicate) {
  std::vector<bool> marks(numbering.size());
  constexpr bool is_asked = std::predicate<Predicate&, typename vertex_numbering<G>::vertex>;
  static_assert(is_asked || !planning_graph<G>, "What marks vertices must be called with one and say yes or no.");
  if constexpr (is_asked)
    for (std::size_t v = 0; v < marks.size(); ++v) marks[v] = std::invoke(predicate, numbering[v]);
  return marks;
}

/// One end of each edge in a list.
template <std::uint32_t compressed_graph::edge_descriptor::*End>
std::vector<std::uint32_t> ends_of(std::span<const compressed_graph::edge_descriptor> list) {
  std::vector<std::uint32_t> result;
  result.reserve(list.size());
  for (const auto& e : list) result.push_back(e.*End);
  return result;
}

}  // namespace detail

/// Marks what is computed from sources alone: the sources, and every vertex with an input all of whose inputs
/// are marked. A gather of a parameter, or of what it was cast to, waits for nothing else and may run early.
///
/// \param is_source  usually: the vertex is a parameter
/// \param may_join   keeps other vertices than sources out
/// \return marks in the order of `vertices(g)`
/// Complexity: O(V + E)
template <class G, class IsSource, class MayJoin = always>
[[nodiscard]] std::vector<bool> derived_from(const G& g, IsSource is_source, MayJoin may_join = {}) {
  using edge = compressed_graph::edge_descriptor;
  const vertex_numbering<G> numbering(g);
  const compressed_graph c = compress(g, numbering);
  return detail::closure(
      numbering.size(), detail::marked<G>(numbering, is_source), detail::marked<G>(numbering, may_join),
      [&](std::uint32_t v) { return c.in(v); },
      [&](std::uint32_t v) { return detail::ends_of<&edge::target>(c.out(v)); });
}

/// Marks what only terminals wait for: the terminals, and every vertex with a user all of whose users are
/// marked. Communication into such a vertex may run late.
///
/// In a graph whose sinks are all terminals this marks every vertex; `may_join` narrows it to what can really
/// wait, for instance vertices without computation, or with a single input.
/// \param is_terminal  usually: the vertex is an output, or the gradient of a parameter
/// \return marks in the order of `vertices(g)`
/// Complexity: O(V + E)
template <class G, class IsTerminal, class MayJoin = always>
[[nodiscard]] std::vector<bool> feeding_only(const G& g, IsTerminal is_terminal, MayJoin may_join = {}) {
  using edge = compressed_graph::edge_descriptor;
  const vertex_numbering<G> numbering(g);
  const compressed_graph c = compress(g, numbering);
  return detail::closure(
      numbering.size(), detail::marked<G>(numbering, is_terminal), detail::marked<G>(numbering, may_join),
      [&](std::uint32_t v) { return c.out(v); },
      [&](std::uint32_t v) { return detail::ends_of<&edge::source>(c.in(v)); });
}

/// Which way each edge may move: earlier if its producer is derived from parameters, later if only terminals
/// wait for its consumer.
/// \param derived, feeding  marks in the order of `vertices(g)`, as the scans above give them
/// \return permissions in the order of `edges(g)`
/// Complexity: O(V + E)
template <class G>
[[nodiscard]] std::vector<hiding> hiding_of_edges(const G& g, const std::vector<bool>& derived,
                                                  const std::vector<bool>& feeding) {
  const vertex_numbering<G> numbering(g);
  std::vector<hiding> result;
  if constexpr (planning_graph<G>)
    for (auto [e, last] = edges(g); e != last; ++e)
      result.push_back((derived[numbering(source(*e, g))] ? hiding::earlier : hiding::none) |
                       (feeding[numbering(target(*e, g))] ? hiding::later : hiding::none));
  return result;
}

}  // namespace shardweave::inline v0

#pragma once

#include <shardweave/graph/compressed_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Draws vertices of an acyclic graph together, one merge after the other, and never closes a cycle.

namespace shardweave::inline v0 {

/// Disjoint sets of the vertices of an acyclic graph, and a topological order of the graph in which each set
/// is one vertex. A merge that would close a cycle, through whatever sets there are by now, is refused and
/// leaves everything as it was.
///
/// Memory: O(V). A merge searches forward from the earlier set and backward from the later one, in turns and
/// only between the two in the order, until one of the searches is done; then it moves what lies between.
/// Source: D. J. Pearce, P. H. J. Kelly, A dynamic topological sort algorithm for directed acyclic graphs,
/// ACM JEA 11 (2006), with sets for vertices and a search from both sides.
class merge_order {
 public:
  /// \pre g outlives the order
  /// \throws error if g has a cycle
  explicit merge_order(const compressed_graph& g);

  /// Position of a vertex's set in the order; positions are not contiguous.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t v) const { return place_[set_[v]]; }
  [[nodiscard]] bool same(std::uint32_t a, std::uint32_t b) const { return set_[a] == set_[b]; }

  /// Merges the sets of two vertices; true if they are one set then, false if that would close a cycle.
  bool merge(std::uint32_t a, std::uint32_t b);

  /// All vertices in a topological order in which the members of a set stand together, in their own order.
  [[nodiscard]] std::vector<std::uint32_t> order() const;

 private:
  static constexpr std::uint32_t hole = 0xffffffff;

  /// Marks what follows (or leads to) a set between the two; false if the other end is met.
  /// Both searches share the marks: what one has seen and the other meets closes a path, too.
  template <bool Forward>
  bool visit(std::uint32_t s, std::uint32_t early, std::uint32_t late);

  void move_forward(std::uint32_t early, std::uint32_t late);
  void move_backward(std::uint32_t early, std::uint32_t late);

  /// Fills the places first..last: `kept` of the window, the merged set, the others, holes.
  void write(std::uint32_t first, std::uint32_t last, std::size_t kept, std::uint32_t merged);

  /// One ring of members, under the number of the earlier set.
  std::uint32_t join(std::uint32_t early, std::uint32_t late);

  const compressed_graph* g_;
  std::vector<std::uint32_t> at_;     // set at a place, or hole
  std::vector<std::uint32_t> place_;  // of a set
  std::vector<std::uint32_t> set_;    // of a vertex: one of its members
  std::vector<std::uint32_t> next_;   // ring of the members of a set
  std::vector<std::uint32_t> mark_;   // 2 * stamp: found forward; 2 * stamp + 1: found backward
  std::uint32_t stamp_ = 0;
  std::vector<std::uint32_t> forward_, backward_, window_;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/bucketing/impl/merge_order.hpp>
#endif

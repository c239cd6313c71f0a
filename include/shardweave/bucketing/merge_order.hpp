#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Draws vertices of an acyclic graph together, one merge after the other, and never closes a cycle.

namespace shardweave {
inline namespace v0 {

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
  /// \pre g outlives the order \throws error if g has a cycle
  explicit merge_order(const compressed_graph& g)
      : g_(&g),
        at_(stable_topological_order(g)),
        place_(g.vertex_count()),
        set_(g.vertex_count()),
        next_(g.vertex_count()),
        mark_(g.vertex_count()) {
    for (std::uint32_t i = 0; i < at_.size(); ++i) place_[at_[i]] = i;
    for (std::uint32_t v = 0; v < g.vertex_count(); ++v) set_[v] = next_[v] = v;
  }

  /// One number per set, the same for all its vertices.
  [[nodiscard]] std::uint32_t set_of(std::uint32_t v) const { return set_[v]; }
  /// Position of a vertex's set in the order; positions are not contiguous.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t v) const { return place_[set_[v]]; }
  [[nodiscard]] bool same(std::uint32_t a, std::uint32_t b) const { return set_[a] == set_[b]; }

  /// Merges the sets of two vertices; true if they are one set then, false if that would close a cycle.
  bool merge(std::uint32_t a, std::uint32_t b) {
    std::uint32_t early = set_[a], late = set_[b];
    if (early == late) return true;
    if (place_[early] > place_[late]) std::swap(early, late);
    forward_.assign(1, early);
    backward_.assign(1, late);
    ++stamp_;
    mark_[early] = 2 * stamp_;
    mark_[late] = 2 * stamp_ + 1;
    std::size_t f = 0, b_at = 0;
    while (f < forward_.size() && b_at < backward_.size()) {
      if (!visit<true>(forward_[f++], early, late) || !visit<false>(backward_[b_at++], early, late)) return false;
    }
    // One side is complete: nothing leads from the early set to the late one. What that side found moves
    // to the other side of the merged set.
    f == forward_.size() ? move_forward(early, late) : move_backward(early, late);
    return true;
  }

  /// All vertices in a topological order in which the members of a set stand together, in their own order.
  [[nodiscard]] std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> all, members;
    all.reserve(set_.size());
    for (const std::uint32_t s : at_) {
      if (s == hole) continue;
      members.clear();
      for (std::uint32_t v = s;;) {
        members.push_back(v);
        if ((v = next_[v]) == s) break;
      }
      std::sort(members.begin(), members.end());
      all.insert(all.end(), members.begin(), members.end());
    }
    return all;
  }

 private:
  static constexpr std::uint32_t hole = 0xffffffff;

  /// Marks what follows (or leads to) a set between the two; false if the other end is met.
  /// Both searches share the marks: what one has seen and the other meets closes a path, too.
  template <bool Forward>
  bool visit(std::uint32_t s, std::uint32_t early, std::uint32_t late) {
    const std::uint32_t own = 2 * stamp_ + (Forward ? 0 : 1), others = 2 * stamp_ + (Forward ? 1 : 0);
    const std::uint32_t goal = Forward ? late : early;
    for (std::uint32_t v = s;;) {
      for (const auto& e : Forward ? g_->out(v) : g_->in(v)) {
        const std::uint32_t n = set_[Forward ? e.target : e.source];
        if (n == goal) return false;
        if (n == s || place_[n] < place_[early] || place_[n] > place_[late] || mark_[n] == own) continue;
        if (mark_[n] == others) return false;
        mark_[n] = own;
        (Forward ? forward_ : backward_).push_back(n);
      }
      if ((v = next_[v]) == s) return true;
    }
  }

  void move_forward(std::uint32_t early, std::uint32_t late) {
    const std::uint32_t first = place_[early], last = place_[late];
    window_.clear();
    for (std::uint32_t i = first; i <= last; ++i)
      if (at_[i] != hole && at_[i] != early && at_[i] != late && mark_[at_[i]] != 2 * stamp_) window_.push_back(at_[i]);
    const std::size_t kept = window_.size();
    for (std::uint32_t i = first; i <= last; ++i)
      if (at_[i] != hole && at_[i] != early && mark_[at_[i]] == 2 * stamp_) window_.push_back(at_[i]);
    write(first, last, kept, join(early, late));
  }
  void move_backward(std::uint32_t early, std::uint32_t late) {
    const std::uint32_t first = place_[early], last = place_[late];
    window_.clear();
    for (std::uint32_t i = first; i <= last; ++i)
      if (at_[i] != hole && at_[i] != late && mark_[at_[i]] == 2 * stamp_ + 1) window_.push_back(at_[i]);
    const std::size_t kept = window_.size();
    for (std::uint32_t i = first; i <= last; ++i)
      if (at_[i] != hole && at_[i] != early && at_[i] != late && mark_[at_[i]] != 2 * stamp_ + 1)
        window_.push_back(at_[i]);
    write(first, last, kept, join(early, late));
  }

  /// Fills the places first..last: `kept` of the window, the merged set, the others, holes.
  void write(std::uint32_t first, std::uint32_t last, std::size_t kept, std::uint32_t merged) {
    window_.insert(window_.begin() + static_cast<std::ptrdiff_t>(kept), merged);
    for (std::uint32_t i = first; i <= last; ++i) {
      const std::size_t k = i - first;
      at_[i] = k < window_.size() ? window_[k] : hole;
      if (at_[i] != hole) place_[at_[i]] = i;
    }
  }

  /// One ring of members, under the number of the earlier set.
  std::uint32_t join(std::uint32_t early, std::uint32_t late) {
    for (std::uint32_t v = late;;) {
      set_[v] = early;
      if ((v = next_[v]) == late) break;
    }
    std::swap(next_[early], next_[late]);
    return early;
  }

  const compressed_graph* g_;
  std::vector<std::uint32_t> at_;     // set at a place, or hole
  std::vector<std::uint32_t> place_;  // of a set
  std::vector<std::uint32_t> set_;    // of a vertex: one of its members
  std::vector<std::uint32_t> next_;   // ring of the members of a set
  std::vector<std::uint32_t> mark_;   // 2 * stamp: found forward; 2 * stamp + 1: found backward
  std::uint32_t stamp_ = 0;
  std::vector<std::uint32_t> forward_, backward_, window_;
};

}  // namespace v0
}  // namespace shardweave

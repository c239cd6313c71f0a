#pragma once

#include <shardweave/graph/concepts.hpp>

#include <boost/functional/hash.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

/// \file
/// Numbers 0..n-1 for the vertices of any graph, so that algorithms can keep their data in arrays.

namespace shardweave::inline v0 {

/// Numbers the vertices of a graph in the order of `vertices(g)`.
///
/// Keeps the list of descriptors. Where these are the numbers themselves (vecS, compressed graphs) that is all; for any
/// other graph there is a hash table besides. The graph is not kept: it may be destroyed first.
/// Complexity: O(V) time and memory to build; O(1) per question, on average where there is a hash table.
template <class G>
class vertex_numbering {
 public:
  using vertex = typename detail::vertex_of<G>::type;

  explicit vertex_numbering(const G& g) {
    if constexpr (detail::is_graph<G>()) {
      listed_.reserve(num_vertices(g));
      for (auto [v, last] = vertices(g); v != last; ++v) listed_.push_back(*v);
    }
    if constexpr (std::integral<vertex>) {
      for (std::size_t i = 0; i < listed_.size() && is_identity_; ++i)
        is_identity_ = static_cast<std::size_t>(listed_[i]) == i;
    } else {
      is_identity_ = false;
    }
    if (is_identity_) return;
    numbers_.reserve(listed_.size());
    for (std::size_t i = 0; i < listed_.size(); ++i) numbers_.emplace(listed_[i], static_cast<std::uint32_t>(i));
  }

  [[nodiscard]] std::size_t size() const { return listed_.size(); }
  /// \pre `v` is a vertex of the graph
  [[nodiscard]] std::uint32_t operator()(vertex v) const {
    if constexpr (std::integral<vertex>) {
      if (is_identity_) return static_cast<std::uint32_t>(v);
    }
    return numbers_.find(v)->second;
  }
  /// \pre number < size()
  [[nodiscard]] vertex operator[](std::size_t number) const { return listed_[number]; }

 private:
  std::vector<vertex> listed_;
  std::unordered_map<vertex, std::uint32_t, boost::hash<vertex>> numbers_;
  bool is_identity_ = true;
};

}  // namespace shardweave::inline v0

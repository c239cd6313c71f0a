#pragma once

#include <shardweave/graph/compressed_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace shardweave::inline v0::detail {

/// Which vertex plays a vertex's part one layer on. Grown from a chain of vertices that are taken to correspond: what
/// corresponding vertices have as the same argument corresponds, and so do their users if each has just one that does
/// the same with them and has no counterpart yet. Nothing has two counterparts on a side.
class layer_shift {
 public:
  using vertex = std::uint32_t;
  static constexpr vertex nobody = std::numeric_limits<vertex>::max();

  /// Vertices in a chain of counterparts, each one layer on from the one before.
  struct chains {
    std::vector<std::vector<vertex>> members;
    std::vector<std::uint32_t> of;     ///< per vertex: its chain, or nobody
    std::vector<std::uint32_t> index;  ///< per vertex: its place there
  };

  /// \param content  equal for vertices that do the same by themselves
  /// \param taken    vertices that have no counterparts
  layer_shift(const compressed_graph& g, std::span<const std::uint64_t> content, const std::vector<bool>& taken)
      : g_(g), content_(content), taken_(taken), next_(g.vertex_count(), nobody), previous_(g.vertex_count(), nobody) {}

  /// Starts anew from a chain.
  /// Complexity: O(E log E) but for vertices with many equal users, whose users are looked at again as they are told
  /// apart
  void grow(std::span<const vertex> chain) {
    linked_.clear();
    pending_.clear();
    std::ranges::fill(next_, nobody);
    std::ranges::fill(previous_, nobody);
    is_pending_.assign(next_.size(), false);
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) link(chain[i], chain[i + 1]);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const vertex v = pending_[i];
      is_pending_[v] = false;
      const auto in = g_.in(v), other = g_.in(next_[v]);
      for (std::size_t a = 0; a < std::min(in.size(), other.size()); ++a) link(in[a].source, other[a].source);
      link_users(v, next_[v]);
    }
  }

  /// In the order in which they were found, which does not depend on how vertices are numbered.
  [[nodiscard]] chains found() const {
    chains result{{}, std::vector<std::uint32_t>(g_.vertex_count(), nobody), std::vector<std::uint32_t>(next_.size())};
    std::vector<bool> goes_round(next_.size());
    for (const vertex v : linked_) {
      if (result.of[v] != nobody || goes_round[v]) continue;
      vertex first = v;
      while (previous_[first] != nobody && previous_[first] != v) first = previous_[first];
      if (previous_[first] == v) {  // a circle has no first layer
        for (vertex at = v; !goes_round[at]; at = next_[at]) goes_round[at] = true;
        continue;
      }
      const auto number = static_cast<std::uint32_t>(result.members.size());
      std::vector<vertex>& members = result.members.emplace_back();
      for (vertex at = first; at != nobody; at = next_[at]) {
        result.of[at] = number;
        result.index[at] = static_cast<std::uint32_t>(members.size());
        members.push_back(at);
      }
    }
    return result;
  }

 private:
  /// A user of a vertex: what it does, and with which argument.
  struct use {
    std::uint64_t content = 0;
    std::size_t argument = 0;
    vertex user = 0;
    [[nodiscard]] bool is_like(const use& other) const {
      return content == other.content && argument == other.argument;
    }
  };

  void link(vertex v, vertex other) {
    if (v == other || content_[v] != content_[other] || taken_[v] || taken_[other]) return;
    if (next_[v] != nobody || previous_[other] != nobody) return;
    next_[v] = other;
    previous_[other] = v;
    linked_.push_back(v);
    push(v);
    for (const auto& e : g_.in(v))  // one user less that has no counterpart
      if (next_[e.source] != nobody) push(e.source);
  }
  void push(vertex v) {
    if (is_pending_[v]) return;
    is_pending_[v] = true;
    pending_.push_back(v);
  }

  [[nodiscard]] std::vector<use> free_users(vertex v, const std::vector<vertex>& counterpart) const {
    std::vector<use> users;
    for (const auto& e : g_.out(v)) {
      if (counterpart[e.target] != nobody) continue;
      const auto in = g_.in(e.target);
      const auto argument = static_cast<std::size_t>(
          std::ranges::lower_bound(in, e.index, {}, &compressed_graph::edge_descriptor::index) - in.begin());
      users.push_back({content_[e.target], argument, e.target});
    }
    std::ranges::sort(users, [](const use& a, const use& b) {
      return a.content != b.content ? a.content < b.content : a.argument < b.argument;
    });
    return users;
  }

  void link_users(vertex v, vertex other) {
    const std::vector<use> users = free_users(v, next_), others = free_users(other, previous_);
    const auto is_alone = [](const std::vector<use>& all, std::size_t i) {
      return (i == 0 || !all[i].is_like(all[i - 1])) && (i + 1 == all.size() || !all[i].is_like(all[i + 1]));
    };
    for (std::size_t i = 0, j = 0; i < users.size(); ++i) {
      while (j < others.size() && (others[j].content != users[i].content ? others[j].content < users[i].content
                                                                         : others[j].argument < users[i].argument))
        ++j;
      if (j < others.size() && others[j].is_like(users[i]) && is_alone(users, i) && is_alone(others, j))
        link(users[i].user, others[j].user);
    }
  }

  const compressed_graph& g_;
  std::span<const std::uint64_t> content_;
  const std::vector<bool>& taken_;
  std::vector<vertex> next_, previous_;
  std::vector<vertex> linked_;  // those that have a next one, as they were found
  std::vector<vertex> pending_;
  std::vector<bool> is_pending_;
};

}  // namespace shardweave::inline v0::detail

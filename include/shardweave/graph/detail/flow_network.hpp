#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardweave::inline v0::detail {

/// A network of arcs with room for whole amounts. Boost.Graph has such flows too; its headers take longer to compile
/// than all that is around them here.
/// Source: J. Edmonds, R. M. Karp, Theoretical improvements in algorithmic efficiency for network flow problems,
/// J. ACM 19 (1972): along shortest paths, O(V E^2).
class flow_network {
 public:
  explicit flow_network(std::size_t vertices) : out_(vertices) {}

  /// \pre room is not negative
  void add_arc(std::size_t from, std::size_t to, std::int64_t room) {
    out_[from].push_back(arcs_.size());
    arcs_.push_back({to, room});
    out_[to].push_back(arcs_.size());  // the way back: an arc and its opposite differ in the last bit of their numbers
    arcs_.push_back({from, 0});
  }

  /// Sends as much as there is room for. \returns what `from` still reaches: the smallest side of a minimum cut
  [[nodiscard]] std::vector<char> fill(std::size_t from, std::size_t to) {
    for (;;) {
      std::vector<char> reached(out_.size());
      std::vector<std::size_t> by(out_.size()), queue{from};
      reached[from] = 1;
      for (std::size_t i = 0; i < queue.size() && reached[to] == 0; ++i)
        for (const std::size_t a : out_[queue[i]])
          if (arcs_[a].room > 0 && reached[arcs_[a].to] == 0) {
            reached[arcs_[a].to] = 1;
            by[arcs_[a].to] = a;
            queue.push_back(arcs_[a].to);
          }
      if (reached[to] == 0) return reached;
      std::int64_t amount = std::numeric_limits<std::int64_t>::max();
      for (std::size_t v = to; v != from; v = arcs_[by[v] ^ 1U].to) amount = std::min(amount, arcs_[by[v]].room);
      for (std::size_t v = to; v != from; v = arcs_[by[v] ^ 1U].to) {
        arcs_[by[v]].room -= amount;
        arcs_[by[v] ^ 1U].room += amount;
      }
    }
  }
  /// Whether an arc from this vertex has room left.
  [[nodiscard]] bool has_room(std::size_t from) const {
    return std::any_of(out_[from].begin(), out_[from].end(), [this](std::size_t a) { return arcs_[a].room > 0; });
  }

 private:
  struct arc {
    std::size_t to = 0;
    std::int64_t room = 0;
  };
  std::vector<arc> arcs_;
  std::vector<std::vector<std::size_t>> out_;
};

}  // namespace shardweave::inline v0::detail

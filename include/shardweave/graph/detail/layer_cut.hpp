#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/detail/flow_network.hpp>
#include <shardweave/graph/detail/layer_shift.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Says in which layer the first vertex of every chain of counterparts lies. There are as many layers as most chains
/// have members. Chains with as many or more have one in as many layers as possible; then a value that has one user,
/// which uses nothing else, stays with it; then the fewest values pass from one layer to another; then as few members
/// of shorter chains as possible lie outside.
///
/// All of this is a sum of terms max(0, x - y - c) over numbers of layers, with one number more for the last layer
/// that uses a value and one for the first, and one for where layers begin. Such a sum is convex: it is least when no
/// set of numbers can be raised by one at a gain, and the set that gains most is a minimum cut.
/// Source: K. Murota, Discrete Convex Analysis (2003), minimization of L-natural-convex functions by steepest descent.
class layer_cut {
 public:
  layer_cut(const compressed_graph& g, const layer_shift::chains& chains)
      : chains_(chains), layer_(3 * chains.members.size() + 1) {
    count_layers();
    collect(g);
    start();
    while (raise()) continue;
  }

  [[nodiscard]] std::size_t layers() const { return layers_; }
  /// Counted from the first whole layer on, so that what lies before it has a number below 0.
  [[nodiscard]] std::int64_t first_layer(std::size_t chain) const { return layer_[chain] - layer_[begin()]; }

 private:
  /// weight * max(0, layer[high] - layer[low] - lead)
  struct term {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::int64_t lead = 0;
    std::int64_t weight = 0;
  };
  // What comes first outweighs what comes later in any graph of which less than 2^14 of it is at stake.
  static constexpr std::int64_t outside = 1, pass = std::int64_t{1} << 14U, close = std::int64_t{1} << 28U,
                                missing = std::int64_t{1} << 42U, hard = std::int64_t{1} << 54U;

  [[nodiscard]] std::int64_t excess(const term& t) const { return layer_[t.high] - layer_[t.low] - t.lead; }
  [[nodiscard]] std::uint32_t begin() const { return 3 * count(); }
  [[nodiscard]] std::uint32_t last_use(std::uint32_t chain) const { return count() + chain; }
  [[nodiscard]] std::uint32_t first_use(std::uint32_t chain) const { return 2 * count() + chain; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(chains_.members.size()); }

  void count_layers() {
    std::map<std::size_t, std::size_t> of_length;
    for (const auto& members : chains_.members) ++of_length[members.size()];
    std::size_t most = 0;
    for (const auto& [length, times] : of_length)
      if (times >= most) {
        most = times;
        layers_ = length;
      }
  }

  /// Which chains use which, and how many places further on the user stands in its own. What only some members have is
  /// the work of the ends.
  void collect(const compressed_graph& g) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::size_t> uses;
    for (const auto& e : g.all_edges())
      if (chains_.of[e.source] != layer_shift::nobody && chains_.of[e.target] != layer_shift::nobody)
        ++uses[{chains_.of[e.source], chains_.of[e.target],
                std::int64_t{chains_.index[e.target]} - std::int64_t{chains_.index[e.source]}}];
    for (const auto& [key, times] : uses) {
      const auto [from, to, lead] = key;
      if (2 * times + 2 < std::min(chains_.members[from].size(), chains_.members[to].size())) continue;
      uses_.push_back({from, to, -lead, 0});
      terms_.push_back({last_use(from), to, -lead, hard});
      terms_.push_back({to, first_use(from), lead, hard});
    }
    for (std::uint32_t c = 0; c < count(); ++c) {
      const std::vector<std::uint32_t>& members = chains_.members[c];
      const bool is_close = std::ranges::all_of(
          members, [&](std::uint32_t v) { return g.out(v).size() == 1 && g.in(g.out(v).front().target).size() == 1; });
      const std::int64_t weight = static_cast<std::int64_t>(members.size()) * (is_close ? close : pass);
      const std::int64_t more = static_cast<std::int64_t>(members.size()) - static_cast<std::int64_t>(layers_);
      terms_.push_back({begin(), c, std::max<std::int64_t>(0, -more), more < 0 ? outside : missing});
      terms_.push_back({c, begin(), std::max<std::int64_t>(0, more), more < 0 ? outside : missing});
      terms_.push_back({c, last_use(c), 0, weight});
      terms_.push_back({first_use(c), c, 0, weight});
      terms_.push_back({last_use(c), c, 0, hard});
      terms_.push_back({c, first_use(c), 0, hard});
    }
  }

  /// Along uses, each chain from the first that reaches it, as if all of them lay within layers.
  void start() {
    std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> beside(count());
    for (const term& use : uses_) {
      beside[use.low].emplace_back(use.high, use.lead);
      beside[use.high].emplace_back(use.low, -use.lead);
    }
    std::vector<bool> seen(count());
    for (std::uint32_t root = 0; root < count(); ++root) {
      if (seen[root]) continue;
      seen[root] = true;
      std::vector<std::uint32_t> reached{root};
      for (std::size_t i = 0; i < reached.size(); ++i)
        for (const auto& [other, lead] : beside[reached[i]])
          if (!seen[other]) {
            seen[other] = true;
            layer_[other] = layer_[reached[i]] + lead;
            reached.push_back(other);
          }
    }
    for (std::uint32_t c = 0; c < count(); ++c) layer_[last_use(c)] = layer_[first_use(c)] = layer_[c];
    for (const term& use : uses_) {
      const std::int64_t at = layer_[use.high] - use.lead;
      layer_[last_use(use.low)] = std::max(layer_[last_use(use.low)], at);
      layer_[first_use(use.low)] = std::min(layer_[first_use(use.low)], at);
    }
  }

  /// Raises the smallest set of numbers that gains most; false if none gains.
  bool raise() {
    const std::size_t n = layer_.size(), from = n, to = n + 1;
    flow_network net(n + 2);
    for (const term& t : terms_) {
      const std::int64_t over = excess(t);
      if (over == 0) net.add_arc(t.high, t.low, t.weight);
      if (over > 0) {
        net.add_arc(from, t.low, t.weight);
        net.add_arc(t.high, to, t.weight);
      }
    }
    const std::vector<char> raised = net.fill(from, to);
    const bool gains = net.has_room(from);
    for (std::size_t v = 0; gains && v < n; ++v) layer_[v] += raised[v];
    return gains;
  }

  const layer_shift::chains& chains_;
  std::size_t layers_ = 0;
  std::vector<std::int64_t> layer_;  // of chains, of last uses, of first uses, and where layers begin
  std::vector<term> uses_;           // of low by high; no excess within a layer
  std::vector<term> terms_;
};

}  // namespace shardweave::inline v0::detail

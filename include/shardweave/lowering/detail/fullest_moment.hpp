#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/lowering/detail/held_sizes.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// \file
/// When a training step holds most, as far as its graph tells before it is placed.

namespace shardweave::inline v0::detail {

/// Looks at the operations around the end of the forward part, each as a moment at which what was made before it and is
/// read after it is held.
class fullest_moment {
 public:
  explicit fullest_moment(const spmd_cost_model& model)
      : model_(model), graph_(model.operations()), edges_(model.graph()) {}

  /// The one with most parted, were it cut over all devices, and held by what runs.
  /// \returns nothing if none parts anything
  /// Complexity: O(512 (V + E)), and the strategies of what was looked at
  [[nodiscard]] std::optional<std::uint32_t> find() const {
    const std::vector<std::uint32_t> around = moments();
    const std::vector<double> parted = parted_at(around);
    std::optional<std::uint32_t> most;
    double most_held = 0;
    for (std::size_t i = 0; i < around.size(); ++i) {
      if (parted[i] == 0) continue;
      const double held = parted[i] / static_cast<double>(model_.mesh().size()) + least_at_work(around[i]);
      if (held <= most_held) continue;
      most = around[i];
      most_held = held;
    }
    return most;
  }

 private:
  static constexpr std::size_t tried = 512;  ///< moments
  using set = std::bitset<tried>;

  [[nodiscard]] const operation& op(std::uint32_t v) const { return graph_.operations[v]; }

  /// The last of the forward part and the first of the backward part.
  [[nodiscard]] std::vector<std::uint32_t> moments() const {
    std::vector<std::uint32_t> around;
    const auto n = static_cast<std::uint32_t>(graph_.operations.size());
    const auto may_be = [&](std::uint32_t v, phase when) {
      return is_made(op(v)) && !is_view(model_, op(v)) && op(v).when == when;
    };
    for (std::uint32_t v = n; v-- > 0 && around.size() < tried / 2;)
      if (may_be(v, phase::forward)) around.push_back(v);
    for (std::uint32_t v = 0; v < n && around.size() < tried; ++v)
      if (may_be(v, phase::backward)) around.push_back(v);
    return around;
  }

  /// What each moment parts, in bytes, but for what its own operation reads and gives: a pass over the graph forth and
  /// one back for all moments together.
  /// \param moments  at most as many as are tried
  [[nodiscard]] std::vector<double> parted_at(std::span<const std::uint32_t> moments) const {
    const std::size_t n = graph_.operations.size();
    // which moments a vertex comes after, or before, of itself a moment is before; and of which it is a part
    std::vector<set> after(n), before(n), own(n);
    for (std::size_t i = 0; i < moments.size(); ++i) {
      before[moments[i]].set(i);
      own[moments[i]].set(i);
      for (const std::uint32_t p : op(moments[i]).inputs) own[p].set(i);
    }
    for (std::uint32_t u = 0; u < n; ++u)
      for (const std::uint32_t p : op(u).inputs) {
        after[u] |= after[p];
        after[u] |= before[p];  // so far: whether it is the moment
      }
    for (auto u = static_cast<std::uint32_t>(n); u-- > 0;)
      for (const std::uint32_t p : op(u).inputs) before[p] |= before[u];
    std::vector<double> parted(moments.size());
    for (std::uint32_t u = 0; u < n; ++u) {
      if (before[u].none() || !is_made(op(u))) continue;
      set read;
      for (const spmd_cost_model::edge& e : edges_.out(u)) read |= after[e.target];
      read &= before[u] & ~own[u];
      if (read.none()) continue;
      const auto size = static_cast<double>(op(u).outputs.front().size().count());
      for (std::size_t i = 0; i < moments.size(); ++i)
        if (read.test(i)) parted[i] += size;
    }
    return parted;
  }
  /// What an operation holds while it runs, under the strategy with which that is least.
  [[nodiscard]] double least_at_work(std::uint32_t v) const {
    std::vector<double> all(model_.strategy_count(v));
    const auto add = [&](const std::vector<double>& some) {
      for (std::size_t s = 0; s < all.size(); ++s) all[s] += some[s];
    };
    for (std::size_t k = 0; k < op(v).outputs.size(); ++k) add(sizes_by_strategy(model_, v, k));
    for (const spmd_cost_model::edge& e : edges_.in(v)) add(sizes_taken(model_, e));
    return std::ranges::min(all);
  }

  const spmd_cost_model& model_;
  const computation& graph_;
  const compressed_graph& edges_;
};

}  // namespace shardweave::inline v0::detail

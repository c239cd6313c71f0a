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
/// The operation of a training step during which most memory is held, as estimated before placement.

namespace shardweave::inline v0::detail {

/// Compares the operations around the end of the forward part by the bytes held while each of them runs: of values made
/// before it and read after it, and of its own arguments and results.
class fullest_moment {
 public:
  explicit fullest_moment(const spmd_cost_model& model)
      : model_(model), graph_(model.operations()), edges_(model.graph()) {}

  /// The operation with the most bytes: those of crossing values divided by the number of devices, plus its own under
  /// their smallest strategy.
  /// \returns nothing if no value crosses any of them
  /// Complexity: O(512 (V + E)), and the strategies of the candidates
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
  static constexpr std::size_t tried = 512;  ///< number of candidates: one bit of a set each
  using set = std::bitset<tried>;

  [[nodiscard]] const operation& op(std::uint32_t v) const { return graph_.operations[v]; }

  /// The last operations of the forward part and the first of the backward part, without views.
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

  /// Bytes of values that are made before and read after each candidate, without its own arguments and results: one
  /// pass over the graph forward and one backward, for all candidates together.
  /// \param moments  at most `tried`
  [[nodiscard]] std::vector<double> parted_at(std::span<const std::uint32_t> moments) const {
    const std::size_t n = graph_.operations.size();
    // per vertex, as sets of candidates: those that it depends on; those that depend on it, and itself; those that it
    // is an argument or result of
    std::vector<set> after(n), before(n), own(n);
    for (std::size_t i = 0; i < moments.size(); ++i) {
      before[moments[i]].set(i);
      own[moments[i]].set(i);
      for (const std::uint32_t p : op(moments[i]).inputs) own[p].set(i);
    }
    for (std::uint32_t u = 0; u < n; ++u)
      for (const std::uint32_t p : op(u).inputs) {
        after[u] |= after[p];
        after[u] |= before[p];  // at this point only the candidate itself is in `before`
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
  /// The bytes of an operation's arguments and results, under the strategy with the least.
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

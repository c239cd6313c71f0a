#pragma once

#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Lowering of placements to steps whose batch is computed in parts.

namespace shardweave::inline v0 {

/// The step of a batch in equal parts that are interleaved: each computes while another one communicates. Parameters
/// are gathered once for all parts; gradients are accumulated locally and reduced once. Every task of a part takes the
/// time of its own size, so half a batch takes more than half the time.
///
/// \param part   lowered from `model`, which is of one part of the batch
/// \param parts  2 at least
/// `task_of` names the first part's tasks, and for gradients that are accumulated the sum.
/// \throws error (input) if there are less than two parts
/// Source: the interleaved micro-batches of G. Wang et al., Domino, 2024 (arXiv 2409.15241).
/// Complexity: O(parts * (V + E))
[[nodiscard]] lowered_graph with_batch_parts(const lowered_graph& part, const spmd_cost_model& model, unsigned parts);

/// The work of a batch in parts. `alone` counts what every part repeats as often as there are parts. `least` is that of
/// one part: a valid but weak lower bound.
class batch_parts_work {
 public:
  using edge = spmd_cost_model::edge;

  batch_parts_work(const spmd_cost_model& model, lowered_work part, unsigned parts);

  [[nodiscard]] batch_parts_work alone() const { return of_kind(part_.alone(), parts_); }
  [[nodiscard]] batch_parts_work least() const { return of_kind(part_.least(), 1); }

  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return part_.strategy_count(v); }
  [[nodiscard]] std::size_t channel_count() const { return part_.channel_count(); }
  [[nodiscard]] double vertex_time(std::uint32_t v, strategy s) const {
    return part_.vertex_time(v, s) * (of_part_[v] && !takes_sums_[v] ? counted_ : 1);
  }
  [[nodiscard]] std::span<const std::uint32_t> producer_classes(edge e) const { return part_.producer_classes(e); }
  [[nodiscard]] std::span<const std::uint32_t> consumer_classes(edge e) const { return part_.consumer_classes(e); }
  [[nodiscard]] std::uint64_t edge_key(edge e) const { return part_.edge_key(e) * 2 + (is_repeated(e) ? 1 : 0); }
  [[nodiscard]] work_patterns edge_patterns(edge e) const { return part_.edge_patterns(e); }
  [[nodiscard]] edge_work pattern_work(edge e, std::uint32_t p) const {
    edge_work work = part_.pattern_work(e, p);
    if (is_repeated(e))
      for (double& load : work.loads) load *= counted_;
    return work;
  }
  [[nodiscard]] std::uint64_t share_key(edge e) const { return part_.share_key(e); }

 private:
  [[nodiscard]] bool is_repeated(edge e) const { return of_part_[e.source] && !takes_sums_[e.target]; }
  [[nodiscard]] batch_parts_work of_kind(lowered_work part, unsigned counted) const {
    batch_parts_work other = *this;
    other.part_ = std::move(part);
    other.counted_ = counted;
    return other;
  }

  lowered_work part_;
  unsigned parts_;
  double counted_;
  std::vector<bool> of_part_;  ///< by operation: whether it depends on the batch
  /// By operation: whether it applies to accumulated gradients, once for all parts; or is an output.
  std::vector<bool> takes_sums_;
};

/// Lowers to a batch in parts; the cost model describes one part.
struct batch_parts_lowering {
  static constexpr std::string_view name = "batch_parts";

  unsigned parts = 2;
  spmd_lowering part = {};

  [[nodiscard]] lowered_graph operator()(const spmd_cost_model& model, std::span<const strategy> chosen) const {
    return with_batch_parts(part(model, chosen), model, parts);
  }
  /// The same, unless a stop comes first.
  /// \throws error (stopped) then
  [[nodiscard]] lowered_graph operator()(const spmd_cost_model& model, std::span<const strategy> chosen,
                                         const stop_token& stop) const {
    return with_batch_parts(part(model, chosen, stop), model, parts);
  }
  [[nodiscard]] batch_parts_work work(const spmd_cost_model& model, unsigned threads = 1) const {
    return {model, part.work(model, threads), parts};
  }
};

static_assert(lowering_policy<batch_parts_lowering, spmd_cost_model>);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/batch_parts_lowering.hpp>
#endif

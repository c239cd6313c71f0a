#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <string>

/// \file
/// Proofs that no order ends before a time, checked in whole numbers, without anything that schedulers are made of.

namespace shardweave::inline v0 {

/// What a checker says of a proof about orders.
struct order_verdict {
  bool accepted = false;
  std::string failure = {};  ///< the step that does not hold: what was found and what was expected
  std::size_t steps = 0;     ///< that hold: joins, and the conclusion
  nanoseconds bound = {};    ///< what is proven, no less than what is claimed if that is accepted; else 0
};

/// Checks a proof against a task graph: heads and tails by chains and by the certificate's joins, then its conclusion.
/// Knows the graph, its tables and the reference timing, and nothing of how the proof was found. All sums are of
/// whole numbers of 128 bits.
///
/// \pre `g` has the durations that the proof is about: its `fused_durations()` (`task_graph::with_durations`) if
///      `order_certificates::of_fused_durations` is set, otherwise its own
/// Complexity: O((V + E) (1 + joins)) at most; a join takes the part of the graph between its ends
/// Source: the bounds are those of J. Carlier, The one-machine sequencing problem, EJOR 11 (1982), and S. M. Johnson,
/// Optimal two- and three-stage production schedules, 1954; see docs/proofs.md.
[[nodiscard]] order_verdict check_certificate(const task_graph& g, const order_certificate& c);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/check_order_certificate.hpp>
#endif

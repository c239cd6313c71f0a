#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// \file
/// Options of a search for the fastest plan, and of the bound on the step of all plans.

namespace shardweave::inline v0 {

/// Limits on the effort of `step_bound`, and the gap at which it ends.
struct step_bound_options {
  std::size_t rounds = 40;  ///< priced placement problems that are solved, at most
  /// Relative gap between the bound and the most that any weights can prove, at which the search ends.
  double tolerance = 0.002;
  /// Relative gap to which each priced placement problem is solved.
  double placement_gap = 0.0005;
  /// Bounds the effort on large problems: with n table entries in a problem at most max(4, entries / n) priced problems
  /// are solved, each with at most max(50, 2 entries / n) iterations.
  std::size_t entries = 250'000'000;
  /// The vertex at which heads of claims end (`step_claim::has_head`), from the first round on; nothing: one is
  /// searched for, and claims with heads come only in the last rounds, a fifth of them, or a third where edges have
  /// several ways.
  std::optional<std::uint32_t> turn = std::nullopt;
  /// Whether there are claims with waits and late work (`step_claim::waits`, `late_work`), and the ways of edges count
  /// from the first round on. For a run that continues from a known bound, which is found in less time without them.
  bool waits = false;
};

/// Effort of `search_step`, and the gap to which placements are solved.
struct step_search_options {
  /// Plans that are made at most, the start included, and placements that are solved for them at most. Fewer for large
  /// problems (`step_bound_options::entries`).
  std::size_t plans = 32;
  /// In a small problem, of at most 500 labels, up to `around` / labels more plans are made: of all placements whose
  /// bound is below the best step, or, if these are too many, of the neighbours of the best. 0: none.
  std::size_t around = 8192;
  /// How many of the best plans are improved with low effort; the best of them then with high effort.
  std::size_t improved = 6;
  /// Relative gap to which placements are solved under prices. It may be coarse: plans are compared by their timelines.
  double placement_gap = 0.003;
  step_bound_options bound = {.rounds = 36};
  /// Plans depend on the first so many vertices only: assignments that differ elsewhere have one plan. 0: on all.
  std::size_t planned = 0;
  bool bounds = true;  ///< whether to bound the step of all plans; otherwise the gap is unknown
};

}  // namespace shardweave::inline v0

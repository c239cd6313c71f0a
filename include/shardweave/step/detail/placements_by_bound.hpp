#pragma once

#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// All placements of a small problem, by lower bounds on their plans.

namespace shardweave::inline v0::detail {

/// A lower bound on the makespan of all plans of one placement, whatever its buckets, its order and its recomputation:
/// the largest claim about it.
class placement_bound {
 public:
  /// \param work      least work with merging of collectives
  /// \param turn      as `step_bound_options` has it
  /// \param vertices  plans depend on the first so many; the work of the others is not counted
  placement_bound(const step_work& work, std::optional<std::uint32_t> turn, std::size_t vertices)
      : least_(least_of_ways(work)), search_(least_), vertices_(vertices) {
    if (turn)
      search_.want_heads_at(*turn);
    else
      search_.want_heads();
  }
  placement_bound(const placement_bound&) = delete;
  placement_bound& operator=(const placement_bound&) = delete;

  /// Complexity: O(V + channels * E)
  [[nodiscard]] double operator()(const assignment& choice) {
    constexpr double rounding = 1e-9;  // of the sums in a claim, relative: the bound stays valid
    taken_work taken = work_of(least_, choice);
    for (std::size_t v = vertices_; v < taken.time.size(); ++v) taken.time[v] = 0;
    for (std::size_t e = 0; e < least_.edges.size(); ++e) {
      if (std::max(least_.edges[e].from, least_.edges[e].to) < vertices_) continue;
      std::fill_n(taken.load.begin() + static_cast<std::ptrdiff_t>(e * least_.channels), least_.channels, 0.0);
      taken.chain[e] = 0;
    }
    double most = 0;
    for (const step_claim& claim : search_.largest(taken))
      if (!(claim.price > 0))
        most = std::max(most, value_of(claim, least_, taken));  // a price is on held amounts, which are left out
    return most * (1 - rounding);
  }

 private:
  step_work least_;
  claim_search search_;
  std::size_t vertices_;
};

/// A placement and a lower bound on the makespan of its plans.
struct bounded_placement {
  assignment choice = {};
  double bound = 0;
};

/// All feasible placements, the one of the least bound first.
/// \param labels    of one, by variable: variables that place none of the first `vertices` vertices keep these
/// \param vertices  plans depend on the first so many
/// \param most      labelings that are evaluated, at most
/// \param bound     of a placement
/// \returns nothing if there are more labelings
/// Complexity: `most` evaluations and bounds
template <class Bound>
[[nodiscard]] std::optional<std::vector<bounded_placement>> placements_by_bound(
    const placement_problem<double>& problem, std::vector<strategy> labels, std::size_t vertices, std::size_t most,
    Bound& bound) {
  std::vector<std::uint32_t> told_apart;
  for (std::size_t v = 0; v < vertices; ++v) told_apart.push_back(problem.variable_of(v));
  std::ranges::sort(told_apart);
  told_apart.erase(std::ranges::unique(told_apart).begin(), told_apart.end());
  std::erase_if(told_apart, [&](std::uint32_t x) { return problem.compact().label_count(x) < 2; });
  std::size_t labelings = 1;
  for (const std::uint32_t x : told_apart) {
    labelings *= problem.compact().label_count(x);
    if (labelings > most) return std::nullopt;
  }
  for (const std::uint32_t x : told_apart) labels[x] = 0;
  std::vector<bounded_placement> found;
  for (std::size_t i = 0; i < labelings; ++i) {
    if (assignment choice = problem.lift(labels); evaluate(problem, choice).is_feasible()) {
      const double least = bound(choice);
      found.push_back({std::move(choice), least});
    }
    for (const std::uint32_t x : told_apart) {
      if (++labels[x] < problem.compact().label_count(x)) break;
      labels[x] = 0;
    }
  }
  std::ranges::stable_sort(found, {}, &bounded_placement::bound);
  return found;
}

}  // namespace shardweave::inline v0::detail

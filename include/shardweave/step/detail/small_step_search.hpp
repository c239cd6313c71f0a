#pragma once

#include <shardweave/placement/problem.hpp>
#include <shardweave/step/detail/placements_around.hpp>
#include <shardweave/step/detail/placements_by_bound.hpp>
#include <shardweave/step/detail/tried_plans.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// \file
/// The end of a search in a small problem, where prices under which the best of very few placements wins may be missed.

namespace shardweave::inline v0::detail {

/// Plans of all placements, if there are few, or of those around the best ones.
/// \tparam Plans  `tried_plans`
template <class Plans>
class small_step_search {
 public:
  /// \param least    what merging leaves of the work, by which placements are bounded
  /// \param around   divided by the labels of the problem: how many plans more are made
  /// \param planned  vertices that a plan depends on, the first ones
  /// \param turn     as `step_bound_options` has it
  /// \pre all but the numbers outlive this; there is a plan
  small_step_search(const placement_problem<double>& problem, const step_work& least, std::size_t around,
                    std::size_t planned, std::optional<std::uint32_t> turn, Plans& tried)
      : problem_(problem),
        least_(least),
        more_(around / std::max<std::size_t>(problem.compact().total_labels(), 1)),
        most_(tried.size() + more_),
        planned_(planned),
        turn_(turn),
        tried_(tried) {}

  /// \param bound  of the step of all plans: none ends before
  /// \returns whether of all placements that may have a better plan one was made, and completed
  bool run(double bound) {
    if (problem_.compact().total_labels() > all_labels || more_ == 0) return false;
    if (const std::optional<bool> complete = look_at_all()) return *complete;
    look_around(bound);
    return false;
  }

 private:
  /// Plans of all placements that may have a better one than the best so far, the least bound first.
  /// \returns whether all were completed; nothing if there are too many
  std::optional<bool> look_at_all() {
    placement_bound bound(least_, turn_, planned_);
    const auto all =
        placements_by_bound(problem_, *problem_.labels_of(tried_.best().choice), planned_, 4 * more_, bound);
    if (!all) return std::nullopt;
    bool is_all = true;
    for (std::size_t i = 0; i < all->size() && (*all)[i].bound < tried_.best().step; i += few) {
      if (tried_.size() >= most_ || tried_.is_late()) return std::nullopt;
      std::vector<assignment> next;
      for (std::size_t k = i; k < std::min(i + few, all->size()); ++k) next.push_back((*all)[k].choice);
      tried_.consider(next, most_, told_apart_by::strategies);
      for (std::size_t k = i; k < i + next.size() && (*all)[k].bound < tried_.best().step; ++k)
        is_all = tried_.complete((*all)[k].choice) && is_all;
    }
    return is_all;
  }
  /// What differs from a good plan in one variable or in two, as long as that gives better ones.
  void look_around(double bound) {
    const auto is_over = [&] { return tried_.size() >= most_ || tried_.is_late() || tried_.best().step <= bound; };
    std::set<assignment> centers;
    for (bool fresh = true; fresh && !is_over();) {
      fresh = false;
      for (const std::size_t center : tried_.best_ones(few)) {
        if (!centers.insert(tried_[center].choice).second) continue;
        fresh = true;
        const auto labels = *problem_.labels_of(tried_[center].choice);
        const auto finds_better = [&](std::size_t variables) {
          return tried_.consider(placements_around(problem_, labels, variables, planned_, 4 * more_), most_)
              .has_value();
        };
        if (finds_better(1) || is_over() || finds_better(2) || is_over()) break;
      }
    }
  }

  static constexpr std::size_t few = 4;
  static constexpr std::size_t all_labels = 500;

  const placement_problem<double>& problem_;
  const step_work& least_;
  std::size_t more_, most_;
  std::size_t planned_;
  std::optional<std::uint32_t> turn_;
  Plans& tried_;
};

}  // namespace shardweave::inline v0::detail

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
#include <vector>

/// \file
/// The end of a search in a small problem, where no prices may lead to the placement of the best plan.

namespace shardweave::inline v0::detail {

/// Plans all placements of a small problem that may have a better plan, or, if there are too many, the neighbours of
/// the best.
/// \tparam Plans  `tried_plans`
template <class Plans>
class small_step_search {
 public:
  /// \param least    least work with merging of collectives, by which placements are bounded
  /// \param around   divided by the number of labels of the problem: how many more plans are made
  /// \param planned  plans depend on the first so many vertices
  /// \param turn     as `step_bound_options` has it
  /// \pre all references outlive this; there is a plan
  small_step_search(const placement_problem<double>& problem, const step_work& least, std::size_t around,
                    std::size_t planned, std::optional<std::uint32_t> turn, Plans& tried)
      : problem_(problem),
        least_(least),
        more_(around / std::max<std::size_t>(problem.compact().total_labels(), 1)),
        most_(tried.size() + more_),
        planned_(planned),
        turn_(turn),
        tried_(tried) {}

  /// \param bound  a lower bound on the makespan of all plans
  /// \returns whether every placement that may have a better plan was planned, and completed
  bool run(double bound) {
    if (problem_.compact().total_labels() > all_labels || more_ == 0) return false;
    if (const std::optional<bool> complete = look_at_all()) return *complete;
    look_around(bound);
    return false;
  }

 private:
  /// Plans every placement whose bound is below the best step, by ascending bound.
  /// \returns whether all were completed; nothing if there are too many, or a limit was reached
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
  /// Plans the feasible placements that differ from one of the best in one variable, or in two, as long as they get
  /// better.
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

  /// Placements that are planned together, so that up to four threads have work whatever their number, on which answers
  /// must not depend: at most three are planned that one by one would not be. And best plans whose neighbours are
  /// looked at.
  static constexpr std::size_t few = 4;
  static constexpr std::size_t all_labels = 500;  ///< of what counts as a small problem (`step_search_options::around`)

  const placement_problem<double>& problem_;
  const step_work& least_;
  std::size_t more_, most_;
  std::size_t planned_;
  std::optional<std::uint32_t> turn_;
  Plans& tried_;
};

}  // namespace shardweave::inline v0::detail

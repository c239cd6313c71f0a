#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/solve/reduce/detail/label_rules.hpp>
#include <shardweave/solve/reduce/detail/mutable_problem.hpp>
#include <shardweave/solve/reduce/detail/usage_tidy.hpp>
#include <shardweave/solve/reduce/detail/variable_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Exact kernelization: a smaller problem with the same optimum.

namespace shardweave::inline v0 {

/// What a reduction may remove, and what is told of it. In a proof, in which each step is stated, labels that a
/// row has no room for are removed by other steps.
struct reduction_limits {
  bool dominance = true;  ///< whether labels go that another one is at least as good as
  bool rows = true;       ///< whether labels go that a row has no room for
  bool notes = false;     ///< whether `steps` tells of labels that others dominate, too
};

/// Counters of a reduction.
struct reduction_counts {
  std::size_t inconsistent = 0;  ///< labels without a compatible label of some neighbour
  std::size_t oversized = 0;     ///< labels that some row has no room for
  std::size_t dominated = 0;     ///< labels another one is at least as good as
  std::size_t merged = 0;        ///< variables determined by a neighbour
  std::size_t settled = 0;       ///< variables decided alone
  std::size_t eliminated = 0;    ///< variables between two others
  std::size_t rows = 0;          ///< rows that cannot bind
};

/// Applies rules that keep at least one optimum, until none changes anything or 20 rounds are over:
///  - arc consistency; a variable with one label becomes a constant, unary costs and less room in its rows;
///  - a variable whose label is determined by a neighbour's follows it (with its usage);
///  - a leaf, an isolated variable, and a variable between two others are minimised out, where their usage
///    allows it;
///  - a label goes when another one costs no more whatever the neighbours do, and uses no more of any row;
///  - a label that uses more of a row than is left when all others use their least goes;
///  - rows that no labeling can break, or that others imply, go.
/// In rows with a lower limit a label dominates another one only if both use equally much. The kernel is arc
/// consistent. A stop ends the work early with what was done until then, which is exact too.
///
/// Each rule stands alone in solve/reduce/detail/label_rules.hpp, variable_rules.hpp or usage_tidy.hpp.
/// Complexity: at most 20 rounds, in practice a few, each O(labels * degree) plus labels^2 * degree for dominance,
/// which is tried for variables of at most 400 labels; dominance and eliminations between two variables have work
/// limits.
template <cost_value Cost>
class reduction {
 public:
  explicit reduction(const compact_problem<Cost>& problem, const reduction_limits& limits = {},
                     const solve_control& control = {});

  /// No labeling is feasible.
  [[nodiscard]] bool is_infeasible() const { return is_infeasible_; }
  /// \pre !is_infeasible()
  [[nodiscard]] const compact_problem<Cost>& kernel() const { return *kernel_; }
  /// Moves the kernel out; `lift` still works, but `kernel` may not be called again.
  /// \pre !is_infeasible()
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> take_kernel() { return std::move(kernel_); }
  [[nodiscard]] const reduction_counts& counts() const { return counts_; }
  /// Per variable of the kernel, which of the given variables it is, and what its labels are there.
  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::vector<strategy>>> origin() const {
    return lifting_.kept();
  }
  /// A variable of the given problem that was removed, or a label that another one dominates.
  using step = detail::lifting::step;
  /// The variables that were removed, in order, and with `reduction_limits::notes` the labels that others dominate.
  [[nodiscard]] std::vector<step> steps() const { return lifting_.steps(); }
  /// Labels of the kernel's variables -> labels of the given problem's. Costs and usage of every row that is left
  /// are the same, up to what was taken off both sides; an optimum becomes an optimum.
  /// Complexity: O(variables of the given problem)
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const {
    return lifting_.lift(variables_, labels);
  }

 private:
  using working = detail::mutable_problem<Cost>;

  /// \returns false if no labeling is feasible
  bool run(working& p, const reduction_limits& limits, const deadline& limit);

  [[nodiscard]] static std::vector<std::uint32_t> changed(const working& p) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t x = 0; x < p.variables.size(); ++x)
      if (p.variables[x].alive && p.variables[x].dirty) open.push_back(x);
    return open;
  }

  std::size_t variables_;
  reduction_counts counts_;
  bool is_infeasible_ = true;
  std::shared_ptr<const compact_problem<Cost>> kernel_;
  detail::lifting lifting_;
};

template <cost_value Cost>
reduction<Cost>::reduction(const compact_problem<Cost>& problem, const reduction_limits& limits,
                           const solve_control& control)
    : variables_(problem.size()) {
  const deadline limit(control);
  detail::mutable_problem<Cost> p(problem);
  if (!run(p, limits, limit)) return;
  counts_.rows = problem.rows().size() - p.rows.size();
  auto [left, way_back] = std::move(p).finish();
  kernel_ = std::make_shared<const compact_problem<Cost>>(std::move(left));
  lifting_ = std::move(way_back);
  is_infeasible_ = false;
}

template <cost_value Cost>
bool reduction<Cost>::run(working& p, const reduction_limits& limits, const deadline& limit) {
  constexpr std::size_t most_rounds = 20;  // of all rules; without any large kernels are not solved
  // labels and compared entries of a variable; labels times both neighbours' classes: half and twice change no answer
  constexpr std::size_t most_labels = 400, dominance_work = 20'000'000, between_work = 50'000'000;
  detail::usage_tidy<Cost> usage(p);
  detail::drop_inconsistent<Cost> consistent(p);
  detail::drop_oversized<Cost> oversized(p);
  detail::drop_dominated<Cost> dominated(p, usage, limits.dominance ? most_labels : 0, dominance_work, limits.notes);
  detail::absorb_single<Cost> single{p, usage};
  detail::follow_neighbour<Cost> follower{p};
  detail::remove_leaf<Cost> leaf{p, usage};
  detail::remove_between<Cost> between{p, between_work};
  const auto forget = [&] {
    if (!p.has_much_to_forget()) return;
    const detail::table_set<Cost> used = p.forget();
    consistent.forget_others(used);
    dominated.forget_others(used);
    detail::forget_others(follower.determined, used);
  };
  // rules are cheap except for eliminations: checking the clock each time would take as long
  const auto each = [&](const std::vector<std::uint32_t>& open, auto&& rule, std::size_t at_once = 16) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (i % at_once == 0 && limit.expired()) return;
      if (p.variables[open[i]].alive) rule(open[i]);
      forget();
    }
  };

  bool feasible = usage.tidy() && (!limits.rows || oversized());
  for (std::size_t round = 0; feasible && round < most_rounds && !limit.expired(); ++round) {
    const std::vector<std::uint32_t> open = changed(p);
    if (open.empty()) break;
    for (const std::uint32_t x : open) p.variables[x].dirty = false;
    feasible = consistent(open, forget);
    if (!feasible) break;
    each(open, single);
    each(open, follower);
    feasible = usage.tidy() && consistent(changed(p), forget);  // later rules rely on finite unary costs
    if (!feasible) break;
    each(open, [&](std::uint32_t x) { dominated(x, limit); });
    each(open, leaf);
    each(open, between, 1);
    feasible = usage.tidy() && (!limits.rows || oversized());
  }
  feasible = feasible && consistent(changed(p));
  counts_ = {.inconsistent = consistent.removed,
             .oversized = oversized.removed,
             .dominated = dominated.removed,
             .merged = follower.merged + leaf.merged,
             .settled = single.settled + leaf.settled,
             .eliminated = between.eliminated};
  return feasible;
}

#ifdef SHARDWEAVE_COMPILED
extern template class reduction<double>;
extern template class reduction<std::int64_t>;
#endif

}  // namespace shardweave::inline v0

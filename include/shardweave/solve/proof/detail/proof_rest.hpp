#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/exact_elimination.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/search/detail/part_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// What the reductions of a proof leave of a problem, as a solver has it and as who checks the proof has it.

namespace shardweave::inline v0::detail {

/// What is left of a compiled problem, and of the problem as it is stated.
template <cost_value Cost>
struct proof_rest {
  std::shared_ptr<const compact_problem<Cost>> problem;
  variable_origin origin;  ///< its variables and labels as those of the compiled problem
  strategies_left left;    ///< strategies of the stated problem, or of `rounded`
  std::shared_ptr<const rounded_problem> rounded = nullptr;  ///< null: nothing was eliminated
  /// Restates multipliers of `problem`, of which each variable is an unknown of `rounded`; not set without that.
  std::optional<stated_multipliers<Cost, rounded_problem>> in_rest = std::nullopt;

  /// What restrictions to some of the labels leave. \pre something was eliminated; `part` is of `problem`
  [[nodiscard]] proof_rest restricted(const part_problem<Cost>& part) const {
    proof_rest result{part.problem.shared_compact(), origin_of(part), in_rest->left(part.kept), rounded, std::nullopt};
    rounded->propagate(result.left);
    return result;
  }
  /// Variables and labels of a part of `problem` as those of the compiled problem.
  [[nodiscard]] variable_origin origin_of(const part_problem<Cost>& part) const {
    variable_origin result;
    for (const auto& [x, labels] : part.origin) {
      auto& of = result.emplace_back(origin[x].first, std::vector<strategy>()).second;
      for (const strategy l : labels) of.push_back(origin[x].second[l]);
    }
    return result;
  }
};

/// Reduces what is left of a problem by steps that a proof can state.
template <cost_value Cost>
class stated_reduction {
 public:
  /// \pre all references outlive this object
  stated_reduction(const placement_description<Cost>& d, const stated_form<Cost>& form,
                   const stated_multipliers<Cost>& in_stated, const deadline& limit)
      : form_(form), in_stated_(in_stated), limit_(limit), eliminate_(d, form, limit) {}

  /// \param dominance  whether labels go that others dominate, where the exact costs say so, too; usage must be whole
  /// \returns the reduction of a proof with the same rest, without rows; nothing if nothing changes, or the time is up.
  ///          The first one may have no steps: then all of the problem is left
  [[nodiscard]] std::optional<placement_reduction> operator()(proof_rest<Cost>& rest, bool dominance) const {
    const reduction<Cost> made(*rest.problem, {.dominance = dominance, .rows = false, .notes = dominance},
                               limit_.rest_for_part());
    if (limit_.expired() || made.is_infeasible()) return std::nullopt;
    std::optional<placement_reduction> r = stated(made, rest);
    if (!r || (rest.rounded && r->steps.empty() && r->dominated.empty())) return std::nullopt;
    proof_rest<Cost> next{nullptr, {}, rest.left};
    auto rounded = eliminate_(*r, next.left, rest.rounded.get());
    if (!rounded || rounded->size() != made.origin().size()) return std::nullopt;
    std::vector<std::uint32_t> vertices;
    std::vector<std::vector<strategy>> strategies;
    for (std::uint32_t i = 0; i < rounded->size(); ++i) {
      const auto& [x, labels] = made.origin()[i];
      const std::uint32_t of_whole = rest.origin[x].first;
      if (rounded->names()[i] != in_stated_.unknown(of_whole)) return std::nullopt;
      // what is dominated but for rounding errors has stayed
      if (dominance && static_cast<std::size_t>(std::ranges::count(next.left[i], 1)) != labels.size())
        return (*this)(rest, false);
      auto& origin = next.origin.emplace_back(of_whole, std::vector<strategy>()).second;
      auto& of = strategies.emplace_back();
      for (const strategy l : labels) {
        origin.push_back(rest.origin[x].second[l]);
        of.push_back(in_stated_.stated(of_whole, origin.back()));
      }
      vertices.push_back(in_stated_.vertex(of_whole));
    }
    next.problem = std::make_shared<const compact_problem<Cost>>(made.kernel());
    next.rounded = std::make_shared<const rounded_problem>(*std::move(rounded));
    next.in_rest.emplace(*next.rounded, std::move(vertices), std::move(strategies));
    rest = std::move(next);
    return r;
  }

 private:
  /// The steps of a reduction, by vertices of the stated problem: first those unknowns that are decided, which are no
  /// variables. \returns nothing if some other unknown is no variable
  [[nodiscard]] std::optional<placement_reduction> stated(const reduction<Cost>& made,
                                                          const proof_rest<Cost>& rest) const {
    std::vector<std::uint32_t> names(form_.size());
    std::iota(names.begin(), names.end(), 0U);
    if (rest.rounded) names = rest.rounded->names();
    std::vector<char> is_variable(names.size());
    for (const auto& [x, labels] : rest.origin)
      is_variable[static_cast<std::size_t>(std::ranges::lower_bound(names, in_stated_.unknown(x)) - names.begin())] = 1;
    placement_reduction r;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_variable[i] != 0) continue;
      if (std::ranges::count(rest.left[i], 1) != 1) return std::nullopt;
      r.steps.push_back({form_.first_vertex(names[i])});
    }
    for (const auto& step : made.steps()) {
      const auto& [x, labels] = rest.origin[step.variables.front()];
      const auto strategy_of = [&, x = x, &of = labels](strategy l) { return in_stated_.stated(x, of[l]); };
      if (step.dominated) {
        r.dominated.push_back({static_cast<std::uint32_t>(r.steps.size()), in_stated_.vertex(x),
                               strategy_of(step.dominated->removed), strategy_of(step.dominated->by)});
        continue;
      }
      auto& vertices = r.steps.emplace_back();
      for (const std::uint32_t y : step.variables) vertices.push_back(in_stated_.vertex(rest.origin[y].first));
    }
    return r;
  }

  const stated_form<Cost>& form_;
  const stated_multipliers<Cost>& in_stated_;
  const deadline& limit_;
  exact_elimination<Cost> eliminate_;
};

}  // namespace shardweave::inline v0::detail

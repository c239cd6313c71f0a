#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/certify.hpp>
#include <shardweave/solve/search/detail/bound_cases.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Proofs of lower bounds in words of the problem as it is stated, for those who do not trust solvers.

namespace shardweave {
inline namespace v0 {

struct certify_options {
  std::size_t steps = 1000;   ///< of the ascent before cases are split, at most
  std::size_t rounds = 2000;  ///< of work on the case with the least bound, at most
};

namespace detail {

/// Strategies that compiling dropped because of limits, with what proves each.
/// \param wanted  what compiling left, per unknown; empty: whatever can be ruled out
template <cost_value Cost>
[[nodiscard]] std::vector<strategies_ruled_out> ruled_out_by_limits(const placement_description<Cost>& d,
                                                                    const stated_form<Cost>& form,
                                                                    const strategies_left& wanted) {
  std::vector<strategies_ruled_out> result;
  strategies_left left = form.all_left();
  form.propagate(left);
  const std::vector<usage_row> rows = form.rows();
  const auto is_done = [&] {
    if (left == wanted) return true;
    return std::any_of(left.begin(), left.end(),
                       [](const auto& of) { return std::count(of.begin(), of.end(), 1) == 0; });
  };
  for (bool changed = true; changed && !is_done();) {
    changed = false;
    for (const usage_row& row : rows)
      for (const bool of_low : {false, true}) {
        if (std::isinf(of_low ? row.low : row.high)) continue;
        const double sign = of_low ? -1 : 1;
        const double limit = of_low ? -row.low : row.high;
        const auto used = form.template usage<double>(d.constraints.budgets[row.budget], row.time,
                                                      [&](double u) { return sign * u; });
        const auto least_of = [&](std::uint32_t x) {
          double least = std::numeric_limits<double>::infinity();
          for (std::size_t s = 0; s < used[x].size(); ++s)
            if (left[x][s] != 0) least = std::min(least, used[x][s]);
          return std::isfinite(least) ? least : 0;
        };
        double total = 0;
        for (std::uint32_t x = 0; x < form.size(); ++x) total += least_of(x);
        for (std::uint32_t x = 0; x < form.size(); ++x) {
          if (used[x].empty() && total <= limit + budget_tolerance) continue;
          const double least = least_of(x);
          strategies_ruled_out found{form.first_vertex(x), {}, row.budget, row.time, of_low};
          for (strategy s = 0; s < left[x].size(); ++s)
            if (left[x][s] != 0 && (wanted.empty() || wanted[x][s] == 0) &&
                total - least + (used[x].empty() ? 0 : used[x][s]) > limit + 4 * budget_tolerance)
              found.strategies.push_back(s);
          if (found.strategies.empty()) continue;
          for (const strategy s : found.strategies) left[x][s] = 0;
          form.propagate(left, {x});
          result.push_back(std::move(found));
          changed = true;
          if (is_done()) return result;
          total = 0;
          for (std::uint32_t y = 0; y < form.size(); ++y) total += least_of(y);
        }
      }
  }
  return result;
}

/// Turns multipliers of a compiled problem into those of the stated one.
template <cost_value Cost>
class multiplier_translation {
 public:
  /// \param p  the compiled problem, perhaps with other costs
  multiplier_translation(const placement_problem<Cost>& problem, const compact_problem<Cost>& p,
                         const stated_form<Cost>& form)
      : problem_(&problem), p_(&p), form_(&form) {
    first_vertex_.resize(p.size());
    for (auto v = static_cast<std::uint32_t>(problem.vertex_count()); v-- > 0;)
      first_vertex_[problem.variable_of(v)] = v;
    // tables that compiling folded into costs of one end: those of the second end are given to it
    std::vector<char> has_edge(form.pairs().size());
    for (const compact_edge& e : p.edges()) has_edge[form.pair_between(unknown(e.first), unknown(e.second))] = 1;
    for (std::size_t i = 0; i < has_edge.size(); ++i)
      if (has_edge[i] == 0) fold(form.pairs()[i]);
  }

  [[nodiscard]] placement_multipliers operator()(const dual_values& dual) const {
    const compact_problem<Cost>& p = *p_;
    placement_multipliers m;
    double most_price = 0;
    for (const double price : dual.of_row) most_price = std::max(most_price, std::abs(price));
    m.price_bits = std::clamp(48 - magnitude_bits(most_price), 0, 120);
    for (std::size_t r = 0; r < dual.of_row.size(); ++r) {
      const usage_row& row = p.rows()[r];
      const std::int64_t price = rounded_down(dual.of_row[r], m.price_bits);
      if (price != 0 && std::isfinite(price > 0 ? row.high : row.low))
        m.prices.push_back({row.budget, row.time, price});
    }
    std::vector<std::vector<double>> amounts;
    double most = 0;
    const std::vector<std::size_t> offsets = dual_offsets(p);
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const auto& t = p.table(p.edges()[e]);
      auto& of = amounts.emplace_back();
      for (strategy l = 0; l < t.columns(); ++l) {
        of.push_back(-dual.of_class[offsets[e] + t.row_classes() + t.column_class(l)]);
        if (std::isfinite(of.back())) most = std::max(most, std::abs(of.back()));
      }
    }
    for (const auto& [ends, of] : folded_)
      for (const double a : of) most = std::max(most, std::abs(a));
    m.message_bits = std::clamp(46 - magnitude_bits(most), 0, 60);
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const std::uint32_t a = p.edges()[e].first, b = p.edges()[e].second;
      moved_cost moved{first_vertex_[a], first_vertex_[b], std::vector<std::int64_t>(form_->strategies(unknown(b)))};
      for (strategy l = 0; l < amounts[e].size(); ++l)
        moved.amounts[problem_->strategy_of(b, l)] = rounded_down(amounts[e][l], m.message_bits);
      add(m, std::move(moved));
    }
    for (const auto& [ends, of] : folded_) {
      moved_cost moved{form_->first_vertex(ends.first), form_->first_vertex(ends.second), {}};
      for (const double a : of) moved.amounts.push_back(rounded_down(a, m.message_bits));
      add(m, std::move(moved));
    }
    return m;
  }

  [[nodiscard]] std::uint32_t unknown(std::uint32_t variable) const {
    return form_->unknown_of(first_vertex_[variable]);
  }
  [[nodiscard]] std::uint32_t vertex(std::uint32_t variable) const { return first_vertex_[variable]; }
  /// What compiling left.
  [[nodiscard]] strategies_left left() const {
    strategies_left result(form_->size());
    const compact_problem<Cost>& p = *p_;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      auto& of = result[unknown(x)];
      of.resize(form_->strategies(unknown(x)));
      for (strategy l = 0; l < p.label_count(x); ++l) of[problem_->strategy_of(x, l)] = 1;
    }
    return result;
  }

 private:
  static void add(placement_multipliers& m, moved_cost moved) {
    if (std::any_of(moved.amounts.begin(), moved.amounts.end(), [](std::int64_t a) { return a != 0; }))
      m.messages.push_back(std::move(moved));
  }
  void fold(const typename stated_form<Cost>::pair& pair) {
    const auto& t = form_->tables()[pair.table];
    const strategies_left kept = left();
    const auto cost = [&](strategy a, strategy b) {
      double sum = 0;
      for (const auto& term : t.terms)
        sum += is_forbidden(term.at(a, b)) ? std::numeric_limits<double>::infinity()
                                           : static_cast<double>(term.at(a, b)) * static_cast<double>(term.times);
      return std::ldexp(sum, -form_->bits());
    };
    std::vector<double> least;
    for (strategy b = 0; b < kept[pair.second].size(); ++b) {
      double of_b = std::numeric_limits<double>::infinity();
      for (strategy a = 0; a < kept[pair.first].size(); ++a)
        if (kept[pair.second][b] != 0 && kept[pair.first][a] != 0) of_b = std::min(of_b, cost(a, b));
      least.push_back(std::isfinite(of_b) ? of_b : 0);
    }
    folded_.push_back({{pair.first, pair.second}, std::move(least)});
  }

  const placement_problem<Cost>* problem_;
  const compact_problem<Cost>* p_;
  const stated_form<Cost>* form_;
  std::vector<std::uint32_t> first_vertex_;  ///< per variable
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>>> folded_;
};

/// The cases of a certificate from the labels that are given in each, in the order in which they were decided.
template <cost_value Cost>
class case_tree {
 public:
  case_tree(const placement_problem<Cost>& problem, const multiplier_translation<Cost>& in_stated,
            placement_certificate<Cost>& into)
      : problem_(&problem), in_stated_(&in_stated), into_(&into) {}

  /// \param leaves  by number, those whose first `depth` given labels are equal
  void add(std::span<const given_labels* const> given, std::vector<std::uint32_t> leaves, std::size_t depth) {
    const std::size_t number = into_->cases.size();
    into_->cases.emplace_back();
    if (leaves.size() == 1 && given[leaves.front()]->size() == depth) {
      into_->cases[number].multipliers = leaves.front();
      return;
    }
    const std::uint32_t x = (*given[leaves.front()])[depth].first;
    into_->cases[number].vertex = in_stated_->vertex(x);
    std::vector<std::vector<std::uint32_t>> of_label(problem_->compact().label_count(x));
    for (const std::uint32_t leaf : leaves) of_label[(*given[leaf])[depth].second].push_back(leaf);
    for (strategy l = 0; l < of_label.size(); ++l) {
      into_->cases[number].parts.push_back({problem_->strategy_of(x, l)});
      into_->cases[number].cases.push_back(static_cast<std::uint32_t>(into_->cases.size()));
      add(given, std::move(of_label[l]), depth + 1);
    }
  }

 private:
  const placement_problem<Cost>* problem_;
  const multiplier_translation<Cost>* in_stated_;
  placement_certificate<Cost>* into_;
};

/// \param p      the compiled problem, perhaps with other costs, which `other` tells in full
/// \param known  as `certify_placement` has it
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certified_by_cases(const placement_problem<Cost>& problem,
                                                             const compact_problem<Cost>& p,
                                                             const costs_in_place<Cost>* other, Cost known,
                                                             const certify_options& options,
                                                             const solve_control& control) {
  const placement_description<Cost>& d = *problem.description();
  const deadline limit(control);
  incumbent<Cost> best;
  best.set_cutoff(known);
  price_ascent<Cost> ascent(p);
  for (std::size_t i = 0; i < options.steps && !limit.expired() && ascent.step(best.upper()); ++i)
    if (best.closes(ascent.bound())) break;
  bound_cases<Cost> cases(p, ascent.position(), ascent.bound(), true);
  for (std::size_t i = 0; i < options.rounds && cases.work(best, limit); ++i) {
  }
  const stated_form<Cost> form(d, other);
  const multiplier_translation<Cost> in_stated(problem, p, form);
  placement_certificate<Cost> c{.problem = d.name};
  c.ruled_out = ruled_out_by_limits(d, form, in_stated.left());
  std::vector<const given_labels*> given;
  std::vector<std::uint32_t> leaves;
  for (const auto& part : cases.cases()) {
    c.multipliers.push_back(in_stated(cases.ascent_at(part, best).multipliers()));
    leaves.push_back(static_cast<std::uint32_t>(given.size()));
    given.push_back(&part.given);
  }
  case_tree<Cost>(problem, in_stated, c).add(given, std::move(leaves), 0);
  const certificate_verdict<Cost> proven = proven_by(d, c, other);
  SHARDWEAVE_EXPECTS(proven.accepted);
  c.infeasible = is_forbidden(proven.bound);
  if (!c.infeasible) c.lower_bound = proven.bound;
  return c;
}

}  // namespace detail

/// A proof that constraints contradict each other where looking at strategies one by one shows it; nothing elsewhere.
template <cost_value Cost>
[[nodiscard]] std::optional<placement_certificate<Cost>> certify_infeasible(const placement_description<Cost>& d) {
  placement_certificate<Cost> c{.problem = d.name, .infeasible = true};
  c.ruled_out = detail::ruled_out_by_limits(d, stated_form<Cost>(d), {});
  c.multipliers.emplace_back();
  c.cases.push_back({.multipliers = 0});
  if (!check_certificate(d, c).accepted) return std::nullopt;
  return c;
}

/// Proves a lower bound anew, by message passing, prices on budgets and branching, in words of the problem as it is
/// stated. What solvers prove by other means (reductions, dynamic programs, knapsacks) is proven here by more cases,
/// and where limits come first by less: the certificate's `lower_bound` is what `check_certificate` accepts.
///
/// \param known  cost of the best assignment known, if any: what is no better need not be bounded further
/// \pre the problem has a description, which counts no savings
/// \throws error (input) if it has none, or counts savings
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certify_placement(const placement_problem<Cost>& problem,
                                                            Cost known = forbidden<Cost>,
                                                            const certify_options& options = {},
                                                            const solve_control& control = {}) {
  if (problem.description() == nullptr)
    refuse(error_category::input, "a certificate is of a problem as it is stated, but this one has no description");
  if (problem.savings() != nullptr)
    refuse(error_category::input, "certificates prove bounds of costs, but this problem counts savings");
  return detail::certified_by_cases<Cost>(problem, problem.compact(), nullptr, known, options, control);
}

/// The same of the problem with other costs.
/// \param p      the compiled problem with these costs, rounded
/// \param other  the costs exactly
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> certify_placement(
    const placement_problem<Cost>& problem, const compact_problem<Cost>& p, const costs_in_place<Cost>& other,
    Cost known = forbidden<Cost>, const certify_options& options = {}, const solve_control& control = {}) {
  if (problem.description() == nullptr)
    refuse(error_category::input, "a certificate is of a problem as it is stated, but this one has no description");
  return detail::certified_by_cases<Cost>(problem, p, &other, known, options, control);
}

}  // namespace v0
}  // namespace shardweave
